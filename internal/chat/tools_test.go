package chat_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

func TestSchemasStayAsTheirBytesAre(t *testing.T) {
	for _, schema := range []string{
		`{"type":["string","null"],"default":null}`,
		`{ "$defs" : {"p":{"type":"object"}}, "properties":{"at":{"$ref":"#/$defs/p"}} }`,
		`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}],"additionalProperties":false}`,
		`{"properties":[]}`,
		`true`, `false`, `null`, `"odd"`, `[]`,
		`{"maximum":12345678901234567890,"minimum":-0.0,"multipleOf":1e-7,"x":0.10}`,
		`{"z":1,"a":2,"z":3}`,
		"{\n\t\"\\u0074ype\"  :\t\"obj\\/ect\" }",
		`{"name":"not the tool's","description":"nor this","type":"web_search"}`,
	} {
		element := `{ "unknown":{"deep":[1e400]}, "type":"function","function":{"strict":true,"name":"keep","parameters":` + schema + `,"description":"d"} , "cache_control":null}`
		body := `{"model":"m","tools":[` + element + ` , {"function":{"name":"drop"}}]}`
		for _, p := range []chat.Protocol{chat.Ollama, chat.OpenAI} {
			r := decode(t, p, body)
			want := catalog.Tool{Name: "keep", Description: "d", Schema: catalog.Schema(schema), Bytes: len(element)}
			if len(r.Tools) != 2 || !reflect.DeepEqual(r.Tools[0], want) {
				t.Fatalf("%s: %+v", schema, r.Tools)
			}
			checkEdit(t, []byte(body), chat.Render([]byte(body), r, []string{"keep"}), []json.RawMessage{json.RawMessage(element)})
		}
	}
	r := decode(t, chat.Ollama, `{"tools":[{"type":"function","function":{"name":"bare"}}]}`)
	if r.Tools[0].Schema != nil {
		t.Errorf("without parameters: schema %q, want nil", r.Tools[0].Schema)
	}
}

func TestElementsThatAreNotOursKeepAKeyOfTheirBytes(t *testing.T) {
	opaque := []string{
		`{"type":"web_search"}`,
		`{"type":"custom","custom":{"name":"sql"}}`,
		`{"type":"namespace","name":"crm","tools":[]}`,
		`{"type":"function","function":{"description":"no name"}}`,
		`{"type":"function","function":{"name":""}}`,
		`{"type":"function","function":{"name":7}}`,
		`{"type":"function","function":{"name":"\u0000a"}}`,
		`{"type":7,"function":{"name":"a"}}`,
		`{"type":"function","function":{"name":"a","name":"b"}}`,
		`{"type":"function","function":{"name":"a","Name":"b"}}`,
		`{"type":"function","Function":{"name":"a"}}`,
		`{"function":{"name":"a"},"function":{"name":"b"}}`,
		`{}`, `[]`, `null`, `"a"`, `7`, `{"type":"web_search"}`, `{"type":"web_search"}`, `null`,
	}
	body := `{"tools":[` + strings.Join(opaque, ",") + `,{"type":"function","name":"flat","parameters":{}},{"function":{"name":"untyped"}}]}`
	r := decode(t, chat.OpenAI, body)
	if len(r.Elements) != len(opaque)+2 || len(r.Tools) != 2 || r.Tools[0].Name != "flat" || r.Tools[1].Name != "untyped" {
		t.Fatalf("%d elements, tools %+v", len(r.Elements), r.Tools)
	}
	seen := map[string]bool{}
	for i, e := range r.Elements {
		if e.Selectable() != (i >= len(opaque)) {
			t.Errorf("%s: selectable %v", body[e.Start:e.End], e.Selectable())
		}
		if seen[e.Key] {
			t.Errorf("%s: its key %q was there already", body[e.Start:e.End], e.Key)
		}
		seen[e.Key] = true
	}
	again := decode(t, chat.OpenAI, `{"x":1,"tools":[{"function":{"name":"new"}}, {"type":"web_search"}]}`)
	if again.Elements[1].Key != r.Elements[0].Key {
		t.Errorf("the same bytes in another request have the key %q, not %q", again.Elements[1].Key, r.Elements[0].Key)
	}
}

func TestNamesAreComparedByteForByte(t *testing.T) {
	names := []string{"files.read", "files/read", "files-read", "files_read", "Files_read", "Ünïcode", "検索", "with space", " with space", strings.Repeat("y", 200)}
	var elements []string
	for _, name := range names {
		quoted, _ := json.Marshal(name)
		elements = append(elements, `{"type":"function","function":{"name":`+string(quoted)+`,"description":""}}`)
	}
	body := `{"tools":[` + strings.Join(elements, ",") + `]}`
	r := decode(t, chat.Ollama, body)
	for i, name := range names {
		if r.Elements[i].Key != name || r.Tools[i].Name != name {
			t.Errorf("tool %d is %q, want %q", i, r.Elements[i].Key, name)
		}
		checkEdit(t, []byte(body), chat.Render([]byte(body), r, []string{name}), []json.RawMessage{json.RawMessage(elements[i])})
	}
}

// The one-pass reading of a tool agrees with catalog.ParseTool, which reads the same shapes member by member.
func TestToolsAreReadAsTheCatalogReadsThem(t *testing.T) {
	o := oddJSON{rand.New(rand.NewSource(1))}
	tools := 0
	for range 2000 {
		element := o.tool()
		r := decode(t, chat.OpenAI, `{"tools":[`+element+`]}`)
		want, ok := catalog.ParseTool([]byte(strings.Trim(element, " \t\r\n")))
		if ok != r.HasTools() {
			t.Fatalf("%s: tool %v, the catalog says %v", element, r.HasTools(), ok)
		}
		if ok {
			tools++
			if !reflect.DeepEqual(r.Tools[0], want) {
				t.Fatalf("%s:\n got %+v\nwant %+v", element, r.Tools[0], want)
			}
		}
	}
	for _, element := range []string{
		`{"name":"a","inputSchema":{"x":1},"description":7}`, `{"name":"a","input_schema":1,"inputSchema":2,"parameters":3}`,
		`{"name":"a","parameters":3,"inputSchema":2}`, `{"type":null,"name":"a"}`, `{"function":null,"name":"a"}`, `{"function":{},"name":"a"}`,
	} {
		r := decode(t, chat.OpenAI, `{"tools":[`+element+`]}`)
		want, ok := catalog.ParseTool([]byte(element))
		if ok != r.HasTools() || ok && !reflect.DeepEqual(r.Tools[0], want) {
			t.Errorf("%s: %+v, want %+v", element, r.Tools, want)
		}
	}
	if tools < 500 {
		t.Errorf("only %d of the elements were tools", tools)
	}
}

func TestOffsetsAreExact(t *testing.T) {
	o := oddJSON{rand.New(rand.NewSource(2))}
	for range 2000 {
		body := []byte(o.request())
		r := decode(t, chat.Ollama, string(body))
		start, end, elements, ok := toolsSpan(body)
		if !ok || r.ToolsStart != start || r.ToolsEnd != end || len(r.Elements) != len(elements) {
			t.Fatalf("%s: array %d:%d of %d, want %d:%d of %d", body, r.ToolsStart, r.ToolsEnd, len(r.Elements), start, end, len(elements))
		}
		for i, e := range r.Elements {
			if !bytes.Equal(body[e.Start:e.End], elements[i]) {
				t.Fatalf("%s: element %d is %q, want %q", body, i, body[e.Start:e.End], elements[i])
			}
		}
	}
}
