package hatch_test

import (
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/hatch"
)

// A tool that comes late stands as a signature, with all that its schema demands of a call.
func TestLateTextShowsSignatures(t *testing.T) {
	for _, c := range []struct{ name, description, schema, want string }{
		{"no schema", "Says the time.", ``, `t(): Says the time.`},
		{"null for a schema", "", `null`, `t()`},
		{"no description", "", `{"type":"object","properties":{"a":{"type":"string"}}}`, `t(a?: string)`},
		{"required, optional and default", "Reads.", `{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer","default":20},"all":{"type":"boolean","default":null}},"required":["path"]}`,
			`t(path: string, lines?: integer = 20, all?: boolean): Reads.`},
		{"descriptions", "Reads.", `{"properties":{"path":{"type":"string","description":"Where it is"}},"required":["path"]}`, "t(path: string): Reads.\n  path: Where it is"},
		{"what the description says already", "Reads.\n\nArgs:\n    path: Where it is\n", `{"properties":{"path":{"type":"string","description":"Where it is"}},"required":["path"]}`, "t(path: string): Reads.\n\nArgs:\n    path: Where it is"},
		{"the same words about another parameter", "from: Where it is", `{"properties":{"path":{"type":"string","description":"Where it is"}}}`, "t(path?: string): from: Where it is\n  path: Where it is"},
		{"choices", "", `{"properties":{"unit":{"enum":["C","F"],"default":"C"},"kind":{"const":"now"}}}`, `t(unit?: "C" | "F" = "C", kind?: "now")`},
		{"bounds", "", `{"properties":{"n":{"type":"integer","minimum":1,"maximum":9,"description":"How many"},"d":{"type":"string","format":"date"}}}`,
			"t(n?: integer, d?: string)\n  n: How many (minimum 1, maximum 9)\n  d: (format \"date\")"},
		{"lists", "", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"},"c":{"type":"array","items":{"enum":[1,2]}}}}`, `t(a?: string[], b?: array, c?: (1 | 2)[])`},
		{"objects", "", `{"properties":{"o":{"type":"object","properties":{"x":{"type":"number","description":"Left to right"},"y":{"type":"number"}},"required":["x"]}},"required":["o"]}`,
			"t(o: { x: number, y?: number })\n  o.x: Left to right"},
		{"lists of objects", "", `{"properties":{"o":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number","description":"Left"}}}}}}`, "t(o?: { x?: number }[])\n  o[].x: Left"},
		{"any of", "", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"A"},"b":{"type":["string","null"]},"c":{"type":"string","nullable":true},"d":{}}}`,
			`t(a?: string | null, b?: string | null, c?: string | null, d?: any)`},
		{"a name with a blank", "", `{"properties":{"the name":{"type":"string"}}}`, `t("the name"?: string)`},
		{"marks of generators", "", `{"$schema":"http://json-schema.org/draft-07/schema#","title":"tArguments","additionalProperties":false,"type":"object","properties":{"a":{"type":"string","title":"A"}}}`, `t(a?: string)`},
		{"bytes that are no text", "a\xffb", ``, "t(): a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := hatch.LateText([]catalog.Tool{{Name: "t", Description: c.description, Schema: catalog.Schema(c.schema)}})
			if _, got, _ := strings.Cut(text, "…}}.\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// What a signature cannot say stands as JSON, whole.
func TestLateTextFallsBackToJSON(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"number"}]}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]}}`,
		`{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}}}`,
		`{"type":"object","additionalProperties":true}`,
		`{"type":"object","properties":{"a":{"type":"object","additionalProperties":true}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":[1]}`,
		`{"type":"object","properties":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string","description":7}}}`,
		`{"type":"object","properties":{"a":{"enum":[]}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[]}}}`,
		`{"type":"object","properties":{"a":{"type":7}}}`,
		`{"type":"object","properties":{"a":3}}`,
		`{"type":"object","description":"Only on Sundays.","properties":{}}`,
		`{"type":"array","items":{"type":"string"}}`,
		`[{"type":"object"},{"type":"object"}]`,
		`"text"`,
		`{"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 50) + `{"type":"string"}` + strings.Repeat(`}`, 50) + `}}`,
	} {
		text := hatch.LateText([]catalog.Tool{{Name: "t", Description: "Does it.", Schema: catalog.Schema(schema)}})
		want := `{"name":"t","description":"Does it.","parameters":` + schema + `}`
		if !strings.HasSuffix(text, "\n"+want) {
			t.Errorf("of %s:\n%s", schema, text)
		}
	}
}

func TestLateTextNamesAParameterInItsExample(t *testing.T) {
	text := hatch.LateText([]catalog.Tool{{Name: "read", Schema: catalog.Schema(`{"properties":{"path":{"type":"string"}}}`)}, {Name: "b"}})
	want := `You have more tools now. Call them with call_tool, like this: {"name": "read", "arguments": {"path": …}}.` + "\nread(path?: string)\nb()"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func FuzzLateText(f *testing.F) {
	f.Add("read", "Reads.", `{"type":"object","properties":{"path":{"type":"string","description":"Where"}},"required":["path"]}`)
	f.Add("t", "", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`)
	f.Add("a b", "x\xff", `{"properties":{"a":{"items":{"items":{}},"type":"array","enum":[1]}}}`)
	f.Add("", "", `[`)
	f.Fuzz(func(t *testing.T, name, description, schema string) {
		tools := []catalog.Tool{{Name: name, Description: description, Schema: catalog.Schema(schema)}}
		text := hatch.LateText(tools)
		if text == "" || text != hatch.LateText(tools) {
			t.Fatalf("not the same text twice: %q", text)
		}
	})
}
