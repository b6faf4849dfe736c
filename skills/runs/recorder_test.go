package runs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills/runs"
)

// shelf is a runs.Store in memory.
type shelf struct {
	mu       sync.Mutex
	byKey    map[string]runs.Run
	erasures int
	broken   error
}

func (s *shelf) SaveRun(_ context.Context, erasures int, r runs.Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if erasures != s.erasures {
		return catalog.NewError(catalog.Conflict, "erased", nil)
	}
	if s.byKey == nil {
		s.byKey = map[string]runs.Run{}
	}
	r.Calls = slices.Clone(r.Calls)
	s.byKey[r.Key] = r
	return nil
}

func (s *shelf) Runs(context.Context, runs.Filter) ([]runs.Run, error) { return nil, nil }

func (s *shelf) PruneRuns(context.Context, time.Time, int) (int, error) { return 0, nil }

func (s *shelf) Erasures(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.erasures, nil
}

func (s *shelf) get(t *testing.T, key string) runs.Run {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byKey[key]
	if !ok {
		t.Fatalf("no run %q is kept, of %d", key, len(s.byKey))
	}
	return r
}

// scene is a recorder with a clock and what it settled.
type scene struct {
	*runs.Recorder
	store   *shelf
	mu      sync.Mutex
	now     time.Time
	settled []runs.Run
}

func newScene(t *testing.T, change func(*runs.Config)) *scene {
	t.Helper()
	s := &scene{store: &shelf{}, now: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)}
	cfg := runs.Config{Store: s.store, Now: func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.now
	}, Settled: func(_ context.Context, r runs.Run) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settled = append(s.settled, r)
	}}
	if change != nil {
		change(&cfg)
	}
	s.Recorder = runs.New(cfg)
	t.Cleanup(s.Close)
	return s
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *scene) flush(t *testing.T) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func began(goal string, skills ...string) runs.Began {
	return runs.Began{App: "app", Session: "s", Goal: goal, Skills: skills}
}

func calls(names ...string) (list []runs.Call) {
	for _, n := range names {
		list = append(list, runs.Call{Name: n, Arguments: []string{"path"}, Values: `{"path":"secret"}`})
	}
	return list
}

func TestARunIsWhatWasAskedAndCalledUntilTheNextRequest(t *testing.T) {
	s := newScene(t, nil)
	s.Began("1", began("ship it", "release"))
	s.Called("1", calls("test", "tag"))
	s.Began("1", began("ship it")) // a retry
	s.pass(time.Minute)
	s.Called("1", calls("deploy"))
	s.flush(t)
	if r := s.store.get(t, "1"); r.Outcome != runs.Open || len(r.Calls) != 3 || !r.Ended.IsZero() {
		t.Errorf("while it goes on it is kept as %+v", r)
	}
	s.pass(time.Minute)
	s.Began("2", began("what is the weather?"))
	s.flush(t)
	r := s.store.get(t, "1")
	want := runs.Run{Key: "1", App: "app", Session: "s", Goal: "ship it", Outcome: runs.Succeeded, Skills: []string{"release"},
		Calls:   []runs.Call{{Name: "test", Arguments: []string{"path"}}, {Name: "tag", Arguments: []string{"path"}}, {Name: "deploy", Arguments: []string{"path"}}},
		Started: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Ended: time.Date(2026, 5, 1, 10, 1, 0, 0, time.UTC)}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("kept as %+v\nwant %+v", r, want)
	}
	if len(s.settled) != 1 || s.settled[0].Key != "1" {
		t.Errorf("settled %+v", s.settled)
	}
	if len(s.store.byKey) != 1 {
		t.Errorf("a turn without a call is kept too: %d", len(s.store.byKey))
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name string
		then func(s *scene)
		want runs.Outcome
		why  string
	}{
		{"another request", func(s *scene) { s.Began("2", began("now something else entirely")) }, runs.Succeeded, ""},
		{"thanks", func(s *scene) { s.Began("2", began("thanks, that is great")) }, runs.Succeeded, ""},
		{"a correction", func(s *scene) { s.Began("2", began("No, the other folder!")) }, runs.Failed, "the user corrected"},
		{"asked again", func(s *scene) { s.Began("2", began("please pack the three folders")) }, runs.Failed, "the user asked again"},
		{"a correction, much later", func(s *scene) { s.pass(time.Hour); s.Began("2", began("No, the other folder!")) }, runs.Succeeded, ""},
		{"a correction in another session", func(s *scene) {
			s.Began("2", runs.Began{App: "app", Session: "t", Goal: "no, not that"})
			s.Began("3", began("now something else entirely"))
		}, runs.Succeeded, ""},
		{"a call failed", func(s *scene) { s.Failed("1", []string{"zip"}) }, runs.Failed, "a call failed"},
		{"a call failed and was made good", func(s *scene) { s.Failed("1", []string{"zip"}); s.Called("1", calls("zip")); s.Failed("1", nil) }, runs.Succeeded, ""},
		{"a tool of another turn failed", func(s *scene) { s.Failed("1", []string{"other"}) }, runs.Succeeded, ""},
		{"said to have failed", func(s *scene) { s.Ended("1", false, "") }, runs.Failed, "an outcome said so"},
		{"said to have succeeded, though a call failed", func(s *scene) {
			s.Failed("1", []string{"zip"})
			s.Ended("1", true, "")
			s.Began("2", began("no, wrong"))
		}, runs.Succeeded, "an outcome said so"},
		{"go on", func(s *scene) {
			s.Began("2", began("yes, please"))
			s.Called("2", calls("mail"))
			s.Began("3", began("now something else entirely"))
		}, runs.Succeeded, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t, nil)
			s.Began("1", began("pack the three folders please"))
			s.Called("1", calls("zip"))
			test.then(s)
			s.Close()
			r := s.store.get(t, "1")
			if r.Outcome != test.want || r.Why != test.why || r.Ended.IsZero() {
				t.Errorf("%s, %q, ended %v; want %s, %q", r.Outcome, r.Why, r.Ended, test.want, test.why)
			}
			if test.name == "go on" && !slices.Equal(r.Names(), []string{"zip", "mail"}) {
				t.Errorf("the run that went on called %q", r.Names())
			}
		})
	}
}

func TestBounds(t *testing.T) {
	s := newScene(t, func(c *runs.Config) { c.KeepValues = true })
	s.Began("1", began(strings.Repeat("ä", runs.MaxGoalBytes)+"\xff"))
	for range 3 {
		s.Called("1", slices.Repeat(calls("zip"), 50))
	}
	s.Called("unknown", calls("zip"))
	s.Called("1", nil)
	s.Began("", began("nothing"))
	s.Close()
	s.Close()
	s.Called("1", calls("late"))
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	r := s.store.get(t, "1")
	if len(r.Goal) > runs.MaxGoalBytes || strings.ContainsRune(r.Goal, '\uFFFD') || len(r.Calls) != runs.MaxCalls || r.Calls[0].Values != `{"path":"secret"}` {
		t.Errorf("a goal of %d bytes, %d calls, the first with %q", len(r.Goal), len(r.Calls), r.Calls[0].Values)
	}
}

// TestErasedRunsDoNotComeBack: what was under way when somebody erased is forgotten, and what begins after that is kept.
func TestErasedRunsDoNotComeBack(t *testing.T) {
	s := newScene(t, nil)
	s.Began("1", began("pack it"))
	s.Called("1", calls("zip"))
	s.flush(t)
	s.store.mu.Lock()
	s.store.erasures, s.store.byKey = 1, nil
	s.store.mu.Unlock()
	s.Called("1", calls("mail"))
	s.Began("2", began("send it"))
	s.Called("2", calls("mail"))
	s.Close()
	if len(s.store.byKey) != 1 || s.store.get(t, "2").Goal != "send it" {
		t.Errorf("kept %v", s.store.byKey)
	}
}

// TestNothingThatUsersSayIsLogged also tells that a store which fails is complained of once, and harms nothing.
func TestNothingThatUsersSayIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := newScene(t, func(c *runs.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	s.store.mu.Lock()
	s.store.broken = errors.New("disk full")
	s.store.mu.Unlock()
	for i := range 3 {
		key := fmt.Sprint(i)
		s.Began(key, began("my secret wish "+key))
		s.Called(key, calls("zip"))
	}
	s.Close()
	if text := log.String(); strings.Count(text, "disk full") != 1 || strings.Contains(text, "secret") {
		t.Errorf("the log says %q", text)
	}
}

func TestAClockThatIsSetBack(t *testing.T) {
	s := newScene(t, nil)
	s.Began("1", began("pack it"))
	s.pass(-48 * time.Hour)
	s.Called("1", calls("zip"))
	s.Began("2", began("something else altogether"))
	s.Close()
	if r := s.store.get(t, "1"); r.Ended.Before(r.Started) || r.Outcome != runs.Succeeded {
		t.Errorf("from %v to %v, %s", r.Started, r.Ended, r.Outcome)
	}
}

func TestIdleRunsEnd(t *testing.T) {
	s := newScene(t, nil)
	for i := range 600 { // more than are followed at once
		s.Began(fmt.Sprint(i), runs.Began{App: "app", Session: fmt.Sprint(i), Goal: "pack it"})
		s.Called(fmt.Sprint(i), calls("zip"))
		if i%100 == 0 {
			s.flush(t)
		}
	}
	s.flush(t)
	if r := s.store.get(t, "0"); r.Outcome != runs.Succeeded {
		t.Errorf("the oldest of too many is %s", r.Outcome)
	}
	if r := s.store.get(t, "599"); r.Outcome != runs.Open {
		t.Errorf("the newest is %s", r.Outcome)
	}
}

func TestASkillThatIsCountedElsewhereIsNotSettled(t *testing.T) {
	for _, success := range []bool{true, false} {
		s := newScene(t, nil)
		s.Began("1", runs.Began{App: "a", Session: "s", Goal: "do it", Skills: []string{"one", "two"}})
		s.Called("1", []runs.Call{{Name: "x"}})
		s.Ended("1", success, "one")
		s.Close()
		if len(s.settled) != 1 || !slices.Equal(s.settled[0].Skills, []string{"two"}) || (s.settled[0].Outcome == runs.Succeeded) != success {
			t.Errorf("settled %+v", s.settled)
		}
		if kept := s.store.get(t, "1"); !slices.Equal(kept.Skills, []string{"one", "two"}) {
			t.Errorf("kept with the skills %q", kept.Skills)
		}
	}
}
