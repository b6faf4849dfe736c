package hatch

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
)

// signature writes a tool as a model reads it in the fewest tokens: its name, parameters and their types as in TypeScript, its
// description, and a line for each parameter that has more to say. Nothing that the schema demands of a call is left out, but what the description says word for word
// is not said twice. false: the schema has more to it (references, alternatives, conditions), and only JSON says it all.
func signature(t catalog.Tool) (string, bool) {
	if !plainName(t.Name) || len(t.Schema) > 0 && !gjson.ValidBytes(t.Schema) {
		return "", false
	}
	s := signer{said: t.Description}
	parameters := ""
	if root := gjson.ParseBytes(t.Schema); len(t.Schema) > 0 && root.Type != gjson.Null {
		if !root.IsObject() || !onlyHas(root, objectKeys) || root.Get("type").Exists() && root.Get("type").Str != "object" ||
			!strings.Contains(t.Description, root.Get("description").Str) {
			return "", false
		}
		parameters = s.members(root, "", maxNesting)
	}
	if s.beyond {
		return "", false
	}
	text := t.Name + "(" + parameters + ")"
	if about := strings.TrimSpace(t.Description); about != "" {
		text += ": " + about
	}
	return strings.ToValidUTF8(text+s.notes.String(), "\uFFFD"), true
}

// maxNesting is how many objects within objects a signature shows.
const maxNesting = 6

// signer gathers what parameters have to say beside their types.
type signer struct {
	said   string // the tool's description
	notes  strings.Builder
	beyond bool // something is in the schema that a signature cannot say
}

// What a schema may hold: what is shown, and what says nothing to who makes a call.
var (
	objectKeys = []string{"type", "properties", "required", "additionalProperties", "description", "title", "$schema", "$id"}
	valueKeys  = []string{"type", "description", "title", "enum", "const", "default", "nullable", "items", "properties", "required", "additionalProperties", "anyOf"}
	boundKeys  = []string{"format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"}
)

// onlyHas reports whether a schema has no other keys than these, and says nothing of additional properties but that there are none.
func onlyHas(node gjson.Result, keys ...[]string) bool {
	more := node.Get("additionalProperties")
	ok := !more.Exists() || more.Type == gjson.False
	node.ForEach(func(key, _ gjson.Result) bool {
		ok = ok && slices.ContainsFunc(keys, func(k []string) bool { return slices.Contains(k, key.Str) })
		return ok
	})
	return ok
}

// members lists the properties of an object schema; path is where it stands, "" for the tool's own parameters.
func (s *signer) members(object gjson.Result, path string, depth int) string {
	properties := object.Get("properties")
	required := object.Get("required")
	if depth == 0 || properties.Exists() && !properties.IsObject() || required.Exists() && !required.IsArray() {
		s.beyond = true
		return ""
	}
	var needed []string
	for _, name := range required.Array() {
		needed = append(needed, name.Str)
	}
	var parts []string
	properties.ForEach(func(key, value gjson.Result) bool {
		name, optional := member(key.Str), "?"
		if at := slices.Index(needed, key.Str); at >= 0 {
			optional, needed = "", slices.Delete(needed, at, at+1)
		}
		place := name
		if path != "" {
			place = path + "." + name
		}
		parts = append(parts, name+optional+": "+s.value(value, place, depth))
		return !s.beyond
	})
	if len(needed) > 0 { // demanded, and not described
		s.beyond = true
	}
	return strings.Join(parts, ", ")
}

// value is the type of one parameter, with its default, and notes what else there is to say of it.
func (s *signer) value(schema gjson.Result, path string, depth int) string {
	if schema.Type == gjson.True { // anything
		return "any"
	}
	if depth <= 0 || !schema.IsObject() || !onlyHas(schema, valueKeys, boundKeys) {
		s.beyond = true
		return ""
	}
	s.note(schema, path)
	text := s.kind(schema, path, depth)
	if schema.Get("nullable").Bool() {
		text += " | null"
	}
	if d := schema.Get("default"); d.Exists() && d.Type != gjson.Null {
		text += " = " + d.Get("@ugly").Raw
	}
	return text
}

func (s *signer) kind(schema gjson.Result, path string, depth int) string {
	if c := schema.Get("const"); c.Exists() {
		return c.Get("@ugly").Raw
	}
	if list := schema.Get("enum"); list.Exists() {
		return s.alternatives(list, func(v gjson.Result) string { return v.Get("@ugly").Raw })
	}
	if either := schema.Get("anyOf"); either.Exists() {
		s.beyond = s.beyond || schema.Get("type").Exists() || schema.Get("properties").Exists()
		return s.alternatives(either, func(v gjson.Result) string { return s.value(v, path, depth-1) })
	}
	name := schema.Get("type")
	switch {
	case name.IsArray() && !schema.Get("items").Exists() && !schema.Get("properties").Exists():
		return s.alternatives(name, func(v gjson.Result) string { return v.Str })
	case name.Str == "array" && schema.Get("items").Exists():
		item := s.value(schema.Get("items"), path+"[]", depth-1)
		if strings.ContainsAny(item, " ") && !strings.HasPrefix(item, "{") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case schema.Get("properties").Exists() && (name.Str == "object" || !name.Exists()):
		return "{ " + s.members(schema, path, depth-1) + " }"
	case name.Type == gjson.String && name.Str != "":
		return name.Str
	case !name.Exists():
		return "any"
	}
	s.beyond = true
	return ""
}

// note writes what a parameter has to say beside its type: its description, unless the tool's has it at the parameter's name, and its bounds.
func (s *signer) note(schema gjson.Result, path string) {
	description := schema.Get("description")
	if description.Exists() && description.Type != gjson.String {
		s.beyond = true
		return
	}
	text := strings.TrimSpace(description.Str)
	name := path[strings.LastIndexByte(path, '.')+1:]
	if strings.Contains(s.said, name+": "+text) {
		text = ""
	}
	var bounds []string
	for _, key := range boundKeys {
		if bound := schema.Get(key); bound.Exists() {
			bounds = append(bounds, key+" "+bound.Get("@ugly").Raw)
		}
	}
	if len(bounds) > 0 {
		text = strings.TrimSpace(text + " (" + strings.Join(bounds, ", ") + ")")
	}
	if text != "" {
		s.notes.WriteString("\n  " + path + ": " + text)
	}
}

// alternatives joins what a list that is not empty offers.
func (s *signer) alternatives(list gjson.Result, text func(gjson.Result) string) string {
	if !list.IsArray() || len(list.Array()) == 0 {
		s.beyond = true
		return ""
	}
	var parts []string
	for _, v := range list.Array() {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, " | ")
}

// member is a property's name, in quotes where it is not a plain word.
func member(name string) string {
	if plainName(name) {
		return name
	}
	return quoted(name)
}

// plainName reports whether a name consists of letters, digits and what joins words.
func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	})
}
