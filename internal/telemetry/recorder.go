package telemetry

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

const (
	maxQueued  = 1024 // events that wait; past it new ones are dropped, since a request never waits
	maxOpen    = 512  // turns that more may be told of
	saveEvery  = time.Second
	retryEvery = 30 // saveEverys after one that failed
	pruneEvery = time.Hour
	storeLimit = 10 * time.Second

	defaultKeepFor   = 90 * 24 * time.Hour
	defaultKeepTurns = 50_000
)

// Config is what a Recorder works with. Account is required.
type Config struct {
	Store     Store // nil: nothing is kept
	Mode      string
	Account   func(*turn.Plan) Account // called within the request: it must not block
	Names     bool                     // of tools called are kept
	KeepFor   time.Duration            // 0: 90 days
	KeepTurns int                      // 0: 50,000
	Now       func() time.Time         // nil: time.Now
	Log       *slog.Logger             // nil: none
}

// Recorder writes turns behind to a Store. Its methods never wait for a disk; where more is told than the disk can take, turns are passed over. Safe
// for concurrent use.
type Recorder struct {
	cfg Config

	closing sync.RWMutex // held for reading while something is enqueued
	closed  bool
	events  chan func(*ledger)
	dropped atomic.Int64
	done    sync.WaitGroup
}

var (
	_ turn.Recorder = (*Recorder)(nil)
	_ Meter         = (*Recorder)(nil)
)

// New returns a Recorder, whose work in the background ends with Close.
func New(cfg Config) *Recorder {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.KeepFor <= 0 {
		cfg.KeepFor = defaultKeepFor
	}
	if cfg.KeepTurns <= 0 {
		cfg.KeepTurns = defaultKeepTurns
	}
	r := &Recorder{cfg: cfg, events: make(chan func(*ledger), maxQueued)}
	if r.closed = cfg.Store == nil; !r.closed {
		l := newLedger(cfg)
		r.done.Go(func() { r.work(l) })
	}
	return r
}

func (r *Recorder) work(l *ledger) {
	save, prune := time.NewTicker(saveEvery), time.NewTicker(pruneEvery)
	defer save.Stop()
	defer prune.Stop()
	r.survive(l, (*ledger).prune)
	for {
		select {
		case event, ok := <-r.events:
			if !ok {
				r.survive(l, (*ledger).save)
				return
			}
			r.survive(l, event)
		case <-save.C:
			r.survive(l, (*ledger).tick)
		case <-prune.C:
			r.survive(l, (*ledger).prune)
		}
	}
}

// survive does a piece of work whose panic must not end the program: nothing depends on counting.
func (r *Recorder) survive(l *ledger, work func(*ledger)) {
	defer func() {
		if v := recover(); v != nil {
			r.cfg.Log.Error("counting a turn panicked", "panic", v)
		}
	}()
	work(l)
}

// tell reports whether the event will be worked on.
func (r *Recorder) tell(event func(*ledger)) bool {
	r.closing.RLock()
	defer r.closing.RUnlock()
	if r.closed {
		return false
	}
	select {
	case r.events <- event:
		return true
	default:
		if r.dropped.Add(1) == 1 {
			r.cfg.Log.Warn("more is decided than can be counted at once: the report will lack some turns")
		}
		return false
	}
}

// Dropped returns how much was told that could not be counted.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Close writes what is waiting and stops.
func (r *Recorder) Close() {
	r.closing.Lock()
	if !r.closed {
		r.closed = true
		close(r.events)
	}
	r.closing.Unlock()
	r.done.Wait()
}

// Flush returns when all that was told before it is written, or lost for an error that the log has. The error is ctx's.
func (r *Recorder) Flush(ctx context.Context) error {
	done := make(chan struct{})
	flush := func(l *ledger) {
		defer close(done)
		l.save()
	}
	if !r.tell(flush) {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Planned implements turn.Recorder.
func (r *Recorder) Planned(p *turn.Plan) {
	if r.cfg.Store == nil {
		return
	}
	t := Turn{
		Session: cut(p.Session), Number: p.Turn, At: r.cfg.Now(), Mode: r.cfg.Mode, Account: r.cfg.Account(p), Visible: len(p.Tools), Fallback: reasonOf(p.Fallback),
	}
	t.App, t.Model = cut(t.App), cut(t.Model)
	t.OfferedTokens, t.VisibleTokens, t.KeptTokens = sane(t.OfferedTokens), sane(t.VisibleTokens), sane(t.KeptTokens)
	r.tell(func(l *ledger) { l.planned(t) })
}

// Escaped implements turn.Recorder.
func (r *Recorder) Escaped(s session.State, tool string) { r.Called(s, []string{tool}, []string{tool}) }

// Called implements Meter.
func (r *Recorder) Called(s session.State, called, hidden []string) {
	called = called[:min(len(called), maxNames)]
	calls := make([]call, len(called))
	for i, name := range called {
		calls[i] = call{cut(name), slices.Contains(hidden, name)}
	}
	key := keyOf(s.Session, s.Turn)
	r.tell(func(l *ledger) { l.called(key, calls) })
}

// Loaded implements turn.Recorder.
func (r *Recorder) Loaded(p *turn.Plan, _ string) {
	key, sought := keyOf(p.Session, p.Turn), []string(nil)
	for _, t := range p.Tools {
		if t.Reason == session.Hatch && len(sought) < maxNames && slices.Contains(p.Admitted, t.Name) {
			sought = append(sought, cut(t.Name))
		}
	}
	r.tell(func(l *ledger) { l.loaded(key, sought) })
}

// Answered implements turn.Recorder; Spent says more.
func (r *Recorder) Answered(*turn.Plan, kvcache.Verdict) {}

// Spent implements Meter.
func (r *Recorder) Spent(p *turn.Plan, u chat.Usage, v kvcache.Verdict) {
	reading := Reading{Answers: 1, PromptTokens: sane(u.PromptTokens), EvaluatedTokens: sane(evaluated(u, v)), PromptDuration: min(max(0, u.PromptDuration), maxReading)}
	key := keyOf(p.Session, p.Turn)
	r.tell(func(l *ledger) { l.spent(key, reading, v.Truncated) })
}

// evaluated is how many of the prompt's tokens were evaluated: as the engine said or as follows from its time, else as was expected; 0 where neither is known.
func evaluated(u chat.Usage, v kvcache.Verdict) int {
	if v.Evaluated > 0 || v.Expected.Prompt <= 0 || v.Truncated || u.PromptTokens <= 0 {
		return v.Evaluated
	}
	share := float64(v.Expected.Evaluated) / float64(v.Expected.Prompt)
	return max(1, int(math.Round(float64(u.PromptTokens)*min(1, share))))
}

// Bounds of what an engine is believed of one prompt.
const (
	maxTokens  = 1 << 30
	maxReading = 24 * time.Hour
)

func sane(tokens int) int { return min(max(0, tokens), maxTokens) }
