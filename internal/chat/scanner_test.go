package chat_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/chat"
)

const (
	ndjson = "application/x-ndjson"
	events = "text/event-stream; charset=utf-8"
	single = "application/json; charset=utf-8"
)

// scan feeds the stream in pieces of the given size.
func scan(p chat.Protocol, contentType, stream string, size int) ([]chat.Call, chat.Usage) {
	s := chat.NewScanner(p, contentType)
	piece := make([]byte, 0, min(size, len(stream)))
	for len(stream) > 0 {
		n := min(size, len(stream))
		piece = append(piece[:0], stream[:n]...)
		if got, err := s.Write(piece); got != n || err != nil {
			panic(fmt.Sprint("Write returned ", got, " ", err))
		}
		for i := range piece { // nothing of it may be kept
			piece[i] = '#'
		}
		stream = stream[n:]
	}
	s.Close()
	return s.Calls(), s.Usage()
}

// event is one SSE event of a delta's members.
func event(delta string) string {
	return `data: {"id":"x","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":null}]}` + "\n\n"
}

func toolEvents(entries ...string) string {
	var b strings.Builder
	b.WriteString(event(`"role":"assistant","content":null`))
	for _, entry := range entries {
		b.WriteString(event(`"tool_calls":[` + entry + `]`))
	}
	return b.String() + "data: [DONE]\n\n"
}

type streamTest struct {
	protocol    chat.Protocol
	contentType string
	stream      string
	calls       []chat.Call
	usage       chat.Usage
}

func streamTests() map[string]streamTest {
	done := chat.Usage{Done: true}
	openAI := func(want []chat.Call, entries ...string) streamTest {
		return streamTest{chat.OpenAI, events, toolEvents(entries...), want, done}
	}
	two := []chat.Call{{ID: "c1", Name: "a"}, {ID: "c2", Name: "b"}}
	return map[string]streamTest{
		"ollama text": {chat.Ollama, ndjson,
			`{"message":{"content":"tool_calls"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":12,"prompt_eval_duration":3000000,"eval_count":5,"eval_duration":2000000}` + "\n",
			nil, chat.Usage{PromptTokens: 12, OutputTokens: 5, PromptDuration: 3 * time.Millisecond, OutputDuration: 2 * time.Millisecond, Done: true}},
		"ollama calls, a call a line": {chat.Ollama, ndjson,
			`{"message":{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"a","arguments":{"x":1}}}]},"done":false}` + "\r\n" +
				`{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}},{"function":{"index":1,"name":"検索","arguments":{}}}]},"done":false}` + "\n" + `{"done":true}`,
			[]chat.Call{{ID: "c1", Name: "a"}, {Name: "a"}, {Index: 1, Name: "検索"}}, done},
		"ollama single": {chat.Ollama, single, `{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]},"done":true,"prompt_eval_count":3}`,
			[]chat.Call{{Name: "a"}}, chat.Usage{Done: true, PromptTokens: 3}},
		"ollama single over lines": {chat.Ollama, single, "\n{\n  \"message\": {\"tool_calls\": [\n{\"function\": {\"name\": \"a\"}}\n]},\n \"done\": true\n}\n",
			[]chat.Call{{Name: "a"}}, done},
		"ollama stream under another content type": {chat.Ollama, single, `{"message":{"content":"x"},"done":false}` + "\n" + `{"message":{"tool_calls":[{"function":{"name":"a"}}]},"done":false}` + "\n",
			[]chat.Call{{Name: "a"}}, chat.Usage{}},
		"ollama error in the stream": {chat.Ollama, ndjson, `{"message":{"content":"x"},"done":false}` + "\n" + `{"error":"runner died"}` + "\n", nil, chat.Usage{Failed: true}},
		"ollama bad lines":           {chat.Ollama, ndjson, "oops tool_calls\n{\"tool_calls\n\n[]\n{}{}tool_calls\n" + `{"message":{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":7}},7,null,{"function":[]}]}}`, []chat.Call{{Name: "a"}}, chat.Usage{}},
		"openai single": {chat.OpenAI, single,
			`{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			two, chat.Usage{PromptTokens: 7, OutputTokens: 2, CachedTokens: 4, Done: true}},
		"openai single, same call twice": {chat.OpenAI, "", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":"a"}}]}}]}`, []chat.Call{{Name: "a"}, {Name: "a"}}, chat.Usage{}},
		"openai single error":            {chat.OpenAI, single, `{"error":{"message":"no such model"}}`, nil, chat.Usage{Failed: true}},
		"openai usage and timings": {chat.OpenAI, events,
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: {\"choices\":[],\"timings\":{\"prompt_n\":3,\"cache_n\":6,\"prompt_ms\":1.5,\"predicted_n\":2,\"predicted_ms\":0.5}}\n\n",
			nil, chat.Usage{PromptTokens: 9, OutputTokens: 1, CachedTokens: 6, Evaluated: 3, PromptDuration: 1500 * time.Microsecond, OutputDuration: 500 * time.Microsecond}},
		"openai timings alone":       {chat.OpenAI, events, "data: {\"timings\":{\"prompt_n\":3,\"cache_n\":6,\"predicted_n\":2}}\n\n", nil, chat.Usage{PromptTokens: 9, OutputTokens: 2, CachedTokens: 6, Evaluated: 3}},
		"openai usage out of range":  {chat.OpenAI, events, "data: {\"usage\":{\"prompt_tokens\":-9,\"completion_tokens\":1e99}}\n\n", nil, chat.Usage{}},
		"openai error in the stream": {chat.OpenAI, events, event(`"content":"x"`) + "data: {\"error\":{\"message\":\"x\"}}\n\n", nil, chat.Usage{Failed: true}},
		"openai error event":         {chat.OpenAI, events, "event: error\ndata: {}\n\n", nil, chat.Usage{Failed: true}},
		"openai error line":          {chat.OpenAI, events, "error: {\"code\":500}\n\n", nil, chat.Usage{Failed: true}},
		"openai error null":          {chat.OpenAI, events, "data: {\"error\":null}\n\n", nil, chat.Usage{}},

		"comments, CRLF, no space, data in pieces": {chat.OpenAI, events,
			"\xef\xbb\xbf: hello\r\n\r\nid: 7\r\nevent: message\r\ndata:{\"choices\":[{\"delta\":{\r\ndata:\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"a\"}}]}}]}\r\n\r\n: ping\r\n\r\ndata\r\nretry: 5\r\ndata:[DONE]\r\n\r\n",
			[]chat.Call{{ID: "c1", Name: "a"}}, done},
		"no blank lines between events": {chat.OpenAI, events, strings.ReplaceAll(toolEvents(`{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}`, `{"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}}`), "\n\n", "\n"),
			[]chat.Call{{ID: "c1", Name: "a"}, {Index: 1, ID: "c2", Name: "b"}}, done},
		"cut off in the middle":                         {chat.OpenAI, events, event(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{"}}]`) + `data: {"choices":[{"delta":{"tool_ca`, []chat.Call{{ID: "c1", Name: "a"}}, chat.Usage{}},
		"cut off after an event without its blank line": {chat.OpenAI, events, strings.TrimSuffix(event(`"tool_calls":[{"id":"c1","function":{"name":"a"}}]`), "\n\n"), []chat.Call{{ID: "c1", Name: "a"}}, chat.Usage{}},
		"unknown protocol":                              {chat.Unknown, events, toolEvents(`{"index":0,"id":"c1","function":{"name":"a"}}`), nil, chat.Usage{}},

		"two calls numbered 0, new ids":          openAI(two, `{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\":"}}`, `{"index":0,"function":{"arguments":"1}"}}`, `{"index":0,"id":"c2","function":{"name":"b","arguments":"{}"}}`),
		"two calls of one tool, numbered 0":      openAI([]chat.Call{{ID: "c1", Name: "a"}, {ID: "c2", Name: "a"}}, `{"index":0,"id":"c1","function":{"name":"a","arguments":"{"}}`, `{"index":0,"function":{"arguments":"}"}}`, `{"index":0,"id":"c2","function":{"name":"a","arguments":"{}"}}`),
		"not numbered":                           openAI(two, `{"id":"c1","function":{"name":"a","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"id":"c2","function":{"name":"b","arguments":""}}`, `{"function":{"arguments":"{}"}}`),
		"not numbered, no ids":                   openAI([]chat.Call{{Name: "a"}, {Name: "a"}, {Name: "b"}}, `{"function":{"name":"a","arguments":"{}"}}`, `{"function":{"name":"a","arguments":"{}"}}`, `{"function":{"name":"b","arguments":"{}"}}`),
		"a new name, the arguments still open":   openAI([]chat.Call{{Name: "a"}, {Name: "b"}}, `{"index":0,"function":{"name":"a","arguments":"{"}}`, `{"index":0,"function":{"name":"b","arguments":"{}"}}`),
		"a new name after one without arguments": openAI([]chat.Call{{Name: "a"}, {Name: "b"}}, `{"index":0,"function":{"name":"a","arguments":""}}`, `{"index":0,"function":{"name":"b","arguments":"{}"}}`),
		"several in one delta, all 0":            openAI([]chat.Call{{Name: "a"}, {Name: "b"}, {Name: "b"}}, `{"index":0,"function":{"name":"a"}},{"index":0,"function":{"name":"b"}},{"index":0,"function":{"name":"b"}}`),
		"several, numbered, interleaved":         openAI([]chat.Call{{ID: "c1", Name: "a"}, {Index: 1, ID: "c2", Name: "b"}}, `{"index":0,"id":"c1","function":{"name":"a"}},{"index":1,"id":"c2","function":{"name":"b"}}`, `{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"{}"}}`),
		"a name in pieces":                       openAI([]chat.Call{{ID: "c1", Name: "get_weather"}}, `{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"function":{"name":"wea"}}`, `{"index":0,"function":{"name":"ther","arguments":""}}`, `{"index":0,"function":{"arguments":"{}"}}`),
		"a name in pieces, the id in each":       openAI([]chat.Call{{ID: "c1", Name: "get_weather"}}, `{"index":0,"id":"c1","function":{"name":"get_"}}`, `{"index":0,"id":"c1","function":{"name":"weather"}}`, `{"index":0,"id":"c1","function":{"arguments":"{}"}}`),
		"name and id in every piece":             openAI([]chat.Call{{ID: "c1", Name: "a"}}, `{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\""}}`, `{"index":0,"id":"c1","function":{"name":"a","arguments":":1}"}}`, `{"index":0,"id":"c1","function":{"name":"a","arguments":""}}`),
		"name in every piece, no ids":            openAI([]chat.Call{{Name: "a"}}, `{"index":0,"function":{"name":"a","arguments":"{\"x\""}}`, `{"index":0,"function":{"name":"a","arguments":":1}"}}`, `{"index":0,"function":{"name":"a","arguments":""}}`),
		"the id comes late":                      openAI([]chat.Call{{ID: "c1", Name: "a"}}, `{"index":0,"function":{"name":"a"}}`, `{"index":0,"id":"c1","function":{"arguments":"{}"}}`),
		"the name comes late":                    openAI([]chat.Call{{ID: "c1", Name: "a"}}, `{"index":0,"id":"c1"}`, `{"index":0,"function":{"name":"a","arguments":"{}"}}`),
		"empty strings for what is not there":    openAI([]chat.Call{{ID: "c1", Name: "a"}}, `{"index":0,"id":"c1","function":{"name":"a","arguments":""}}`, `{"index":0,"id":"","function":{"name":"","arguments":"{}"}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":null}}`),
		"brackets in the arguments' text":        openAI([]chat.Call{{Name: "a"}, {Name: "a"}}, `{"function":{"name":"a","arguments":"{\"x\":\"}\\\"]"}}`, `{"function":{"name":"a","arguments":"}\"}"}}`, `{"function":{"name":"a","arguments":"{}"}}`),
		"arguments as an object":                 openAI([]chat.Call{{Name: "a"}, {Name: "a"}}, `{"index":0,"function":{"name":"a","arguments":{"x":1}}}`, `{"index":0,"function":{"name":"a","arguments":{"x":1}}}`),
		"a call that never got a name":           openAI(nil, `{"index":0,"id":"c1","function":{"arguments":"{}"}}`),
		"odd indexes":                            openAI([]chat.Call{{Name: "a"}, {Name: "b"}}, `{"index":-3,"function":{"name":"a","arguments":"{}"}}`, `{"index":"0","function":{"name":"b","arguments":"{}"}}`),
		"legacy function_call":                   {chat.OpenAI, events, event(`"function_call":{"name":"get_","arguments":""}`) + event(`"function_call":{"name":"time"}`) + event(`"function_call":{"arguments":"{}"}`) + "data: [DONE]\n\n", []chat.Call{{Name: "get_time"}}, done},
		"legacy single":                          {chat.OpenAI, single, `{"choices":[{"message":{"function_call":{"name":"a","arguments":"{}"}},"finish_reason":"function_call"}]}`, []chat.Call{{Name: "a"}}, done},
		"two choices": {chat.OpenAI, events, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"a"}}]}},{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"name":"b"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"name":"c"}}]}}]}` + "\n\n", []chat.Call{{Name: "a"}, {Name: "bc"}}, chat.Usage{}},
		"the whole message once more at the end": {chat.OpenAI, events, event(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}]`) +
			`data: {"choices":[{"index":0,"message":{"tool_calls":[{"id":"c1","function":{"name":"a"}},{"id":"c2","function":{"name":"b"}}]},"finish_reason":"tool_calls"}]}` + "\n\n", two, done},
	}
}

func TestScanner(t *testing.T) {
	for name, test := range streamTests() {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 1, 2, 3, 5, 7, 64, 100} {
				calls, usage := scan(test.protocol, test.contentType, test.stream, size)
				if !reflect.DeepEqual(bare(calls), test.calls) || usage != test.usage {
					t.Fatalf("in pieces of %d: %+v, %+v\nwant %+v, %+v", size, calls, usage, test.calls, test.usage)
				}
			}
		})
	}
}

func TestScannerSplitAnywhere(t *testing.T) {
	for name, test := range streamTests() {
		for cut := range len(test.stream) {
			s := chat.NewScanner(test.protocol, test.contentType)
			s.Write([]byte(test.stream[:cut]))
			s.Write(nil)
			s.Write([]byte(test.stream[cut:]))
			s.Close()
			if calls := s.Calls(); !reflect.DeepEqual(bare(calls), test.calls) || s.Usage() != test.usage {
				t.Fatalf("%s, cut at %d: %+v, %+v", name, cut, calls, s.Usage())
			}
		}
	}
}

func TestScannerTellsWhileItRuns(t *testing.T) {
	s := chat.NewScanner(chat.OpenAI, events)
	s.Write([]byte(event(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"a"}}]`)))
	if got := s.Calls(); len(got) != 1 || got[0].Name != "a" || s.Usage().Done {
		t.Errorf("after the first event: %+v, %+v", got, s.Usage())
	}
	s.Close()
	s.Close()
	if n, err := s.Write([]byte(event(`"tool_calls":[{"index":9,"function":{"name":"late"}}]`))); n == 0 || err != nil || len(s.Calls()) != 1 {
		t.Errorf("after Close: %d, %v, %+v", n, err, s.Calls())
	}
}

func TestScannerPassesOverWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	call := func(name string) string {
		return `{"message":{"tool_calls":[{"function":{"name":"` + name + `"}}]}}` + "\n"
	}
	lines := call("a") + `{"message":{"content":"` + long + `","tool_calls":[{"function":{"name":"lost"}}]}}` + "\n" + call("b") + call(strings.Repeat("n", 5000)) + call("c")
	sse := event(`"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]`) + event(`"content":"`+long+`","tool_calls":[{"index":1,"function":{"name":"lost"}}]`) + "data: {\"usage\":\ndata: \"" + long + "\"}\n\n" +
		event(`"tool_calls":[{"index":2,"function":{"name":"b"}}]`)
	for i := range 10 { // a name that never ends
		sse += event(fmt.Sprintf(`"tool_calls":[{"index":3,"function":{"name":"%d%s"}}]`, i, strings.Repeat("n", 1000)))
	}
	sse += event(`"tool_calls":[{"index":4,"function":{"name":"c"}}]`)
	for _, size := range []int{1 << 30, 1 << 16, 4099} {
		calls, _ := scan(chat.Ollama, ndjson, lines, size)
		more, _ := scan(chat.OpenAI, events, sse, size)
		for _, got := range [][]chat.Call{calls, more} {
			if len(got) != 3 || got[0].Name != "a" || got[1].Name != "b" || got[2].Name != "c" {
				t.Errorf("in pieces of %d: %.200v", size, got)
			}
		}
		if calls, usage := scan(chat.OpenAI, single, `{"choices":[],"x":"`+long+`"}`, size); calls != nil || usage != (chat.Usage{}) {
			t.Errorf("in pieces of %d: %v %v", size, calls, usage)
		}
	}
}

func TestScannerCountsABoundedNumberOfCalls(t *testing.T) {
	stream := strings.Repeat(`{"message":{"tool_calls":[{"id":"`+strings.Repeat("i", 3000)+`","function":{"name":"a"}}]}}`+"\n", 2000)
	calls, _ := scan(chat.Ollama, ndjson, stream, 1<<16)
	if len(calls) == 0 || len(calls) > 1000 || len(calls[0].ID) > 1<<10 {
		t.Errorf("%d calls", len(calls))
	}
}

func FuzzScanner(f *testing.F) {
	for _, test := range streamTests() {
		f.Add([]byte(test.stream), test.contentType, test.protocol == chat.Ollama, uint8(7))
	}
	f.Fuzz(func(t *testing.T, stream []byte, contentType string, ollama bool, size uint8) {
		p := chat.OpenAI
		if ollama {
			p = chat.Ollama
		}
		whole := chat.NewScanner(p, contentType)
		whole.Write(bytes.Clone(stream))
		whole.Close()
		calls, usage := scan(p, contentType, string(stream), int(size)+1)
		if !reflect.DeepEqual(calls, whole.Calls()) || usage != whole.Usage() {
			t.Fatalf("in pieces of %d: %+v, %+v\nat once: %+v, %+v", int(size)+1, calls, usage, whole.Calls(), whole.Usage())
		}
		for _, call := range calls {
			if call.Name == "" || call.Index < 0 {
				t.Fatalf("%+v", call)
			}
		}
	})
}

// bare are the calls without what their arguments tell.
func bare(calls []chat.Call) []chat.Call {
	var list []chat.Call
	for _, c := range calls {
		c.Arguments, c.Texts = nil, 0
		list = append(list, c)
	}
	return list
}

// TestArgumentsAreTold: their names in order, and what tells other texts apart, the same however they come.
func TestArgumentsAreTold(t *testing.T) {
	for name, answer := range map[string]string{
		"object": `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"b":"x","a":{"c":1}}}}]}}]}`,
		"string": `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"b\": \"x\",\"a\":{\"c\":1.0}}"}}]}}]}`,
		"pieces": event(`"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"b\":"}}]`) + event(`"tool_calls":[{"index":0,"function":{"arguments":"\"x\",\"a\":{\"c\":1}}"}}]`),
	} {
		s := chat.NewScanner(chat.OpenAI, "")
		if name == "pieces" {
			s = chat.NewScanner(chat.OpenAI, "text/event-stream")
		}
		s.Write([]byte(answer))
		s.Close()
		calls := s.Calls()
		history := decode(t, chat.OpenAI, `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":{\"c\":1},\"b\":\"x\"}"}}]}]}`)
		if len(calls) != 1 || !reflect.DeepEqual(calls[0].Arguments, []string{"b", "a"}) {
			t.Errorf("%s: %+v", name, calls)
		} else if got := chat.Signature(" ", []string{calls[0].Signature()}); len(history.Replies) != 1 || history.Replies[0] != got {
			t.Errorf("%s: signature %q, in the history %q", name, got, history.Replies)
		}
	}
}
