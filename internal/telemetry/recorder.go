package telemetry

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"toolbelt/internal/behind"
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
	cfg   Config
	queue *behind.Queue[*ledger] // nil without a store
}

var (
	_ turn.Recorder = (*Recorder)(nil)
	_ turn.Meter    = (*Recorder)(nil)
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
	r := &Recorder{cfg: cfg}
	if cfg.Store != nil {
		r.queue = behind.New(behind.Config[*ledger]{
			State:    newLedger(cfg),
			Size:     maxQueued,
			Often:    behind.Chore[*ledger]{Every: saveEvery, Do: (*ledger).tick},
			Seldom:   behind.Chore[*ledger]{Every: pruneEvery, Do: (*ledger).prune},
			Last:     (*ledger).save,
			Log:      cfg.Log,
			Full:     "more is decided than can be counted at once: the report will lack some turns",
			Panicked: "counting a turn panicked",
		})
	}
	return r
}

// Dropped returns how much was told that could not be counted.
func (r *Recorder) Dropped() int64 { return r.queue.Dropped() }

// Close writes what is waiting and stops.
func (r *Recorder) Close() { r.queue.Close() }

// Flush returns when all that was told before it is written, or lost for an error that the log has. The error is ctx's.
func (r *Recorder) Flush(ctx context.Context) error { return r.queue.Do(ctx, (*ledger).save) }

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
	r.queue.Tell(func(l *ledger) { l.planned(t) })
}

// Escaped implements turn.Recorder.
func (r *Recorder) Escaped(s session.State, tool string) { r.Called(s, []string{tool}, []string{tool}) }

// Called implements turn.Meter.
func (r *Recorder) Called(s session.State, called, hidden []string) {
	called = called[:min(len(called), maxNames)]
	calls := make([]call, len(called))
	for i, name := range called {
		calls[i] = call{cut(name), slices.Contains(hidden, name)}
	}
	key := keyOf(s.Session, s.Turn)
	r.queue.Tell(func(l *ledger) { l.called(key, calls) })
}

// Loaded implements turn.Recorder.
func (r *Recorder) Loaded(p *turn.Plan, _ string) {
	key, sought := keyOf(p.Session, p.Turn), []string(nil)
	for _, t := range p.Tools {
		if t.Reason == session.Hatch && len(sought) < maxNames && slices.Contains(p.Admitted, t.Name) {
			sought = append(sought, cut(t.Name))
		}
	}
	r.queue.Tell(func(l *ledger) { l.loaded(key, sought) })
}

// Answered implements turn.Recorder; Spent says more.
func (r *Recorder) Answered(*turn.Plan, kvcache.Verdict) {}

// Spent implements turn.Meter.
func (r *Recorder) Spent(p *turn.Plan, s turn.Spent) {
	u := s.Usage
	cost := spending{
		read:      Reading{Answers: 1, PromptTokens: sane(u.PromptTokens), EvaluatedTokens: sane(evaluated(u, s.Verdict)), PromptDuration: saneTime(u.PromptDuration)},
		truncated: s.Verdict.Truncated, later: s.Later,
	}
	if s.Hidden {
		cost.generated, cost.generatedDuration = sane(u.OutputTokens), saneTime(u.OutputDuration)
	}
	key := keyOf(p.Session, p.Turn)
	r.queue.Tell(func(l *ledger) { l.spent(key, cost) })
}

// Again implements turn.Meter.
func (r *Recorder) Again(p *turn.Plan, guess bool) {
	key := keyOf(p.Session, p.Turn)
	r.queue.Tell(func(l *ledger) { l.again(key, guess) })
}

// Written implements turn.Meter.
func (r *Recorder) Written(s session.State, tools []string) {
	names := make([]string, min(len(tools), maxNames))
	for i := range names {
		names[i] = cut(tools[i])
	}
	key := keyOf(s.Session, s.Turn)
	r.queue.Tell(func(l *ledger) { l.written(key, names) })
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

func saneTime(d time.Duration) time.Duration { return min(max(0, d), maxReading) }
