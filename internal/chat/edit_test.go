package chat_test

import (
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

// edit is one request, what is done to it, and the bytes that come of it.
type edit struct {
	protocol   chat.Protocol
	body, want string
	edits      chat.Edits
}

func loaded(at int, text string) chat.HiddenTurn {
	return chat.HiddenTurn{At: at, Text: text, Calls: []chat.HiddenCall{{ID: "h1", Name: "load_tools", Arguments: []byte(`{"name":"files"}`), Result: "loaded \"files\"\n"}}}
}

func own(after int) chat.OwnTool {
	return chat.OwnTool{Name: "load_tools", Description: `Loads "x"`, Schema: []byte(`{"type":"object"}`), After: after}
}

const (
	ollamaHidden    = `{"role":"assistant","content":"","tool_calls":[{"id":"h1","function":{"name":"load_tools","arguments":{"name":"files"}}}]},{"role":"tool","content":"loaded \"files\"\n","tool_name":"load_tools","tool_call_id":"h1"}`
	openaiHidden    = `{"role":"assistant","content":"","tool_calls":[{"id":"h1","type":"function","function":{"name":"load_tools","arguments":"{\"name\":\"files\"}"}}]},{"role":"tool","content":"loaded \"files\"\n","tool_call_id":"h1"}`
	responsesHidden = `{"type":"function_call","call_id":"h1","name":"load_tools","arguments":"{\"name\":\"files\"}"},{"type":"function_call_output","call_id":"h1","output":"loaded \"files\"\n"}`
	anthropicHidden = `{"role":"assistant","content":[{"type":"tool_use","id":"h1","name":"load_tools","input":{"name":"files"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"h1","content":"loaded \"files\"\n"}]}`
)

func edits() map[string]edit {
	const (
		ollamaTool = `{"type":"function","function":{"name":"load_tools","description":"Loads \"x\"","parameters":{"type":"object"}}}`
		a, b       = `{"function":{"name":"a"}}`, `{ "function":{"name":"b"}}`
	)
	hide := func(turns ...chat.HiddenTurn) chat.Edits { return chat.Edits{Hidden: turns} }
	return map[string]edit{
		"own tool after one": {chat.Ollama, `{"tools": [ ` + a + ` ,` + b + `]}`, `{"tools": [` + b + `,` + ollamaTool + `,` + a + `]}`,
			chat.Edits{Order: []string{"b", "a"}, Own: []chat.OwnTool{own(1)}}},
		"own tool before all, another after": {chat.OpenAI, `{"tools":[` + a + `]}`, `{"tools":[` + ollamaTool + `,` + a + `,` + ollamaTool + `]}`,
			chat.Edits{Order: []string{"a"}, Own: []chat.OwnTool{own(9), own(0)}}},
		"own tool for Responses": {chat.Responses, `{"tools":[]}`, `{"tools":[{"type":"function","name":"load_tools","description":"Loads \"x\"","parameters":{"type":"object"}}]}`,
			chat.Edits{Order: []string{}, Own: []chat.OwnTool{own(0)}}},
		"own tool for Anthropic": {chat.Anthropic, `{"tools":[]}`, `{"tools":[{"name":"load_tools","description":"Loads \"x\"","input_schema":{"type":"object"}}]}`,
			chat.Edits{Order: []string{}, Own: []chat.OwnTool{own(0)}}},
		"own tool, twins before it": {chat.Ollama, `{"tools":[` + a + `,` + b + `,` + a + `]}`, `{"tools":[` + a + `,` + a + `,` + ollamaTool + `,` + b + `]}`,
			chat.Edits{Order: []string{"a", "b"}, Own: []chat.OwnTool{own(1)}}},

		"hidden at the start": {chat.Ollama, `{"messages":[ {"role":"user"}]}`, `{"messages":[ ` + ollamaHidden + `,{"role":"user"}]}`, hide(loaded(0, ""))},
		"hidden between": {chat.OpenAI, `{"messages":[{"role":"user"} , {"role":"user"}]}`, `{"messages":[{"role":"user"},` + openaiHidden + ` , {"role":"user"}]}`,
			hide(loaded(1, ""))},
		"hidden at the end, twice": {chat.Ollama, `{"messages":[{"role":"user"} ]}`, `{"messages":[{"role":"user"},` + ollamaHidden + `,` + ollamaHidden + ` ]}`,
			hide(loaded(1, ""), loaded(1, ""))},
		"hidden in none":      {chat.OpenAI, `{"messages":[ ]}`, `{"messages":[` + openaiHidden + ` ]}`, hide(loaded(0, ""))},
		"hidden with a text":  {chat.OpenAI, `{"messages":[]}`, `{"messages":[` + strings.Replace(openaiHidden, `"content":""`, `"content":"I <look>\u0001"`, 1) + `]}`, hide(loaded(0, "I <look>\x01"))},
		"hidden among items":  {chat.Responses, `{"input":[{"role":"user"}]}`, `{"input":[{"role":"user"},` + responsesHidden + `]}`, hide(loaded(1, ""))},
		"hidden after a text": {chat.Responses, `{"input": "h\u0069" }`, `{"input": [{"type":"message","role":"user","content":"h\u0069"},` + responsesHidden + `] }`, hide(loaded(1, ""))},
		"hidden around a text": {chat.Responses, `{"input":"hi"}`, `{"input":[` + responsesHidden + `,{"type":"message","role":"user","content":"hi"},` + responsesHidden + `]}`,
			hide(loaded(0, ""), loaded(1, ""))},
		"hidden before a text, item": {chat.Responses, `{"input":"hi"}`, `{"input":[{"type":"message","role":"assistant","content":"T"},` + responsesHidden + `,{"type":"message","role":"user","content":"hi"}]}`,
			hide(loaded(0, "T"))},
		"hidden in blocks": {chat.Anthropic, `{"messages":[{"role":"user"}]}`, `{"messages":[{"role":"user"},` + strings.Replace(anthropicHidden, `[{`, `[{"type":"text","text":"T"},{`, 1) + `]}`,
			hide(loaded(1, "T"))},

		"append to a string": {chat.Ollama, `{"messages":[{"content":"x\\","role":"user"}]}`, `{"messages":[{"content":"x\\\n\"y\"","role":"user"}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "\n\"y\""}}}},
		"append to a tool's": {chat.OpenAI, `{"messages":[{"role":"tool","content":""}]}`, `{"messages":[{"role":"tool","content":"y"}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to parts": {chat.OpenAI, `{"messages":[{"role":"user","content":[ {"type":"image_url"} ]}]}`, `{"messages":[{"role":"user","content":[ {"type":"image_url"},{"type":"text","text":"y"} ]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to an item": {chat.Responses, `{"input":[{"role":"user","content":[ ]}]}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"y"} ]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to a call's output": {chat.Responses, `{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, `{"input":[{"type":"function_call_output","call_id":"c","output":"xy"}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to a result before an aside": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"},{"type":"text","text":"<a>b</a>"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","content":"xy"},{"type":"text","text":"<a>b</a>"}]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append twice to no part": {chat.OpenAI, `{"messages":[{"role":"user","content":[ ]}]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"} ]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "x"}, {Message: 0, Text: "y"}}}},
		"append to an input": {chat.Responses, `{"input":"x"}`, `{"input":"xy"}`, chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to an input that opens": {chat.Responses, `{"input":"x"}`, `{"input":[{"type":"message","role":"user","content":"xy"},` + responsesHidden + `]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}, Hidden: []chat.HiddenTurn{loaded(1, "")}}},
		"append to blocks": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}},{"type":"text","text":"y"}]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},
		"append to a result": {chat.Anthropic, `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"a"},{"type":"tool_result","content":"x"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","content":"a"},{"type":"tool_result","content":"xy"}]}]}`,
			chat.Edits{Append: []chat.Appended{{Message: 0, Text: "y"}}}},

		"bridge": {chat.Ollama, `{"messages":[{"role":"assistant","tool_calls":[{},{"function":{"arguments":{"p": 1},"name":"\u0061"}}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{},{"function":{"arguments":{"name":"\u0061","arguments":{"p": 1}},"name":"call_tool"}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Message: 0, Call: 1, Bridge: "call_tool"}}}},
		"bridge without arguments": {chat.Ollama, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"call_tool","arguments":{"name":"a"}}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},
		"bridge in a string": {chat.OpenAI, `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"\u0061","arguments":" {\"p\":\"\\\"\"}"}}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"call_tool","arguments":"{\"name\":\"\\u0061\",\"arguments\": {\"p\":\"\\\"\"}}"}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},
		"bridge of an empty string": {chat.OpenAI, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":""}}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"call_tool","arguments":"{\"name\":\"a\"}"}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},
		"bridge of what was cut off": {chat.OpenAI, `{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a","arguments":"{\"p\":"}}]}]}`,
			`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"call_tool","arguments":"{\"name\":\"a\",\"arguments\":\"{\\\"p\\\":\"}"}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},
		"bridge of an item": {chat.Responses, `{"input":[{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}]}`,
			`{"input":[{"type":"function_call","call_id":"c","name":"call_tool","arguments":"{\"name\":\"a\",\"arguments\":{}}"}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},
		"bridge of a block": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"a","input":{"p":1}}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"call_tool","input":{"name":"a","arguments":{"p":1}}}]}]}`,
			chat.Edits{Bridge: []chat.Bridged{{Bridge: "call_tool"}}}},

		"cut": {chat.OpenAI, `{"messages":[{"role":"assistant","content":"\u00e9\n\uD83D\ude00 then"}]}`, `{"messages":[{"role":"assistant","content":" then"}]}`,
			chat.Edits{Cut: []chat.Cut{{Text: "é\n😀"}}}},
		"cut all": {chat.Ollama, `{"messages":[{"role":"assistant","content":"one"}]}`, `{"messages":[{"role":"assistant","content":""}]}`, chat.Edits{Cut: []chat.Cut{{Text: "one"}}}},
		"cut a block": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"thinking","text":"on"},{"type":"text","text":"one"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"thinking","text":"on"},{"type":"text","text":"e"}]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "on"}}}},
		"cut a whole block": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[ {"type":"text","text":"o\u006ee"} ,  {"type":"tool_use","id":"c","name":"a","input":{}} ]}]}`,
			`{"messages":[{"role":"assistant","content":[ {"type":"tool_use","id":"c","name":"a","input":{}} ]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "one"}}}},
		"cut the last block": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"} , {"type":"text","text":"one"}  ]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"}  ]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "one"}}}},
		"cut the only block": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"one"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"text","text":""}]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "one"}}}},
		"cut all blocks": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"one"}, {"type":"text","text":"two"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"text","text":""}, {"type":"text","text":""}]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "onetwo"}}}},
		"cut blocks and the beginning of one": {chat.Anthropic, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"one"} , {"type":"text","text":"two"},{"type":"thinking","thinking":"x"} ,{"type":"text","text":"three"} , {"type":"text","text":"four"}]}]}`,
			`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"} , {"type":"text","text":"ur"}]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "onetwothreefo"}}}},
		"cut parts before a call that is bridged, behind a hidden turn": {chat.Anthropic, `{"messages":[{"role":"assistant","content":["one" , {"type":"text","text":"two"},{"type":"tool_use","id":"c","name":"a"}]}]}`,
			`{"messages":[` + anthropicHidden + `,{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"b","input":{"name":"a"}}]}]}`,
			chat.Edits{Hidden: []chat.HiddenTurn{loaded(0, "")}, Bridge: []chat.Bridged{{Bridge: "b"}}, Cut: []chat.Cut{{Text: "onetwo"}}}},
		"cut an item": {chat.Responses, `{"input":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}]}`,
			`{"input":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"e"}]}]}`, chat.Edits{Cut: []chat.Cut{{Text: "on"}}}},

		"all at once": {chat.Ollama, `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"See. Ok","tool_calls":[{"function":{"name":"a","arguments":{}}}]},{"role":"tool","content":"x"}],"tools":[` + a + `,` + b + `]}`,
			`{"messages":[{"role":"user","content":"hi+"},` + strings.Replace(ollamaHidden, `""`, `"See. "`, 1) + `,{"role":"assistant","content":"Ok","tool_calls":[{"function":{"name":"c","arguments":{"name":"a","arguments":{}}}}]},{"role":"tool","content":"x"}],"tools":[` + b + `,` + ollamaTool + `]}`,
			chat.Edits{Order: []string{"b"}, Own: []chat.OwnTool{own(1)}, Hidden: []chat.HiddenTurn{loaded(1, "See. ")}, Append: []chat.Appended{{Message: 0, Text: "+"}}, Bridge: []chat.Bridged{{Message: 1, Bridge: "c"}}, Cut: []chat.Cut{{Message: 1, Text: "See. "}}}},
	}
}

func TestApply(t *testing.T) {
	for name, test := range edits() {
		r := decode(t, test.protocol, test.body)
		body := []byte(test.body)
		for range 2 {
			got, err := chat.Apply(body, r, test.edits)
			if err != nil || string(got) != test.want {
				t.Errorf("%s: error %v\n got %s\nwant %s", name, err, got, test.want)
			}
			if string(body) != test.body {
				t.Fatalf("%s: the body was changed", name)
			}
			if _, err := chat.Decode(test.protocol, got); err != nil {
				t.Errorf("%s: the result cannot be read: %v", name, err)
			}
		}
	}
}

func TestApplyReturnsTheVeryBodyWhereNothingChanges(t *testing.T) {
	for _, p := range []chat.Protocol{chat.Ollama, chat.OpenAI, chat.Responses, chat.Anthropic} {
		body := []byte(`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"input":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}],"tools":[{"name":"a"}, {"name":"b"}]}`)
		r := decode(t, p, string(body))
		for _, e := range []chat.Edits{
			{}, {Order: []string{"a", "b"}}, {Order: []string{}}, {Order: []string{"x"}}, {Own: []chat.OwnTool{own(0)}},
			{Append: []chat.Appended{{Message: 0}}}, {Cut: []chat.Cut{{Message: 1}}}, {Hidden: []chat.HiddenTurn{{At: 1}}},
		} {
			if got, err := chat.Apply(body, r, e); err != nil || &got[0] != &body[0] || len(got) != len(body) {
				t.Errorf("%s, %+v: another slice: %s, %v", p.Family(), e, got, err)
			}
		}
	}
}

func TestApplyRefusesWhatCannotBe(t *testing.T) {
	const messages = `[{"role":"user","content":null},{"role":"assistant","content":"x","tool_calls":[{"function":{"name":7}}]},{"role":"system","content":"s"},7,{"role":"assistant","content":["x",7]}]`
	for name, e := range map[string]chat.Edits{
		"append past the end":    {Append: []chat.Appended{{Message: 5, Text: "x"}}},
		"append before the":      {Append: []chat.Appended{{Message: -1, Text: "x"}}},
		"append to null":         {Append: []chat.Appended{{Message: 0, Text: "x"}}},
		"append to the model":    {Append: []chat.Appended{{Message: 1, Text: "x"}}},
		"append to the system":   {Append: []chat.Appended{{Message: 2, Text: "x"}}},
		"append to a number":     {Append: []chat.Appended{{Message: 3, Text: "x"}}},
		"bridge no call":         {Bridge: []chat.Bridged{{Message: 0}}},
		"bridge a nameless call": {Bridge: []chat.Bridged{{Message: 1}}},
		"bridge another call":    {Bridge: []chat.Bridged{{Message: 1, Call: 1}}},
		"bridge before":          {Bridge: []chat.Bridged{{Message: 1, Call: -1}}},
		"cut other text":         {Cut: []chat.Cut{{Message: 1, Text: "y"}}},
		"cut too much":           {Cut: []chat.Cut{{Message: 1, Text: "xy"}}},
		"cut the user":           {Cut: []chat.Cut{{Message: 0, Text: "x"}}},
		"cut twice":              {Cut: []chat.Cut{{Message: 1, Text: "x"}, {Message: 1, Text: "x"}}},
		"hidden past the end":    {Hidden: []chat.HiddenTurn{loaded(6, "")}},
		"hidden before":          {Hidden: []chat.HiddenTurn{loaded(-1, "")}},
		"hidden with odd call":   {Hidden: []chat.HiddenTurn{{Calls: []chat.HiddenCall{{Name: "x", Arguments: []byte(`[]`)}}}}},
		"hidden with no JSON":    {Hidden: []chat.HiddenTurn{{Calls: []chat.HiddenCall{{Name: "x", Arguments: []byte(`{"a":`)}}}}},
		"own with odd schema":    {Order: []string{}, Own: []chat.OwnTool{{Name: "x", Schema: []byte(`7`)}}},
	} {
		body := []byte(`{"messages":` + messages + `,"tools":[]}`)
		r := decode(t, chat.OpenAI, string(body))
		got, err := chat.Apply(body, r, e)
		if catalog.KindOf(err) != catalog.Invalid || err == nil || &got[0] != &body[0] {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	body := []byte(`{"messages":null}`)
	r := decode(t, chat.OpenAI, string(body))
	for _, e := range []chat.Edits{{Hidden: []chat.HiddenTurn{loaded(0, "")}}, {Order: []string{}, Own: []chat.OwnTool{own(0)}}} {
		if _, err := chat.Apply(body, r, e); err == nil {
			t.Errorf("%+v: no error", e)
		}
	}
	if _, err := chat.Apply([]byte(`{}`), decode(t, chat.OpenAI, `{"messages":[{"role":"user"}]}`), chat.Edits{}); err == nil {
		t.Error("another body: no error")
	}
	for _, content := range []string{`[]`, `7`, `{}`} {
		body := `{"messages":[{"role":"user","content":` + content + `}]}`
		if _, err := chat.Apply([]byte(body), decode(t, chat.Ollama, body), chat.Edits{Append: []chat.Appended{{Text: "x"}}}); err == nil {
			t.Errorf("Ollama, content %s: no error", content)
		}
	}
}

func TestWarm(t *testing.T) {
	const hi, ho = `{"role":"user","content":"hi"}`, `{"role":"assistant","content":"ho"}`
	for name, test := range map[string]struct {
		protocol   chat.Protocol
		body, want string
		n          int
	}{
		"ollama": {chat.Ollama, ` {"model":"m", "Stream":true,"messages":[ ` + hi + ` , ` + ho + `],"options":{ "num_ctx" : 8,"num_predict":-1},"format":"json","keep_alive":"1h","think":true}`,
			`{"model":"m","Stream":false,"messages":[ ` + hi + `],"format":"json","think":true,"options":{"num_ctx":8,"num_predict":1}}`, 1},
		"ollama, bare": {chat.Ollama, `{"messages":[` + hi + `],"options":null}`, `{"messages":[` + hi + `],"stream":false,"options":{"num_predict":1}}`, 1},
		"openai": {chat.OpenAI, `{"messages":[` + hi + `,` + ho + ` ],"tool_choice":"none","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"response_format":{"type":"text"}}`,
			`{"messages":[` + hi + `,` + ho + ` ],"stream":false,"max_tokens":1,"response_format":{"type":"text"}}`, 2},
		"openai, completion tokens": {chat.OpenAI, `{"max_completion_tokens":9,"messages":[` + hi + `]}`, `{"max_completion_tokens":1,"messages":[` + hi + `],"stream":false}`, 1},
		"openai, bare":              {chat.OpenAI, `{"messages":[` + hi + `]}`, `{"messages":[` + hi + `],"stream":false,"max_tokens":1}`, 1},
		"responses":                 {chat.Responses, `{"input":"hi","background":true}`, `{"input":"hi","stream":false,"store":false,"max_output_tokens":1}`, 1},
		"anthropic":                 {chat.Anthropic, `{"max_tokens":99,"messages":[` + hi + `,` + ho + `],"system":"s"}`, `{"max_tokens":1,"messages":[` + hi + `],"system":"s","stream":false}`, 1},
	} {
		got, err := chat.Warm([]byte(test.body), decode(t, test.protocol, test.body), test.n, chat.Edits{})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: error %v\n got %s\nwant %s", name, err, got, test.want)
		}
	}
}

func TestWarmTakesTheEditsOfWhatItKeeps(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},{"role":"user","content":"x"}],"tools":[{"name":"a"},{"name":"b"}]}`
	e := chat.Edits{
		Order: []string{"b"}, Hidden: []chat.HiddenTurn{loaded(3, "later"), loaded(1, "")},
		Append: []chat.Appended{{Message: 0, Text: "+"}, {Message: 2, Text: "later"}},
		Bridge: []chat.Bridged{{Message: 9}}, Cut: []chat.Cut{{Message: 1, Text: "h"}},
	}
	want := `{"messages":[{"role":"user","content":"hi+"},` + openaiHidden + `],"tools":[{"name":"b"}],"stream":false,"max_tokens":1}`
	if got, err := chat.Warm([]byte(body), decode(t, chat.OpenAI, body), 1, e); err != nil || string(got) != want {
		t.Errorf("error %v\n got %s\nwant %s", err, got, want)
	}
	for _, n := range []int{0, -1, 4} {
		if got, err := chat.Warm([]byte(body), decode(t, chat.OpenAI, body), n, e); err == nil || got != nil {
			t.Errorf("%d messages: %s", n, got)
		}
	}
	body = `{"messages":[{"role":"user"}],"options":[]}`
	if _, err := chat.Warm([]byte(body), decode(t, chat.Ollama, body), 1, chat.Edits{}); err == nil {
		t.Error("options that are no object: no error")
	}
}
