package telemetry_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/telemetry"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// memory is a Store that can be broken.
type memory struct {
	mu     sync.Mutex
	turns  map[string]telemetry.Turn
	err    error
	panics bool
	hang   chan struct{} // SaveTurns waits for it
	saves  int
	before time.Time
	after  time.Time
	keep   int
}

func (m *memory) SaveTurns(_ context.Context, turns []telemetry.Turn) error {
	if m.hang != nil {
		<-m.hang
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saves++
	if m.panics {
		panic("the store is broken")
	}
	if m.err != nil {
		return m.err
	}
	for _, t := range turns {
		if m.turns == nil {
			m.turns = map[string]telemetry.Turn{}
		}
		m.turns[fmt.Sprint(t.Session, " ", t.Number)] = t
	}
	return nil
}

func (m *memory) Turns(context.Context, telemetry.Filter) ([]telemetry.Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []telemetry.Turn
	for _, t := range m.turns {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b telemetry.Turn) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Number, b.Number))
	})
	return list, nil
}

func (m *memory) PruneTurns(_ context.Context, before, after time.Time, keep int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after, m.keep = before, after, keep
	return 0, m.err
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// rig is a Recorder on a store in memory.
type rig struct {
	t     *testing.T
	store *memory
	log   bytes.Buffer
	*telemetry.Recorder
}

func start(t *testing.T, store *memory, change func(*telemetry.Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: store}
	cfg := telemetry.Config{Store: store, Mode: telemetry.Shadow, Names: true, Account: account, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	if change != nil {
		change(&cfg)
	}
	r.Recorder = telemetry.New(cfg)
	t.Cleanup(r.Close)
	return r
}

func account(*turn.Plan) telemetry.Account {
	return telemetry.Account{App: "app", Model: "m", Offered: 38, OfferedTokens: 5000, VisibleTokens: 1200, Changed: true}
}

// kept writes what waits and returns what the store has.
func (r *rig) kept() []telemetry.Turn {
	r.t.Helper()
	if err := r.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	list, _ := r.store.Turns(r.t.Context(), telemetry.Filter{})
	return list
}

func plan(session string, number int) *turn.Plan {
	return &turn.Plan{Session: session, Turn: number, Tools: []turn.Tool{{Name: "a"}, {Name: "b"}}}
}

func spent(u chat.Usage, v kvcache.Verdict) turn.Spent { return turn.Spent{Usage: u, Verdict: v} }

func state(id string, number int) session.State { return session.State{Session: id, Turn: number} }

func TestATurnIsCounted(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := start(t, &memory{}, func(c *telemetry.Config) { c.Now = func() time.Time { return at } })
	p := plan("s", 2)
	r.Planned(p)
	for i, evaluated := range []int{3000, 40, 50} {
		u := chat.Usage{PromptTokens: 6000 + 100*i, PromptDuration: time.Duration(evaluated) * time.Millisecond}
		v := kvcache.Verdict{Evaluated: evaluated, Truncated: i == 1}
		r.Answered(p, v)
		r.Spent(p, spent(u, v))
	}
	r.Escaped(state("s", 2), "c") // the planner tells of a hidden tool twice
	r.Called(state("s", 2), []string{"a", "c"}, []string{"c"})
	r.Called(state("s", 2), []string{"a", "c", "", "b"}, nil) // once a turn, as it was first
	r.Loaded(&turn.Plan{Session: "s", Turn: 2, Tools: []turn.Tool{{Name: "d", Reason: session.Hatch}, {Name: "e", Reason: session.Semantic}}, Changes: turn.Changes{Admitted: []string{"d", "e"}}}, "d")
	r.Called(state("s", 2), []string{"d", "e"}, nil)
	want := telemetry.Turn{
		Session: "s", Number: 2, At: at, Mode: "shadow", Account: account(nil), Visible: 2, Truncated: true,
		First: telemetry.Reading{Answers: 1, PromptTokens: 6000, EvaluatedTokens: 3000, PromptDuration: 3 * time.Second},
		Rest:  telemetry.Reading{Answers: 2, PromptTokens: 12300, EvaluatedTokens: 90, PromptDuration: 90 * time.Millisecond},
		Use: telemetry.Use{
			Calls: 5, Misses: 1, Asked: 1, Loads: 1,
			Names: []string{"c", "a", "b", "d", "e"}, Missed: []string{"c"}, Sought: []string{"d"},
		},
	}
	got := r.kept()
	if len(got) != 1 || fmt.Sprintf("%+v", got[0]) != fmt.Sprintf("%+v", want) {
		t.Errorf("kept\n%+v, want\n%+v", got, want)
	}
}

// TestHiddenTurnsAreCounted has an answer of three of the engine's and one of one: what they cost stands beside what the first of each did.
func TestHiddenTurnsAreCounted(t *testing.T) {
	r := start(t, &memory{}, nil)
	p := plan("s", 1)
	r.Planned(p)
	one := func(prompt, evaluated, output int, later, hidden bool) {
		r.Spent(p, turn.Spent{
			Usage:   chat.Usage{PromptTokens: prompt, PromptDuration: time.Duration(evaluated) * time.Millisecond, OutputTokens: output, OutputDuration: time.Duration(output) * time.Second},
			Verdict: kvcache.Verdict{Evaluated: evaluated}, Later: later, Hidden: hidden,
		})
	}
	one(1000, 900, 20, false, true)
	r.Again(p, false)
	one(1300, 300, 5, true, true)
	r.Again(p, true)
	one(1900, 600, 7, true, false)
	one(2000, 40, 8, false, false) // the next request of the turn
	r.Written(state("s", 1), []string{"x"})
	r.Called(state("s", 1), []string{"x"}, []string{"x"})
	r.Written(state("s", 1), []string{"x"}) // again: once a turn
	got := r.kept()[0]
	if got.First.PromptTokens != 1000 || got.First.EvaluatedTokens != 900 || got.Rest != (telemetry.Reading{Answers: 1, PromptTokens: 2000, EvaluatedTokens: 40, PromptDuration: 40 * time.Millisecond}) {
		t.Errorf("first %+v, rest %+v", got.First, got.Rest)
	}
	want := telemetry.Hidden{
		Rounds: 2, Guesses: 1, Read: telemetry.Reading{Answers: 2, PromptTokens: 3200, EvaluatedTokens: 900, PromptDuration: 900 * time.Millisecond},
		Generated: 25, GeneratedDuration: 25 * time.Second,
	}
	if got.Hidden != want {
		t.Errorf("hidden %+v, want %+v", got.Hidden, want)
	}
	if got.Use.Written != 1 || got.Use.Misses != 1 {
		t.Errorf("%d written, %d missed", got.Use.Written, got.Use.Misses)
	}
	r.Again(p, false) // of which nothing is said
	if got := r.kept()[0].Hidden; got.Rounds != 3 || got.Read.Answers != 2 {
		t.Errorf("hidden %+v", got)
	}
}

func TestASecondPlanOfATurnChangesNothing(t *testing.T) {
	r := start(t, &memory{}, nil)
	r.Planned(plan("s", 1))
	again := plan("s", 1)
	again.Tools, again.Fallback = nil, "mode off"
	r.Planned(again)
	if got := r.kept(); len(got) != 1 || got[0].Visible != 2 || got[0].Fallback != "" {
		t.Errorf("kept %+v", got)
	}
}

func TestNamesAreKeptOnlyWhereTheyMayBe(t *testing.T) {
	r := start(t, &memory{}, func(c *telemetry.Config) { c.Names = false })
	r.Planned(plan("s", 1))
	r.Called(state("s", 1), []string{"secret_a", "secret_b", "secret_a"}, []string{"secret_b"})
	got := r.kept()
	if len(got) != 1 || got[0].Use.Calls != 2 || got[0].Use.Misses != 1 {
		t.Fatalf("kept %+v", got)
	}
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, "secret") {
		t.Errorf("a name is kept: %s", text)
	}
}

func TestWhatAnEmbedderSaidIsNotKept(t *testing.T) {
	r := start(t, &memory{}, nil)
	for i, fallback := range []string{"embedder: cannot embed \"my secret\"", "small array", "something of my secret"} {
		p := plan("s", i+1)
		p.Fallback = fallback
		r.Planned(p)
	}
	var reasons []string
	for _, turn := range r.kept() {
		reasons = append(reasons, turn.Fallback)
	}
	slices.Sort(reasons)
	if want := []string{"embedder failed", "other", "small array"}; !slices.Equal(reasons, want) {
		t.Errorf("reasons %q, want %q", reasons, want)
	}
}

func TestWhatNobodyPlannedIsPassedOver(t *testing.T) {
	r := start(t, &memory{}, nil)
	r.Escaped(state("s", 1), "x")
	r.Called(state("s", 1), []string{"x"}, nil)
	r.Loaded(plan("s", 1), "")
	r.Spent(plan("s", 1), spent(chat.Usage{PromptTokens: 1}, kvcache.Verdict{}))
	r.Again(plan("s", 1), false)
	r.Written(state("s", 1), []string{"x"})
	if got := r.kept(); len(got) != 0 {
		t.Errorf("kept %+v", got)
	}
}

func TestWhatWasExpectedStandsInForWhatTheEngineDoesNotSay(t *testing.T) {
	for _, c := range []struct {
		u    chat.Usage
		v    kvcache.Verdict
		want int
	}{
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{Expected: kvcache.Expected{Prompt: 100, Evaluated: 50}}, 100},
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{Expected: kvcache.Expected{Prompt: 100, Evaluated: 500}}, 200},
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{Expected: kvcache.Expected{Prompt: 10_000, Evaluated: 1}}, 1},
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{Evaluated: 7, Expected: kvcache.Expected{Prompt: 100, Evaluated: 50}}, 7},
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{Truncated: true, Expected: kvcache.Expected{Prompt: 100, Evaluated: 50}}, 0},
		{chat.Usage{PromptTokens: 200}, kvcache.Verdict{}, 0},
	} {
		r := start(t, &memory{}, nil)
		p := plan("s", 1)
		r.Planned(p)
		r.Spent(p, spent(c.u, c.v))
		if got := r.kept()[0].First.EvaluatedTokens; got != c.want {
			t.Errorf("%+v: %d evaluated, want %d", c.v, got, c.want)
		}
	}
}

func TestHugeAndOddNames(t *testing.T) {
	r := start(t, &memory{}, func(c *telemetry.Config) {
		c.Account = func(*turn.Plan) telemetry.Account {
			return telemetry.Account{App: strings.Repeat("é", 1000), Model: "m\x00\xff"}
		}
	})
	id := strings.Repeat("s", 10_000)
	r.Planned(plan(id, 1))
	var called []string
	for i := range 500 {
		called = append(called, fmt.Sprint(i, strings.Repeat("\xf0\x9f\x98\x80", 1000)))
	}
	r.Called(state(id, 1), called, called[:1])
	r.Spent(plan(id, 1), spent(chat.Usage{PromptTokens: -5, PromptDuration: -time.Hour}, kvcache.Verdict{Evaluated: -1}))
	got := r.kept()
	if len(got) != 1 || got[0].First != (telemetry.Reading{Answers: 1}) || got[0].Use.Misses != 1 || got[0].Use.Calls > 64 {
		t.Fatalf("kept %.300v", got)
	}
	for _, name := range append([]string{got[0].App, got[0].Model, got[0].Session}, got[0].Use.Names...) {
		if len(name) > telemetry.MaxNameBytes || !utf8.ValidString(name) || strings.Contains(name, "\x00") {
			t.Errorf("kept the name %.300q of %d bytes", name, len(name))
		}
	}
}

// TestFiguresThatNobodyBelieves has an engine say numbers which no sum could hold.
func TestFiguresThatNobodyBelieves(t *testing.T) {
	r := start(t, &memory{}, nil)
	for i := range 20 {
		p := plan("s", i+1)
		r.Planned(p)
		for range 2 {
			r.Spent(p, spent(chat.Usage{PromptTokens: math.MaxInt, PromptDuration: math.MaxInt64}, kvcache.Verdict{Evaluated: math.MaxInt}))
		}
	}
	m := telemetry.Summarize(r.kept(), telemetry.Filter{}).Modes[0]
	if m.Saving.Tokens < 0 || m.Saving.Time < 0 || m.Saving.Judged != 20 || !(m.PerSecond["m"] > 0) {
		t.Errorf("%+v", m)
	}
}

// TestABrokenDisk has the store fail for a minute: nothing of that is lost, and the log says it once.
func TestABrokenDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &memory{}, nil)
		r.store.fail(errors.New("the disk is full"))
		for i := range 5 {
			r.Planned(plan("s", i+1))
			time.Sleep(12 * time.Second)
		}
		synctest.Wait()
		if n := strings.Count(r.log.String(), "the disk is full"); n != 1 {
			t.Errorf("the log says it %d times:\n%s", n, &r.log)
		}
		if r.store.saves > 4 {
			t.Errorf("tried %d times in a minute", r.store.saves)
		}
		r.store.fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.store.turns) != 5 {
			t.Errorf("kept %d of 5 turns", len(r.store.turns))
		}
		r.Close()
	})
}

func TestAStoreThatPanics(t *testing.T) {
	r := start(t, &memory{panics: true}, nil)
	r.Planned(plan("s", 1))
	r.kept()
	r.store.mu.Lock()
	r.store.panics = false
	r.store.mu.Unlock()
	r.Planned(plan("s", 2))
	if got := r.kept(); len(got) != 2 || !strings.Contains(r.log.String(), "panicked") {
		t.Errorf("kept %d turns, logged %s", len(got), &r.log)
	}
}

// TestNobodyWaitsForTheDisk tells far more than can be queued while the store hangs.
func TestNobodyWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &memory{hang: make(chan struct{})}, nil)
		r.Planned(plan("s", 0))
		time.Sleep(2 * time.Second) // a save has begun
		for i := range 5000 {
			r.Planned(plan("s", i))
			r.Called(state("s", i), []string{"a"}, nil)
		}
		if r.Dropped() == 0 || strings.Count(r.log.String(), "\n") != 1 {
			t.Errorf("%d dropped, logged %s", r.Dropped(), &r.log)
		}
		close(r.store.hang)
		r.Close()
		if len(r.store.turns) < 100 {
			t.Errorf("kept %d", len(r.store.turns))
		}
	})
}

func TestMoreTurnsThanAreOpen(t *testing.T) {
	r := start(t, &memory{}, nil)
	for i := range 2000 {
		r.Planned(plan("s", i))
		if i%400 == 0 {
			r.kept() // so that the queue does not overflow
		}
	}
	if got := r.kept(); len(got) != 2000 {
		t.Errorf("kept %d of 2000", len(got))
	}
}

func TestCloseWritesTheRest(t *testing.T) {
	r := start(t, &memory{}, nil)
	r.Planned(plan("s", 1))
	r.Close()
	r.Close()
	r.Planned(plan("s", 2)) // nobody listens any more
	if err := r.Flush(t.Context()); err != nil || len(r.store.turns) != 1 {
		t.Errorf("kept %d, %v", len(r.store.turns), err)
	}
}

func TestWithoutAStore(t *testing.T) {
	r := telemetry.New(telemetry.Config{})
	r.Planned(plan("s", 1))
	r.Escaped(state("s", 1), "x")
	r.Loaded(plan("s", 1), "x")
	r.Spent(plan("s", 1), spent(chat.Usage{}, kvcache.Verdict{}))
	if err := r.Flush(t.Context()); err != nil || r.Dropped() != 0 {
		t.Errorf("%v, %d dropped", err, r.Dropped())
	}
	r.Close()
}

// TestOldTurnsGo looks at what is asked of the store, on a clock that jumps back by years.
func TestOldTurnsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var mu sync.Mutex
		now := started
		store := &memory{}
		r := start(t, store, func(c *telemetry.Config) {
			c.KeepFor, c.KeepTurns = 48*time.Hour, 7
			c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		})
		synctest.Wait()
		if want := started.Add(-48 * time.Hour); !store.before.Equal(want) || store.keep != 7 || !store.after.After(started) {
			t.Errorf("kept from %v, want %v; until %v; %d", store.before, want, store.after, store.keep)
		}
		mu.Lock()
		now = started.AddDate(-20, 0, 0)
		mu.Unlock()
		r.Planned(plan("s", 1))
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if !store.after.Before(started) || len(store.turns) != 1 {
			t.Errorf("after the jump turns until %v are kept; %d written", store.after, len(store.turns))
		}
		r.Close()
	})
}

func TestManyTellAtOnce(t *testing.T) {
	r := start(t, &memory{}, nil)
	all := telemetry.All{r, telemetry.NewMetrics(metricsConfig())}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			id := fmt.Sprint(i)
			for n := range 20 {
				p := plan(id, n)
				all.Planned(p)
				all.Called(state(id, n), []string{"a"}, nil)
				all.Spent(p, spent(chat.Usage{PromptTokens: 10}, kvcache.Verdict{}))
				if err := r.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for _, turn := range r.kept() {
		if turn.Use.Calls != 1 || turn.First.PromptTokens != 10 {
			t.Errorf("kept %+v", turn)
		}
	}
	if len(r.store.turns) != 160 {
		t.Errorf("kept %d of 160", len(r.store.turns))
	}
}

// plain is a recorder that is no Meter.
type plain struct{ told []string }

func (p *plain) Planned(*turn.Plan)                   { p.told = append(p.told, "planned") }
func (p *plain) Escaped(_ session.State, tool string) { p.told = append(p.told, "escaped "+tool) }
func (p *plain) Loaded(_ *turn.Plan, what string)     { p.told = append(p.told, "loaded "+what) }
func (p *plain) Answered(*turn.Plan, kvcache.Verdict) { p.told = append(p.told, "answered") }

// metered is one that is.
type metered struct{ plain }

func (m *metered) Spent(*turn.Plan, turn.Spent) { m.told = append(m.told, "spent") }
func (m *metered) Again(_ *turn.Plan, guess bool) {
	m.told = append(m.told, fmt.Sprint("again ", guess))
}
func (m *metered) Written(_ session.State, tools []string) {
	m.told = append(m.told, fmt.Sprint("written ", tools))
}
func (m *metered) Called(_ session.State, called, hidden []string) {
	m.told = append(m.told, fmt.Sprint("called ", called, hidden))
}

func TestAllAreTold(t *testing.T) {
	one, two := &plain{}, &metered{}
	all := telemetry.All{one, two}
	all.Planned(nil)
	all.Escaped(session.State{}, "x")
	all.Loaded(nil, "y")
	all.Answered(nil, kvcache.Verdict{})
	all.Spent(nil, spent(chat.Usage{}, kvcache.Verdict{}))
	all.Called(session.State{}, []string{"x", "z"}, []string{"x"})
	all.Again(nil, true)
	all.Written(session.State{}, []string{"x"})
	want := []string{"planned", "escaped x", "loaded y", "answered"}
	if !slices.Equal(one.told, want) {
		t.Errorf("told %q", one.told)
	}
	if !slices.Equal(two.told, append(want, "spent", "called [x z] [x]", "again true", "written [x]")) {
		t.Errorf("told %q", two.told)
	}
}
