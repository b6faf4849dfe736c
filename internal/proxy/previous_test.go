package proxy_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/enginetest"
	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/selector"
)

// TestAStreamInRoundsIsGoneOnFrom has the whole of it: a client whose stream had a hidden turn goes on from the id that it read, and the engine from the one of its last round.
func TestAStreamInRoundsIsGoneOnFrom(t *testing.T) {
	for style, name := range map[enginetest.Style]string{enginetest.Ollama: "numbered events", enginetest.LlamaCpp: "bare events"} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			engine := enginetest.Start(t, enginetest.Options{Style: style, Script: func(*enginetest.Request) enginetest.Round {
				if asked++; asked == 1 {
					return enginetest.Round{Text: "I look. ", Calls: []enginetest.Call{{Name: "load_tools", Arguments: `{"name":"send_mail"}`}}}
				}
				return enginetest.Round{Text: "Done."}
			}})
			daemon := realDaemon(t, engine.URL())
			tools := make([]string, 20)
			for i := range tools {
				tools[i] = `{"type":"function","name":"` + strings.Repeat("x", i+1) + `","description":"` + strings.Repeat("job ", 60) + `","parameters":{"type":"object"}}`
			}
			tools[0] = `{"type":"function","name":"send_mail","description":"sends a mail","parameters":{"type":"object"}}`
			ask := func(more string) string {
				body := `{"model":"m","stream":true,` + more + `"input":"where is it?","tools":[` + strings.Join(tools, ",") + `]}`
				w := httptest.NewRecorder()
				daemon.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/responses", strings.NewReader(body)))
				return w.Body.String()
			}
			first := ask("")
			id := created(first)
			if id == "" || strings.Contains(first, "load_tools") || asked != 2 {
				t.Fatalf("asked %d times: %s", asked, first)
			}
			if (style == enginetest.LlamaCpp) == strings.Contains(first, "sequence_number") {
				t.Errorf("the events are not as the engine's own: %s", first)
			}
			ask(`"previous_response_id":"` + id + `",`)
			all := engine.Chats()
			if got := gjson.GetBytes(all[len(all)-1].Body, "previous_response_id").Str; got == id || got == "" {
				t.Errorf("the engine is to go on from %q; the client has %q", got, id)
			}
			if n := strings.Count(string(all[len(all)-1].Body), "I look. "); n != 0 {
				t.Errorf("what the engine keeps is said again: %s", all[len(all)-1].Body)
			}
		})
	}
}

// created is the id in a stream's first event.
func created(stream string) string {
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return gjson.Get(data, "response.id").Str
		}
	}
	return ""
}

// byWords makes snapshots that compare words only.
type byWords struct{}

func (byWords) Snapshot(_ catalog.Hash, tools []catalog.Tool) (*turn.Snapshot, error) {
	cat := catalog.New(tools)
	ix, err := selector.NewIndex(cat)
	if err != nil {
		return nil, err
	}
	return &turn.Snapshot{Index: ix, Bundles: bundles.NewSet(cat, nil)}, nil
}

// realDaemon is a handler with a planner, before the engine at this URL.
func realDaemon(t *testing.T, engineURL string) http.Handler {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := proxy.ParseUpstream(engineURL)
	if err != nil {
		t.Fatal(err)
	}
	sessions := session.New(time.Now)
	t.Cleanup(sessions.Close)
	policy := turn.DefaultPolicy()
	policy.MaxTools = 4
	planner := turn.NewPlanner(policy, turn.Parts{Sessions: sessions, Snapshots: byWords{}, Builtin: builtin, QueryKey: []byte("key"), Now: time.Now})
	handler, err := proxy.New(proxy.Config{Upstream: upstream}, planner, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handler.Close)
	return handler
}
