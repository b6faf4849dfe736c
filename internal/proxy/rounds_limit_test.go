package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// cutCall is an answer that ends at its limit of tokens in the midst of a call of ours, behind words or not, and what says so in it.
type cutCall struct {
	name, path, kind string
	answer           string
	finish           string
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func cutCalls() []cutCall {
	const half = `{\"name\":\"x`
	const item = `{"type":"function_call","id":"f","call_id":"c","name":"load_tools","arguments":"` + half + `","status":"incomplete"}`
	response := func(output string) string {
		return `{"id":"r","object":"response","created_at":1,"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + output + `],"usage":{"input_tokens":9,"output_tokens":7,"total_tokens":16}}`
	}
	return []cutCall{
		{"Ollama, streamed", "/api/chat", ndjson, heldLine + strings.Replace(firstDone, `"stop"`, `"length"`, 1), `"done_reason":"length"`},
		{"Ollama", "/api/chat", "application/json", strings.Replace(plainHeld, `"stop"`, `"length"`, 1), `"done_reason":"length"`},
		{"OpenAI, streamed", "/v1/chat/completions", "text/event-stream", `data: {"id":"a","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"load_tools","arguments":""}}]},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"a","created":1,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + half + `"}}]},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"a","created":1,"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n", `"finish_reason":"length"`},
		{"OpenAI", "/v1/chat/completions", "application/json", `{"id":"a","created":1,"choices":[{"index":0,"message":{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"load_tools","arguments":"` + half + `"}}]},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16}}`, `"finish_reason":"length"`},
		{"Responses, streamed", "/v1/responses", "text/event-stream", event("response.created", `{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}`) +
			event("response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"load_tools","arguments":"","status":"in_progress"}}`) +
			event("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","sequence_number":2,"output_index":0,"item_id":"f","delta":"`+half+`"}`) +
			event("response.output_item.done", `{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":`+item+`}`) +
			event("response.incomplete", `{"type":"response.incomplete","sequence_number":4,"response":`+response(item)+`}`), `"status":"incomplete"`},
		{"Responses", "/v1/responses", "application/json", response(item), `"status":"incomplete"`},
		{"Anthropic, streamed", "/v1/messages", "text/event-stream", event("message_start", `{"type":"message_start","message":{"id":"a","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`) +
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"load_tools","input":{}}}`) +
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"`+half+`"}}`) +
			event("content_block_stop", `{"type":"content_block_stop","index":0}`) +
			event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":7}}`) + event("message_stop", `{"type":"message_stop"}`), `"stop_reason":"max_tokens"`},
		{"Anthropic", "/v1/messages", "application/json", `{"id":"a","type":"message","role":"assistant","content":[{"type":"tool_use","id":"c","name":"load_tools","input":{}}],"stop_reason":"max_tokens","usage":{"input_tokens":9,"output_tokens":7}}`, `"stop_reason":"max_tokens"`},
	}
}

// chatBodyOf is a request to this path with three tools.
func chatBodyOf(path string, stream bool) string {
	tools, messages := toolsJSON(3), `"messages":[{"role":"user","content":"hello"}]`
	switch path {
	case "/v1/responses":
		tools, messages = `[{"type":"function","name":"tool_0"},{"type":"function","name":"tool_1"},{"type":"function","name":"tool_2"}]`, `"input":"hello"`
	case "/v1/messages":
		tools = `[{"name":"tool_0","input_schema":{}},{"name":"tool_1","input_schema":{}},{"name":"tool_2","input_schema":{}}]`
	}
	streams, _ := json.Marshal(stream)
	return `{"model":"m","stream":` + string(streams) + `,` + messages + `,"tools":` + tools + `}`
}

// TestACallOfOursThatIsCutAtTheLimitEndsTheAnswer: the engine is not asked again, and the client reads why, without the half call.
func TestACallOfOursThatIsCutAtTheLimitEndsTheAnswer(t *testing.T) {
	for _, c := range cutCalls() {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: c.kind, answers: []string{c.answer}}
			r := inRounds(t, s)
			status, got := r.post(c.path, chatBodyOf(c.path, strings.Contains(c.name, "streamed")))
			if asked := s.asked(); len(asked) != 1 {
				t.Errorf("the engine was asked %d times", len(asked))
			}
			if status != 200 || strings.Count(got, c.finish) != 1 || strings.Contains(got, "load_tools") || strings.Contains(got, `\"name`) || strings.Contains(got, "tool_use") {
				t.Errorf("status %d, the client got %s", status, got)
			}
			take(t, r.planner.observed, "the observation")
			if n := r.planner.held.Load(); n != 1 {
				t.Errorf("the planner heard of %d calls of ours, want 1: what it names is to be visible from the next request on", n)
			}
		})
	}
}
