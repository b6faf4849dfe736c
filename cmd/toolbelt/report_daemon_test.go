package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"toolbelt/internal/telemetry"
)

// callingEngine answers every chat with a call of the tool that its last message ends with, of op17 where that is "please" or a tool's result, and says what it read. It keeps the bodies.
type callingEngine struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

func newCallingEngine(t *testing.T) *callingEngine {
	e := &callingEngine{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var chat struct {
			Messages []struct{ Role, Content string }
		}
		if r.URL.Path != "/api/chat" || json.Unmarshal(body, &chat) != nil || len(chat.Messages) == 0 {
			http.NotFound(w, r)
			return
		}
		e.mu.Lock()
		e.bodies = append(e.bodies, body)
		e.mu.Unlock()
		words := strings.Fields(chat.Messages[len(chat.Messages)-1].Content)
		tool := words[len(words)-1]
		arguments := `{}`
		switch {
		case tool == "please" || chat.Messages[len(chat.Messages)-1].Role == "tool": // a tool that the words do not lead to
			tool = "op17"
		case tool == "load_tools":
			arguments = `{"name":"op17"}`
		}
		fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":%q,"arguments":%s}}]},"done":true,"done_reason":"stop","prompt_eval_count":%d,"prompt_eval_duration":%d,"eval_count":5,"eval_duration":1000}`+"\n",
			tool, arguments, len(body)/4, len(body)/4*10_000_000)
	}))
	t.Cleanup(e.Close)
	return e
}

// shadowTools are one tool about the weather and twenty about other things.
func shadowTools() string {
	tools := []string{`{"type":"function","function":{"name":"get_weather","description":"Weather forecast for a city: temperature, rain and wind.","parameters":{"type":"object"}}}`}
	for i := range 20 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"op%d","description":"Internal job %d of the machine park, with a long explanation of nothing in particular, so that the array is worth cutting and takes its time to read","parameters":{"type":"object"}}}`, i, i))
	}
	return strings.Join(tools, ",\n ")
}

// TestShadowReport has an app talk through a daemon in shadow mode: every byte goes on, and the report says what would have been.
func TestShadowReport(t *testing.T) {
	engine, db := newCallingEngine(t), filepath.Join(t.TempDir(), "t.db")
	r := start(t, engine.URL, "TOOLBELT_DB="+db, "TOOLBELT_MODE=shadow", "TOOLBELT_MAX_TOOLS=4")
	var sent [][]byte
	for i, last := range []string{"get_weather", "please", "get_weather", "no_such_tool"} {
		body := fmt.Appendf(nil, `{"model":"m", "stream":false, "messages":[{"role":"user","content":"conversation %d: will there be rain in Paris tomorrow? %s"}],"tools":[%s]}`, i, last, shadowTools())
		sent = append(sent, body)
		res, err := http.Post(r.url+"/api/chat", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !bytes.Contains(answer, []byte("tool_calls")) {
			t.Fatalf("%d %s %v", res.StatusCode, answer, err)
		}
	}
	_, metrics := get(t, r.url+"/toolbelt/metrics")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	for i, body := range sent {
		if !bytes.Equal(engine.bodies[i], body) {
			t.Errorf("request %d was changed:\n%.300s", i, engine.bodies[i])
		}
	}
	var d reportDocument
	if err := json.Unmarshal([]byte(reported(t, db, "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Modes) != 1 || d.Modes[0].Mode != "shadow" {
		t.Fatalf("got %+v", d)
	}
	if len(d.Apps) != 1 || d.Apps[0].Turns != 4 || d.Apps[0].Family != "ollama" || d.Apps[0].Agent != "Go-http-client" || fmt.Sprint(d.Apps[0].Tools) != "[get_weather op17]" {
		t.Errorf("the app is %+v", d.Apps)
	}
	m := d.Modes[0]
	if m.Turns != 4 || m.Sessions != 4 || m.Recall.Calls != 3 || m.Recall.Missed != 1 || m.Tools.Offered != 21 || m.Tools.Visible >= 21 {
		t.Errorf("got %+v", m)
	}
	if m.Saving.Turns == 0 || m.Saving.Tokens == nil || m.Saving.Seconds == nil {
		t.Errorf("nothing is said of what would be saved: %+v", m.Saving)
	}
	for _, line := range []string{`toolbelt_plans_total{outcome="list"} 4`, `toolbelt_tool_calls_total 3`, `toolbelt_escapes_total 1`, `mode="shadow"`, `toolbelt_chats_total{kind="untouched"} 4`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if len(d.Missed) != 1 || d.Missed[0] != (telemetry.Missed{Tool: "op17", Misses: 1, Calls: 1}) {
		t.Errorf("missed are %+v", d.Missed)
	}
	if lines := regexp.MustCompile(`(?m)^.*"event": "TOOL_LOADER_ESCAPE_HATCH".*$`).FindAllString(r.log.String(), -1); len(lines) != 1 || !strings.Contains(lines[0], `"tool": "op17"`) || !strings.Contains(lines[0], `"note": "shadow: `) {
		t.Errorf("the would-be miss is logged as %q", lines)
	}
}

// TestNothingIsCountedWhereItIsOff looks at the report after a chat.
func TestNothingIsCountedWhereItIsOff(t *testing.T) {
	for environ, want := range map[string]string{"TOOLBELT_MEMORY=off": "", "TOOLBELT_MODE=off": "No turn", "TOOLBELT_LEARN=off": "keeps no names"} {
		engine, db := newCallingEngine(t), filepath.Join(t.TempDir(), "t.db")
		r := start(t, engine.URL, "TOOLBELT_DB="+db, environ)
		body := fmt.Sprintf(`{"model":"m","stream":false,"messages":[{"role":"user","content":"the weather in Paris: get_weather"}],"tools":[%s]}`, shadowTools())
		res, err := http.Post(r.url+"/api/chat", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		if environ == "TOOLBELT_MEMORY=off" {
			if _, err := os.Stat(db); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is a database, or %v", environ, err)
			}
			continue
		}
		if text := reported(t, db); !strings.Contains(text, want) || strings.Contains(text, "get_weather") || strings.Contains(text, "op0") || environ == "TOOLBELT_LEARN=off" && !strings.Contains(text, " (ollama, Go-http-client): 1 turn in 1 conversation") {
			t.Errorf("%s: reported %s", environ, text)
		}
	}
}

// TestReportCountsWhatWasAskedFor has the model ask for a hidden tool, which it then calls in the same answer.
func TestReportCountsWhatWasAskedFor(t *testing.T) {
	engine, db := newCallingEngine(t), filepath.Join(t.TempDir(), "t.db")
	r := start(t, engine.URL, "TOOLBELT_DB="+db, "TOOLBELT_MAX_TOOLS=4")
	body := fmt.Sprintf(`{"model":"m","stream":false,"messages":[{"role":"user","content":"will there be rain in Paris tomorrow? load_tools"}],"tools":[%s]}`, shadowTools())
	res, err := http.Post(r.url+"/api/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !bytes.Contains(answer, []byte("op17")) || len(engine.bodies) != 2 {
		t.Fatalf("%v, %d rounds: %s", err, len(engine.bodies), answer)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	var d reportDocument
	if err := json.Unmarshal([]byte(reported(t, db, "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Modes) != 1 || d.Modes[0].Mode != "on" || d.Modes[0].Recall.Calls != 1 || d.Modes[0].Recall.Asked != 1 || d.Modes[0].Recall.Missed != 0 || *d.Modes[0].Recall.Share != 0 {
		t.Errorf("got %+v", d.Modes)
	}
	if hidden := d.Modes[0].Unseen; hidden.Turns != 1 || hidden.Asked != 1 || hidden.Guesses != 0 || hidden.Evaluated <= 0 || hidden.Evaluated != -d.Modes[0].Saving.Hidden || d.Modes[0].Saving.Turns != 1 {
		t.Errorf("hidden turns %+v, saving %+v", hidden, d.Modes[0].Saving)
	}
	if text := reported(t, db); !strings.Contains(text, "calls of load_tools and tool_search answered: 1, guesses after the engine had dropped a call: 0") {
		t.Errorf("reported %s", text)
	}
}
