package catalog

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Texts are the texts under which a tool is embedded: ShortText, LongText and NameText. They miss different things, so all are used.
func (t Tool) Texts() [3]string { return [3]string{t.ShortText(), t.LongText(), t.NameText()} }

// NameText is the words of the tool's name, lower-case and each once, or the name itself where it has none.
func (t Tool) NameText() string {
	if words := t.nameWords(); words != "" {
		return words
	}
	return t.Name
}

func (t Tool) nameWords() string {
	var words []string
	Words(t.Name, func(w string) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	})
	return strings.Join(words, " ")
}

// longName is the length of a name, in bytes, beyond which only its words stand for it: its letters would drown the description.
const longName = 64

// ShortText is the tool's name and the first line of its description: "name: first line". Linear in their length.
func (t Tool) ShortText() string {
	line := strings.TrimSpace(t.Description)
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = strings.TrimSpace(line[:i])
	}
	name := t.Name
	if len(name) > longName {
		name = t.NameText()
	}
	if line == "" {
		return name
	}
	return name + ": " + line
}

// LongText is the words of the tool's name, its whole description, and the names of its parameters, nested ones too.
func (t Tool) LongText() string {
	var b strings.Builder
	b.Grow(len(t.Name) + len(t.Description) + 128)
	b.WriteString(t.nameWords())
	b.WriteByte(' ')
	b.WriteString(t.Description)
	for _, p := range t.ParameterNames() {
		b.WriteByte(' ')
		Words(p, func(w string) { b.WriteString(w); b.WriteByte(' ') })
	}
	return strings.TrimSpace(b.String())
}

// maxParameters bounds the parameter names that are read from one schema, and maxDepth how deep they are looked for.
const (
	maxParameters = 256
	maxDepth      = 12
)

// ParameterNames returns the names under "properties" anywhere in the schema, outermost first, each once; at most 256.
// A schema that is no JSON object or array has none.
func (t Tool) ParameterNames() []string {
	if len(t.Schema) == 0 || !gjson.ValidBytes(t.Schema) {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	level := []gjson.Result{gjson.ParseBytes(t.Schema)}
	for depth := 0; depth < maxDepth && len(level) > 0; depth++ {
		var next []gjson.Result
		for _, node := range level {
			next = append(next, schemaChildren(node, func(name string) {
				if !seen[name] && len(names) < maxParameters {
					seen[name] = true
					names = append(names, name)
				}
			})...)
		}
		level = next
	}
	return names
}

// schemaChildren reports the property names of one schema node and returns the schemas directly within it.
func schemaChildren(node gjson.Result, property func(string)) []gjson.Result {
	var children []gjson.Result
	if node.IsArray() {
		return node.Array()
	}
	if !node.IsObject() {
		return nil
	}
	node.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "properties", "$defs", "definitions", "patternProperties":
			value.ForEach(func(name, schema gjson.Result) bool {
				if key.Str == "properties" && value.IsObject() {
					property(name.Str)
				}
				children = append(children, schema)
				return true
			})
		case "items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "then", "else":
			children = append(children, value)
		}
		return true
	})
	return children
}
