package chat_test

import (
	"reflect"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// one decodes a request whose only message, or item, this is.
func one(t *testing.T, p chat.Protocol, message string) chat.Message {
	t.Helper()
	key := "messages"
	if p == chat.Responses {
		key = "input"
	}
	r := decode(t, p, `{"`+key+`":[`+message+`]}`)
	if len(r.Messages) != 1 {
		t.Fatalf("%d messages in %s", len(r.Messages), message)
	}
	return r.Messages[0]
}

func TestAMessageWrittenAnewHasItsHash(t *testing.T) {
	for name, test := range map[string]struct {
		protocol chat.Protocol
		same     []string
	}{
		"text": {chat.OpenAI, []string{`{"role":"user","content":"caf\u00e9\n"}`, `{ "content" : "café\u000a", "x":1, "role":"\u0075ser" }`,
			`{"role":"user","content":[{"type":"text","text":"café\n"}]}`, `{"role":"user","content":["café\n"]}`, `{"role":"user","name":"Ann","content":[{"text":"café\n","type":"text"},{"type":"image_url"}]}`}},
		"nothing said": {chat.OpenAI, []string{`{"role":"assistant","content":null}`, `{"role":"assistant","content":""}`, `{"role":"assistant"}`, `{"role":"assistant","content":[]}`,
			`{"role":"assistant","content":"","tool_calls":[]}`, `{"role":"assistant","tool_calls":null,"reasoning_content":"hm"}`}},
		"calls": {chat.OpenAI, []string{`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{\"p\":\"\\u00e9\"}"}}]}`,
			`{"tool_calls":[{"function":{"arguments":" {\n\"p\" : \"é\"}","name":"\u0061"},"id":"2"}],"role":"assistant"}`}},
		"calls of Ollama": {chat.Ollama, []string{`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"a","arguments":{"p":[1,"\/"]}}}]}`,
			`{"role":"assistant","thinking":"x","tool_calls":[{"id":"c","function":{"index":0,"arguments":{ "p" : [ 1, "/" ] },"name":"a"}}]}`}},
		"results":      {chat.OpenAI, []string{`{"role":"tool","content":"x","tool_call_id":"1"}`, `{"role":"tool","tool_call_id":"2","name":"a","content":"x"}`, `{"role":"function","name":"a","content":"x"}`}},
		"instructions": {chat.OpenAI, []string{`{"role":"system","content":"x"}`, `{"role":"developer","content":"x"}`}},
		"items":        {chat.Responses, []string{`{"role":"user","content":"x"}`, `{"type":"message","role":"user","id":"m","content":[{"type":"input_text","text":"x"}]}`}},
		"call items": {chat.Responses, []string{`{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}`,
			`{"type":"function_call","id":"f","status":"completed","name":"a","arguments":" { } ","call_id":"d"}`}},
		"outputs": {chat.Responses, []string{`{"type":"function_call_output","call_id":"c","output":"x"}`, `{"output":[{"type":"input_text","text":"x"}],"call_id":"d","type":"function_call_output"}`}},
		"blocks": {chat.Anthropic, []string{`{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"a","input":{"p":1}}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"x","cache_control":{}},{"input":{ "p":1 },"type":"tool_use","id":"2","name":"a"}]}`}},
		"results in blocks": {chat.Anthropic, []string{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}`,
			`{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"x"}],"tool_use_id":"2","cache_control":{}}]}`}},
	} {
		want := one(t, test.protocol, test.same[0]).Hash
		for _, message := range test.same[1:] {
			if one(t, test.protocol, message).Hash != want {
				t.Errorf("%s: another hash than the first: %s", name, message)
			}
		}
	}
}

func TestOtherMessagesHaveOtherHashes(t *testing.T) {
	for p, messages := range map[chat.Protocol][]string{
		chat.OpenAI: {
			`{"role":"user","content":"x"}`, `{"role":"assistant","content":"x"}`, `{"role":"tool","content":"x"}`, `{"role":"system","content":"x"}`, `{"role":"critic","content":"x"}`,
			`{"role":"user","content":"x "}`, `{"role":"user","content":"X"}`, `{"role":"user","content":""}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":1}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":\"1\"}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":\" 1\"}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"b","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"xa","tool_calls":[{"function":{"name":"","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"a","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":\"a\",\"b\":\"c\"}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":\"a\\\",\\\"b\\\":\\\"c\"}"}}]}`,
			`{"role":"assistant","content":"x","tool_calls":[{"function":{"name":"a","arguments":"{\"cut"}}]}`,
		},
		chat.Responses: {
			`{"role":"user","content":"x"}`, `{"type":"function_call_output","output":"x"}`, `{"type":"function_call","name":"x","arguments":""}`, `{"type":"function_call","name":"y","arguments":""}`,
			`{"type":"message","role":"assistant","content":"x"}`,
		},
	} {
		seen := map[string]string{}
		for _, message := range messages {
			hash := one(t, p, message).Hash.String()
			if other, ok := seen[hash]; ok {
				t.Errorf("the same hash:\n%s\n%s", other, message)
			}
			seen[hash] = message
		}
	}
}

func TestMessagesOfEachProtocol(t *testing.T) {
	type want struct {
		roles     []chat.Role
		calls     [][]chat.HistoryCall
		users     []string
		called    []string
		failed    []string
		continues bool
	}
	const other, system, user, model, tool = chat.RoleOther, chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool
	for name, test := range map[string]struct {
		protocol chat.Protocol
		body     string
		want     want
	}{
		"ollama": {chat.Ollama, `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"i","function":{"name":"a"}},7,{"function":{"name":"b"}}]},{"role":"tool","tool_name":"b","content":"error"},7]}`,
			want{[]chat.Role{system, user, model, tool, other}, [][]chat.HistoryCall{nil, nil, {{ID: "i", Name: "a"}, {}, {Name: "b"}}, nil, nil}, []string{"u"}, []string{"b", "a"}, []string{"b"}, true}},
		"responses": {chat.Responses, `{"input":[{"role":"developer","content":"s"},{"role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image"}]},{"type":"reasoning"},{"type":"function_call","call_id":"c1","name":"a","arguments":"{}"},` +
			`{"type":"function_call","call_id":"c2","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"ok"},{"type":"function_call_output","call_id":"c1","output":"Error: x"},{"type":"custom_tool_call","call_id":"c3","name":"sql","input":"x"}]}`,
			want{[]chat.Role{system, user, other, model, model, tool, tool, model}, [][]chat.HistoryCall{nil, nil, nil, {{ID: "c1", Name: "a"}}, {{ID: "c2", Name: "b"}}, nil, nil, {{ID: "c3", Name: "sql"}}},
				[]string{"u"}, []string{"sql", "b", "a"}, []string{"a"}, true}},
		"responses, text": {chat.Responses, `{"input":"what time\nis it"}`, want{[]chat.Role{user}, [][]chat.HistoryCall{nil}, []string{"what time\nis it"}, nil, nil, false}},
		"responses, after a turn": {chat.Responses, `{"input":[{"role":"user","content":"u"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},{"role":"user","content":"v"}]}`,
			want{[]chat.Role{user, model, user}, [][]chat.HistoryCall{nil, nil, nil}, []string{"u", "v"}, nil, nil, false}},
		"anthropic": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"text","text":"u"},{"type":"image"}]},{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"a","input":{}},{"type":"tool_use","id":"t2","name":"b","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"fine"}]}]}]}`,
			want{[]chat.Role{user, model, tool}, [][]chat.HistoryCall{nil, {{ID: "t1", Name: "a"}, {ID: "t2", Name: "b"}}, nil}, []string{"u"}, []string{"b", "a"}, []string{"b"}, true}},
		"anthropic, results and a text": {chat.Anthropic, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"error"},{"type":"text","text":"go"},{"type":"text","text":"on"}]}]}`,
			want{[]chat.Role{user, model, user}, [][]chat.HistoryCall{nil, {{ID: "t1", Name: "a"}}, nil}, []string{"u", "go\non"}, []string{"a"}, nil, false}},
		"anthropic, asides": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>\nBe <b>brief</b>.\n</system-reminder>"},{"type":"text","text":"u"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"error"},{"type":"text","text":" \u003cnote>x</note>"}]}]}`,
			want{[]chat.Role{user, model, tool}, [][]chat.HistoryCall{nil, {{ID: "t1", Name: "a"}}, nil}, []string{"u"}, []string{"a"}, []string{"a"}, true}},
		"anthropic, no asides": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"text","text":"<br>x<br>"},{"type":"text","text":"<a>x</b>"},{"type":"text","text":"< a>x</ a>"},{"type":"text","text":"<"},{"type":"text"},{"type":"text","text":7}]},` +
			`{"role":"user","content":[{"type":"text","text":"<a>x</a>"}]}]}`,
			want{[]chat.Role{user, user}, [][]chat.HistoryCall{nil, nil}, []string{"<br>x<br>\n<a>x</b>\n< a>x</ a>\n<", "<a>x</a>"}, nil, nil, false}},
		"anthropic, nothing": {chat.Anthropic, `{"messages":[{"role":"user","content":[]}]}`, want{[]chat.Role{user}, [][]chat.HistoryCall{nil}, []string{""}, nil, nil, false}},
	} {
		r := decode(t, test.protocol, test.body)
		got := want{users: r.Users, called: r.Called, failed: r.Failed, continues: r.Continues}
		for _, m := range r.Messages {
			got.roles, got.calls = append(got.roles, m.Role), append(got.calls, m.Calls)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

func TestMessagesStandWhereTheySay(t *testing.T) {
	r := decode(t, chat.OpenAI, `{"x":1,"messages": [ {"role":"user","content":"]"} ,7 ]}`)
	if r.MessagesStart != 19 || r.MessagesEnd != 55 || len(r.Messages) != 2 || r.Messages[0].Start != 21 || r.Messages[0].End != 50 || r.Messages[1].Start != 52 {
		t.Errorf("%+v", r.History)
	}
	if r := decode(t, chat.Responses, `{"input": "hi"}`); r.MessagesStart != 10 || r.MessagesEnd != 14 || r.Messages[0].Start != 10 || r.MessageBytes != 4 {
		t.Errorf("a text: %+v", r.History)
	}
	for _, body := range []string{`{"input":7}`, `{"input":{}}`, `{"input":[],"Input":[]}`} {
		if _, err := chat.Decode(chat.Responses, []byte(body)); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
}

func TestTooManyBlocks(t *testing.T) {
	body := `{"messages":[{"role":"user","content":[` + strings.Repeat("{},", 1_000_000) + `0]}]}`
	if _, err := chat.Decode(chat.Anthropic, []byte(body)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("error %v", err)
	}
}

func TestTextIsCounted(t *testing.T) {
	for name, test := range map[string]struct {
		protocol     chat.Protocol
		body         string
		text, system int
	}{
		"ollama":     {chat.Ollama, `{"messages":[{"role":"system","content":"12345"},{"role":"user","content":"\u0061\n"},{"role":"tool","content":"123"}]}`, 10, 5},
		"responses":  {chat.Responses, `{"instructions":"12345","system":"no","input":[{"role":"developer","content":"12"},{"role":"user","content":"1"}]}`, 8, 7},
		"anthropic":  {chat.Anthropic, `{"system":[{"type":"text","text":"12","cache_control":{}},{"type":"text","text":"345"}],"instructions":"no","messages":[{"role":"user","content":[{"type":"tool_result","content":"123"}]}]}`, 9, 6},
		"a string":   {chat.Anthropic, `{"system":"123"}`, 3, 3},
		"no system":  {chat.Anthropic, `{"system":null,"messages":[]}`, 0, 0},
		"of OpenAI":  {chat.OpenAI, `{"system":"123","instructions":"123"}`, 0, 0},
		"text alone": {chat.Responses, `{"input":"123"}`, 3, 0},
	} {
		if r := decode(t, test.protocol, test.body); r.TextBytes != test.text || r.SystemBytes != test.system {
			t.Errorf("%s: %d bytes, %d of the system; want %d and %d", name, r.TextBytes, r.SystemBytes, test.text, test.system)
		}
	}
	r := decode(t, chat.Ollama, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"abc","arguments":{"text":"`+strings.Repeat("x", 100)+`"}}}]}]}`)
	if r.TextBytes < 110 || r.TextBytes > 140 {
		t.Errorf("a call counts as %d bytes", r.TextBytes)
	}
}

func TestLoading(t *testing.T) {
	for body, want := range map[string]chat.Loading{
		`{}`: {},
		`{"options":{"temperature":1,"num_thread":4,"num_ctx":8192.0,"use_mmap":false,"num_gpu":-1},"keep_alive":"5m"}`: {ContextTokens: 8192, Options: "num_ctx=8192,num_gpu=-1,num_thread=4,use_mmap=false", KeepAlive: `"5m"`},
		`{"options":{"num_gpu":-1,"use_mmap":false,"num_ctx":8192,"num_thread":4e0,"seed":3},"keep_alive": -1 }`:        {ContextTokens: 8192, Options: "num_ctx=8192,num_gpu=-1,num_thread=4,use_mmap=false", KeepAlive: "-1"},
		`{"options":{"num_ctx":0,"num_batch":null,"main_gpu":"x","num_gpu":[1],"num_thread":1e300}}`:                    {Options: "num_thread=1e+300"},
		`{"options":7,"keep_alive":null}`: {KeepAlive: "null"},
	} {
		if got := decode(t, chat.Ollama, body).Loading; got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
	if got := decode(t, chat.OpenAI, `{"options":{"num_ctx":1}}`).Loading; got != (chat.Loading{}) {
		t.Errorf("OpenAI: %+v", got)
	}
}

func TestPreviousResponse(t *testing.T) {
	if r := decode(t, chat.Responses, `{"previous_response_id":"resp_1","input":"x"}`); r.PreviousResponse != "resp_1" {
		t.Errorf("%q", r.PreviousResponse)
	}
	if r := decode(t, chat.OpenAI, `{"previous_response_id":"resp_1"}`); r.PreviousResponse != "" {
		t.Errorf("OpenAI: %q", r.PreviousResponse)
	}
}

func TestDeferredToolsAndTheSearchForThem(t *testing.T) {
	r := decode(t, chat.Anthropic, `{"tools":[{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},{"name":"a","defer_loading":true,"input_schema":{"type":"object"}},`+
		`{"type":"custom","name":"b","input_schema":{"x":1},"cache_control":{"type":"ephemeral"},"defer_loading":false},{"type":"bash_20250124","name":"bash"}]}`)
	if len(r.Tools) != 2 || r.Tools[0].Name != "a" || string(r.Tools[0].Schema) != `{"type":"object"}` || r.Tools[1].Name != "b" {
		t.Fatalf("tools %+v", r.Tools)
	}
	e := r.Elements
	if e[0].Selectable() || e[0].Key != r.ToolSearch || e[0].Deferred || !e[1].Deferred || e[2].Deferred || e[3].Selectable() {
		t.Errorf("elements %+v, search %q", e, r.ToolSearch)
	}
	r = decode(t, chat.Responses, `{"tools":[{"type":"function","name":"a","defer_loading":true,"parameters":{},"strict":true},{"type":"web_search"},{"type":"mcp","server_label":"x"},{"type":"namespace","name":"crm","tools":[]},{"type":"custom","name":"sql"}]}`)
	if len(r.Tools) != 1 || len(r.Elements) != 5 || !r.Elements[0].Deferred || r.ToolSearch != "" {
		t.Errorf("tools %+v, elements %+v", r.Tools, r.Elements)
	}
	for _, e := range r.Elements[1:] {
		if e.Selectable() {
			t.Errorf("selectable: %+v", e)
		}
	}
	r = decode(t, chat.OpenAI, `{"tools":[{"type":"function","defer_loading":true,"function":{"name":"a"}},{"type":"function","function":{"name":"b","defer_loading":true}},{"type":"function","function":{"name":"c","defer_loading":"yes"}}]}`)
	if e := r.Elements; !e[0].Deferred || !e[1].Deferred || e[2].Deferred {
		t.Errorf("elements %+v", e)
	}
}

func TestToolChoiceOfEachProtocol(t *testing.T) {
	for choice, want := range map[string]chat.Choice{
		`{"type":"auto"}`: chat.Auto, `{"type":"any"}`: chat.Required, `{"type":"none"}`: chat.NoTools, `{"type":"tool","name":"b","disable_parallel_tool_use":true}`: chat.Named,
	} {
		r := decode(t, chat.Anthropic, `{"tool_choice":`+choice+`}`)
		if r.Choice != want || (want == chat.Named) != (len(r.ChoiceNames) == 1) {
			t.Errorf("%s: %v of %q", choice, r.Choice, r.ChoiceNames)
		}
	}
	if r := decode(t, chat.Responses, `{"tool_choice":{"type":"function","name":"b"}}`); r.Choice != chat.Named || r.ChoiceNames[0] != "b" {
		t.Errorf("%v of %q", r.Choice, r.ChoiceNames)
	}
}

func TestHashOf(t *testing.T) {
	r := decode(t, chat.Ollama, `{"messages":[{"role":"assistant","content":"so é"},{"content":null,"role":"user"}]}`)
	if r.Messages[0].Hash != chat.HashOf(chat.RoleAssistant, "so é") || r.Messages[1].Hash != chat.HashOf(chat.RoleUser, "") {
		t.Error("it is not the hash of a message that says so")
	}
}
