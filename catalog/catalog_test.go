package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
)

func TestParseReadsEveryShape(t *testing.T) {
	const schema = `{"type":"object","properties":{"x":{"type":["string","null"]}}}`
	flat := `{"name":"a","description":"first","parameters":` + schema + `}`
	for name, data := range map[string]string{
		"OpenAI":       `[{"type":"function","function":` + flat + `}]`,
		"flat":         `[` + flat + `]`,
		"responses":    `[{"type":"function","name":"a","description":"first","parameters":` + schema + `}]`,
		"a request":    `{"model":"m","tools":[{"type":"function","function":` + flat + `}]}`,
		"MCP":          `{"tools":[{"name":"a","description":"first","inputSchema":` + schema + `}]}`,
		"MCP JSON-RPC": `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"first","inputSchema":` + schema + `}]}}`,
		"input_schema": `[{"name":"a","description":"first","input_schema":` + schema + `}]`,
		"JSON lines":   flat + "\n\n" + flat + "\n",
		"one line":     flat,
		"a BOM":        "\xef\xbb\xbf[" + flat + "]",
	} {
		tools, err := catalog.Parse([]byte(data))
		if err != nil || len(tools) == 0 {
			t.Errorf("%s: %v, %v", name, tools, err)
			continue
		}
		if got := tools[0]; got.Name != "a" || got.Description != "first" || string(got.Schema) != schema {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for data, want := range map[string]string{
		"":                                   "empty",
		"   ":                                "empty",
		"42":                                 "no list of tools",
		`{"model":"m"}`:                      "no list of tools",
		`{"tools":{}}`:                       "no list of tools",
		`[{"name":"a"},{"description":"b"}]`: "tool 2 has no name",
		`[{"name":""}]`:                      "tool 1 has no name",
		`[7]`:                                "tool 1",
		"{\"name\":\"a\"}\n{broken\n":        "line 2 is not JSON",
		"{\"name\":\"a\"}\n{\"x\":1}\n":      "line 2 is not a tool",
	} {
		if tools, err := catalog.Parse([]byte(data)); err == nil || !strings.Contains(err.Error(), want) || catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("Parse(%q) = %v, %v; want %q", data, tools, err, want)
		}
	}
}

func TestCatalogJoinsTwinsAndLeavesOutTheNameless(t *testing.T) {
	c := catalog.New([]catalog.Tool{
		{Name: "twin", Description: "one", Schema: catalog.Schema(`{"properties":{"a":{}}}`), Bytes: 10}, {Name: ""}, {Name: "other"},
		{Name: "twin", Description: "two", Schema: catalog.Schema(`{"properties":{"b":{}}}`), Bytes: 20},
	})
	if got := c.Names(); !slices.Equal(got, []string{"twin", "other"}) {
		t.Fatalf("names %q", got)
	}
	id, ok := c.Lookup("twin")
	twin := c.Tool(id)
	if !ok || twin.Description != "one\ntwo" || twin.Bytes != 30 || !slices.Equal(twin.ParameterNames(), []string{"a", "b"}) {
		t.Errorf("%+v, parameters %q", twin, twin.ParameterNames())
	}
	if _, ok := c.Lookup("Twin"); ok {
		t.Error("another spelling was found")
	}
}

func TestHashesTellContentApart(t *testing.T) {
	base := catalog.Tool{Name: "a", Description: "b", Schema: catalog.Schema("c")}
	seen := map[catalog.Hash]bool{base.Hash(): true}
	for _, other := range []catalog.Tool{{Name: "ab", Schema: catalog.Schema("c")}, {Name: "a", Description: "bc"}, {Name: "a", Description: "b"}} {
		if seen[other.Hash()] {
			t.Errorf("%+v has the hash of another tool", other)
		}
		seen[other.Hash()] = true
	}
	again := base
	again.Schema = slices.Clone(base.Schema)
	if catalog.New([]catalog.Tool{base}).Hash() != catalog.New([]catalog.Tool{again}).Hash() {
		t.Error("equal catalogs have different hashes")
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"readFile":                 "read file",
		"HTTPServer":               "http server",
		"getURLs now":              "get urls now",
		"github__create_issue":     "github create issue",
		"files.read/all-of:them":   "files read all of them",
		"Ünïcode_Werkzeug":         "ünïcode werkzeug",
		"v2Api x86":                "v2 api x86",
		"検索エンジン":                   "検索 索エ エン ンジ ジン",
		"字":                        "字",
		"find検索now":                "find 検索 now",
		"bad\xffutf8":              "bad utf8",
		"it's 5 o'clock":           "it s 5 o clock",
		"UPPER":                    "upper",
		"שלום עולם":                "שלום עולם",
		"ABCDef":                   "abc def",
		strings.Repeat("x", 70000): strings.Repeat("x", 70000),
	} {
		var got []string
		catalog.Words(text, func(w string) { got = append(got, w) })
		if strings.Join(got, " ") != want {
			t.Errorf("Words(%.40q) = %.80q, want %.80q", text, got, want)
		}
	}
}

func TestTexts(t *testing.T) {
	tool := catalog.Tool{Name: "readFile", Description: "  Reads a file.\nLong story.", Schema: catalog.Schema(
		`{"properties":{"filePath":{"type":"string"},"options":{"type":"object","properties":{"maxLines":{}}},"either":{"anyOf":[{"properties":{"deep":{}}}]}},"$defs":{"p":{"properties":{"lat":{}}}}}`)}
	if got := tool.ShortText(); got != "readFile: Reads a file." {
		t.Errorf("short %q", got)
	}
	if got, want := tool.ParameterNames(), []string{"filePath", "options", "either", "maxLines", "lat", "deep"}; !slices.Equal(got, want) {
		t.Errorf("parameters %q, want %q", got, want)
	}
	long := tool.LongText()
	for _, part := range []string{"read file", "Long story.", "file path", "max lines", "deep"} {
		if !strings.Contains(long, part) {
			t.Errorf("long text %q lacks %q", long, part)
		}
	}
	if got := (catalog.Tool{Name: "bare"}).ShortText(); got != "bare" {
		t.Errorf("without a description: %q", got)
	}
}

func TestParameterNamesOfOddSchemas(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 5000) + `{"properties":{"x":{}}}` + strings.Repeat(`}`, 5000)
	var wide bytes.Buffer
	wide.WriteString(`{"properties":{"p0":{}`)
	for i := range 1000 {
		fmt.Fprintf(&wide, `,"p%d":{}`, i+1)
	}
	wide.WriteString("}}")
	for schema, want := range map[string]int{
		"": 0, "null": 0, "true": 0, "[]": 0, "{": 0, `{"properties":[]}`: 0, `{"properties":{"a":true}}`: 1, `"text"`: 0, deep: 0, wide.String(): 256,
	} {
		tool := catalog.Tool{Name: "t", Schema: catalog.Schema(schema)}
		if got := len(tool.ParameterNames()); got != want {
			t.Errorf("%.60s: %d parameters, want %d", schema, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("outer: %w", catalog.NewError(catalog.NotFound, "no tool \"x\"", cause))
	if catalog.KindOf(err) != catalog.NotFound || !errors.Is(err, cause) || err.Error() != `outer: no tool "x": cause` {
		t.Errorf("%v: kind %v", err, catalog.KindOf(err))
	}
	if catalog.KindOf(cause) != catalog.Internal || catalog.KindOf(nil) != catalog.Internal {
		t.Error("an unknown error is not internal")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"type":"function","function":{"name":"a","parameters":{"properties":{"x":{}}}}}]`))
	f.Add([]byte("{\"name\":\"a\"}\n{\"name\":\"b\"}"))
	f.Add([]byte(`{"result":{"tools":[{"name":"検索","inputSchema":true}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := catalog.Parse(data)
		if err != nil {
			if catalog.KindOf(err) != catalog.Invalid {
				t.Fatalf("kind %v of %v", catalog.KindOf(err), err)
			}
			return
		}
		for _, tool := range tools {
			if tool.Name == "" {
				t.Fatal("a tool without a name")
			}
			_, _ = tool.LongText(), tool.ShortText()
		}
		if c := catalog.New(tools); c.Len() > len(tools) {
			t.Fatal("more tools than there were")
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("camelCase snake_case 検索")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		catalog.Words(text, func(w string) {
			if w == "" {
				t.Fatal("an empty word")
			}
			n += len(w)
		})
		if n > 8*len(text) {
			t.Fatalf("%d bytes of words from %d of text", n, len(text))
		}
	})
}

func TestTextsOfATool(t *testing.T) {
	for name, test := range map[string]struct {
		tool catalog.Tool
		want [3]string
	}{
		"camel case":     {catalog.Tool{Name: "getOrderByID", Description: "Look an order up.\nBy its number."}, [3]string{"getOrderByID: Look an order up.", "get order by id Look an order up.\nBy its number.", "get order by id"}},
		"server":         {catalog.Tool{Name: "files__read_file"}, [3]string{"files__read_file", "files read file", "files read file"}},
		"no word":        {catalog.Tool{Name: "__"}, [3]string{"__", "", "__"}},
		"not UTF-8":      {catalog.Tool{Name: "\xff"}, [3]string{"\xff", "", "\xff"}},
		"with parameter": {catalog.Tool{Name: "a", Schema: catalog.Schema(`{"properties":{"orderId":{}}}`)}, [3]string{"a", "a  order id", "a"}},
	} {
		if got := test.tool.Texts(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestJSONIsReadBack(t *testing.T) {
	tools := []catalog.Tool{{Name: "a \"b\"", Description: "c\n", Schema: catalog.Schema(`{"type":["string","null"]}`)}, {Name: "検索"}}
	data, err := catalog.JSON(tools)
	if err != nil {
		t.Fatal(err)
	}
	back, err := catalog.Parse(data)
	if err != nil || len(back) != 2 || back[0].Name != tools[0].Name || back[0].Description != tools[0].Description || string(back[0].Schema) != string(tools[0].Schema) || back[1].Name != "検索" {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := catalog.JSON([]catalog.Tool{{Name: "x", Schema: catalog.Schema("{")}}); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("a broken schema: %v", err)
	}
}
