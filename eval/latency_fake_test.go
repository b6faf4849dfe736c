package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/eval"
)

// cachingEngine is an Ollama with one slot: it reuses the longest common prefix of a prompt and the one before it. A token is four bytes, and takes a
// millisecond by its own clock, which nobody waits for.
type cachingEngine struct {
	log        string // file of the debug log; "": none
	silent     bool   // it tells no counts
	forgetful  bool   // it never forgets: a model that is unloaded keeps its cache
	noTools    bool
	dropsAfter int // chats after which connections break; 0: never
	drops      int // how many

	mu     sync.Mutex
	cache  []byte
	loaded bool
	chats  int
	hold   func(chat int) // called before each chat is answered; may be nil
}

func (e *cachingEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprint(w, `{"version":"0.17.4"}`)
	case "/api/show":
		fmt.Fprint(w, `{}`)
	case "/api/tags":
		fmt.Fprint(w, `{"models":[{"name":"tiny:latest","digest":"d1"}]}`)
	case "/api/ps":
		if e.loaded {
			fmt.Fprint(w, `{"models":[{"name":"tiny:latest"}]}`)
			return
		}
		fmt.Fprint(w, `{"models":[]}`)
	case "/api/generate":
		e.generate(w, body)
	case "/api/chat":
		e.chat(w, body)
	case "/v1/chat/completions":
		e.complete(w, body)
	default:
		http.NotFound(w, r)
	}
}

func (e *cachingEngine) generate(w http.ResponseWriter, body []byte) {
	var request struct {
		KeepAlive json.RawMessage `json:"keep_alive"`
		Prompt    string          `json:"prompt"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if request.Prompt == "" {
		e.loaded = false
		if !e.forgetful {
			e.cache = nil
		}
		fmt.Fprintln(w, `{"done":true,"done_reason":"unload"}`)
		return
	}
	e.loaded = true
	if !e.forgetful {
		e.cache = []byte(request.Prompt)
	}
	fmt.Fprintln(w, `{"response":"x","done":true}`)
}

type chatBody struct {
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
	Truncate *bool             `json:"truncate"`
	Options  struct {
		Context int `json:"num_ctx"`
	} `json:"options"`
}

// prompt renders the tools behind the first message, as most templates do.
func (b chatBody) prompt() []byte {
	var out bytes.Buffer
	for i, m := range b.Messages {
		out.Write(m)
		if i > 0 {
			continue
		}
		for _, t := range b.Tools {
			out.Write(t)
		}
	}
	return out.Bytes()
}

// evaluate returns the prompt's tokens and those of them that had to be evaluated.
func (e *cachingEngine) evaluate(prompt []byte, window int) (tokens, evaluated int) {
	if tokens = (len(prompt) + 3) / 4; window > 0 && tokens > window {
		e.note("truncating input prompt", fmt.Sprintf("limit=%d prompt=%d keep=4 new=%d", window, tokens, window))
		prompt, tokens = append(prompt[:16:16], prompt[len(prompt)-4*(window-4):]...), window
	}
	common := 0
	for common < min(len(prompt), len(e.cache)) && prompt[common] == e.cache[common] {
		common++
	}
	used := min(common/4, tokens-1)
	e.note("loading cache slot", fmt.Sprintf("id=0 cache=%d prompt=%d used=%d remaining=%d", len(e.cache)/4, tokens, used, tokens-used))
	e.cache, e.loaded = prompt, true
	return tokens, tokens - used
}

func (e *cachingEngine) note(message, fields string) {
	if e.log == "" {
		return
	}
	f, err := os.OpenFile(e.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "time=2026-01-01T00:00:00Z level=DEBUG source=cache.go:104 msg=%q %s\n", message, fields)
}

// begin reads a chat and reports whether it is to be answered.
func (e *cachingEngine) begin(w http.ResponseWriter, body []byte) (b chatBody, ok bool) {
	if err := json.Unmarshal(body, &b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return b, false
	}
	e.chats++
	if e.hold != nil {
		e.hold(e.chats)
	}
	switch {
	case e.noTools && len(b.Tools) > 0:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"tiny does not support tools"}`)
		return b, false
	case e.dropsAfter > 0 && e.chats > e.dropsAfter && e.drops > 0:
		e.drops--
		e.cache, e.loaded = nil, false
		panic(http.ErrAbortHandler)
	case b.Truncate != nil && !*b.Truncate && b.Options.Context > 0 && len(b.prompt())/4 > b.Options.Context:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"the input length exceeds the context length"}`)
		return b, false
	}
	return b, true
}

func (e *cachingEngine) chat(w http.ResponseWriter, body []byte) {
	b, ok := e.begin(w, body)
	if !ok {
		return
	}
	tokens, evaluated := e.evaluate(b.prompt(), b.Options.Context)
	fmt.Fprintln(w, `{"message":{"role":"assistant","content":"Yes"},"done":false}`)
	if e.silent {
		fmt.Fprintln(w, `{"message":{"content":""},"done":true}`)
		return
	}
	fmt.Fprintf(w, `{"message":{"content":""},"done":true,"prompt_eval_count":%d,"prompt_eval_duration":%d}`, tokens, evaluated*1_000_000)
}

// complete answers as llama.cpp's server does, or, where it is silent, as one that tells no counts.
func (e *cachingEngine) complete(w http.ResponseWriter, body []byte) {
	b, ok := e.begin(w, body)
	if !ok {
		return
	}
	tokens, evaluated := e.evaluate(b.prompt(), 0)
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n")
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Yes\"},\"finish_reason\":\"length\"}]}\n\n")
	if !e.silent {
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d},\"timings\":{\"cache_n\":%d,\"prompt_n\":%d,\"prompt_ms\":%d}}\n\n", tokens, tokens-evaluated, evaluated, evaluated)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// fakeDaemon shows CORE and, at the end of the list, what the conversation has asked for; by the strategy late the latter stands behind the newest message, by
// all nothing is hidden.
type fakeDaemon struct {
	settings eval.DaemonSettings
	needs    map[string][]string // by user message
	proxy    *httputil.ReverseProxy

	mu      sync.Mutex
	answers int
	log     strings.Builder
}

func (d *fakeDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/toolbelt/readyz" {
		if d.settings.Prewarm {
			fmt.Fprint(w, `{"ready":true,"prewarm":{"sent":1,"done":1,"dropped":0}}`)
			return
		}
		fmt.Fprint(w, `{"ready":true}`)
		return
	}
	var request map[string]json.RawMessage
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &request) == nil && request["tools"] != nil {
		body = d.edit(request)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	d.proxy.ServeHTTP(w, r)
	d.mu.Lock()
	d.answers++
	fmt.Fprintf(&d.log, "TOOL_LOADER {\"turn\": 1}\n2026-01-01 %d INFO TOOL_LOADER_PREFIX {\"evaluated_expected\": 60, \"evaluated\": 61}\n", d.answers)
	d.mu.Unlock()
}

func (d *fakeDaemon) edit(request map[string]json.RawMessage) []byte {
	var tools []json.RawMessage
	var messages []map[string]any
	_ = json.Unmarshal(request["tools"], &tools) // what the harness writes can be read
	_ = json.Unmarshal(request["messages"], &messages)
	byName := map[string]json.RawMessage{}
	for _, raw := range tools {
		t, _ := catalog.ParseTool(raw)
		byName[t.Name] = raw
	}
	wanted := slices.Clone(d.settings.Core)
	for i, m := range messages {
		if m["role"] != "user" {
			continue
		}
		text := m["content"].(string)
		asked := d.needs[text]
		if name, ok := strings.CutPrefix(text, "Now use "); ok {
			asked = append(asked, strings.Fields(name)[0])
		}
		if d.settings.Strategy == "late" && i > 1 {
			for _, name := range asked {
				m["content"] = m["content"].(string) + "\n" + string(byName[name])
			}
			continue
		}
		wanted = append(wanted, asked...)
	}
	var sent []json.RawMessage
	for _, name := range wanted {
		if raw, ok := byName[name]; ok {
			sent = append(sent, raw)
			delete(byName, name)
		}
	}
	if d.settings.Strategy == eval.AllTools {
		sent = tools
	}
	request["tools"], _ = json.Marshal(sent)
	request["messages"], _ = json.Marshal(messages)
	body, _ := json.Marshal(request)
	return body
}

// starter starts fakeDaemons, which end with the test. A daemon that warms sends what it knows before the first request.
func starter(t *testing.T, w *eval.Workload) eval.StartDaemon {
	needs := map[string][]string{}
	for _, turn := range w.Turns {
		needs[turn.User] = turn.Needs
	}
	return func(ctx context.Context, s eval.DaemonSettings) (*eval.Daemon, error) {
		d := &fakeDaemon{settings: s, needs: needs, proxy: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(s.Upstream) }}}
		if s.Prewarm {
			warmed := map[string]any{"model": "tiny", "messages": []any{map[string]string{"role": "system", "content": w.System}}, "tools": w.Tools[:len(w.Core)]}
			body, _ := json.Marshal(warmed)
			resp, err := http.Post(s.Upstream.JoinPath("/api/chat").String(), "application/json", bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			resp.Body.Close()
		}
		at := serve(t, d)
		return &eval.Daemon{URL: at, Stop: func() {}, Log: func() string {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.log.String()
		}}, nil
	}
}

// small is a workload of 16 tools, of which 2 are CORE, with 4 turns.
func small(t *testing.T) *eval.Workload {
	t.Helper()
	var tools []catalog.Tool
	for i := range 16 {
		schema := catalog.Schema(fmt.Sprintf(`{"type":"object","properties":{"value_%02d":{"type":"string","description":"what the tool of that number is given, in words"}}}`, i))
		tools = append(tools, catalog.Tool{Name: fmt.Sprintf("tool_%02d", (i*7)%16), Description: "Does one thing and says how it went.", Schema: schema})
	}
	w, err := eval.ToolsWorkload("small", tools)
	if err != nil {
		t.Fatal(err)
	}
	w.Core, w.Turns = w.Core[:2], w.Turns[4:8]
	return w
}

// measure returns a harness in front of the engine.
func measure(t *testing.T, engine *cachingEngine, w *eval.Workload, options eval.TTFTOptions) *eval.TTFT {
	t.Helper()
	at := serve(t, engine)
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	options.Dense = builtin
	if options.Cap == 0 {
		options.Cap = 6
	}
	if options.Trials == 0 {
		options.Trials = 2
	}
	recorder := eval.NewRecorder(at)
	target := eval.NewTarget(at, http.DefaultClient, eval.OllamaAPI, "tiny")
	if engine.log != "" {
		if err := os.WriteFile(engine.log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if target.Log, err = eval.NewEngineLog(engine.log); err != nil {
			t.Fatal(err)
		}
	}
	return &eval.TTFT{Target: target, Recorder: recorder, Recorded: serve(t, recorder), Start: starter(t, w), Client: http.DefaultClient, Options: options}
}

// cellOf is the cell of a report.
func cellOf(t *testing.T, r *eval.TTFTReport, scenario, variant, by string) eval.TTFTCell {
	t.Helper()
	for _, c := range r.Cells {
		if c.Scenario == scenario && c.Variant == variant && c.By == by {
			return c
		}
	}
	t.Fatalf("there is no cell %s, %s by %s", scenario, variant, by)
	return eval.TTFTCell{}
}
