package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

var streams = map[string]struct{ path, kind string }{
	"Ollama":      {"/api/chat", "application/x-ndjson"},
	"OpenAI":      {"/v1/chat/completions", "text/event-stream"},
	"Lemonade":    {"/api/v1/chat/completions", "text/event-stream"},
	"not a chat":  {"/api/pull", "application/x-ndjson"},
	"no type":     {"/api/generate", ""},
	"plain text":  {"/x", "text/plain"},
	"known size":  {"/y", "application/octet-stream"},
	"unannounced": {"/api/chat", "application/json"},
}

// The client has the headers before the engine writes a byte, and each chunk before the engine writes the next.
func TestStreamsWithoutAddedBuffering(t *testing.T) {
	for name, c := range streams {
		t.Run(name, func(t *testing.T) {
			next := make(chan struct{})
			chunk := func(i int) string { return fmt.Sprintf("data: {\"n\":%d}\n\n", i) }
			url := engine(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				if name == "known size" {
					w.Header().Set("Content-Length", fmt.Sprint(3*len(chunk(0))))
				}
				w.WriteHeader(200)
				for i := range 3 {
					http.NewResponseController(w).Flush()
					<-next // the client has all that was sent so far
					io.WriteString(w, chunk(i))
				}
			})
			r := start(t, url, nil)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, "POST", r.daemon.URL+c.path, strings.NewReader(chatBody(toolsJSON(4))))
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			for i := range 3 {
				next <- struct{}{}
				got := make([]byte, len(chunk(i)))
				if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != chunk(i) {
					t.Fatalf("chunk %d: %q, %v", i, got, err)
				}
			}
			if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
				t.Errorf("rest %q, %v", rest, err)
			}
		})
	}
}

func TestDisconnectCancelsTheEnginesCall(t *testing.T) {
	for _, path := range []string{"/api/chat", "/v1/chat/completions", "/api/pull"} {
		for _, begun := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, begun %v", path, begun), func(t *testing.T) {
				arrived, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
				url := engine(t, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					if begun {
						io.WriteString(w, `{"message":{"tool_calls":[{"function":{"name":"tool_1","arguments":{}}}]},"done":false}`+"\n")
						http.NewResponseController(w).Flush()
					}
					arrived <- struct{}{}
					<-r.Context().Done()
					cancelled <- struct{}{}
				})
				r := start(t, url, nil)
				ctx, cancel := context.WithCancel(context.Background())
				req, _ := http.NewRequestWithContext(ctx, "POST", r.daemon.URL+path, strings.NewReader(chatBody(toolsJSON(4))))
				ended, answered := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended)
					res, err := http.DefaultClient.Do(req)
					if err == nil {
						close(answered)
						io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
				}()
				take(t, arrived, "the call")
				if begun {
					take(t, answered, "the answer's beginning")
				}
				cancel()
				take(t, cancelled, "the cancellation")
				<-ended
				if begun && path != "/api/pull" {
					take(t, r.planner.observed, "the observation")
				}
				r.daemon.Close() // waits for the handler
				if strings.Contains(r.log.String(), "WARN") {
					t.Errorf("a client that left is no news: %s", r.log)
				}
				if len(r.planner.observed) > 0 {
					t.Errorf("observed again: %v", <-r.planner.observed)
				}
			})
		}
	}
}

const (
	ollamaCall = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"NAME","arguments":{"x":1}}}]},"done":false}`
	ollamaDone = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`
	openAICall = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":INDEX,"id":"c_NAME","type":"function","function":{"name":"NAME","arguments":"{}"}}]}}]}`
	openAIDone = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	openAIOne  = `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"one","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"two","arguments":"{}"}},{"id":"c","type":"function","function":{"name":"one","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
)

func named(text, name string, index int) string {
	return strings.NewReplacer("NAME", name, "INDEX", fmt.Sprint(index)).Replace(text)
}

// Calls are seen in streams and in single answers, each answer once, and only in good ones that can be read.
func TestCallsAreObserved(t *testing.T) {
	sse := func(events ...string) string {
		return "data: " + strings.Join(events, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
	}
	one := strings.Replace(ollamaCall, `"done":false`, `"done":true`, 1)
	cases := []struct {
		name, path, kind, answer string
		status                   int
		header                   string
		want                     []string
		unobserved               bool
	}{
		{name: "Ollama stream", path: "/api/chat", kind: "application/x-ndjson", answer: named(ollamaCall, "one", 0) + "\n" + named(ollamaCall, "two", 0) + "\n" + named(ollamaCall, "one", 0) + "\n" + ollamaDone + "\n", want: []string{"one", "two"}},
		{name: "Ollama single", path: "/api/chat", kind: "application/json; charset=utf-8", answer: named(one, "one", 0), want: []string{"one"}},
		{name: "OpenAI stream", path: "/v1/chat/completions", kind: "text/event-stream", answer: sse(named(openAICall, "one", 0), named(openAICall, "two", 1), openAIDone), want: []string{"one", "two"}},
		{name: "OpenAI single", path: "/v1/chat/completions", kind: "application/json", answer: openAIOne, want: []string{"one", "two"}},
		{name: "Lemonade stream", path: "/api/v1/chat/completions", kind: "text/event-stream", answer: sse(named(openAICall, "one", 0), openAIDone), want: []string{"one"}},
		{name: "no call", path: "/api/chat", kind: "application/x-ndjson", answer: ollamaDone + "\n"},
		{name: "nonsense", path: "/api/chat", kind: "application/x-ndjson", answer: "}}}\x00\n\n[[["},
		{name: "an error", path: "/api/chat", kind: "application/json", status: 500, answer: named(one, "one", 0), unobserved: true},
		{name: "compressed", path: "/api/chat", kind: "application/json", header: "gzip", answer: named(one, "one", 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			url := engine(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", c.kind)
				if c.header != "" {
					w.Header().Set("Content-Encoding", c.header)
				}
				w.WriteHeader(max(c.status, 200))
				for b := range slices.Chunk([]byte(c.answer), 7) {
					w.Write(b)
					http.NewResponseController(w).Flush()
				}
			})
			r := start(t, url, nil)
			if status, answer := r.post(c.path, chatBody(toolsJSON(4)), "Accept-Encoding", "gzip"); status != max(c.status, 200) || answer != c.answer {
				t.Errorf("the client got %d %q", status, answer)
			}
			r.daemon.Close() // waits for the handler
			if n := r.planner.commits(); n != 1 {
				t.Errorf("committed %d times", n)
			}
			if c.unobserved {
				if len(r.planner.observed) != 0 {
					t.Errorf("observed %v", <-r.planner.observed)
				}
				return
			}
			if got := take(t, r.planner.observed, "the observation"); !slices.Equal(got, c.want) {
				t.Errorf("observed %v, want %v", got, c.want)
			}
			if len(r.planner.observed) != 0 {
				t.Error("observed twice")
			}
		})
	}
}

// An engine that breaks off is seen to break off: the client gets what there was, and no end that looks like one.
func TestEngineThatBreaksOff(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, named(ollamaCall, "one", 0)+"\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r := start(t, url, nil)
	res, err := http.Post(r.daemon.URL+"/api/chat", "application/json", strings.NewReader(chatBody(toolsJSON(4))))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil || string(body) != named(ollamaCall, "one", 0)+"\n" {
		t.Errorf("the client got %q, %v", body, err)
	}
	if got := take(t, r.planner.observed, "the observation"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("observed %v", got)
	}
	if n := strings.Count(r.log.String(), "\n"); n != 1 || !strings.Contains(r.log.String(), "broke off") {
		t.Errorf("log: %s", r.log)
	}
}

// A planner that panics when it is told something costs the client nothing.
func TestPlannerThatPanicsLater(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, ollamaDone) })
	r := start(t, url, nil)
	r.planner.late = func() { panic("ouch") }
	if status, answer := r.post("/api/chat", chatBody(toolsJSON(4))); status != 200 || answer != ollamaDone {
		t.Errorf("%d %q", status, answer)
	}
	r.daemon.Close()
	for _, doing := range []string{"keeping the plan", "noting the tools called"} {
		if !strings.Contains(r.log.String(), doing) {
			t.Errorf("log lacks %q: %s", doing, r.log)
		}
	}
}

// However many clients leave at whatever moment, nothing of them stays.
func TestNothingStaysAfterAStormOfDisconnects(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for {
			if _, err := io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":"x"},"done":false}`+"\n"); err != nil || r.Context().Err() != nil {
				return
			}
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	})
	r := start(t, url, nil)
	before := runtime.NumGoroutine()
	transport := &http.Transport{}
	var clients sync.WaitGroup
	for i := range 60 {
		clients.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, "POST", r.daemon.URL+"/api/chat", strings.NewReader(chatBody(toolsJSON(4))))
			if i%3 == 0 {
				go cancel() // at any moment
			}
			res, err := transport.RoundTrip(req)
			if err != nil {
				return
			}
			defer res.Body.Close()
			lines := bufio.NewScanner(res.Body)
			for n := 0; n < i && lines.Scan(); n++ {
			}
		})
	}
	clients.Wait()
	transport.CloseIdleConnections()
	eventually(t, "as few goroutines as before", func() bool {
		r.handler.Close()
		return runtime.NumGoroutine() <= before
	})
	if strings.Contains(r.log.String(), "WARN") {
		t.Errorf("log: %s", r.log)
	}
}
