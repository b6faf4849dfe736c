package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// llama is a real llama.cpp server, whose chats are counted as they reach it.
type llama struct {
	url   string
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	chats int
	last  []byte // body of the last one
}

// startLlama returns the server that TOOLBELT_TEST_LLAMACPP names, and skips the test without one. It is to run with --jinja, with a template that
// shows tools before the conversation and calls in <tool_call>, and with such a bias on the first token of a call that its model makes one: for SmolLM2 "--logit-bias 44+3".
func startLlama(t *testing.T) *llama {
	t.Helper()
	address := os.Getenv("TOOLBELT_TEST_LLAMACPP")
	if address == "" {
		t.Skip("TOOLBELT_TEST_LLAMACPP is not set: it is the URL of a llama.cpp server with --jinja, a template that shows tools, and a bias towards calling one")
	}
	at := mustURL(t, address)
	l := &llama{proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0)}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *llama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		l.mu.Lock()
		l.last = body
		l.chats++
		l.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Header["Idempotency-Key"] = []string{} // not sent: the server closes connections behind its streams without a word
	}
	l.proxy.ServeHTTP(w, r)
}

func (l *llama) seen() (chats int, last []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chats, l.last
}

// ask sends a chat to a base URL and returns its answer, which must be one.
func (l *llama) ask(t *testing.T, base, path string, body map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, answer)
	}
	return answer
}

// form is one of llama.cpp's chat APIs: how a request is written, and what its answer says.
type form struct {
	path, messages, limit string
	tool                  func(name string) map[string]any
	plain, piece          string // paths of the text in a plain answer, and in an event
	called, begun         string // paths of the names of calls
	ended                 string // what the last event of a stream holds
	required              any    // the tool_choice that wants a call
}

func forms() []form {
	schema := map[string]any{"type": "object", "required": []string{"x"}, "properties": map[string]any{"x": map[string]any{"type": "string"}}}
	return []form{
		{
			"/v1/chat/completions", "messages", "max_tokens",
			func(name string) map[string]any {
				return map[string]any{"type": "function", "function": map[string]any{"name": name, "description": name, "parameters": schema}}
			},
			"choices.0.message.content", "choices.0.delta.content", "choices.0.message.tool_calls.#.function.name", "choices.0.delta.tool_calls.0.function.name", "[DONE]", "required",
		},
		{
			"/v1/responses", "input", "max_output_tokens",
			func(name string) map[string]any {
				return map[string]any{"type": "function", "name": name, "description": name, "parameters": schema}
			},
			"output.0.content.0.text", "delta", `output.#(type=="function_call")#.name`, "item.name", `"type":"response.completed"`, "required",
		},
		{
			"/v1/messages", "messages", "max_tokens",
			func(name string) map[string]any {
				return map[string]any{"name": name, "description": name, "input_schema": schema}
			},
			"content.0.text", "delta.text", `content.#(type=="tool_use")#.name`, "content_block.name", `"type":"message_stop"`, map[string]string{"type": "any"},
		},
	}
}

// read returns what an answer says and calls.
func (f form) read(t *testing.T, stream bool, answer []byte) (text string, calls []string) {
	t.Helper()
	if !stream {
		for _, name := range gjson.GetBytes(answer, f.called).Array() {
			calls = append(calls, name.Str)
		}
		return gjson.GetBytes(answer, f.plain).Str, calls
	}
	if !bytes.Contains(answer, []byte(f.ended)) {
		t.Errorf("the stream has no end:\n%s", answer)
	}
	for line := range strings.Lines(string(answer)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		switch event := gjson.Parse(data); event.Get("type").Str {
		case "response.function_call_arguments.delta", "response.output_item.done":
		default:
			text += event.Get(f.piece).Str
			if name := event.Get(f.begun).Str; name != "" {
				calls = append(calls, name)
			}
		}
	}
	return text, calls
}

// Unedited chats say through the daemon what they say straight.
func TestLlamaCppSaysTheSame(t *testing.T) {
	l := startLlama(t)
	daemon := startDaemon(t, l.url, "TOOLBELT_PREWARM=off", "TOOLBELT_LEARN=off")
	for _, f := range forms() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprint(f.path[1:], stream), func(t *testing.T) {
				body := map[string]any{
					"model": "m", "temperature": 0, "seed": 1, "stream": stream, f.limit: 8, "tools": []any{f.tool("get_time")},
					f.messages: []any{map[string]any{"role": "user", "content": "Say hello to Anna."}},
				}
				l.ask(t, l.url, f.path, body) // from here on the prompt is held, and read alike
				straight, straightCalls := f.read(t, stream, l.ask(t, l.url, f.path, body))
				through, throughCalls := f.read(t, stream, l.ask(t, daemon, f.path, body))
				if through != straight || !slices.Equal(throughCalls, straightCalls) {
					t.Errorf("through the daemon it says %q %q, straight %q %q", through, throughCalls, straight, straightCalls)
				}
			})
		}
	}
}

// A model that calls load_tools is answered within the answer, and the client sees none of it.
func TestLlamaCppHiddenRounds(t *testing.T) {
	l := startLlama(t)
	daemon := startDaemon(t, l.url, "TOOLBELT_PREWARM=off", "TOOLBELT_LEARN=off", "TOOLBELT_MAX_TOOLS=2")
	n := 0
	for _, f := range forms() {
		for _, stream := range []bool{true, false} {
			n++ // each is a conversation of its own
			t.Run(fmt.Sprint(f.path[1:], stream), func(t *testing.T) {
				var tools []any
				for _, name := range []string{"get_time", "web_search", "lock_door", "send_email", "play_music", "run_tests"} {
					tools = append(tools, f.tool(name))
				}
				say := func(role, text string) map[string]any {
					return map[string]any{"type": "message", "role": role, "content": text}
				}
				var talk []any
				for range 2 { // what a small model goes on with
					talk = append(talk, say("user", "Go."), say("assistant", "<tool_call>\n{\"name\": \"load_tools\", \"arguments\": {\"name\": \"lock_door\"}}\n</tool_call>"),
						say("user", "Result: ok"), say("assistant", "Done."))
				}
				talk = append(talk, say("user", fmt.Sprintf("Go %d.", n)))
				before, _ := l.seen()
				answer := l.ask(t, daemon, f.path, map[string]any{"model": "m", "temperature": 0, "stream": stream, f.limit: 28, "tools": tools, "tool_choice": f.required, f.messages: talk})
				_, calls := f.read(t, stream, answer)
				if slices.Contains(calls, "load_tools") || bytes.Contains(answer, []byte(`"load_tools"`)) {
					t.Errorf("the client sees a call of ours:\n%s", answer)
				}
				after, last := l.seen()
				if after-before < 2 {
					t.Fatalf("the engine was asked once: its model has not called load_tools:\n%s", answer)
				}
				if !bytes.Contains(last, []byte("You can call these tools now")) || !bytes.Contains(last, []byte("lock_door")) {
					t.Errorf("the last request has no answer of ours: %s", last)
				}
			})
		}
	}
}
