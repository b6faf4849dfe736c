package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"toolbelt/catalog"
)

// keys returns the tree keys of an identity: keys[i] is of the turn that i user messages lead to, so keys[0] stands for
// the root and keys[len(chain)] for this request's turn. Everything that must never mix (family, model, credential, app, explicit session) is
// in the root. Cost: one SHA-256 a message.
func keys(id Identity) []string {
	root := sha256.New()
	for _, part := range []string{id.Family, id.Model, id.Credential, id.Agent, id.Explicit} {
		root.Write([]byte(part))
		root.Write([]byte{0})
	}
	key := catalog.Hash(root.Sum(nil))
	out := make([]string, 0, len(id.Chain)+1)
	out = append(out, shortKey(key))
	for _, message := range id.Chain {
		var both [2 * sha256.Size]byte
		copy(both[:], key[:])
		copy(both[sha256.Size:], message[:])
		key = sha256.Sum256(both[:])
		out = append(out, shortKey(key))
	}
	return out
}

func shortKey(h catalog.Hash) string { return hex.EncodeToString(h[:16]) }

// App is the opaque id of the app that a request comes from: API family, credential and User-Agent product.
func (id Identity) App() string {
	h := sha256.Sum256([]byte(id.Family + "\x00" + id.Credential + "\x00" + id.Agent))
	return hex.EncodeToString(h[:8])
}

// maxName is how long, in bytes, a name that a client gives may be before its hash stands for it.
const maxName = 128

// Product returns the first product of a User-Agent without its version: "ollama-python" of "ollama-python/0.4 (x86)".
func Product(agent string) string {
	agent = strings.TrimSpace(agent)
	if i := strings.IndexAny(agent, "/ \t("); i >= 0 {
		agent = agent[:i]
	}
	return Short(agent)
}

// Short returns name, or its hash where it is longer than any name need be.
func Short(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
