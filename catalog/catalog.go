// Package catalog holds the nouns that every other package speaks of: a tool, its schema, and an
// immutable set of tools to choose from. It does no I/O.
package catalog

import (
	"crypto/sha256"
	"encoding/hex"
)

// Schema is the raw JSON of a tool's parameters exactly as its owner wrote it: an object, a boolean,
// null, or nil where none was given. It is never re-encoded.
type Schema []byte

// Hash is the SHA-256 of some content.
type Hash [sha256.Size]byte

// String returns the hash as 64 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is the zero value, which no content hashes to in practice.
func (h Hash) IsZero() bool { return h == Hash{} }

// ID is a tool's position in its Catalog, from 0. It means nothing in another Catalog; names do.
type ID int32

// None is the ID of no tool.
const None ID = -1

// Tool is one tool as the model would see it. Names are compared byte for byte: two spellings are
// two tools.
type Tool struct {
	Name        string
	Description string
	Schema      Schema
	Bytes       int // length of the client's original JSON of this tool, twins included; 0 where unknown
}

// Hash returns the hash of all that describes the tool: name, description and schema.
func (t Tool) Hash() Hash {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(t.Name), {0}, []byte(t.Description), {0}, t.Schema} {
		h.Write(part)
	}
	return Hash(h.Sum(nil))
}

// EstimatedTokens estimates the prompt tokens that the tool costs: a quarter of its JSON's bytes,
// rounded up. Engines differ by up to a third either way.
func (t Tool) EstimatedTokens() int {
	n := t.Bytes
	if n == 0 {
		n = len(t.Name) + len(t.Description) + len(t.Schema) + 60
	}
	return (n + 3) / 4
}

// Catalog is an immutable set of tools with distinct names, in their owner's order. It is safe for
// concurrent use.
type Catalog struct {
	tools  []Tool
	byName map[string]ID
	hash   Hash
}

// New makes a catalog of tools. Tools without a name are left out. Tools of one name (twins) become one entry at
// the place of the first, whose description and schema are joined with the others' and whose Bytes
// are their sum, so that twins are always chosen or left together. The slice is not kept.
func New(tools []Tool) *Catalog {
	c := &Catalog{byName: make(map[string]ID, len(tools))}
	h := sha256.New()
	for _, t := range tools {
		if t.Name == "" {
			continue
		}
		th := t.Hash()
		h.Write(th[:])
		if id, ok := c.byName[t.Name]; ok {
			twin := &c.tools[id]
			twin.Description += "\n" + t.Description
			twin.Schema = joinSchemas(twin.Schema, t.Schema)
			twin.Bytes += t.Bytes
			continue
		}
		c.byName[t.Name] = ID(len(c.tools))
		c.tools = append(c.tools, t)
	}
	c.hash = Hash(h.Sum(nil))
	return c
}

// joinSchemas keeps both twins' parameter names findable: a JSON array of the two schemas.
func joinSchemas(a, b Schema) Schema {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	joined := make(Schema, 0, len(a)+len(b)+3)
	joined = append(joined, '[')
	joined = append(joined, a...)
	joined = append(joined, ',')
	joined = append(joined, b...)
	return append(joined, ']')
}

// Len returns the number of distinct names.
func (c *Catalog) Len() int { return len(c.tools) }

// Tool returns the tool with this id, which must be in [0, Len).
func (c *Catalog) Tool(id ID) Tool { return c.tools[id] }

// Lookup returns the id of the tool of exactly this name.
func (c *Catalog) Lookup(name string) (ID, bool) {
	id, ok := c.byName[name]
	return id, ok
}

// Hash identifies the catalog's content and order; two equal arrays have equal hashes.
func (c *Catalog) Hash() Hash { return c.hash }

// Names returns the names in order. The slice is the caller's.
func (c *Catalog) Names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Name
	}
	return names
}

// EstimatedTokens is the sum over all tools.
func (c *Catalog) EstimatedTokens() int {
	sum := 0
	for _, t := range c.tools {
		sum += t.EstimatedTokens()
	}
	return sum
}
