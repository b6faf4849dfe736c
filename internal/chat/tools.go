package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
)

// readTools fills in Tools, Elements and the place of the array.
func (r *Request) readTools(body []byte, array span) error {
	if array.isAbsent(body) {
		return nil
	}
	if !array.isArray(body) {
		return unedited("its \"tools\" is not an array")
	}
	r.ToolsStart, r.ToolsEnd = array.start, array.end
	a := &arena{text: string(array.of(body)), raw: bytes.Clone(array.of(body)), protocol: r.Protocol}
	var opaque map[string]int
	walkArray(a.raw, 0, func(at int) int {
		if len(r.Elements) == maxElements {
			return len(a.raw)
		}
		f, end := a.element(at)
		e := Element{Start: array.start + at, End: array.start + end, Deferred: f.deferred}
		if tool, ok := a.tool(&f, end-at); ok {
			if len(a.raw) > sharedArrayBytes {
				tool.Name = strings.Clone(tool.Name)
			}
			e.Key = tool.Name
			r.Tools = append(r.Tools, tool)
		} else {
			if opaque == nil {
				opaque = make(map[string]int)
			}
			e.Key = opaqueKey(a.raw[at:end], opaque)
			if strings.HasPrefix(a.str(f.kind), "tool_search_tool_") {
				r.ToolSearch = e.Key
			}
		}
		r.Elements = append(r.Elements, e)
		return end
	})
	if len(r.Elements) == maxElements {
		return unedited("it has %d tools or more", maxElements)
	}
	return nil
}

// sharedArrayBytes is the largest array whose tools' names share its memory: names are kept for as long as a conversation.
const sharedArrayBytes = 1 << 20

// opaqueKey returns the key of an element that is not ours to choose; seen counts those of the same bytes.
func opaqueKey(raw []byte, seen map[string]int) string {
	sum := sha256.Sum256(raw)
	key := "\x00" + hex.EncodeToString(sum[:8])
	seen[key]++
	if n := seen[key]; n > 1 {
		return key + "#" + strconv.Itoa(n)
	}
	return key
}

// arena is one copy of the tools array, of which the tools' texts and schemas are pieces: two
// allocations for all of them.
type arena struct {
	text     string
	raw      []byte
	protocol Protocol
}

// str is span.text without an allocation where nothing is escaped.
func (a *arena) str(s span) string {
	if !s.isString(a.raw) {
		return ""
	}
	if content := a.text[s.start+1 : s.end-1]; strings.IndexByte(content, '\\') < 0 {
		return content
	}
	return gjson.Parse(a.text[s.start:s.end]).Str
}

// toolFields are the members of a tool, or of its "function", that are read.
type toolFields struct {
	kind, function, name, description span

	schema     span
	schemaRank int  // of the schema's key among its spellings, from 1; 0 without a schema
	deferred   bool // "defer_loading" is true
	ambiguous  bool // one of type, function, name is there twice, or in other letters: engines differ
}

// read fills in f from the object that begins at raw[at], and inner from its "function" where that is an
// object; inner may be nil. It returns the index after the object.
func (a *arena) read(at int, f, inner *toolFields) int {
	once := func(field *span, value span) {
		f.ambiguous = f.ambiguous || field.end > 0
		*field = value
	}
	return walkObject(a.raw, at, func(key []byte, i int) int {
		if inner != nil && string(key) == "function" && a.raw[i] == '{' {
			*inner = toolFields{}
			end := a.read(i, inner, nil)
			once(&f.function, span{i, end})
			return end
		}
		value := span{i, skipValue(a.raw, i)}
		switch string(key) {
		case "type":
			once(&f.kind, value)
		case "function":
			once(&f.function, value)
		case "name":
			once(&f.name, value)
		case "description":
			f.description = value
		case "parameters":
			f.takeSchema(value, 3)
		case "inputSchema":
			f.takeSchema(value, 2)
		case "input_schema":
			f.takeSchema(value, 1)
		case "defer_loading":
			f.deferred = a.raw[i] == 't'
		default:
			for _, name := range []string{"type", "function", "name"} {
				f.ambiguous = f.ambiguous || bytes.EqualFold(key, []byte(name))
			}
		}
		return value.end
	})
}

func (f *toolFields) takeSchema(value span, rank int) {
	if f.schemaRank <= rank {
		f.schema, f.schemaRank = value, rank
	}
}

// element reads the element that begins at raw[at], its "function" included, in one pass, and returns the index after it.
func (a *arena) element(at int) (f toolFields, end int) {
	if a.raw[at] != '{' {
		return toolFields{ambiguous: true}, skipValue(a.raw, at)
	}
	var inner toolFields
	end = a.read(at, &f, &inner)
	if !f.function.isObject(a.raw) {
		return f, end
	}
	inner.kind = f.kind
	inner.ambiguous = inner.ambiguous || f.ambiguous
	inner.deferred = inner.deferred || f.deferred
	return inner, end
}

// tool makes an element of so many bytes a tool, as catalog.ParseTool does. It reports false where the element is not a function
// tool with a name, and where it is ambiguous which name it has.
func (a *arena) tool(f *toolFields, length int) (catalog.Tool, bool) {
	if f.ambiguous || !f.kind.isAbsent(a.raw) && !a.isFunction(a.str(f.kind)) {
		return catalog.Tool{}, false
	}
	name := a.str(f.name)
	if name == "" || name[0] == 0 { // a zero byte begins the keys of other elements
		return catalog.Tool{}, false
	}
	tool := catalog.Tool{Name: name, Description: a.str(f.description), Bytes: length}
	if f.schemaRank > 0 {
		tool.Schema = catalog.Schema(a.raw[f.schema.start:f.schema.end:f.schema.end])
	}
	return tool, true
}

// isFunction reports whether a tool of this type is one that the app runs itself, with arguments by a schema.
func (a *arena) isFunction(kind string) bool {
	return kind == "function" || kind == "custom" && a.protocol == Anthropic
}
