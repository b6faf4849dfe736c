package chat_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

func TestProtocolOf(t *testing.T) {
	for path, want := range map[string]chat.Protocol{
		"/api/chat":                    chat.Ollama,
		"/v1/chat/completions":         chat.OpenAI,
		"/api/v1/chat/completions":     chat.OpenAI,
		"/chat/completions":            chat.Unknown,
		"/v1/chat/completions/":        chat.Unknown,
		"/v1/chat/completions/abc":     chat.Unknown,
		"/api/v0/chat/completions":     chat.Unknown,
		"/ollama/api/chat":             chat.Unknown,
		"/api/chat/":                   chat.Unknown,
		"/api/generate":                chat.Unknown,
		"/v1/responses":                chat.Responses,
		"/api/v1/responses":            chat.Responses,
		"/v1/responses/resp_1":         chat.Unknown,
		"/v1/messages":                 chat.Anthropic,
		"/api/v1/messages":             chat.Anthropic,
		"/v1/messages/count_tokens":    chat.Unknown,
		"/":                            chat.Unknown,
		"":                             chat.Unknown,
		"/toolbelt/v1/select":          chat.Unknown,
		"//api/chat":                   chat.Unknown,
		"/API/chat":                    chat.Unknown,
		"/v1/chat/completions?x=/api/": chat.Unknown,
	} {
		if got := chat.ProtocolOf(path); got != want {
			t.Errorf("ProtocolOf(%q) = %v, want %v", path, got.Family(), want.Family())
		}
	}
}

func TestDecodeSeesThatSeveralAnswersAreAskedFor(t *testing.T) {
	for n, several := range map[string]bool{"2": true, "1.5e1": true, "1": false, "0": false, "null": false, `"2"`: false, "[2,3]": false} {
		if r := decode(t, chat.OpenAI, `{"n":`+n+`}`); r.Several != several {
			t.Errorf("n %s: several is %v", n, r.Several)
		}
	}
}

func TestDecodeSaysWhyABodyGoesOnUnedited(t *testing.T) {
	for name, test := range map[string]struct{ body, why string }{
		"empty":                      {"", "not JSON"},
		"text":                       {"hello", "not JSON"},
		"cut off":                    {`{"model":"m","tools":[`, "not JSON"},
		"byte order mark":            {"\xef\xbb\xbf{}", "not JSON"},
		"two documents":              {`{}{}`, "not JSON"},
		"trailing comma":             {`{"tools":[1,]}`, "not JSON"},
		"raw newline in a string":    {"{\"model\":\"a\nb\"}", "not JSON"},
		"compressed":                 {"\x1f\x8b\x08\x00", "not JSON"},
		"array":                      {`[{"tools":[]}]`, "not a JSON object"},
		"null":                       {`null`, "not a JSON object"},
		"string":                     {` "tools"`, "not a JSON object"},
		"tools twice":                {`{"tools":[],"x":1,"tools":[]}`, `more than one "tools"`},
		"tools twice, once escaped":  {`{"tools":[],"\u0074ools":null}`, `more than one "tools"`},
		"messages twice":             {`{"messages":[],"messages":[]}`, `more than one "messages"`},
		"tool_choice twice":          {`{"tool_choice":"none","tool_choice":"auto"}`, `more than one "tool_choice"`},
		"Tools beside tools":         {`{"tools":[],"Tools":[]}`, `more than one "tools"`},
		"Tools alone":                {`{"Tools":[]}`, `spells "tools" as "Tools"`},
		"TOOLS before tools":         {`{"TOOLS":[],"tools":[]}`, `"TOOLS"`},
		"tools with a long s":        {`{"toolſ":[]}`, `spells "tools"`},
		"Messages alone":             {`{"Messages":[]}`, `spells "messages"`},
		"tools an object":            {`{"tools":{"a":1}}`, `"tools" is not an array`},
		"tools a string":             {`{"tools":"auto"}`, `"tools" is not an array`},
		"tools a number":             {`{"tools":0}`, `"tools" is not an array`},
		"messages a string":          {`{"messages":"hi"}`, `"messages" is not an array`},
		"nested too deep":            {strings.Repeat("[", 5_000_000), "deep"},
		"nested too deep in objects": {strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), "deep"},
		"tools nested too deep":      {`{"tools":[` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `]}`, "deep"},
		"a million tools":            {`{"tools":[` + strings.Repeat("0,", 1_000_000) + `0]}`, "tools or more"},
		"a million calls":            {`{"messages":[{"role":"assistant","tool_calls":[` + strings.Repeat("{},", 1_000_000) + `0]}]}`, "too many calls"},
		"a million calls in all":     {`{"messages":[` + strings.Repeat(`{"tool_calls":[`+strings.Repeat("{},", 9_000)+`0]},`, 100) + `0]}`, "too many calls"},
		"a million messages":         {`{"messages":[` + strings.Repeat("0,", 1_000_000) + `0]}`, "messages"},
	} {
		r, err := chat.Decode(chat.OpenAI, []byte(test.body))
		if err == nil || r != nil || catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: request %v, error %v; want an invalid one with %q", name, r != nil, err, test.why)
		}
	}
}

func TestDecodeTakesBracketsInTextForText(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat(`[{\"`, 20_000) + `"}],"tools":[{"function":{"name":"a"}}]}`
	if r := decode(t, chat.Ollama, body); !r.HasTools() {
		t.Error("no tools")
	}
}

func TestDecodeWithoutTools(t *testing.T) {
	for _, body := range []string{`{}`, `{"tools":null}`, `{"messages":null}`, `{"messages":[]}`, `{"functions":[{"name":"a"}]}`,
		`{"messages":[{"role":"user","content":"x","tools":[{"function":{"name":"a"}}]}]}`} {
		r := decode(t, chat.OpenAI, body)
		if r.HasTools() || len(r.Elements) != 0 || r.ToolsStart != 0 || r.ToolsEnd != 0 {
			t.Errorf("%s: tools %v", body, r.Elements)
		}
	}
	r := decode(t, chat.OpenAI, ` { "tools" : [ ] }`)
	if r.HasTools() || r.ToolsStart != 13 || r.ToolsEnd != 16 {
		t.Errorf("empty array: %+v", r)
	}
}

func TestDecodeReadsTheSmallThings(t *testing.T) {
	for body, want := range map[string]chat.Request{
		`{"model":"m:1b"}`: {Protocol: chat.Ollama, Model: "m:1b", Stream: true},
		`{"stream":false,"options":{"num_ctx":8192}}`:  {Protocol: chat.Ollama, Loading: chat.Loading{ContextTokens: 8192}},
		`{"stream":null,"options":{"num_ctx":8192.0}}`: {Protocol: chat.Ollama, Stream: true, Loading: chat.Loading{ContextTokens: 8192}},
		`{"n":2}`:                                                  {Protocol: chat.Ollama, Stream: true}, // of OpenAI's chat alone
		`{"stream":true,"options":null}`:                           {Protocol: chat.Ollama, Stream: true},
		`{"stream":true,"options":{"num_ctx":-1}}`:                 {Protocol: chat.Ollama, Stream: true},
		`{"stream":true,"options":{"num_ctx":"9"}}`:                {Protocol: chat.Ollama, Stream: true},
		`{"stream":true,"options":{"num_ctx":1e300}}`:              {Protocol: chat.Ollama, Stream: true},
		`{"stream":true,"options":[1]}`:                            {Protocol: chat.Ollama, Stream: true},
		`{"model":7,"stream":"yes","messages":[ ]}`:                {Protocol: chat.Ollama, MessageBytes: 3},
		`{"model":"\u0061\n","messages":[1,null,"x",[],{}]}`:       {Protocol: chat.Ollama, Model: "a\n", Stream: true, MessageBytes: 18},
		`{"x":{"model":"inner","stream":false},"model":"m"}`:       {Protocol: chat.Ollama, Model: "m", Stream: true},
		`{"messages":[{"role":1,"content":"x"},{"role":"user"}]} `: {Protocol: chat.Ollama, Stream: true, Users: []string{""}, MessageBytes: 42},
	} {
		got := decode(t, chat.Ollama, body)
		got.History, got.Loading = chat.History{}, chat.Loading{ContextTokens: got.ContextTokens}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", body, *got, want)
		}
	}
	if r := decode(t, chat.OpenAI, `{"options":{"num_ctx":1}}`); r.Stream || r.ContextTokens != 0 {
		t.Errorf("OpenAI: %+v", r)
	}
}

func TestDecodeDoesNotAliasTheBody(t *testing.T) {
	body := []byte(`{"model":"model","tools":[{"type":"function","function":{"name":"name","description":"text","parameters":{"a":1}}}],` +
		`"messages":[{"role":"user","content":"content"},{"role":"assistant","tool_calls":[{"function":{"name":"call"}}]}],"tool_choice":{"function":{"name":"pick"}}}`)
	want := decode(t, chat.Ollama, string(body))
	got, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		body[i] = '#'
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("after the body was reused: %+v", got)
	}
}

func TestDecodeContent(t *testing.T) {
	for content, want := range map[string]string{
		`"plain"`:         "plain",
		`"esc\"\n\u00e9"`: "esc\"\né",
		`null`:            "",
		`7`:               "",
		`{"text":"x"}`:    "",
		`[]`:              "",
		`[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:…"}},{"type":"text","text":"two"}]`: "one\ntwo",
		`[{"type":"input_text","text":"one"},{"text":"two"},"three"]`:                                                   "one\ntwo\nthree",
		`[{"type":"image_url","image_url":{"url":"u"}}]`:                                                                "",
		`[{"type":"file","text":"not this"},{"type":"text","text":null},{"type":"text"},null]`:                          "",
	} {
		r := decode(t, chat.OpenAI, `{"messages":[{"content":`+content+`,"images":["iVBOR"],"role":"user"}]}`)
		if len(r.Users) != 1 || r.Users[0] != want {
			t.Errorf("%s: %q, want %q", content, r.Users, want)
		}
	}
}

func TestContinues(t *testing.T) {
	for roles, want := range map[string]bool{
		"":                            false,
		"user":                        false,
		"system user":                 false,
		"user assistant":              true,
		"user assistant tool":         true,
		"user assistant function":     true,
		"user assistant user":         false,
		"user assistant tool user":    false,
		"user system":                 false,
		"user developer":              false,
		"user assistant system":       true,
		"system assistant tool":       false,
		"user assistant user unknown": true,
	} {
		var messages []string
		for _, role := range strings.Fields(roles) {
			messages = append(messages, `{"role":"`+role+`","content":"x"}`)
		}
		r := decode(t, chat.Ollama, `{"messages":[`+strings.Join(messages, ",")+`]}`)
		if r.Continues != want || len(r.Users) != strings.Count(roles, "user") {
			t.Errorf("%q: continues %v with %d user messages", roles, r.Continues, len(r.Users))
		}
	}
}

func TestCalledIsTheLastEightDistinctMostRecentFirst(t *testing.T) {
	var messages []string
	for i := range 12 {
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"t%d","arguments":"{}"}},{"function":{"name":"t0"}}]}`, i))
	}
	messages = append(messages,
		`{"role":"assistant","function_call":{"name":"leg\u0061cy","arguments":"{}"}}`,
		`{"role":"tool","tool_name":"t1","content":"x"}`,
		`{"role":"assistant","tool_calls":[{"function":{"name":"t9"}},{"function":{"name":7}},{"function":{}},null,{"name":"flat"},{"function":{"name":""}}]}`,
		`{"role":"assistant","tool_calls":{"function":{"name":"no"}},"function_call":"no"}`,
		`{"role":"user","content":"x","tool_calls":[{"function":{"name":"no"}}]}`)
	r := decode(t, chat.OpenAI, `{"messages":[`+strings.Join(messages, ",")+`]}`)
	want := []string{"flat", "t9", "legacy", "t0", "t11", "t10", "t8", "t7"}
	if !reflect.DeepEqual(r.Called, want) {
		t.Errorf("called %q, want %q", r.Called, want)
	}
}

func TestToolChoice(t *testing.T) {
	for choice, want := range map[string]struct {
		choice chat.Choice
		names  []string
	}{
		`null`:       {chat.Auto, nil},
		`"auto"`:     {chat.Auto, nil},
		`"none"`:     {chat.NoTools, nil},
		`"required"`: {chat.Required, nil},
		`"any"`:      {chat.Required, nil},
		`""`:         {chat.Auto, nil},
		`7`:          {chat.Auto, nil},
		`"b"`:        {chat.Auto, []string{"b"}},
		`{"type":"function","function":{"name":"b"}}`:           {chat.Named, []string{"b"}},
		`{"function":{"name":"\u0062"}}`:                        {chat.Named, []string{"b"}},
		`{"type":"function","name":"b"}`:                        {chat.Named, []string{"b"}},
		`{"name":"b"}`:                                          {chat.Named, []string{"b"}},
		`{"type":"tool","name":"b","disable_parallel":true}`:    {chat.Named, []string{"b"}},
		`{"type":"custom","custom":{"name":"b"}}`:               {chat.Named, []string{"b"}},
		`{"type":"auto"}`:                                       {chat.Auto, nil},
		`{"type":"any"}`:                                        {chat.Required, nil},
		`{"type":"none"}`:                                       {chat.NoTools, nil},
		`{"type":"function"}`:                                   {chat.Auto, nil},
		`{"type":"allowed_tools","mode":"required","tools":[]}`: {chat.Required, nil},
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}]}`:     {chat.Named, []string{"a", "b"}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"b"}}]}}`: {chat.Named, []string{"b"}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`:                                            {chat.Required, nil},
		`{"type":"mystery","deep":{"er":[{"name":"b"}]}}`:                                                                    {chat.Auto, []string{"b"}},
		`[{"name":"a"},{"function":{"name":"b"}}]`:                                                                           {chat.Auto, []string{"a", "b"}},
		`{}`:         {chat.Auto, nil},
		`{"name":7}`: {chat.Auto, nil},
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000): {chat.Auto, nil},
	} {
		for _, p := range []chat.Protocol{chat.Ollama, chat.OpenAI} {
			r := decode(t, p, `{"tools":[{"function":{"name":"b"}}],"tool_choice":`+choice+`}`)
			if r.Choice != want.choice || !reflect.DeepEqual(r.ChoiceNames, want.names) {
				t.Errorf("%.120s: choice %v of %q, want %v of %q", choice, r.Choice, r.ChoiceNames, want.choice, want.names)
			}
		}
	}
	if r := decode(t, chat.OpenAI, `{}`); r.Choice != chat.Auto || r.ChoiceNames != nil {
		t.Errorf("omitted: %+v", r)
	}
}
