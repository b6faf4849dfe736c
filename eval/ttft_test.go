package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

// fakeEngine speaks as much of Ollama's protocol as the player uses. Its prompts have 100 tokens a tool and 10 a message.
type fakeEngine struct {
	chat http.HandlerFunc // answers /api/chat instead, where not nil

	mu     sync.Mutex
	loaded bool
	log    []string // what was asked of it, in order
	bodies [][]byte // of the chat requests
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body struct {
		Model     string            `json:"model"`
		KeepAlive json.RawMessage   `json:"keep_alive"`
		Prompt    string            `json:"prompt"`
		Messages  []json.RawMessage `json:"messages"`
		Tools     []json.RawMessage `json:"tools"`
	}
	var raw json.RawMessage
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprint(w, `{"version":"0.17.4"}`)
	case "/api/show":
		if body.Model != "tiny" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"model not found"}`)
			return
		}
		fmt.Fprint(w, `{}`)
	case "/api/tags":
		fmt.Fprint(w, `{"models":[{"name":"tiny:latest"},{"name":"all-minilm:latest"}]}`)
	case "/api/ps":
		if f.loaded {
			f.loaded = false // still there when first looked at, gone the next time
			fmt.Fprint(w, `{"models":[{"name":"all-minilm:latest"},{"name":"tiny:latest"}]}`)
			return
		}
		fmt.Fprint(w, `{"models":[{"name":"all-minilm:latest"}]}`)
	case "/api/generate":
		if string(body.KeepAlive) == `"0s"` || string(body.KeepAlive) == "0" {
			f.log = append(f.log, "unload")
			fmt.Fprintln(w, `{"done":true,"done_reason":"unload"}`)
			return
		}
		f.log = append(f.log, "load")
		f.loaded = true
		fmt.Fprintln(w, `{"response":"x","done":true}`)
	case "/api/chat":
		f.log = append(f.log, fmt.Sprintf("chat %d", len(body.Tools)))
		f.bodies = append(f.bodies, raw)
		if f.chat != nil {
			f.chat(w, r)
			return
		}
		fmt.Fprintln(w, `{"message":{"role":"assistant","content":""},"done":false}`)
		fmt.Fprintln(w, `{"message":{"role":"assistant","content":"Yes"},"done":false}`)
		fmt.Fprintf(w, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":%d,"prompt_eval_duration":7000000}`,
			100*len(body.Tools)+10*len(body.Messages))
	default:
		http.NotFound(w, r)
	}
}

func serve(t *testing.T, h http.Handler) *url.URL {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestChatMeasuresTheAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		status int
		fails  string // part of the error
	}{
		"content":              {answer: `{"message":{"content":"a"}}` + "\n" + `{"message":{},"done":true,"prompt_eval_count":5}` + "\n"},
		"thinking":             {answer: `{"message":{"thinking":"a"}}` + "\n" + `{"message":{},"done":true,"prompt_eval_count":5}`},
		"tool call":            {answer: `{"message":{"tool_calls":[{"function":{"name":"x","arguments":{}}}]}}` + "\n\n" + `{"done":true,"prompt_eval_count":5}`},
		"nothing but the end":  {answer: `{"message":{"content":""},"done":true,"prompt_eval_count":5}`},
		"broken off":           {answer: `{"message":{"content":"a"}}` + "\n", fails: "broke off"},
		"empty":                {answer: "", fails: "broke off"},
		"not JSON":             {answer: "<html>\n", fails: "reading the chat answer"},
		"an error on the way":  {answer: `{"message":{"content":"a"}}` + "\n" + `{"error":"runner died"}` + "\n", fails: "runner died"},
		"an error instead":     {status: 500, answer: `{"error":"no memory"}`, fails: "no memory"},
		"an error without one": {status: 404, answer: "page not found", fails: "page not found"},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, &fakeEngine{chat: func(w http.ResponseWriter, _ *http.Request) {
				if tc.status != 0 {
					w.WriteHeader(tc.status)
				}
				fmt.Fprint(w, tc.answer)
			}})
			got, err := eval.NewOllama(at, http.DefaultClient).Chat(context.Background(), eval.ChatRequest{Model: "tiny"})
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("error %v, want one that says %q", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.FirstToken <= 0 || got.Total < got.FirstToken || got.PromptTokens != 5 {
				t.Errorf("timing %+v: want 0 < first token ≤ total and 5 prompt tokens", got)
			}
		})
	}
}

// The first token is what counts, not the first line: an engine that sends an empty line first gains nothing.
func TestFirstTokenIsNotTheFirstLine(t *testing.T) {
	at := serve(t, &fakeEngine{chat: func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"message":{"content":""},"done":false}`)
		fmt.Fprintln(w, `{"message":{"content":"a"},"done":true}`)
	}})
	got, err := eval.NewOllama(at, http.DefaultClient).Chat(context.Background(), eval.ChatRequest{Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	if got.FirstToken != got.Total {
		t.Errorf("first token after %v of %v, want the time of the last line", got.FirstToken, got.Total)
	}
}

func TestCheckSaysWhatToDo(t *testing.T) {
	engine := eval.NewOllama(serve(t, &fakeEngine{}), http.DefaultClient)
	if err := engine.Check(context.Background(), "tiny"); err != nil {
		t.Errorf("a model that is there: %v", err)
	}
	err := engine.Check(context.Background(), "huge")
	if catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), "tiny:latest") {
		t.Errorf("a model that is not there: %v, want NotFound and the names of those that are", err)
	}
	nobody := httptest.NewServer(http.NotFoundHandler())
	at, _ := url.Parse(nobody.URL)
	nobody.Close()
	err = eval.NewOllama(at, http.DefaultClient).Check(context.Background(), "tiny")
	if catalog.KindOf(err) != catalog.Unavailable || !strings.Contains(err.Error(), at.String()) {
		t.Errorf("no engine: %v, want Unavailable and the address", err)
	}
}

func TestRecorderNotesWhatReachesTheEngine(t *testing.T) {
	fake := &fakeEngine{}
	recorder := eval.NewRecorder(serve(t, fake))
	at := serve(t, recorder)
	body := `{"model":"tiny","messages":[{"role":"user","content":"hello"},{"role":"tool","content":"x"}],` +
		`"tools":[{"type":"function","function":{"name":"b"}},{"type":"web_search"},{"type":"function","function":{"name":"a"}}]}`
	resp, err := http.Post(at.JoinPath("/api/chat").String(), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if string(fake.bodies[0]) != body {
		t.Errorf("the engine got %s, want the client's bytes", fake.bodies[0])
	}
	sent, ok := recorder.Take("hello")
	if !ok || strings.Join(sent.Tools, " ") != "b a" || sent.BodyBytes != len(body) {
		t.Errorf("noted %+v, %v; want the tools b and a of %d bytes", sent, ok, len(body))
	}
	if _, ok := recorder.Take("hello"); ok {
		t.Error("the same request was noted twice")
	}
	for _, odd := range []string{"", "[]", "{", `{"messages":7}`} {
		resp, err := http.Post(at.JoinPath("/api/chat").String(), "application/json", strings.NewReader(odd))
		if err != nil {
			t.Fatalf("body %q: %v", odd, err)
		}
		resp.Body.Close()
	}
}
