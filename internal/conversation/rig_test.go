// Package conversation_test has whole conversations through the handler, the planner and the sessions as they are wired in the daemon, before an
// engine that says what a script tells it to.
package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/embed"
	"toolbelt/internal/enginetest"
	"toolbelt/internal/ingest"
	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
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
	shadow   bool // the daemon only watches
	keeps    bool // the daemon keeps conversations in a file
	chains   bool // Responses alone: the engine keeps what it has answered, and goes on from previous_response_id
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
	shelf     *shelf
	engine    *enginetest.Engine
	archive   *archive // nil where the engine keeps nothing
	engineURL string
	file      string // "" where conversations are not kept
	log       *lockedBuffer
	running

	mu    sync.Mutex
	minds map[string]*mind
	wires map[string]exchanged
}

// running is what ends with the daemon's process.
type running struct {
	sessions *session.Manager
	handler  *proxy.Handler
	daemon   *httptest.Server
	db       *sqlite.DB
}

// exchanged are a request's bytes at the engine, and those of its answer as far as it came.
type exchanged struct {
	request []byte
	answer  *lockedBuffer
}

// conversationHeader tells the engine's script which conversation a request is of.
const conversationHeader = "X-Conversation"

// start serves a rig until the test ends. script may be nil: then the minds speak.
func (s *shelf) start(t testing.TB, set setting, script enginetest.Script) *rig {
	t.Helper()
	r := newRig(s, set)
	if script == nil {
		script = r.speak
	}
	r.engine = enginetest.New(enginetest.Options{Style: set.style, Script: script, Split: set.split, DropUnlisted: set.drops})
	var engine http.Handler = r.engine
	if set.chains {
		r.archive = newArchive(engine)
		engine = r.archive
	}
	r.before(t, r.recording(engine))
	return r
}

// startBefore is start with any engine.
func (s *shelf) startBefore(t testing.TB, set setting, engine http.Handler) *rig {
	t.Helper()
	r := newRig(s, set)
	r.before(t, engine)
	return r
}

func newRig(s *shelf, set setting) *rig {
	return &rig{setting: set, shelf: s, log: &lockedBuffer{}, minds: map[string]*mind{}, wires: map[string]exchanged{}}
}

// before puts the daemon before an engine.
func (r *rig) before(t testing.TB, engine http.Handler) {
	t.Helper()
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	r.engineURL = server.URL
	if r.keeps {
		r.file = filepath.Join(t.TempDir(), "toolbelt.db")
	}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.stop()
		if text := r.log.String(); strings.Contains(text, "panic") {
			t.Errorf("the daemon's log tells of a panic:\n%s", text)
		}
	})
}

// run starts the daemon's process, so to speak.
func (r *rig) run() (err error) {
	log := slog.New(slog.NewTextHandler(r.log, nil))
	if r.sessions = session.New(time.Now); r.file != "" {
		if r.db, err = sqlite.Open(context.Background(), r.file, log); err != nil {
			return err
		}
		if r.sessions, err = session.Open(r.db, time.Now, log); err != nil {
			return err
		}
	}
	policy := turn.DefaultPolicy()
	policy.Strategy, policy.Shadow = r.strategy, r.shadow
	if r.policy != nil {
		r.policy(&policy)
	}
	parts := turn.Parts{Sessions: r.sessions, Snapshots: r.shelf.arrays, Builtin: r.shelf.builtin, QueryKey: []byte("key"), Now: time.Now}
	if r.believes {
		parts.Prefix = kvcache.NewBelief(time.Now)
	}
	upstream, err := proxy.ParseUpstream(r.engineURL)
	if err != nil {
		return err
	}
	own := http.NotFoundHandler()
	r.handler, err = proxy.New(proxy.Config{Upstream: upstream}, turn.NewPlanner(policy, parts), own, log)
	if err != nil {
		return err
	}
	r.daemon = httptest.NewServer(r.handler)
	return nil
}

// stop ends the daemon's process. What is waiting to be kept is.
func (r *rig) stop() {
	r.daemon.Close()
	r.handler.Close()
	r.sessions.Close()
	if r.db != nil {
		r.db.Close()
	}
}

// restart ends the daemon and starts another, with its file or without. It returns what was wrong.
func (r *rig) restart(kept bool) string {
	r.stop()
	if !kept && r.file != "" {
		r.file += "x" // another
	}
	if err := r.run(); err != nil {
		return fmt.Sprintf("starting the daemon again: %v", err)
	}
	return ""
}

// recording keeps what passed last between the daemon and the engine, by conversation.
func (r *rig) recording(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the daemon has given up
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		wire := exchanged{body, &lockedBuffer{}}
		r.mu.Lock()
		r.wires[q.Header.Get(conversationHeader)] = wire
		r.mu.Unlock()
		engine.ServeHTTP(&teed{w, wire.answer}, q)
	})
}

func (r *rig) wire(name string) exchanged {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wires[name]
}

// teed keeps what is written.
type teed struct {
	http.ResponseWriter
	to io.Writer
}

func (t *teed) Write(p []byte) (int, error) {
	if _, err := t.to.Write(p); err != nil {
		return 0, err
	}
	return t.ResponseWriter.Write(p)
}

func (t *teed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

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
	r.minds[m.name] = m
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
	return r.postTo(ctx, string(r.protocol), body, header...)
}

func (r *rig) postTo(ctx context.Context, path string, body []byte, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.daemon.URL+path, bytes.NewReader(body))
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
