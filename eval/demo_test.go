package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

func TestTheDemosConversation(t *testing.T) {
	c, err := eval.Demo()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tools) != 38 || len(c.Core) != 5 || len(c.Turns) != 3 {
		t.Fatalf("%d tools, %d CORE, %d turns; want 38, 5, 3", len(c.Tools), len(c.Core), len(c.Turns))
	}
	for turn, wantCore := range []bool{false, true, false} {
		if slices.Contains(c.Core, c.Turns[turn].Needs) != wantCore {
			t.Errorf("turn %d needs %q: want CORE %v", turn+1, c.Turns[turn].Needs, wantCore)
		}
	}
	if c.Turns[0].Needs == c.Turns[2].Needs {
		t.Errorf("turns 1 and 3 need the same tool, %q", c.Turns[0].Needs)
	}
	if n := len(c.Messages(2)); n != 2+4+4 {
		t.Errorf("the third turn's request has %d messages, want system, two turns with three replies each, and the user's", n)
	}
}

func TestParseConversationRefuses(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"a"}},{"name":"b"}]`
	for name, doc := range map[string]string{
		"no JSON":           `{`,
		"no turns":          `{` + tools + `}`,
		"no text":           `{"turns":[{"user":"","needs":"a"}],` + tools + `}`,
		"said twice":        `{"turns":[{"user":"x","needs":"a"},{"user":"x","needs":"b"}],` + tools + `}`,
		"needs a stranger":  `{"turns":[{"user":"x","needs":"c"}],` + tools + `}`,
		"CORE is a string":  `{"core":"a","turns":[{"user":"x","needs":"a"}],` + tools + `}`,
		"CORE is a strange": `{"core":["c"],"turns":[{"user":"x","needs":"a"}],` + tools + `}`,
		"tool has no name":  `{"turns":[{"user":"x","needs":"a"}],"tools":[{"name":"a"},{"type":"function"}]}`,
		"names twice":       `{"turns":[{"user":"x","needs":"a"}],"tools":[{"name":"a"},{"name":"a"}]}`,
	} {
		if _, err := eval.ParseConversation([]byte(doc)); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%s: error %v, want an Invalid one", name, err)
		}
	}
	if _, err := eval.ParseConversation([]byte(`{"core":["b"],"turns":[{"user":"x","needs":"a"}],` + tools + `}`)); err != nil {
		t.Errorf("a sound one: %v", err)
	}
}

// halver is a stand-in for the daemon: it lets the first tools through only.
func halver(t *testing.T, upstream *url.URL, keep int) http.Handler {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Errorf("reading the request: %v", err)
		}
		var tools []json.RawMessage
		if err := json.Unmarshal(request["tools"], &tools); err != nil {
			t.Errorf("reading the tools: %v", err)
		}
		request["tools"], _ = json.Marshal(tools[:keep])
		body, _ := json.Marshal(request)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	})
}

func newPlayer(t *testing.T, fake *fakeEngine) (*eval.Player, *url.URL) {
	conversation, err := eval.ParseConversation([]byte(`{"system":"s","core":["a"],
		"turns":[{"user":"one","needs":"b","replies":[{"role":"assistant","content":"ok"}]},{"user":"two","needs":"c"}],
		"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, fake)
	recorder := eval.NewRecorder(at)
	return &eval.Player{
		Conversation: conversation, Model: "tiny", Options: map[string]any{"num_ctx": 512},
		Engine: eval.NewOllama(at, http.DefaultClient), Recorder: recorder,
	}, serve(t, recorder)
}

func TestPlayBothWays(t *testing.T) {
	fake := &fakeEngine{}
	player, recorded := newPlayer(t, fake)
	var progress []string
	player.Progress = func(line string) { progress = append(progress, line) }
	straight, err := player.Play(context.Background(), eval.Straight, eval.NewOllama(recorded, http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	through, err := player.Play(context.Background(), eval.Toolbelt,
		eval.NewOllama(serve(t, halver(t, recorded, 2)), http.DefaultClient))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"unload", "load", "chat 4", "chat 4", "unload", "load", "chat 2", "chat 2"}
	if !slices.Equal(fake.log, want) {
		t.Errorf("the engine was asked for %q, want %q", fake.log, want)
	}
	if len(progress) == 0 {
		t.Error("nobody was told of the progress")
	}
	if !strings.Contains(string(fake.bodies[0]), `"truncate":false`) {
		t.Errorf("the request %s lets the engine cut the prompt", fake.bodies[0])
	}

	report := eval.NewDemoReport("http://engine", "tiny", player.Conversation, []eval.Run{straight, through})
	var got []string
	for _, row := range report.Rows {
		got = append(got, fmt.Sprint(row.Way, row.Turn, row.Tools, row.PromptTokens, row.Needs, row.Visible, row.PromptEvalMS))
	}
	wantRows := []string{
		"straight1 4 420b true 7", "straight2 4 440c true 7",
		"toolbelt1 2 220b true 7", "toolbelt2 2 240c false 7",
	}
	for i := range wantRows {
		if strings.ReplaceAll(got[i], " ", "") != strings.ReplaceAll(wantRows[i], " ", "") {
			t.Errorf("row %d is %q, want %q", i+1, got[i], wantRows[i])
		}
	}
	if s := report.Savings.PromptTokens; s < 46 || s > 47 {
		t.Errorf("%.1f %% of the prompt tokens saved, want 400 of 860", s)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"1 missed", "all", "47 % fewer prompt tokens", "NO"} {
		if !strings.Contains(table.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, &table)
		}
	}
}

func TestPlayStopsAtTheFirstFailure(t *testing.T) {
	fake := &fakeEngine{}
	player, recorded := newPlayer(t, fake)
	fake.chat = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"tiny does not support tools"}`)
	}
	_, err := player.Play(context.Background(), eval.Straight, eval.NewOllama(recorded, http.DefaultClient))
	if err == nil || !strings.Contains(err.Error(), "straight, turn 1") || !strings.Contains(err.Error(), "does not support tools") {
		t.Errorf("error %v, want one that names the turn and what the engine said", err)
	}

	fake.chat = nil
	_, err = player.Play(context.Background(), eval.Toolbelt, player.Engine) // past the recorder
	if err == nil || !strings.Contains(err.Error(), "never reached") {
		t.Errorf("error %v, want one that says the request never passed the recorder", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = player.Play(ctx, eval.Straight, eval.NewOllama(recorded, http.DefaultClient)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}
