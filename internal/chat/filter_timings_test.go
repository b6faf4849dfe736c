package chat_test

import (
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// TestTimingsAreSummed has llama.cpp's own figures: what was generated and the times are of all rounds, the prompt is the last one's.
func TestTimingsAreSummed(t *testing.T) {
	const (
		one     = `"timings":{"cache_n":0,"prompt_n":100,"prompt_ms":2000.5,"prompt_per_second":50,"predicted_n":10,"predicted_ms":500,"predicted_per_token_ms":50,"predicted_per_second":20}`
		two     = `"timings":{"cache_n":90,"prompt_n":30,"prompt_ms":600,"prompt_per_second":50,"predicted_n":5,"predicted_ms":100.25,"predicted_per_token_ms":20.05,"predicted_per_second":49.875}`
		sum     = `"timings":{"cache_n":90,"prompt_n":30,"prompt_ms":2600.5,"prompt_per_second":50,"predicted_n":15,"predicted_ms":600.25,"predicted_per_token_ms":40.017,"predicted_per_second":24.99}`
		oddOne  = `"timings":{"predicted_n":"x","predicted_ms":null}`
		oddTwo  = `"timings":{"predicted_n":-1,"predicted_ms":1e300,"prompt_ms":"y","predicted_per_second":true}`
		nothing = `"timings":7`
	)
	openAI := func(id, delta, finish, timings string) string {
		return `{"id":"` + id + `","created":1,"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]` + timings + `}`
	}
	load := `{"tool_calls":[{"index":0,"id":"h1","type":"function","function":{"name":"load_tools","arguments":"{}"}}]}`
	for name, c := range map[string]struct {
		protocol   chat.Protocol
		kind       string
		first, end func(timings string) string // of the second round
	}{
		"openai": {chat.OpenAI, events,
			func(timings string) string {
				return "data: " + openAI("x", load, "null", "") + "\n\ndata: " + openAI("x", "{}", `"tool_calls"`, ","+timings) + "\n\ndata: [DONE]\n\n"
			},
			func(timings string) string {
				return "data: " + openAI("x", `{"content":"a"}`, "null", "") + "\n\ndata: " + openAI("x", "{}", `"stop"`, ","+timings) + "\n\ndata: [DONE]\n\n"
			}},
		"openai plain": {chat.OpenAI, single,
			func(timings string) string {
				return strings.Replace(openAI("x", load, `"tool_calls"`, ","+timings), "delta", "message", 1)
			},
			func(timings string) string {
				return strings.Replace(openAI("x", `{"content":"a"}`, `"stop"`, ","+timings), "delta", "message", 1)
			}},
		"responses": {chat.Responses, events,
			func(timings string) string {
				return sse("response.completed", `"response":`+rObject("a", "completed", rDone("h1", "load_tools", "{}"), 0)+","+timings)
			},
			func(timings string) string {
				return sse("response.completed", `"response":`+rObject("a", "completed", rMessage("m", "a"), 0)+","+timings)
			}},
	} {
		for _, timings := range [][3]string{{one, two, sum}, {one, nothing, nothing}, {nothing, two, two}, {oddOne, two, two}, {nothing, oddTwo, oddTwo}} {
			got := filter(c.protocol, c.kind, ours(), 11, c.first(timings[0]), c.end(timings[1]))
			if want := c.end(timings[2]); got.out != want {
				t.Errorf("%s, %s then %s:\n%s\nwant:\n%s", name, timings[0], timings[1], got.out, want)
			}
		}
	}
}
