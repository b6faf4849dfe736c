package ahead_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/ahead"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// idle is an engine that nobody else wants anything from.
type idle struct{ busy chan struct{} }

func (i idle) Quiet(ctx context.Context, _ time.Duration) error { return ctx.Err() }
func (i idle) Busy() <-chan struct{}                            { return i.busy }

// store keeps beginnings in memory.
type store struct {
	mu    sync.Mutex
	list  []ahead.Beginning
	saved chan struct{}
}

func (s *store) Beginnings(context.Context) ([]ahead.Beginning, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list, nil
}

func (s *store) SaveBeginning(_ context.Context, b ahead.Beginning) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, b)
	s.saved <- struct{}{}
	return nil
}

// rig is a planner, and a reader in front of an engine that notes what it is asked.
type rig struct {
	t       *testing.T
	planner *turn.Planner
	reader  *ahead.Reader
	belief  *kvcache.Belief
	asked   chan string
	loaded  bool
	store   *store
}

func start(t *testing.T, kept *store) *rig {
	t.Helper()
	r := &rig{t: t, asked: make(chan string, 100), loaded: true, store: kept}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":"x"},"done":true,"prompt_eval_count":50,"eval_count":1,"prompt_eval_duration":1000000}`)
		r.asked <- q.URL.Path + " " + string(body)
	}))
	t.Cleanup(engine.Close)
	upstream, err := url.Parse(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	library, err := ingest.New(ingest.Config{Builtin: builtin, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(library.Close)
	r.belief = kvcache.NewBelief(time.Now)
	policy := turn.DefaultPolicy()
	policy.SmallTokens, policy.MaxTools = -1, 3
	r.planner = turn.NewPlanner(policy, turn.Parts{Sessions: session.New(time.Now), Snapshots: library, Builtin: builtin, Prefix: r.belief, QueryKey: []byte("k")})
	quick := kvcache.DefaultWarmPolicy()
	quick.Quiet, quick.Interval, quick.Share = 0, 0, 1
	cfg := ahead.Config{
		Upstream: upstream, Loaded: func(context.Context, string) bool { return r.loaded }, Belief: r.belief, Quiet: idle{make(chan struct{})},
		Policy: quick, Drafter: r.planner, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if kept != nil {
		cfg.Store = kept
	}
	r.reader = ahead.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.reader.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return r
}

var tools = func() string {
	var list []string
	for name, text := range map[string]string{
		"get_weather": "Weather forecast for a city", "send_email": "Send an email to somebody", "play_music": "Play a song or an album", "book_flight": "Book a flight",
		"set_alarm": "Set an alarm clock", "translate": "Translate a text into another language", "calculate": "Evaluate arithmetic",
	} {
		list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{}}}}`, name, text))
	}
	return "[" + strings.Join(list, ",") + "]"
}()

// answered is a plan for a request that was sent and answered with words.
func (r *rig) answered(messages string) *turn.Plan {
	r.t.Helper()
	body := []byte(`{"model":"m","messages":[` + messages + `],"tools":` + tools + `}`)
	decoded, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := r.planner.Plan(context.Background(), turn.Request{Body: body, Chat: decoded, Answers: true, Identity: session.Identity{
		Family: "ollama", Model: "m", Chain: chat.Chain(decoded), Replies: decoded.Replies, Continues: decoded.Continues,
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.planner.Commit(p)
	r.reader.Passed("m", true)
	r.planner.Observe(p, turn.Outcome{Text: "well", Usage: chat.Usage{Done: true, PromptTokens: 60, OutputTokens: 3}})
	r.reader.Answered(p, "/api/chat", http.Header{"Authorization": {"Bearer x"}})
	return p
}

// next is what the engine is asked next.
func (r *rig) next() string {
	r.t.Helper()
	select {
	case body := <-r.asked:
		return body
	case <-time.After(patience):
		r.t.Fatal("nothing was read ahead")
		return ""
	}
}

const hello = `{"role":"system","content":"You help."},{"role":"user","content":"weather forecast for the city"}`

func TestAConversationThatWasPushedOutIsReadAgain(t *testing.T) {
	r := start(t, nil)
	p := r.answered(hello)
	r.reader.Passed("m", false) // a title, say
	body, ok := strings.CutPrefix(r.next(), "/api/chat ")
	var sent struct {
		Messages, Tools json.RawMessage
		Stream          *bool
		Options         map[string]int
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil || !ok {
		t.Fatalf("%v in %s", err, body)
	}
	if string(sent.Messages) != "["+hello+"]" || !strings.Contains(string(p.Body), string(sent.Tools)) || sent.Stream == nil || *sent.Stream || sent.Options["num_predict"] != 1 {
		t.Errorf("the engine was asked %s", body)
	}
}

func TestAnUnreadRequestPushesOutToo(t *testing.T) {
	r := start(t, nil)
	r.answered(hello)
	r.reader.PassedUnread()
	r.next()
}

func TestAModelThatIsNotLoadedIsLeftAlone(t *testing.T) {
	r := start(t, nil)
	r.loaded = false
	r.answered(hello)
	r.reader.Passed("m", false)
	deadline := time.Now().Add(patience)
	for r.reader.Stats().Skipped == 0 {
		if time.Now().After(deadline) {
			t.Fatal("the job is neither sent nor left out")
		}
		time.Sleep(time.Millisecond)
	}
	if len(r.asked) > 0 {
		t.Errorf("the engine was asked %s", <-r.asked)
	}
}

func TestWhatConversationsBeginWithOutlivesTheProcess(t *testing.T) {
	kept := &store{saved: make(chan struct{}, 10)}
	r := start(t, kept)
	r.answered(hello)
	select {
	case <-kept.saved:
	case <-time.After(patience):
		t.Fatal("nothing was kept")
	}
	if b := kept.list[0]; strings.Contains(string(b.Body), "weather forecast for the city") || b.Path != "/api/chat" || b.Model != "m" {
		t.Fatalf("kept is %+v %s", b, b.Body)
	}
	again := start(t, kept)
	if body := again.next(); !strings.Contains(body, "You help.") || !strings.Contains(body, "load_tools") {
		t.Errorf("after a restart the engine was asked %s", body)
	}
	// What was read is known to be held: the next conversation begins with it.
	body := []byte(`{"model":"m","messages":[` + hello + `],"tools":` + tools + `}`)
	decoded, _ := chat.Decode(chat.Ollama, body)
	p, err := again.planner.Plan(context.Background(), turn.Request{Body: body, Chat: decoded, Answers: true, Identity: session.Identity{Family: "ollama", Model: "m", Chain: chat.Chain(decoded)}})
	if err != nil || p.Expected.KeptTools != 1 {
		t.Errorf("expected is %+v, %v", p.Expected, err)
	}
}

func TestWithoutASystemTextNothingIsKept(t *testing.T) {
	kept := &store{saved: make(chan struct{}, 10)}
	r := start(t, kept)
	r.answered(`{"role":"user","content":"weather forecast for the city"}`)
	r.reader.Passed("m", false)
	r.next()
	if len(kept.saved) > 0 {
		t.Errorf("kept is %s", kept.list[0].Body)
	}
}

// A conversation of many megabytes is not kept, nor is the one before it read in its place; what comes later is.
func TestAHugeConversationIsNotKept(t *testing.T) {
	r := start(t, nil)
	r.answered(hello)
	p := r.answered(`{"role":"system","content":"You help."},{"role":"user","content":"look at this","images":["` + strings.Repeat("QUJD", 2<<20) + `"]}`)
	r.reader.Passed("m", false)
	r.reader.Loaded("unknown")
	if d, err := r.reader.Prefetch(context.Background(), p.Session, "send an email to somebody"); catalog.KindOf(err) != catalog.NotFound || err == nil {
		t.Errorf("%+v, %v", d, err)
	}
	r.answered(`{"role":"system","content":"You help."},{"role":"user","content":"book a flight"}`)
	r.reader.Passed("m", false)
	if body := r.next(); !strings.Contains(body, "book a flight") {
		t.Errorf("the engine was asked %.300s", body)
	}
}

func TestALoadedModelReadsWhatIsKnown(t *testing.T) {
	r := start(t, nil)
	r.answered(hello)
	r.reader.Loaded("m")
	if body := r.next(); !strings.Contains(body, "weather forecast for the city") {
		t.Errorf("the engine was asked %s", body)
	}
	r.reader.Loaded("unknown")
}

func TestADraftBringsItsToolsAhead(t *testing.T) {
	r := start(t, nil)
	p := r.answered(hello)
	d, err := r.reader.Prefetch(context.Background(), p.Session, "send an email to somebody")
	if err != nil || !d.Reading || len(d.Added) == 0 || d.Added[0] != "send_email" {
		t.Fatalf("%+v, %v", d, err)
	}
	body := r.next()
	if !strings.Contains(body, `"send_email"`) || strings.Contains(body, "send an email to somebody\"}") || !strings.Contains(body, `"content":"well"`) {
		t.Errorf("the engine was asked %s", body)
	}
	same, err := r.reader.Prefetch(context.Background(), p.Session, "weather forecast for the city")
	if err != nil || same.Reading || same.Why == "" {
		t.Errorf("%+v, %v", same, err)
	}
	if _, err := r.reader.Prefetch(context.Background(), "unknown", "x"); err == nil {
		t.Error("an unknown conversation is no error")
	}
}
