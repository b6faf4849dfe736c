package runs

import (
	"context"
	"slices"
	"time"
)

// ledger is the runs under way. It belongs to the Recorder's goroutine.
type ledger struct {
	Config
	turns    map[string]*entry // by turn
	sessions map[string]*entry // the run under way in each
	order    []*entry          // as they began
	at       time.Time         // of the event that is worked on
	erasures int
	failing  bool // the last write failed
}

// entry is a run under way.
type entry struct {
	run     Run
	turns   []string
	failing []string // tools whose latest call came to nothing
	said    bool     // somebody said what became of it
	counted []string // recalled skills whose use is counted already
	touched time.Time
}

func newLedger(cfg Config) *ledger {
	l := &ledger{Config: cfg, turns: map[string]*entry{}, sessions: map[string]*entry{}}
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	var err error
	if l.erasures, err = cfg.Store.Erasures(ctx); err != nil {
		l.complain(err)
	}
	return l
}

// sessionOf names a session among those of all apps.
func sessionOf(app, session string) string { return app + "\x00" + session }

func (l *ledger) began(key string, b Began) {
	if l.turns[key] != nil {
		return
	}
	now := l.at
	at := sessionOf(b.App, b.Session)
	before := l.sessions[at]
	if before != nil && now.Sub(before.touched) <= idleLimit && len(before.run.Calls) > 0 {
		if continues(b.Goal) {
			before.turns, before.touched = append(before.turns, key), now
			before.run.Skills = union(before.run.Skills, b.Skills)
			l.turns[key] = before
			return
		}
		if why := complains(before.run.Goal, b.Goal); why != "" && !before.said {
			before.run.Outcome, before.run.Why = Failed, why
			before.said = true
		}
	}
	if before != nil {
		l.close(before)
	}
	if len(l.order) >= maxOpen {
		l.close(l.order[0])
	}
	e := &entry{run: Run{Key: key, App: b.App, Session: b.Session, Goal: b.Goal, Outcome: Open, Skills: b.Skills, Started: now.UTC().Round(0)}, turns: []string{key}, touched: now}
	l.turns[key], l.sessions[at], l.order = e, e, append(l.order, e)
}

func union(a, b []string) []string {
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}

func (l *ledger) called(key string, calls []Call) {
	e := l.turns[key]
	if e == nil || len(e.run.Calls) >= MaxCalls {
		return
	}
	e.touched = l.at
	e.run.Calls = append(e.run.Calls, calls[:min(len(calls), MaxCalls-len(e.run.Calls))]...)
	l.save(e)
}

func (l *ledger) failed(key string, tools []string) {
	if e := l.turns[key]; e != nil {
		e.failing, e.touched = tools, l.at
	}
}

func (l *ledger) ended(key string, success bool, counted string) {
	e := l.turns[key]
	if e == nil {
		return
	}
	e.said, e.touched = true, l.at
	if counted != "" {
		e.counted = append(e.counted, counted)
	}
	e.run.Outcome, e.run.Why = Failed, "an outcome said so"
	if success {
		e.run.Outcome = Succeeded
	}
	if len(e.run.Calls) > 0 {
		l.save(e)
	}
}

// close ends a run: it succeeded, unless its last calls failed or somebody said otherwise.
func (l *ledger) close(e *entry) {
	for _, key := range e.turns {
		delete(l.turns, key)
	}
	if at := sessionOf(e.run.App, e.run.Session); l.sessions[at] == e {
		delete(l.sessions, at)
	}
	l.order = slices.DeleteFunc(l.order, func(other *entry) bool { return other == e })
	if len(e.run.Calls) == 0 && len(e.run.Skills) == 0 {
		return
	}
	if !e.said {
		e.run.Outcome = Succeeded
		if slices.ContainsFunc(e.failing, func(tool string) bool { return slices.Contains(e.run.Names(), tool) }) {
			e.run.Outcome, e.run.Why = Failed, "a call failed"
		}
	}
	e.run.Ended = e.touched.UTC().Round(0)
	if e.run.Ended.Before(e.run.Started) { // the clock was set back
		e.run.Ended = e.run.Started
	}
	if len(e.run.Calls) > 0 && !l.save(e) {
		return
	}
	if l.Settled != nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
		defer cancel()
		r := e.run
		r.Skills = slices.DeleteFunc(slices.Clone(r.Skills), func(name string) bool { return slices.Contains(e.counted, name) })
		l.Settled(ctx, r)
	}
}

func (l *ledger) closeIdle() {
	now := l.Now()
	for _, e := range slices.Clone(l.order) {
		if now.Sub(e.touched) > idleLimit {
			l.close(e)
		}
	}
}

func (l *ledger) closeAll() {
	for len(l.order) > 0 {
		l.close(l.order[0])
	}
}

// save writes a run as it stands. It reports false where something was erased meanwhile: all that is under way is then forgotten, since it may be
// what was erased.
func (l *ledger) save(e *entry) bool {
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	err := l.Store.SaveRun(ctx, l.erasures, e.run)
	if !erased(err) {
		l.complain(err)
		return true
	}
	l.turns, l.sessions, l.order = map[string]*entry{}, map[string]*entry{}, nil
	l.erasures, err = l.Store.Erasures(ctx)
	l.complain(err)
	return false
}

func (l *ledger) complain(err error) {
	if err != nil && !l.failing {
		l.Log.Warn("what is observed is not being kept", "error", err)
	}
	l.failing = err != nil
}

func (l *ledger) prune() {
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	_, err := l.Store.PruneRuns(ctx, l.Now().Add(-l.KeepFor), l.KeepRuns)
	l.complain(err)
}
