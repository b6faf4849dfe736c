package chat_test

import (
	"reflect"
	"testing"

	"toolbelt/internal/chat"
)

var filterProtocols = []chat.Protocol{chat.Ollama, chat.OpenAI, chat.Responses, chat.Anthropic, chat.Unknown}

func FuzzFilter(f *testing.F) {
	for _, test := range streamTests() {
		f.Add([]byte(test.stream), test.contentType, uint8(test.protocol), uint8(7))
	}
	for i, round := range []string{
		ollamaSays("a") + ollamaCalls(`{"function":{"name":"load_tools","arguments":{}}}`, `{"function":{"index":1,"name":"call_tool","arguments":{"name":"a","arguments":"{}"}}}`) + ollamaDone,
		role + says("a") + calls(`{"index":0,"id":"h1","function":{"name":"load_","arguments":""}}`) + calls(`{"index":0,"function":{"name":"tools"}}`) + chunk("x", `"content":"b"`, "tool_calls") + usageChunk("x", "1", "2", "3") + doneLine,
		calls(`{"index":0,"id":"h1","function":{"name":"call_tool","arguments":"{\"name\":\"x\","}}`) + calls(`{"index":0,"function":{"arguments":"\"arguments\":{}}"}}`) + chunk("x", "", "stop"),
		numberedEvents(rStart("a"), rOpen("0", "m", "a"), rCall("0", "h1", "load_tools", "{}"), rCall("1", "b1", "call_tool", `{"name":"x"}`), rEnd("a", rDone("h1", "load_tools", "{}"), 5)),
		sse("message_start", `"message":{"content":[],"usage":{"input_tokens":2}}`) + blockText(0, "a") + blockUse(0, "h1", "load_tools") + blockUse(1, "b1", "call_tool", `{"name":"x"}`) + sse("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{}`) + sse("message_stop", ""),
		`{"type":"message","content":[{"type":"tool_use","name":"load_tools","input":{}},{"type":"text","text":"a"}],"usage":{}}`,
		`{"object":"response","output":[{"type":"function_call","name":"call_tool","arguments":"{\"name\":\"x\"}"},{"type":"message","content":[{"text":"a"}]}]}`,
		`{"message":{"tool_calls":[{"function":{"name":"tool_search"}}],"thinking":"x"},"done":true}`,
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"tool_search"}}],"content":"x"},"finish_reason":"stop"}]}`,
		`{"choices":[{"message":{"tool_calls":[{"function":{"name":"tool_search"}}],"content":[{"type":"text","text":"x"},"y"]},"finish_reason":"stop"}]}`,
		role + chunk("x", `"content":[{"type":"text","text":"x"},{}]`, "null") + calls(`{"index":0,"id":"h1","function":{"name":"load_tools","arguments":"{}"}}`) + chunk("x", "", "tool_calls"),
	} {
		for _, contentType := range []string{ndjson, events, single} {
			for which := range filterProtocols {
				f.Add([]byte(round), contentType, uint8(which), uint8(3*i+1))
			}
		}
	}
	f.Add([]byte("\ufeff"+doneLine), "", uint8(1), uint8(0))
	f.Add([]byte(sse("response.output_item.added", `"output_index":0,"item":{"id":"m","type":"message"}`)+sse("response.output_item.added", `"item":{"id":"c","type":"function_call","name":"load_tools"}`)+
		sse("response.function_call_arguments.delta", `"output_index":0,"item_id":"c","delta":"{}"`)), events, uint8(2), uint8(9))
	f.Add([]byte("\ufeff"), "", uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, answer []byte, contentType string, which, size uint8) {
		p := filterProtocols[int(which)%len(filterProtocols)]
		if got := filter(p, contentType, chat.FilterConfig{}, int(size)+1, string(answer)); got.out != string(answer) {
			t.Fatalf("with nothing to hold:\n%q\nwant:\n%q", got.out, answer)
		}
		whole := filter(p, contentType, ours(), len(answer)+1, string(answer), string(answer))
		if got := filter(p, contentType, ours(), int(size)+1, string(answer), string(answer)); !reflect.DeepEqual(got, whole) {
			t.Fatalf("in pieces of %d:\n%+v\nat once:\n%+v", int(size)+1, got, whole)
		}
	})
}

func BenchmarkFilterChunk(b *testing.B) {
	for name, test := range map[string]struct {
		protocol    chat.Protocol
		contentType string
		chunk       string
	}{
		"ollama":    {chat.Ollama, ndjson, `{"model":"smollm2","created_at":"2026-01-01T00:00:00.000000Z","message":{"role":"assistant","content":" word"},"done":false}` + "\n"},
		"responses": {chat.Responses, events, "event: response.output_text.delta\n" + `data: {"content_index":0,"delta":" word","item_id":"msg_123456","logprobs":[],"output_index":0,"sequence_number":4,"type":"response.output_text.delta"}` + "\n\n"},
		"anthropic": {chat.Anthropic, events, "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}` + "\n\n"},
		"openai":    {chat.OpenAI, events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":" word"},"finish_reason":null}]}` + "\n\n"},
	} {
		b.Run(name, func(b *testing.B) {
			f := chat.NewFilter(test.protocol, test.contentType, ours())
			chunk := []byte(test.chunk)
			dst := make([]byte, 0, 1<<10)
			for range 20000 { // until the text that is kept is full
				dst = f.Write(dst[:0], chunk)
			}
			b.ReportAllocs()
			for b.Loop() {
				dst = f.Write(dst[:0], chunk)
			}
		})
	}
}
