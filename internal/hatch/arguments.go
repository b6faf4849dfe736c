package hatch

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds of what is read from a call's arguments: more than a model has reason to write.
const (
	maxArgumentBytes = 64 << 10
	maxAsked         = 16
)

// asked is what a call's arguments name.
type asked struct {
	names []string // at most maxAsked, none empty
	group bool     // they were given as groups, and a group goes before a tool of its name
}

// ask reads the arguments of a call, which models write in many ways: an object with one of the keys (the first that holds a string or a list of strings,
// else any that does), a bare string or list, the text of such JSON, or a name that is no JSON at all. It returns no names where there
// is none to be read: arguments that are empty, broken or larger than 64 KB.
func ask(arguments []byte, keys ...string) asked {
	if len(arguments) > maxArgumentBytes {
		return asked{}
	}
	return askText(string(arguments), keys, 2)
}

// askText is ask for text that may be JSON within JSON, depth times.
func askText(text string, keys []string, depth int) asked {
	text = strings.TrimSpace(text)
	if !gjson.Valid(text) {
		if text == "" || strings.ContainsAny(text[:1], "{[\"") || strings.ContainsAny(text, "\n{}") {
			return asked{}
		}
		return asked{names: []string{text}} // a name without its quotes
	}
	doc := gjson.Parse(text)
	if doc.Type == gjson.String && depth > 0 {
		inner := strings.TrimSpace(doc.Str)
		if inner != "" && strings.ContainsAny(inner[:1], "{[\"") && gjson.Valid(inner) {
			return askText(inner, keys, depth-1)
		}
	}
	if !doc.IsObject() {
		return asked{names: strs(doc)}
	}
	fields := map[string][]string{}
	group, first := map[string]bool{}, ""
	doc.ForEach(func(key, value gjson.Result) bool {
		names := strs(value)
		k := strings.ToLower(key.Str)
		if len(names) > 0 {
			fields[k] = names
			group[k] = strings.HasPrefix(k, "bundle") || strings.HasPrefix(k, "group")
			if first == "" {
				first = k
			}
		}
		return true
	})
	for _, key := range append(keys, first) {
		if names := fields[key]; len(names) > 0 {
			return asked{names, group[key]}
		}
	}
	return asked{}
}

// strs returns the strings that a value is or lists, those of objects in a list by their "name"; none is empty.
func strs(value gjson.Result) []string {
	var out []string
	take := func(v gjson.Result) bool {
		if v.IsObject() {
			v = v.Get("name")
		}
		if v.Type == gjson.String && strings.TrimSpace(v.Str) != "" {
			out = append(out, v.Str)
		}
		return len(out) < maxAsked
	}
	if value.IsArray() {
		value.ForEach(func(_, v gjson.Result) bool { return take(v) })
		return out
	}
	if value.Type == gjson.String {
		take(value)
	}
	return out
}
