// Package conversation_test has whole conversations through the handler, the planner and the sessions as they are wired in the daemon, before an
// engine that says what a script tells it to.
package conversation_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/embed"
	"toolbelt/internal/enginetest"
	"toolbelt/internal/ingest"
	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// setting is one way that a daemon and its engine can be.
type setting struct {
	protocol enginetest.Protocol
	style    enginetest.Style
	strategy kvcache.Strategy
	split    int
	drops    bool // the engine drops calls of tools that the request lacks
	believes bool // the daemon knows what the engine holds
	policy   func(*turn.Policy)
}

// shelf is what all rigs of a test share: the embedder and the arrays made ready.
type shelf struct {
	builtin *embed.Builtin
	arrays  *ingest.Library
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := ingest.New(ingest.Config{Builtin: builtin, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(arrays.Close)
	return &shelf{builtin, arrays}
}

// rig is a daemon before an engine, without sockets of its own.
type rig struct {
	setting
	engine   *enginetest.Engine
	sessions *session.Manager
	handler  *proxy.Handler
	daemon   *httptest.Server
	log      *lockedBuffer

	mu    sync.Mutex
	minds map[string]*mind
}

// conversationHeader tells the engine's script which conversation a request is of.
const conversationHeader = "X-Conversation"

// start serves a rig until the test ends. script may be nil: then the minds speak.
func (s *shelf) start(t testing.TB, set setting, script enginetest.Script) *rig {
	t.Helper()
	r := &rig{setting: set, log: &lockedBuffer{}, minds: map[string]*mind{}}
	if script == nil {
		script = r.speak
	}
	r.engine = enginetest.Start(t, enginetest.Options{Style: set.style, Script: script, Split: set.split, DropUnlisted: set.drops})
	s.serve(t, r, r.engine.URL())
	return r
}

// startBefore is start with any engine.
func (s *shelf) startBefore(t testing.TB, set setting, engine http.Handler) *rig {
	t.Helper()
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	r := &rig{setting: set, log: &lockedBuffer{}}
	s.serve(t, r, server.URL)
	return r
}

// serve makes the daemon of a rig.
func (s *shelf) serve(t testing.TB, r *rig, engineURL string) {
	t.Helper()
	set := r.setting
	r.sessions = session.New(time.Now)
	t.Cleanup(r.sessions.Close)
	policy := turn.DefaultPolicy()
	policy.Strategy = set.strategy
	if set.policy != nil {
		set.policy(&policy)
	}
	parts := turn.Parts{Sessions: r.sessions, Snapshots: s.arrays, Builtin: s.builtin, QueryKey: []byte("key"), Now: time.Now}
	if set.believes {
		parts.Prefix = kvcache.NewBelief(time.Now)
	}
	upstream, err := proxy.ParseUpstream(engineURL)
	if err != nil {
		t.Fatal(err)
	}
	own := http.NotFoundHandler()
	r.handler, err = proxy.New(proxy.Config{Upstream: upstream}, turn.NewPlanner(policy, parts), own, slog.New(slog.NewTextHandler(r.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	r.daemon = httptest.NewServer(r.handler)
	t.Cleanup(func() {
		r.daemon.Close()
		r.handler.Close()
		if text := r.log.String(); strings.Contains(text, "panic") {
			t.Errorf("the daemon's log tells of a panic:\n%s", text)
		}
	})
}

// speak answers a request as the mind of its conversation does.
func (r *rig) speak(request *enginetest.Request) enginetest.Round {
	r.mu.Lock()
	m := r.minds[request.Header.Get(conversationHeader)]
	r.mu.Unlock()
	if m == nil {
		return enginetest.Round{Status: http.StatusTeapot, Error: "a request of no conversation"}
	}
	return m.say(request)
}

func (r *rig) add(m *mind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.minds[m.tag] = m
}

// reply is an answer as it came over the wire.
type reply struct {
	status int
	kind   string // Content-Type
	body   []byte
	broken bool // the connection broke before its end
}

// post sends a chat request. header are names and values in turn.
func (r *rig) post(ctx context.Context, body []byte, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.daemon.URL+string(r.protocol), bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.daemon.Client().Do(req)
	if err != nil {
		return reply{broken: true}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header.Get("Content-Type"), text, err != nil}, nil
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// canned is an engine that always says the same.
func canned(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}
