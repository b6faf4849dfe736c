package clients_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scripted is an engine that answers every chat with one text and two tool calls, in the wire format of the path.
type scripted struct {
	mu     sync.Mutex
	bodies [][]byte // of the chat requests
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer, kind string
	switch r.URL.Path {
	case "/api/chat":
		answer, kind = ollamaAnswer, "application/x-ndjson"
	case "/v1/chat/completions":
		answer, kind = openAIAnswer, "text/event-stream"
	default:
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	w.Header().Set("Content-Type", kind)
	for piece := range strings.SplitAfterSeq(answer, "\n") {
		_, _ = io.WriteString(w, piece) // the client may be gone
		w.(http.Flusher).Flush()
	}
}

// taken returns the chat requests since it was last called.
func (s *scripted) taken() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	bodies := s.bodies
	s.bodies = nil
	return bodies
}

const ollamaAnswer = `{"model":"m","created_at":"2025-01-02T03:04:05.678901Z","message":{"role":"assistant","content":"Let me look. "},"done":false}
{"model":"m","created_at":"2025-01-02T03:04:05.778901Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"get_weather","arguments":{"city":"Lisbon","days":1.50}}}]},"done":false}
{"model":"m","created_at":"2025-01-02T03:04:05.878901Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_2","function":{"index":1,"name":"get_time","arguments":{}}}]},"done":false}
{"model":"m","created_at":"2025-01-02T03:04:05.978901Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1234567,"load_duration":1,"prompt_eval_count":321,"prompt_eval_duration":5,"eval_count":9,"eval_duration":6}
`

const openAIAnswer = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me look. "},"finish_reason":null}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Lis"}}]},"finish_reason":null}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"bon\"}"}},{"index":1,"id":"call_2","type":"function","function":{"name":"get_time","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[],"usage":{"prompt_tokens":321,"completion_tokens":9,"total_tokens":330}}

data: [DONE]

`

// Every client sees the same answer, chunk by chunk, through the daemon as straight from the engine; the engine sees fewer tools.
func TestToolCallsReachEveryClient(t *testing.T) {
	engine := &scripted{}
	server := httptest.NewServer(engine)
	defer server.Close()
	daemon := startDaemon(t, server.URL)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			tools := catalog()
			straight, err := c.chat(t, job{Base: server.URL, Model: "m", User: question, Tools: tools})
			if err != nil {
				t.Fatalf("straight: %v", err)
			}
			engine.taken()
			through, err := c.chat(t, job{Base: daemon, Model: "m", User: question, Tools: tools})
			if err != nil {
				t.Fatalf("through the daemon: %v", err)
			}
			if !reflect.DeepEqual(through, straight) {
				t.Errorf("through the daemon the client saw\n%+v\nstraight it saw\n%+v", through, straight)
			}
			if len(straight.Calls) != 2 || straight.Calls[0].Name != "get_weather" || straight.Calls[1].Name != "get_time" ||
				!strings.Contains(straight.Calls[0].Arguments, "Lisbon") || straight.Text != "Let me look. " || straight.PromptTokens != 321 {
				t.Errorf("the client did not read the script: %+v", straight)
			}
			bodies := engine.taken()
			if len(bodies) != 1 {
				t.Fatalf("the engine got %d chat requests, want 1", len(bodies))
			}
			names := toolNames(t, bodies[0])
			if len(names) >= len(tools) || !slices.Contains(names, "get_weather") || !strings.HasPrefix(joined(names), "get_time web_search") {
				t.Errorf("the engine got the tools %q: want CORE first, get_weather among them, and not all", names)
			}
		})
	}
}
