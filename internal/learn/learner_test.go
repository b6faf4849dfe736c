package learn_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/learn"
	"toolbelt/internal/learn/learntest"
)

// rig is a Learner with a clock of its own.
type rig struct {
	t       testing.TB
	learner *learn.Learner
	builtin embed.Embedder
	tools   *catalog.Catalog
	mu      sync.Mutex
	now     time.Time
	turns   int
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// kitchen are tools that say little of themselves.
func kitchen() *catalog.Catalog {
	var tools []catalog.Tool
	for i := range 12 {
		tools = append(tools, catalog.Tool{Name: fmt.Sprintf("op%d", i), Description: fmt.Sprintf("Run operation %d", i)})
	}
	return catalog.New(tools)
}

func start(t testing.TB, change func(*learn.Config)) *rig {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, builtin: builtin, tools: kitchen(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	cfg := learn.Config{Builtin: builtin, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	if r.learner, err = learn.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.learner.Close)
	return r
}

// ask is what a message asks for, after these tools.
func (r *rig) ask(text string, after ...string) learn.Ask {
	r.t.Helper()
	vectors, err := r.builtin.Embed(context.Background(), embed.Query, []string{text})
	if err != nil {
		r.t.Fatal(err)
	}
	return learn.Ask{
		App: "app", Text: text, Tools: r.tools, Array: r.tools.Hash(), After: after,
		Vectors: map[embed.Model][]embed.Vector{r.builtin.Model(): vectors},
	}
}

func (r *rig) flush() {
	r.t.Helper()
	if err := r.learner.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// use plays a turn that called these tools and returns its key.
func (r *rig) use(a learn.Ask, called ...string) string {
	r.t.Helper()
	r.turns++
	key := fmt.Sprint("turn ", r.turns)
	r.learner.Asked(key, a)
	r.learner.Used(key, called)
	r.flush()
	return key
}

func (r *rig) id(name string) catalog.ID {
	id, ok := r.tools.Lookup(name)
	if !ok {
		r.t.Fatalf("no tool %q", name)
	}
	return id
}

// best is the tool that the ask is nearest to, "" where there is none.
func (r *rig) best(a learn.Ask) string {
	name, most := "", float32(0)
	for i, x := range r.learner.Recall(a).Near {
		if x > most {
			name, most = r.tools.Tool(catalog.ID(i)).Name, x
		}
	}
	return name
}

func (r *rig) examples() int { return r.learner.Stats().Examples }

const (
	lamps = "switch on the lamps in the living room"
	mail  = "write an email to Anna about the invoice"
	song  = "play the newest album of my favourite band"
)

// teach has three different things asked for.
func (r *rig) teach() {
	r.use(r.ask(lamps), "op1")
	r.use(r.ask(mail), "op2")
	r.use(r.ask(song), "op3")
}

func TestARequestLikeAFormerOneRecallsItsTool(t *testing.T) {
	r := start(t, nil)
	if got := r.learner.Recall(r.ask(lamps)); got.Near != nil || got.Match != nil || got.Habit != nil || got.Sure != nil {
		t.Fatalf("a new learner recalls %+v", got)
	}
	r.teach()
	for text, want := range map[string]string{
		"turn the lamps in the kitchen on, please": "op1", "send Peter an email with the invoice": "op2", "play an album by another band": "op3",
	} {
		got := r.learner.Recall(r.ask(text))
		if r.best(r.ask(text)) != want || len(got.Near) != r.tools.Len() || got.Match[r.id(want)] <= 0 {
			t.Errorf("%q recalls %q, want %q: %v", text, r.best(r.ask(text)), want, got.Near)
		}
		for i, x := range got.Near {
			if x < 0 || got.Match[i] < 0 {
				t.Errorf("%q: tool %d has %v, %v", text, i, x, got.Match[i])
			}
		}
	}
	exact, similar := r.learner.Recall(r.ask(lamps)).Near[r.id("op1")], r.learner.Recall(r.ask("turn the lamps on")).Near[r.id("op1")]
	if exact <= similar {
		t.Errorf("the same words recall %v, similar ones %v", exact, similar)
	}
}

func TestAppsAndChangedToolsBeginAnew(t *testing.T) {
	r := start(t, nil)
	r.teach()
	other := r.ask(lamps)
	other.App = "other"
	if got := r.learner.Recall(other); got.Near != nil || got.Habit != nil {
		t.Errorf("another app recalls %+v", got)
	}
	changed := make([]catalog.Tool, 0, r.tools.Len())
	for i := range r.tools.Len() {
		tool := r.tools.Tool(catalog.ID(i))
		if tool.Name == "op1" {
			tool.Description = "Run another operation"
		}
		changed = append(changed, tool)
	}
	r.tools = catalog.New(changed)
	if got := r.learner.Recall(r.ask(lamps)).Near; got[r.id("op1")] != 0 {
		t.Errorf("a tool whose description changed is recalled by %v", got[r.id("op1")])
	}
	if got := r.best(r.ask(mail)); got != "op2" {
		t.Errorf("one that did not change is not: %q", got)
	}
	r.tools = catalog.New([]catalog.Tool{{Name: "stranger"}})
	if got := r.learner.Recall(r.ask(lamps)); got.Near != nil || got.Habit != nil {
		t.Errorf("a catalog of strangers recalls %+v", got)
	}
}

func TestNearDuplicatesAreOneExample(t *testing.T) {
	store := learntest.NewMemory()
	r := start(t, func(c *learn.Config) { c.Store = store })
	for _, text := range []string{lamps, lamps, "switch on the lamps in the living room!", strings.ToUpper(lamps)} {
		r.use(r.ask(text), "op1")
	}
	kept, err := store.Learned(t.Context())
	if err != nil || len(kept.Examples) != 1 || kept.Examples[0].Hits != 4 || kept.Examples[0].Text != lamps {
		t.Errorf("kept %+v, %v", kept.Examples, err)
	}
	r.use(r.ask(mail), "op1")
	if r.examples() != 2 {
		t.Errorf("%d examples", r.examples())
	}
}

func TestWhatSaysLittleIsNoExample(t *testing.T) {
	r := start(t, nil)
	for _, text := range []string{"", "yes, please", "thanks, that was very helpful", "!!!", strings.Repeat("long ", learn.MaxTextBytes)} {
		r.use(r.ask(text), "op1")
	}
	if r.examples() != 0 {
		t.Errorf("%d examples", r.examples())
	}
	r.use(r.ask(lamps), "no such tool")
	r.learner.Used("no such turn", []string{"op1"})
	r.learner.Failed("no such turn", []string{"op1"})
	r.flush()
	if s := r.learner.Stats(); s.Examples != 0 || s.Follows > 1 {
		t.Errorf("learned %+v", s)
	}
}

// distinct makes texts that are not like each other.
func distinct(n int) string {
	words := strings.Fields("apple river copper violin glacier pepper saddle anchor lantern meadow turbine walnut parrot granite ribbon kettle orchard compass velvet harbor")
	return fmt.Sprintf("%s %s %s %s", words[n%20], words[(n/20*7+n*3+5)%20], words[(n*11+n/20+2)%20], words[(n*17+9)%20])
}

func TestExamplesOfAToolAreBounded(t *testing.T) {
	store := learntest.NewMemory()
	r := start(t, func(c *learn.Config) { c.Store = store })
	for i := range 40 {
		r.pass(time.Hour)
		r.use(r.ask(distinct(i)), "op1")
	}
	kept, err := store.Learned(t.Context())
	if err != nil || len(kept.Examples) != r.examples() || r.examples() > 16 || r.examples() < 12 {
		t.Fatalf("%d examples, %d kept, %v", r.examples(), len(kept.Examples), err)
	}
	texts := ""
	for _, e := range kept.Examples {
		texts += e.Text + "\n"
	}
	if !strings.Contains(texts, distinct(39)) || strings.Contains(texts, distinct(0)) {
		t.Errorf("the newest is gone or the oldest kept:\n%s", texts)
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	r := start(t, nil)
	key := r.use(r.ask(lamps), "op1", "op2")
	r.learner.Failed(key, []string{"op1", "never called"})
	r.learner.Failed(key, []string{"op1"})
	r.flush()
	got := r.learner.Recall(r.ask(lamps)).Near
	if got[r.id("op1")] != 0 || got[r.id("op2")] == 0 {
		t.Errorf("after op1 failed: %v", got)
	}
	r.learner.Used(key, []string{"op1", "op2"})
	r.flush()
	if got := r.learner.Recall(r.ask(lamps)).Near; got[r.id("op1")] == 0 {
		t.Errorf("after op1 was called again: %v", got)
	}
	r.use(r.ask(lamps), "op2")
	bad := r.use(r.ask(lamps), "op2")
	whole := r.learner.Recall(r.ask(lamps)).Near[r.id("op2")]
	r.learner.Failed(bad, []string{"op2"})
	r.flush()
	if some := r.learner.Recall(r.ask(lamps)).Near[r.id("op2")]; !(some > 0 && some < whole) {
		t.Errorf("one failure of three: %v, was %v", some, whole)
	}
}

func TestAgeWeakens(t *testing.T) {
	store := learntest.NewMemory()
	r := start(t, func(c *learn.Config) { c.Store = store })
	r.teach()
	fresh := r.learner.Recall(r.ask(lamps)).Near[r.id("op1")]
	r.learner.Close()
	r.pass(90 * 24 * time.Hour)
	at := r.now
	again := start(t, func(c *learn.Config) { c.Store, c.Now = store, func() time.Time { return at } })
	again.flush()
	old := again.learner.Recall(again.ask(lamps)).Near[again.id("op1")]
	if !(math.Abs(float64(old-fresh/2)) < 0.05*float64(fresh)) {
		t.Errorf("after 90 days %v, was %v", old, fresh)
	}
	again.learner.Close()
	at = at.Add(365 * 24 * time.Hour)
	late := start(t, func(c *learn.Config) { c.Store, c.Now = store, func() time.Time { return at } })
	late.flush()
	kept, err := store.Learned(t.Context())
	if err != nil || late.examples() != 0 || len(kept.Examples)+len(kept.Follows) != 0 {
		t.Errorf("after more than a year %d examples, kept %+v, %v", late.examples(), kept, err)
	}
}

func TestHabits(t *testing.T) {
	r := start(t, nil)
	for range 6 {
		r.use(r.ask(lamps), "op1")
		r.use(r.ask(mail, "op1"), "op2")
		r.use(r.ask(song, "op2"), "op3")
	}
	got := r.learner.Recall(r.ask("and now the next", "op1"))
	if got.Habit[r.id("op2")] <= 0.3 || got.Habit[r.id("op3")] != 0 || got.Habit[r.id("op2")] > 3 {
		t.Errorf("after op1: %v", got.Habit)
	}
	if len(got.Sure) != 1 || got.Sure[0] != r.id("op2") {
		t.Errorf("sure after op1: %v", got.Sure)
	}
	if got := r.learner.Recall(r.ask("begin")); got.Habit[r.id("op1")] <= 0 || len(got.Sure) != 0 {
		t.Errorf("at the start: %v, sure %v", got.Habit, got.Sure)
	}
	once := start(t, nil)
	once.use(once.ask(mail, "op1"), "op2")
	if got := once.learner.Recall(once.ask("next", "op1")); len(got.Sure) != 0 {
		t.Errorf("sure after one turn: %v", got.Sure)
	}
	if got := once.learner.Recall(once.ask("next", "unheard of")); got.Habit != nil {
		t.Errorf("after a tool that nothing followed: %v", got.Habit)
	}
}

func TestRestartKeeps(t *testing.T) {
	store := learntest.NewMemory()
	r := start(t, func(c *learn.Config) { c.Store = store })
	r.teach()
	r.use(r.ask(mail, "op1"), "op2")
	before := r.learner.Recall(r.ask("switch the lamps off", "op1"))
	r.learner.Close()
	r.learner.Close()
	r.learner.Used("turn 1", []string{"op9"}) // nobody listens
	again := start(t, func(c *learn.Config) { c.Store = store })
	after := again.learner.Recall(again.ask("switch the lamps off", "op1"))
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("recalled %+v, before the restart %+v", after, before)
	}
}

func TestErasedByAnotherProcess(t *testing.T) {
	for name, wait := range map[string]func(*rig){
		"at once": func(r *rig) {
			if err := r.learner.Sync(r.t.Context()); err != nil {
				r.t.Fatal(err)
			}
		},
		"by the next use": func(r *rig) { r.use(r.ask(song), "op1") },
	} {
		store := learntest.NewMemory()
		r := start(t, func(c *learn.Config) { c.Store = store })
		r.teach()
		if _, err := store.EraseLearned(t.Context(), "op1"); err != nil {
			t.Fatal(err)
		}
		wait(r)
		if got := r.learner.Recall(r.ask(lamps)).Near; got[r.id("op1")] != 0 || got[r.id("op2")] == 0 && r.best(r.ask(mail)) != "op2" {
			t.Errorf("%s: what was erased is recalled: %v", name, got)
		}
		kept, err := store.Learned(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range kept.Examples {
			if e.Tool == "op1" {
				t.Errorf("%s: what was erased came back: %+v", name, e)
			}
		}
		r.use(r.ask(lamps), "op1")
		if r.best(r.ask(lamps)) != "op1" {
			t.Errorf("%s: nothing new is learned afterwards", name)
		}
	}
}

// brokenStore fails at everything but the first reading.
type brokenStore struct{ *learntest.Memory }

func (brokenStore) SaveLearned(context.Context, int, learn.Change) error {
	return catalog.NewError(catalog.Unavailable, "the disk is full", nil)
}

func TestABrokenDiskCostsOnlyTheKeeping(t *testing.T) {
	r := start(t, func(c *learn.Config) { c.Store = brokenStore{learntest.NewMemory()} })
	r.teach()
	if r.best(r.ask(lamps)) != "op1" {
		t.Error("what cannot be kept is not learned either")
	}
}

// engine is a Neural on a fake embedder, which may be away.
type engine struct {
	embed.Embedder
	mu   sync.Mutex
	away bool
}

func (e *engine) Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.away {
		return nil, embed.Model{}, embed.ErrNotReady
	}
	v, err := e.Embed(ctx, embed.Query, texts)
	return v, e.Model(), err
}

func (e *engine) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	return e.Query(ctx, texts)
}

func TestTheEnginesViewCountsToo(t *testing.T) {
	neural := &engine{Embedder: embedtest.NewFake("neural", 48)}
	r := start(t, func(c *learn.Config) { c.Neural = neural })
	both := func(text string) learn.Ask {
		a := r.ask(text)
		v, m, err := neural.Query(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		a.Vectors[m] = v
		return a
	}
	r.use(both(lamps), "op1")
	r.use(both(mail), "op2")
	alone := both(lamps)
	delete(alone.Vectors, r.builtin.Model())
	if r.best(alone) != "op1" || r.best(both(mail)) != "op2" {
		t.Errorf("by the engine alone %q, by both %q", r.best(alone), r.best(both(mail)))
	}
	wrong := both(lamps)
	wrong.Vectors[neural.Model()] = []embed.Vector{{1, 0}}
	if r.best(wrong) != "op1" {
		t.Error("a vector of another length takes the builtin's view with it")
	}
}

func TestConcurrentUse(t *testing.T) {
	store := learntest.NewMemory()
	r := start(t, func(c *learn.Config) { c.Store = store })
	var wait sync.WaitGroup
	for i := range 8 {
		asks := make([]learn.Ask, 20)
		for j := range asks {
			asks[j] = r.ask(distinct(i*20+j), fmt.Sprintf("op%d", j%12))
			asks[j].App = fmt.Sprint("app", i%2)
		}
		wait.Go(func() {
			for j, a := range asks {
				key := fmt.Sprintf("%d/%d", i, j)
				r.learner.Recall(a)
				r.learner.Asked(key, a)
				r.learner.Used(key, []string{fmt.Sprintf("op%d", (i+j)%12)})
				if j%5 == 0 {
					r.learner.Failed(key, []string{fmt.Sprintf("op%d", (i+j)%12)})
				}
				if j == 10 && i == 3 {
					if _, err := store.EraseLearned(context.Background(), "op1"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if err := r.learner.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Learned(t.Context())
	if err != nil || len(kept.Examples) != r.examples() || r.examples() == 0 {
		t.Errorf("%d examples known, %d kept, %v", r.examples(), len(kept.Examples), err)
	}
}

func TestNone(t *testing.T) {
	var n learn.None
	n.Asked("k", learn.Ask{})
	n.Used("k", []string{"a"})
	n.Failed("k", []string{"a"})
	if got := n.Recall(learn.Ask{}); got.Near != nil || got.Habit != nil {
		t.Errorf("None recalls %+v", got)
	}
}
