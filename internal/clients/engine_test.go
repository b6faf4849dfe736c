package clients_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// watched is a real engine whose chat requests are kept as they reach it.
type watched struct {
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	last  []byte // body of the last chat request
}

func (e *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/chat") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		e.mu.Lock()
		e.last = body
		e.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	e.proxy.ServeHTTP(w, r)
}

func (e *watched) lastChat() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// Every client completes a streamed chat with tools through the daemon in front of a real engine.
func TestEveryClientChatsWithARealEngine(t *testing.T) {
	engine := os.Getenv("TOOLBELT_TEST_ENGINE")
	if engine == "" {
		t.Skip("TOOLBELT_TEST_ENGINE is not set: it is the URL of an Ollama that has the model smollm2; \"make test\" starts one")
	}
	at := mustURL(t, engine)
	watch := &watched{proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, FlushInterval: -1}}
	server := httptest.NewServer(watch)
	defer server.Close()
	daemon := startDaemon(t, server.URL)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			tools := catalog()
			seen, err := c.chat(t, job{Base: daemon, Model: "smollm2", User: question, Tools: tools})
			if err != nil {
				t.Fatal(err)
			}
			if len(seen.Chunks) < 2 {
				t.Errorf("%d chunks: the answer was not streamed", len(seen.Chunks))
			}
			if seen.Text == "" && len(seen.Calls) == 0 {
				t.Error("the answer has neither text nor a tool call")
			}
			if seen.Finish != "stop" && seen.Finish != "length" && seen.Finish != "tool_calls" {
				t.Errorf("the answer ended with %q, want stop, length or tool_calls", seen.Finish)
			}
			if seen.PromptTokens == 0 {
				t.Error("the engine's count of the prompt's tokens did not arrive")
			}
			if names := toolNames(t, watch.lastChat()); len(names) >= len(tools) || !slices.Contains(names, "get_weather") {
				t.Errorf("the engine got the tools %q: want get_weather among them, and not all", names)
			}
		})
	}
}
