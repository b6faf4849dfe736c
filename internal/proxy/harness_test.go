package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/proxy"
	"toolbelt/internal/turn"
)

// patience is how long a test waits for what must come. It is never waited for where all is well.
const patience = 20 * time.Second

// fakePlanner shows the first two tools, and remembers what it was told.
type fakePlanner struct {
	plan  func(turn.Request) (*turn.Plan, error) // instead of the first two tools
	late  func()                                 // in Commit and Observe, where not nil
	again func(*turn.Plan, turn.Round) (*turn.Plan, error)

	mu        sync.Mutex
	requests  []turn.Request
	committed int
	observed  chan []string
	refused   atomic.Int32
	held      atomic.Int32 // calls of ours that were not answered
}

func newFakePlanner() *fakePlanner { return &fakePlanner{observed: make(chan []string, 1000)} }

func (f *fakePlanner) Plan(_ context.Context, r turn.Request) (*turn.Plan, error) {
	f.mu.Lock()
	kept := r
	kept.Body = bytes.Clone(r.Body)
	f.requests = append(f.requests, kept)
	f.mu.Unlock()
	if f.plan != nil {
		return f.plan(r)
	}
	return firstTwo(r), nil
}

func firstTwo(r turn.Request) *turn.Plan {
	var order []string
	for _, t := range r.Chat.Tools[:min(2, len(r.Chat.Tools))] {
		order = append(order, t.Name)
	}
	return &turn.Plan{Body: chat.Render(r.Body, r.Chat, order)}
}

func unchanged(r turn.Request) (*turn.Plan, error) { return &turn.Plan{Body: r.Body}, nil }

func (f *fakePlanner) Commit(*turn.Plan) {
	if f.late != nil {
		f.late()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committed++
}

func (f *fakePlanner) Again(_ context.Context, p *turn.Plan, r turn.Round) (*turn.Plan, error) {
	if f.again == nil {
		return nil, nil
	}
	return f.again(p, r)
}

func (f *fakePlanner) Observe(_ *turn.Plan, o turn.Outcome) {
	if f.late != nil {
		f.late()
	}
	if o.Refused {
		f.refused.Add(1)
		return
	}
	f.held.Add(int32(len(o.Held)))
	var called []string
	for _, c := range o.Called {
		if !slices.Contains(called, c.Name) {
			called = append(called, c.Name)
		}
	}
	f.observed <- called
}

func (f *fakePlanner) commits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.committed
}

func (f *fakePlanner) seen() []turn.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is a client's view: a daemon before an engine.
type rig struct {
	t       testing.TB
	planner *fakePlanner
	handler *proxy.Handler
	daemon  *httptest.Server
	log     *logBuffer
}

// start puts a daemon before the engine at this URL.
func start(t testing.TB, engineURL string, change func(*proxy.Config)) *rig {
	t.Helper()
	upstream, err := proxy.ParseUpstream(engineURL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := proxy.Config{Upstream: upstream}
	if change != nil {
		change(&cfg)
	}
	r := &rig{t: t, planner: newFakePlanner(), log: &logBuffer{}}
	own := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { fmt.Fprintf(w, "own %s %s", q.Method, q.URL.Path) })
	r.handler, err = proxy.New(cfg, r.planner, own, slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	r.daemon = httptest.NewServer(r.handler)
	t.Cleanup(func() {
		r.daemon.Close()
		r.handler.Close()
	})
	return r
}

// engine starts an engine with this handler.
func engine(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// recorder is an engine that answers 200 {} and hands on what it was sent.
type received struct {
	method, uri, host, body string
	header                  http.Header
	trailer                 http.Header
	length                  int64
	encoding                []string
}

func recorder(t testing.TB) (url string, got chan received) {
	got = make(chan received, 100)
	url = engine(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("engine: reading the body: %v", err)
		}
		got <- received{r.Method, r.RequestURI, r.Host, string(body), r.Header, r.Trailer, r.ContentLength, r.TransferEncoding}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	})
	return url, got
}

// post sends a body and returns status and answer.
func (r *rig) post(path, body string, header ...string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest("POST", r.daemon.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return r.do(req)
}

func (r *rig) do(req *http.Request) (int, string) {
	r.t.Helper()
	res, err := r.daemon.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// take receives what must come.
func take[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// toolJSON is a tool with odd but legal JSON, which must come through byte for byte.
func toolJSON(name string) string {
	return `{ "type":"function", "function":{"name":"` + name + `","description":"does ` + name + ` \u00e9","parameters":{"type":["object","null"],"properties":{"x":{"type":"number","minimum":1.0e2}}, "$defs":{}}}}`
}

func toolsJSON(n int) string {
	var all []string
	for i := range n {
		all = append(all, toolJSON(fmt.Sprintf("tool_%d", i)))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func chatBody(tools string) string {
	return `{"model":"m","seed":1.50, "messages":[{"role":"user","content":"hello"}],"tools":` + tools + `,"options":{"num_ctx":8192},"x":null}`
}

// shortened is chatBody(toolsJSON(n)) with the first two tools.
func shortened() string { return chatBody("[" + toolJSON("tool_0") + "," + toolJSON("tool_1") + "]") }

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so after %s", what, patience)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
