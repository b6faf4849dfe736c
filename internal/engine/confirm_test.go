package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// reader is an engine that reads prompts as one with a cache of one sequence does, and says in its own way what it evaluated.
type reader struct {
	place kvcache.Placement
	says  string // "time", "cached", "timings" or "nothing"

	mu       sync.Mutex
	held     string
	requests []map[string]any
}

func (e *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if want := map[string]string{"time": "/api/chat"}[e.says]; r.URL.Path != want && r.URL.Path != "/v1/chat/completions" || want != "" && r.URL.Path != want {
		http.NotFound(w, r)
		return
	}
	b, _ := io.ReadAll(r.Body)
	var body map[string]any
	var text struct {
		Tools    []json.RawMessage
		Messages []struct{ Content string }
	}
	if json.Unmarshal(b, &body) != nil || json.Unmarshal(b, &text) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	tools, history := "", text.Messages[0].Content+text.Messages[1].Content
	for _, tool := range text.Tools {
		tools += string(tool)
	}
	prompt := map[kvcache.Placement]string{
		kvcache.BeforeConversation: tools + history, kvcache.LastUser: history + tools, kvcache.NoTools: history,
	}[e.place] + text.Messages[2].Content
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests = append(e.requests, body)
	n := 0
	for n < len(prompt) && n < len(e.held) && prompt[n] == e.held[n] {
		n++
	}
	e.held = prompt
	whole, evaluated := len(prompt)/4, max(1, (len(prompt)-n)/4)
	switch e.says {
	case "time":
		fmt.Fprintf(w, `{"prompt_eval_count": %d, "prompt_eval_duration": %d, "message": {}}`, whole, evaluated*1e6)
	case "cached":
		fmt.Fprintf(w, `{"usage": {"prompt_tokens": %d, "prompt_tokens_details": {"cached_tokens": %d}}}`, whole, whole-evaluated)
	case "timings":
		fmt.Fprintf(w, `{"timings": {"prompt_n": %d, "cache_n": %d, "prompt_ms": 4.5}}`, evaluated, whole-evaluated)
	default:
		fmt.Fprintf(w, `{"usage": {"prompt_tokens": %d}}`, whole)
	}
}

func TestConfirm(t *testing.T) {
	for _, says := range []string{"time", "cached", "timings", "nothing"} {
		for _, place := range []kvcache.Placement{kvcache.BeforeConversation, kvcache.LastUser, kvcache.NoTools} {
			engine := &reader{place: place, says: says}
			server := httptest.NewServer(engine)
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Confirm(t.Context(), Client{Base: base, HTTP: server.Client()}, "m", 4096)
			switch {
			case says == "nothing" && place != kvcache.NoTools:
				if catalog.KindOf(err) != catalog.NotFound || got != kvcache.PlacementUnknown {
					t.Errorf("an engine that tells nothing: %v, %v", got, err)
				}
			case got != place || err != nil:
				t.Errorf("an engine that tells %s and has its tools %s: got %v, %v", says, place, got, err)
			}
			for _, r := range engine.requests {
				if _, ok := r["keep_alive"]; ok {
					t.Error("keep_alive is sent: it would change the user's")
				}
				options, _ := r["options"].(map[string]any)
				if says == "time" && (options["num_ctx"] != 4096.0 || options["num_predict"] != 1.0) || says != "time" && r["max_tokens"] != 1.0 {
					t.Errorf("options %v, max_tokens %v", options, r["max_tokens"])
				}
			}
			server.Close()
		}
	}
	broken := newScripted(map[string]string{"/api/chat": "500"})
	if _, err := Confirm(t.Context(), broken.client(), "m", 0); catalog.KindOf(err) != catalog.Internal {
		t.Errorf("an engine that fails: %v", err)
	}
}

func TestProberMeasuresWhatTheTemplateDoesNotSay(t *testing.T) {
	answers := func() map[string]string {
		return map[string]string{
			"/api/show": `{"template": "{{ .Prompt }}", "renderer": "of-the-year-2099", "capabilities": ["tools"]}`, "/api/ps": ps("m:latest"),
			"/api/chat": `{"prompt_eval_count": 400, "prompt_eval_duration": 1000}`,
		}
	}
	engine := newScripted(answers())
	store := &memory{facts: map[string]kvcache.Facts{}}
	probing(t, engine, store, still{}, Options{Measure: true}, func(p *Prober, b *kvcache.Belief) {
		p.Saw("m")
		time.Sleep(15 * time.Second)
		if engine.count("/api/chat") != 0 {
			t.Error("it measures though a request has just passed")
		}
		time.Sleep(15 * time.Second)
		if got := b.Facts("m", 0).Placement; got != kvcache.NoTools || engine.count("/api/chat") != 2 {
			t.Errorf("it measured %s with %d requests", got, engine.count("/api/chat"))
		}
		p.Saw("m")
		time.Sleep(40 * time.Minute)
		p.Saw("m")
		time.Sleep(time.Minute)
		if got := b.Facts("m", 0).Placement; got != kvcache.NoTools || engine.count("/api/chat") != 2 {
			t.Errorf("later it is %s, after %d requests", got, engine.count("/api/chat"))
		}
	})
	probing(t, engine, store, still{}, Options{Measure: true}, func(p *Prober, b *kvcache.Belief) {
		p.Saw("m")
		time.Sleep(time.Minute)
		if got := b.Facts("m", 0).Placement; got != kvcache.NoTools || engine.count("/api/chat") != 2 {
			t.Errorf("another run of the program has %s, after %d requests", got, engine.count("/api/chat"))
		}
	})
	for name, change := range map[string]func(e *scripted, o *Options){
		"not allowed":       func(_ *scripted, o *Options) { o.Measure = false },
		"not loaded":        func(e *scripted, _ *Options) { e.set("/api/ps", ps()) },
		"takes no tools":    func(e *scripted, _ *Options) { e.set("/api/show", `{"template": "{{ .Prompt }}", "capabilities": []}`) },
		"the template says": func(e *scripted, _ *Options) { e.set("/api/show", show(chatML, nil)) },
	} {
		engine, o := newScripted(answers()), Options{Measure: true}
		change(engine, &o)
		probing(t, engine, nil, still{}, o, func(p *Prober, b *kvcache.Belief) {
			p.Saw("m")
			time.Sleep(5 * time.Minute)
			if n := engine.count("/api/chat"); n != 0 {
				t.Errorf("%s: it measures all the same", name)
			}
		})
	}
	engine = newScripted(answers())
	engine.set("/api/chat", "500")
	probing(t, engine, nil, still{}, Options{Measure: true}, func(p *Prober, b *kvcache.Belief) {
		p.Saw("m")
		time.Sleep(10 * time.Minute)
		if n := engine.count("/api/chat"); n != 1 {
			t.Errorf("what fails is tried %d times", n)
		}
	})
}

// What a real engine says of its model, and what is measured of it, agree.
func TestARealEngineHasItsToolsBeforeTheConversation(t *testing.T) {
	at := os.Getenv("TOOLBELT_TEST_ENGINE")
	if at == "" {
		t.Skip("TOOLBELT_TEST_ENGINE is not set: it is the URL of an Ollama that has the model smollm2")
	}
	base, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	c := Client{Base: base, HTTP: http.DefaultClient}
	known, err := Ask(t.Context(), c, "smollm2")
	if err != nil {
		t.Fatal(err)
	}
	f := known.Facts
	if f.Placement != kvcache.BeforeConversation || f.Context != 8192 || f.MaxContext < 2048 || !f.Tools || f.Sliding || !strings.HasPrefix(f.Digest, "sha256-") {
		t.Errorf("it says %+v", f)
	}
	got := kvcache.PlacementUnknown // as long as other work on the machine stretches one of the two times
	for range 5 {
		if got, err = Confirm(t.Context(), c, "smollm2", f.Context); got != kvcache.PlacementUnknown || err != nil {
			break
		}
	}
	if got != f.Placement || err != nil {
		t.Errorf("measured: %s, %v", got, err)
	}
	loaded, err := c.running(t.Context(), time.Now)
	if l := loaded["smollm2:latest"]; err != nil || l.Context != 8192 || l.Until.Before(time.Now()) {
		t.Errorf("loaded: %+v, %v", loaded, err)
	}
}
