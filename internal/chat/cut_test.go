package chat_test

import (
	"testing"

	"toolbelt/internal/chat"
)

// An answer without content is that of a call that the engine dropped, unless its limit of tokens ended it: then a second one would end there too.
func TestAnAnswerCutAtItsLimitIsNotEmpty(t *testing.T) {
	const sse, ndjson, document = "text/event-stream", "application/x-ndjson", "application/json"
	for name, test := range map[string]struct {
		protocol chat.Protocol
		kind     string
		stopped  string
		cut      string
	}{
		"ollama": {chat.Ollama, ndjson,
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":3}` + "\n",
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":9,"eval_count":3}` + "\n"},
		"openai": {chat.OpenAI, sse,
			"data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n",
			"data: {\"choices\":[{\"index\":0,\"finish_reason\":\"length\",\"delta\":{}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n"},
		"responses": {chat.Responses, document,
			`{"id":"r","object":"response","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":3}}`,
			`{"id":"r","object":"response","status":"incomplete","output":[],"usage":{"input_tokens":9,"output_tokens":3}}`},
		"anthropic": {chat.Anthropic, document,
			`{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}`,
			`{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":"max_tokens","usage":{"input_tokens":9,"output_tokens":3}}`},
	} {
		for _, cut := range []bool{false, true} {
			answer := test.stopped
			if cut {
				answer = test.cut
			}
			f := chat.NewFilter(test.protocol, test.kind, chat.FilterConfig{Held: func(name string) bool { return name == "load_tools" }})
			f.Write(nil, []byte(answer))
			if v := f.End(false); v.Empty == cut || v.Usage.Cut != cut {
				t.Errorf("%s, cut %v: empty %v, usage %+v", name, cut, v.Empty, v.Usage)
			}
		}
	}
}
