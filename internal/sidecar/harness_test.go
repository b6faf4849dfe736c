package sidecar_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/session"
	"toolbelt/internal/sidecar"
	"toolbelt/internal/turn"
	"toolbelt/selector"
	"toolbelt/skills"
	"toolbelt/skills/skillstest"
)

// lexicalSnapshots makes snapshots that compare words only.
type lexicalSnapshots struct{}

func (lexicalSnapshots) Snapshot(_ catalog.Hash, tools []catalog.Tool) (*turn.Snapshot, error) {
	cat := catalog.New(tools)
	ix, err := selector.NewIndex(cat)
	if err != nil {
		return nil, err
	}
	return &turn.Snapshot{Index: ix, Bundles: bundles.NewSet(cat, nil)}, nil
}

// rig is the API over the real planner.
type rig struct {
	t       *testing.T
	handler http.Handler
	log     bytes.Buffer
	status  sidecar.Status
}

func start(t *testing.T, change func(*sidecar.Parts)) *rig {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, status: sidecar.Status{Ready: true, Version: "1.2.3", Upstream: "http://127.0.0.1:11434", Mode: "on", Embedder: embed.None{}.Status()}}
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	library, err := skills.Open(context.Background(), skills.Parts{Store: skillstest.NewMemory(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	sessions := session.New(time.Now)
	policy := turn.DefaultPolicy()
	policy.MaxTools = 4
	planner := turn.NewPlanner(policy, turn.Parts{Sessions: sessions, Snapshots: lexicalSnapshots{}, Builtin: builtin, QueryKey: []byte("k")})
	parts := sidecar.Parts{
		Planner: planner, Explainer: planner,
		Sessions: sessions, Skills: library, Editor: library, Log: log,
		Status: func() sidecar.Status { return r.status },
	}
	if change != nil {
		change(&parts)
	}
	r.handler, err = sidecar.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call makes a request, checks its status, and decodes the answer into a map; nil where it is no JSON object.
func (r *rig) call(method, path, body string, want int) map[string]any {
	r.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("User-Agent", "test/1")
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	if w.Code != want {
		r.t.Fatalf("%s %s %.200s: %d %s, want %d", method, path, body, w.Code, w.Body, want)
	}
	var answer map[string]any
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	if want >= 400 && !strings.HasSuffix(path, "/readyz") && (answer["error"] == nil || answer["error"] == "" || answer["kind"] == "") {
		r.t.Errorf("%s %s: no sentence in %s", method, path, w.Body)
	}
	return answer
}

// fails is call for what must not succeed; the sentence must hold text.
func (r *rig) fails(method, path, body string, want int, text string) {
	r.t.Helper()
	if answer := r.call(method, path, body, want); !strings.Contains(fmt.Sprint(answer["error"]), text) {
		r.t.Errorf("%s %s %.200s: %q lacks %q", method, path, body, answer["error"], text)
	}
}

// tool is one in OpenAI's shape.
func tool(name, description string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{"value":{"type":["string","null"],"description":"what it is about"}}}}}`, name, description)
}

func offered() string {
	return "[" + strings.Join([]string{
		tool("get_weather", "Weather forecast for a city"), tool("send_email", "Send an email to somebody"), tool("play_music", "Play a song or an album"),
		tool("book_flight", "Book a flight to a destination"), tool("calculate", "Evaluate arithmetic"), tool("translate", "Translate text into another language"),
		tool("set_alarm", "Set an alarm clock"), tool("read_file", "Read a file from disk"), tool("git_commit", "Commit staged changes to the repository"),
	}, ",") + "]"
}

func messages(texts ...string) string {
	var list []string
	for i, text := range texts {
		if i > 0 {
			list = append(list, `{"role":"assistant","content":"ok"}`)
		}
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// names of the tools of a selection, in order.
func names(answer map[string]any) []string {
	var out []string
	for _, t := range answer["tools"].([]any) {
		out = append(out, t.(map[string]any)["name"].(string))
	}
	return out
}
