package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// scripted is an engine that answers by path; a path that it does not have is 404. It can be down.
type scripted struct {
	mu     sync.Mutex
	down   bool
	answer map[string]string // by path
	asked  map[string]int
	hang   chan struct{} // where set, answers wait for it
}

func newScripted(answers map[string]string) *scripted {
	return &scripted{answer: answers, asked: map[string]int{}}
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	down, hang := s.down, s.hang
	text, ok := s.answer[r.URL.Path]
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if down {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	switch {
	case !ok:
		http.NotFound(w, r)
	case strings.HasPrefix(text, "500"):
		http.Error(w, text, http.StatusInternalServerError)
	case strings.HasPrefix(text, "404"):
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, text[3:])
	default:
		io.WriteString(w, text)
	}
	return w.Result(), nil
}

func (s *scripted) set(path, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[path] = answer
}

func (s *scripted) fall(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *scripted) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func (s *scripted) client() Client {
	return Client{Base: &url.URL{Scheme: "http", Host: "engine.test"}, HTTP: &http.Client{Transport: s}}
}

// still is a Quiet where nothing ever runs, unless busy is closed.
type still struct{ busy chan struct{} }

func (s still) Quiet(ctx context.Context, long time.Duration) error { return ctx.Err() }
func (s still) Busy() <-chan struct{}                               { return s.busy }

// memory is a Store.
type memory struct {
	mu    sync.Mutex
	facts map[string]kvcache.Facts
}

func (m *memory) EngineFacts(_ context.Context, engine, model string) (kvcache.Facts, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.facts[engine+" "+model]
	return f, ok, nil
}

func (m *memory) SaveEngineFacts(_ context.Context, engine, model string, f kvcache.Facts) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.facts[engine+" "+model] = f
	return nil
}

// measure sets the strategy of all that is kept, and returns how much that is.
func (m *memory) measure(s kvcache.Strategy) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, f := range m.facts {
		f.Strategy, f.Measured = s, time.Unix(5, 0)
		m.facts[key] = f
	}
	return len(m.facts)
}

// show is what an Ollama says of a model.
func show(template string, info map[string]any) string {
	b, err := json.Marshal(map[string]any{
		"modelfile": "# made by ollama\nFROM /models/blobs/sha256-0123abc\nTEMPLATE x\n", "parameters": "stop \"<|x|>\"\nnum_ctx                        8192\n", "template": template,
		"capabilities": []string{"completion", "tools"}, "model_info": info,
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestAsk(t *testing.T) {
	props, err := json.Marshal(map[string]any{"default_generation_settings": map[string]any{"n_ctx": 4096}, "model_path": "/m.gguf", "chat_template": jinjaChatML})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		answers map[string]string
		want    kvcache.Facts
		err     error // of its kind, nil for none
	}{
		{"an Ollama", map[string]string{"/api/show": show(chatML, map[string]any{"general.architecture": "llama", "llama.context_length": 32768})},
			kvcache.Facts{Placement: kvcache.BeforeConversation, Context: 8192, MaxContext: 32768, Digest: "sha256-0123abc", Tools: true, ToolsKnown: true}, nil},
		{"a sliding window", map[string]string{"/api/show": show(inLastUser, map[string]any{"gemma3.context_length": 4096, "gemma3.attention.sliding_window": 512})},
			kvcache.Facts{Placement: kvcache.LastUser, DropsAfterResult: true, Sliding: true, Window: 512, Context: 4096, MaxContext: 4096, Digest: "sha256-0123abc", Tools: true, ToolsKnown: true}, nil},
		{"a running state", map[string]string{"/api/show": show(chatML, map[string]any{"granitehybrid.ssm.conv_kernel": 4})},
			kvcache.Facts{Placement: kvcache.BeforeConversation, Sliding: true, Context: 8192, Digest: "sha256-0123abc", Tools: true, ToolsKnown: true}, nil},
		{"tools that the template does not show", map[string]string{"/api/show": show(noTools, nil)},
			kvcache.Facts{Context: 8192, Digest: "sha256-0123abc", Tools: true, ToolsKnown: true}, nil},
		{"nothing but a template", map[string]string{"/api/show": `{"template": "{{ if }"}`}, kvcache.Facts{}, nil},
		{"fields of other kinds", map[string]string{"/api/show": `{"template": 7, "modelfile": [], "parameters": {"num_ctx": 1}, "capabilities": "tools", "model_info": {"x.context_length": "long", "y.attention.sliding_window": -3}}`}, kvcache.Facts{}, nil},
		{"a llama.cpp server", map[string]string{"/props": string(props), "/api/show": `{"template": "x", "model_info": {}}`},
			kvcache.Facts{Placement: kvcache.BeforeConversation, Context: 4096, Digest: "/m.gguf", GrammarBytes: grammarBytes}, nil},
		{"an OpenAI-compatible one that tells the context", map[string]string{"/v1/models": `{"data": [{"id": "other", "max_model_len": 5}, {"id": "m", "max_model_len": 16384}]}`}, kvcache.Facts{Context: 16384}, nil},
		{"one that tells nothing", map[string]string{"/v1/models": `{"data": [{"id": "m"}]}`}, kvcache.Facts{}, nil},
		{"one that has no such model", map[string]string{"/api/show": `404{"error":"model 'm' not found"}`}, kvcache.Facts{}, catalog.NewError(catalog.Invalid, "", nil)},
		{"one with nothing", nil, kvcache.Facts{}, catalog.NewError(catalog.NotFound, "", nil)},
		{"one that fails", map[string]string{"/props": "500"}, kvcache.Facts{}, catalog.NewError(catalog.Internal, "", nil)},
		{"one that answers something else", map[string]string{"/props": "<html>", "/api/show": "[1]", "/v1/models": `{"data": 1}`}, kvcache.Facts{}, catalog.NewError(catalog.NotFound, "", nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			known, err := Ask(t.Context(), newScripted(c.answers).client(), "m")
			if c.err != nil {
				if err == nil || catalog.KindOf(err) != catalog.KindOf(c.err) {
					t.Errorf("got %v, want an error of kind %v", err, catalog.KindOf(c.err))
				}
				return
			}
			if err != nil || known.Facts != c.want || known.Key == "" {
				t.Errorf("got %+v, %q, %v\nwant %+v", known.Facts, known.Key, err, c.want)
			}
		})
	}
	engine := newScripted(nil)
	engine.fall(true)
	if _, err := Ask(t.Context(), engine.client(), "m"); catalog.KindOf(err) != catalog.Unavailable {
		t.Errorf("an engine that is down: %v", err)
	}
	one, _ := Ask(t.Context(), newScripted(map[string]string{"/api/show": show(chatML, nil)}).client(), "m")
	two, _ := Ask(t.Context(), newScripted(map[string]string{"/api/show": show(chatML+" ", nil)}).client(), "m")
	if one.Key == two.Key {
		t.Error("a model with another template has the same key")
	}
}

// probing runs a Prober while play goes on.
func probing(t *testing.T, engine *scripted, store Store, q Quiet, o Options, play func(p *Prober, b *kvcache.Belief)) {
	synctest.Test(t, func(t *testing.T) {
		b := kvcache.NewBelief(time.Now)
		p := NewProber(engine.client(), store, b, q, o)
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		})
		play(p, b)
		end()
		running.Wait()
	})
}

func ps(models ...string) string {
	var list []string
	for _, m := range models {
		list = append(list, fmt.Sprintf(`{"model": %q, "context_length": 4096, "expires_at": %q}`, m, "2100-01-01T00:00:00Z"))
	}
	return `{"models": [` + strings.Join(list, ",") + `]}`
}

func TestProberAsksOnceAndKeeps(t *testing.T) {
	engine := newScripted(map[string]string{"/api/show": show(chatML, nil), "/api/ps": ps("m:latest")})
	store := &memory{facts: map[string]kvcache.Facts{}}
	probing(t, engine, store, still{}, Options{}, func(p *Prober, b *kvcache.Belief) {
		for range 10 {
			p.Saw("m")
			time.Sleep(time.Second)
		}
		if f := b.Facts("m", 0); f.Placement != kvcache.BeforeConversation || f.Context != 4096 {
			t.Errorf("the belief knows %+v: the engine says that it is loaded with 4096", f)
		}
		if n := engine.count("/api/show"); n != 1 {
			t.Errorf("it asked %d times", n)
		}
		if n := store.measure(kvcache.Late); n != 1 { // meanwhile, by another program
			t.Errorf("%d facts are kept", n)
		}
		time.Sleep(31 * time.Minute)
		p.Saw("m")
		time.Sleep(time.Second)
		if f := b.Facts("m", 0); f.Strategy != kvcache.Late {
			t.Errorf("what was measured is not used: %+v", f)
		}
		engine.set("/api/show", show(inLastUser, nil))
		time.Sleep(31 * time.Minute)
		p.Saw("m")
		time.Sleep(time.Second)
		if f := b.Facts("m", 0); f.Strategy != "" || f.Placement != kvcache.LastUser {
			t.Errorf("a model made anew under its name has the old one's facts: %+v", f)
		}
	})
}

func TestProberSeesUnloadsAndRestarts(t *testing.T) {
	engine := newScripted(map[string]string{"/api/show": show(chatML, nil), "/api/ps": ps("m:latest")})
	var loads []string
	probing(t, engine, nil, still{}, Options{OnLoad: func(m string) { loads = append(loads, m) }}, func(p *Prober, b *kvcache.Belief) {
		prompt := kvcache.Prompt{Session: "s", Model: "m", Messages: []kvcache.Piece{b.Piece(kvcache.User, []byte("hello"))}}
		lost := func() string {
			b.Sent(prompt)
			b.Answered(prompt, kvcache.Answer{PromptTokens: 20})
			p.Saw("m")
			time.Sleep(25 * time.Second)
			synctest.Wait() // a look that is due at this very instant is over
			return b.Expect(prompt).Lost
		}
		if got := lost(); got != "" {
			t.Errorf("it is loaded, but lost: %q", got)
		}
		engine.set("/api/ps", ps("other"))
		if got := lost(); got != kvcache.Unloaded {
			t.Errorf("it was unloaded: %q", got)
		}
		engine.set("/api/ps", ps("m:latest"))
		engine.fall(true)
		if got := lost(); got != kvcache.Restarted {
			t.Errorf("the engine is down: %q", got)
		}
		engine.fall(false)
		engine.set("/api/ps", "500")
		if got := lost(); got != "" {
			t.Errorf("the engine fails to say: %q", got)
		}
		engine.set("/api/ps", ps("m:latest"))
		if got := lost(); got != "" {
			t.Errorf("it is back: %q", got)
		}
	})
	if want := "[m:latest other m:latest]"; fmt.Sprint(loads) != want {
		t.Errorf("loads %v, want %s", loads, want)
	}
}

func TestProberNeedsNothing(t *testing.T) {
	for name, answers := range map[string]map[string]string{
		"nothing":       nil,
		"failures":      {"/props": "500", "/api/show": "500", "/api/ps": "500", "/v1/models": "500"},
		"nonsense":      {"/props": "{", "/api/show": "null", "/api/ps": "{}", "/v1/models": "17"},
		"no /api/ps":    {"/api/show": show(chatML, nil)},
		"no /api/show":  {"/api/ps": ps("m")},
		"an odd answer": {"/api/show": show(chatML, nil), "/api/ps": `{"models": [7, {}, {"model": "m", "expires_at": "soon", "context_length": -1}]}`},
	} {
		engine := newScripted(answers)
		probing(t, engine, nil, still{}, Options{}, func(p *Prober, b *kvcache.Belief) {
			for range 100 {
				p.Saw("m")
				p.Saw("")
				time.Sleep(time.Second)
			}
			sum := 0
			for _, path := range []string{"/props", "/api/show", "/api/ps", "/v1/models"} {
				sum += engine.count(path)
			}
			if sum > 40 {
				t.Errorf("%s: %d questions in 100 s", name, sum)
			}
			if p.Loaded(t.Context(), "m") != (answers["/api/ps"] == ps("m") || name == "nothing" || name == "nonsense" || name == "no /api/ps" || name == "an odd answer") {
				t.Errorf("%s: loaded is taken for %v", name, p.Loaded(t.Context(), "m"))
			}
		})
		before := engine.count("/api/ps")
		probing(t, engine, nil, still{}, Options{}, func(p *Prober, b *kvcache.Belief) { time.Sleep(time.Hour) })
		if engine.count("/api/ps") != before {
			t.Errorf("%s: it asks though nobody uses the engine", name)
		}
	}
}

// A clock that jumps makes no storm of questions, and does not end them.
func TestProberWithAClockThatJumps(t *testing.T) {
	for _, jump := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		engine := newScripted(map[string]string{"/api/show": "500", "/api/ps": ps("m")})
		var mu sync.Mutex
		off := time.Duration(0)
		now := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(off).Round(0)
		}
		probing(t, engine, nil, still{}, Options{Now: now}, func(p *Prober, b *kvcache.Belief) {
			for i := range 120 {
				if i == 60 {
					mu.Lock()
					off = jump
					mu.Unlock()
					engine.set("/api/show", show(chatML, nil))
				}
				p.Saw("m")
				time.Sleep(time.Second)
			}
			if got := b.Facts("m", 0).Placement; got != kvcache.BeforeConversation {
				t.Errorf("after a jump of %v it does not ask again: %s", jump, got)
			}
			if n := engine.count("/api/ps"); n < 8 || n > 20 {
				t.Errorf("a jump of %v: %d looks in 120 s", jump, n)
			}
		})
	}
}

func TestProberGivesWay(t *testing.T) {
	engine := newScripted(map[string]string{"/api/show": show(chatML, nil)})
	q := &oneBusy{}
	probing(t, engine, nil, q, Options{}, func(p *Prober, b *kvcache.Belief) {
		engine.mu.Lock()
		engine.hang = make(chan struct{})
		engine.mu.Unlock()
		busy := make(chan struct{})
		q.set(busy)
		p.Saw("m")
		time.Sleep(time.Second)
		if engine.count("/props") != 1 {
			t.Fatal("it does not ask")
		}
		close(busy) // a client's request begins, and runs for a while
		time.Sleep(5 * time.Second)
		if n := engine.count("/props"); n != 1 {
			t.Errorf("it asked %d times while a request runs", n)
		}
		engine.mu.Lock()
		close(engine.hang)
		engine.hang = nil
		engine.mu.Unlock()
		q.set(make(chan struct{}))
		time.Sleep(5 * time.Second)
		if b.Facts("m", 0).Placement != kvcache.BeforeConversation {
			t.Error("it did not ask again")
		}
	})
}

// oneBusy is a Quiet whose channel can be set; it is quiet while that is not closed.
type oneBusy struct {
	mu   sync.Mutex
	busy chan struct{}
}

func (q *oneBusy) set(busy chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = busy
}

func (q *oneBusy) Busy() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

func (q *oneBusy) Quiet(ctx context.Context, _ time.Duration) error {
	for {
		select {
		case <-q.Busy():
		case <-ctx.Done():
			return ctx.Err()
		default:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
