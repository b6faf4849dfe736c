package turn_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// mute is a tool that says nothing of what it is for.
const mute = `{"type":"function","function":{"name":"zq7","description":"Internal job 7."}}`

func withLearner(t *testing.T) (*harness, *learn.Learner) {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	learner, err := learn.New(t.Context(), learn.Config{Builtin: builtin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(learner.Close)
	return newHarness(t, setup{learner: learner}), learner
}

func TestWhatAToolWasUsedForBringsItBack(t *testing.T) {
	tools := append(demoTools(t), mute)
	h, learner := withLearner(t)
	ask, again := "Decalcify the espresso machine before Monday.", "The espresso machine must be decalcified again."
	if p := h.plan(body(t, tools, "", user(again))); slices.Contains(p.Order(), "zq7") {
		t.Fatalf("zq7 is visible before anything is learned: %q", p.Order())
	}
	p := h.plan(body(t, tools, "", user(ask)))
	h.planner.Observe(p, calls("zq7"))
	if err := learner.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	p = h.plan(body(t, tools, "", user(again+" Now.")))
	if reason(p, "zq7") != session.Semantic {
		t.Errorf("zq7 is %q in %q", reason(p, "zq7"), p.Order())
	}
	if p := h.plan(body(t, tools, "", user("Where is my parcel?"))); slices.Contains(p.Matched, "zq7") {
		t.Errorf("another request matches it too: %q", p.Matched)
	}
}

func TestWhatFailedIsNotLearned(t *testing.T) {
	tools := append(demoTools(t), mute)
	fails := map[string]func(h *harness, first *turn.Plan, ask message){
		"its result looks like an error": func(h *harness, _ *turn.Plan, ask message) {
			h.plan(body(t, tools, "", ask, called("zq7"), message{"role": "tool", "tool_name": "zq7", "content": "Error: out of descaler"}))
		},
		"the app says so": func(h *harness, first *turn.Plan, _ message) {
			if err := h.planner.SettleSession(first.Session, []string{"zq7"}, false, ""); err != nil {
				t.Error(err)
			}
		},
	}
	for name, fail := range fails {
		h, learner := withLearner(t)
		ask := user("Decalcify the espresso machine before Monday.")
		first := h.plan(body(t, tools, "", ask))
		h.planner.Observe(first, calls("zq7"))
		fail(h, first, ask)
		if err := learner.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := h.plan(body(t, tools, "", user("The espresso machine must be decalcified again."))); slices.Contains(p.Matched, "zq7") {
			t.Errorf("%s: zq7 matches: %q", name, p.Matched)
		}
	}
	h, _ := withLearner(t)
	if err := h.planner.SettleSession("nobody", []string{"zq7"}, false, ""); catalog.KindOf(err) != catalog.NotFound {
		t.Errorf("an unknown session: %v", err)
	}
}

// told is a Learner that notes what it is asked and told.
type told struct {
	learn.None
	mu   sync.Mutex
	asks []learn.Ask
	told []string
}

func (l *told) Recall(a learn.Ask) learn.Recalled {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks = append(l.asks, a)
	return learn.Recalled{}
}

func (l *told) Asked(key string, _ learn.Ask) { l.note("asked", key, nil) }

func (l *told) Used(key string, names []string) { l.note("used", key, names) }

func (l *told) note(what, key string, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, fmt.Sprint(what, " ", names, " ", key != ""))
}

func TestAnAskTellsTheWindowAndWhatWasCalledBefore(t *testing.T) {
	tools := demoTools(t)
	l := &told{}
	h := newHarness(t, setup{learner: l})
	p := h.plan(body(t, tools, "", user(" where is my parcel? ")))
	h.planner.Observe(p, calls("track_parcel", "generate_image")) // the second is hidden
	p = h.plan(body(t, tools, "", user("where is my parcel?"), answer("here"), user("play a song")))
	h.planner.Observe(p, calls())
	h.plan(body(t, tools, "", user("where is my parcel?"), answer("here"), user("play a song"), answer("ok"), user("louder")))
	if len(l.asks) != 3 {
		t.Fatalf("asked %d times", len(l.asks))
	}
	for i, want := range []struct {
		text    string
		vectors int
		after   []string
	}{{"where is my parcel?", 1, nil}, {"play a song", 2, []string{"track_parcel", "generate_image"}}, {"louder", 2, []string{"track_parcel", "generate_image"}}} {
		a := l.asks[i]
		slices.Sort(a.After)
		slices.Sort(want.after)
		for _, vectors := range a.Vectors {
			if len(vectors) != want.vectors {
				t.Errorf("turn %d: %d vectors, want %d", i+1, len(vectors), want.vectors)
			}
		}
		if a.Text != want.text || len(a.Vectors) != 1 || a.Tools.Len() != 38 || a.App == "" || !slices.Equal(a.After, want.after) {
			t.Errorf("turn %d: %q after %q by %d models", i+1, a.Text, a.After, len(a.Vectors))
		}
	}
	if want := []string{"asked [] true", "used [track_parcel generate_image] true", "asked [] true", "used [] true", "asked [] true"}; !slices.Equal(l.told, want) {
		t.Errorf("told %q, want %q", l.told, want)
	}
}

// insists is a Learner that is sure of one tool.
type insists struct {
	learn.None
	name string
}

func (l insists) Recall(a learn.Ask) learn.Recalled {
	id, _ := a.Tools.Lookup(l.name)
	return learn.Recalled{Sure: []catalog.ID{id}}
}

func TestWhatSurelyFollowsIsOverTheFloor(t *testing.T) {
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	if p := newHarness(t, setup{}).plan(b); slices.Contains(p.Matched, "generate_image") {
		t.Fatal("generate_image matches by itself")
	}
	if p := newHarness(t, setup{learner: insists{name: "generate_image"}}).plan(b); !slices.Contains(p.Matched, "generate_image") {
		t.Errorf("matched are %q", p.Matched)
	}
}

func TestNothingIsToldWhereNothingIsSelected(t *testing.T) {
	for name, change := range map[string]func(*turn.Policy){
		"off":   func(p *turn.Policy) { p.Off = "memory off" },
		"small": func(p *turn.Policy) { p.MaxTools, p.SmallTokens = 100, 1e6 },
	} {
		l := &told{}
		h := newHarness(t, setup{learner: l, policy: change})
		h.plan(body(t, demoTools(t), "", user("where is my parcel?")))
		if len(l.asks) > 0 || len(l.told) > 0 {
			t.Errorf("%s: %d asks, told %q", name, len(l.asks), l.told)
		}
	}
}
