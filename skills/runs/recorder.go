package runs

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"toolbelt/catalog"
	"toolbelt/internal/behind"
)

const (
	maxOpen    = 512  // runs under way; past it the one that began first is closed
	maxQueued  = 1024 // events that wait; past it new ones are dropped, since a request never waits
	idleLimit  = 30 * time.Minute
	tickEvery  = time.Minute
	pruneEvery = time.Hour
	storeLimit = 10 * time.Second
)

// Config is what a Recorder works with. Store is required.
type Config struct {
	Store      Store
	Settled    func(ctx context.Context, r Run) // called in the background when a run has ended that called something; nil: nobody is told
	KeepValues bool                             // of arguments
	KeepFor    time.Duration                    // 0: 180 days
	KeepRuns   int                              // 0: 100,000
	Now        func() time.Time                 // nil: time.Now
	Log        *slog.Logger                     // nil: none
}

// Recorder makes runs of what it is told. Its methods never wait for a disk. Safe for concurrent use.
type Recorder struct {
	cfg   Config
	queue *behind.Queue[*ledger]
}

// New returns a Recorder, whose work in the background ends with Close. Runs that an earlier process left open stay so: nobody saw how they ended.
func New(cfg Config) *Recorder {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.KeepFor == 0 {
		cfg.KeepFor = 180 * 24 * time.Hour
	}
	if cfg.KeepRuns == 0 {
		cfg.KeepRuns = 100_000
	}
	return &Recorder{cfg, behind.New(behind.Config[*ledger]{
		State:    newLedger(cfg),
		Size:     maxQueued,
		Often:    behind.Chore[*ledger]{Every: tickEvery, Do: (*ledger).closeIdle},
		Seldom:   behind.Chore[*ledger]{Every: pruneEvery, Do: (*ledger).prune},
		Last:     (*ledger).closeAll,
		Log:      cfg.Log,
		Full:     "more is called than can be observed at once: some runs are passed over",
		Panicked: "observing a run panicked",
	})}
}

// note has an event worked on, as of now.
func (r *Recorder) note(event func(*ledger)) {
	now := r.cfg.Now()
	r.queue.Tell(func(l *ledger) {
		l.at = now
		event(l)
	})
}

// Close ends the runs under way, writes what is waiting and stops.
func (r *Recorder) Close() { r.queue.Close() }

// Flush returns when all that was told before it is written, or lost for an error that the log has. The error is ctx's.
func (r *Recorder) Flush(ctx context.Context) error { return r.queue.Do(ctx, func(*ledger) {}) }

// Began tells that a turn began, by its key; a key that is known is a repeat and changes nothing. The run before it in the session has
// ended, unless this message only says "go on".
func (r *Recorder) Began(key string, b Began) {
	if key == "" {
		return
	}
	b.Goal, b.Skills = cut(b.Goal, MaxGoalBytes), slices.Clone(b.Skills)
	r.note(func(l *ledger) { l.began(key, b) })
}

// Called tells what the turn called, in order. A turn of which Began was not told is passed over, as below.
func (r *Recorder) Called(key string, calls []Call) {
	if len(calls) == 0 {
		return
	}
	kept := make([]Call, 0, min(len(calls), MaxCalls))
	for _, c := range calls[:min(len(calls), MaxCalls)] {
		kept = append(kept, r.keep(c))
	}
	r.note(func(l *ledger) { l.called(key, kept) })
}

// keep is what is kept of a call.
func (r *Recorder) keep(c Call) Call {
	k := Call{Name: cut(c.Name, MaxNameBytes)}
	for _, name := range c.Arguments[:min(len(c.Arguments), MaxArgumentNames)] {
		k.Arguments = append(k.Arguments, cut(name, MaxNameBytes))
	}
	if r.cfg.KeepValues {
		k.Values = cut(c.Values, MaxValuesBytes)
	}
	return k
}

// Failed tells which of the turn's calls have come to nothing as things stand, by tool: the whole list each time, so that none says that what
// had failed has succeeded since.
func (r *Recorder) Failed(key string, tools []string) {
	tools = slices.Clone(tools)
	r.note(func(l *ledger) { l.failed(key, tools) })
}

// Ended tells what somebody said of the turn's run: that stands above all other signs. counted names a recalled skill whose use is counted
// already, so that it is not when the run is settled; "" for none.
func (r *Recorder) Ended(key string, success bool, counted string) {
	r.note(func(l *ledger) { l.ended(key, success, counted) })
}

// cut returns at most n bytes of text as valid UTF-8.
func cut(text string, n int) string {
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = strings.Clone(text[:n]) // the rest is not kept alive by it
	}
	return strings.ToValidUTF8(text, "?") // a sign of one byte: it stays within n
}

// erased reports whether a write was refused since something was erased.
func erased(err error) bool { return catalog.KindOf(err) == catalog.Conflict }
