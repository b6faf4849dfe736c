package turn_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// harness is a planner on real parts, with a clock of its own.
type harness struct {
	t        testing.TB
	planner  *turn.Planner
	sessions *session.Manager
	escaped  []string
	loaded   []string
	verdicts []kvcache.Verdict
	planned  []*turn.Plan
	mu       sync.Mutex
	now      time.Time
}

func (h *harness) Planned(p *turn.Plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.planned = append(h.planned, p)
}

func (h *harness) Escaped(_ session.State, tool string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.escaped = append(h.escaped, tool)
}

func (h *harness) Loaded(_ *turn.Plan, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loaded = append(h.loaded, what)
}

func (h *harness) Answered(_ *turn.Plan, v kvcache.Verdict) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.verdicts = append(h.verdicts, v)
}

// setup is what a test changes of the default planner.
type setup struct {
	policy  func(*turn.Policy)
	builtin embed.Embedder
	neural  turn.Neural
	views   []embed.Embedder // beside the builtin's, in every snapshot
	skills  turn.Skills
	learner turn.Learner
	runs    turn.Runs
	bundles []bundles.Bundle
}

func newHarness(t testing.TB, s setup) *harness {
	t.Helper()
	h := &harness{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	if s.builtin == nil {
		b, err := embed.NewBuiltin()
		if err != nil {
			t.Fatal(err)
		}
		s.builtin = b
	}
	library, err := ingest.New(ingest.Config{Builtin: s.builtin, Bundles: s.bundles, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(library.Close)
	policy := turn.DefaultPolicy()
	if s.policy != nil {
		s.policy(&policy)
	}
	h.sessions = session.New(func() time.Time { return h.now })
	h.planner = turn.NewPlanner(policy, turn.Parts{
		Sessions: h.sessions, Snapshots: withViews{library, s.views, map[catalog.Hash]*turn.Snapshot{}}, Builtin: s.builtin, Neural: s.neural, Skills: s.skills, Learner: s.learner, Runs: s.runs, Recorder: h, QueryKey: []byte("key"),
	})
	return h
}

// withViews adds other embedders' views to a library's snapshots at once.
type withViews struct {
	library *ingest.Library
	others  []embed.Embedder
	made    map[catalog.Hash]*turn.Snapshot
}

func (w withViews) Snapshot(hash catalog.Hash, tools []catalog.Tool) (*turn.Snapshot, error) {
	if s, ok := w.made[hash]; ok {
		return s, nil
	}
	s, err := w.library.Snapshot(hash, tools)
	if err != nil || len(w.others) == 0 {
		return s, err
	}
	ix := s.Index
	for _, e := range w.others {
		if ix, err = ix.With(viewBy(e, s.Catalog())); err != nil {
			return nil, err
		}
	}
	w.made[hash] = &turn.Snapshot{Index: ix, Bundles: s.Bundles}
	return w.made[hash], nil
}

// demoTools are the 38 tools of the demonstration, by name.
func demoTools(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("../../eval/demotools.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, raw := range gjson.GetBytes(data, "tools").Array() {
		tools = append(tools, raw.Raw)
	}
	return tools
}

// message is one message of a request.
type message map[string]any

func user(text string) message { return message{"role": "user", "content": text} }

func called(names ...string) message {
	var calls []any
	for _, n := range names {
		calls = append(calls, map[string]any{"function": map[string]any{"name": n, "arguments": map[string]any{}}})
	}
	return message{"role": "assistant", "content": "", "tool_calls": calls}
}

func result() message { return message{"role": "tool", "content": "done"} }

func answer(text string) message { return message{"role": "assistant", "content": text} }

// body is a request to /api/chat; extra is spliced in as it is, after the model.
func body(t testing.TB, tools []string, extra string, messages ...message) []byte {
	t.Helper()
	encoded, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"model":"m",%s"messages":%s,"tools":[%s]}`, extra, encoded, strings.Join(tools, ", "))
}

// request decodes a body as the proxy does.
func request(t testing.TB, b []byte) turn.Request {
	t.Helper()
	decoded, err := chat.Decode(chat.Ollama, b)
	if err != nil {
		t.Fatalf("decoding %.200s: %v", b, err)
	}
	return turn.Request{Body: b, Chat: decoded, Identity: session.Identity{
		Family: "ollama", Model: decoded.Model, Agent: "test", Chain: chat.Chain(decoded), Replies: decoded.Replies, Continues: decoded.Continues, Body: sha256.Sum256(b),
	}}
}

// plan plans and commits.
func (h *harness) plan(b []byte) *turn.Plan {
	h.t.Helper()
	p, err := h.planner.Plan(context.Background(), request(h.t, b))
	if err != nil {
		h.t.Fatal(err)
	}
	h.planner.Commit(p)
	return p
}

// sent are the names in the array that a plan sends.
func sent(t testing.TB, p *turn.Plan) []string {
	t.Helper()
	if !json.Valid(p.Body) {
		t.Fatalf("the plan's body is not JSON: %.300s", p.Body)
	}
	var names []string
	for _, tool := range gjson.GetBytes(p.Body, "tools").Array() {
		name := tool.Get("function.name").String()
		if name == "" {
			name = tool.Get("type").String()
		}
		names = append(names, name)
	}
	return names
}

func reason(p *turn.Plan, name string) session.Reason {
	for _, t := range p.Tools {
		if t.Name == name {
			return t.Reason
		}
	}
	return ""
}

func wantSent(t testing.TB, p *turn.Plan, names ...string) {
	t.Helper()
	got := sent(t, p)
	for _, n := range names {
		if !slices.Contains(got, n) {
			t.Errorf("%q is not sent; sent are %q", n, got)
		}
	}
}

// calls is the outcome of an answer that called these tools.
func calls(names ...string) turn.Outcome {
	var o turn.Outcome
	for _, name := range names {
		o.Called = append(o.Called, chat.Call{Name: name})
	}
	return o
}
