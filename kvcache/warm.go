package kvcache

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Job is one request that makes an engine read what is known of a next prompt.
type Job struct {
	Key    string // the state that is to be held after it: sent once, until another request passes the same slot
	Slot   string // of the model's file (Belief.Slot); "" for Model
	Model  string
	Path   string // as the app's requests have it
	Header http.Header
	Body   []byte
}

// Quiet tells when nobody wants anything from the engine.
type Quiet interface {
	// Quiet returns when no request of a client has been running for so long, or with ctx's error.
	Quiet(ctx context.Context, long time.Duration) error
	// Busy returns a channel that is closed when a client's request begins; closed already where one is running.
	Busy() <-chan struct{}
}

// WarmPolicy is the settings of a Warmer.
type WarmPolicy struct {
	Off      bool
	Quiet    time.Duration // without a client's request before anything is sent
	Interval time.Duration // between the beginnings of two jobs
	Share    float64       // of the time that jobs may take on average, with up to a minute at once
}

// DefaultWarmPolicy is what a user gets who configures nothing.
func DefaultWarmPolicy() WarmPolicy {
	return WarmPolicy{Quiet: 2 * time.Second, Interval: 10 * time.Second, Share: 0.2}
}

// Sender sends jobs to the engine.
type Sender interface {
	// Loaded reports whether a job's model is loaded now; an engine that does not say is taken to keep it.
	Loaded(ctx context.Context, model string) bool
	// Send sends the job and returns when it has been answered, or soon after ctx ends. It must end the exchange with the engine then.
	Send(ctx context.Context, j Job) error
}

// burst is how long jobs may run at once after a long rest.
const burst = time.Minute

// maxWaiting bounds the jobs that wait, one a slot, and the keys that are remembered.
const maxWaiting = 32

// WarmStats counts what became of jobs.
type WarmStats struct {
	Done    int           // answered
	Dropped int           // ended because a client's request began
	Failed  int           // the engine did not take it
	Skipped int           // the model was not loaded, or the same state was warm already
	Took    time.Duration // all that were sent together
}

// Warmer sends jobs while nobody wants anything from the engine, one at a time: after a time of quiet, ended at once when a client's request begins, not more
// than a share of the time. Safe for concurrent use; Run does the work.
type Warmer struct {
	quiet  Quiet
	sender Sender
	policy WarmPolicy
	now    func() time.Time

	mu      sync.Mutex
	waiting []Job             // one a slot, oldest first
	warm    map[string]string // key by slot
	running string            // slot of the job on its way, "" without one
	stale   bool              // a request has passed the running job's slot
	credit  time.Duration     // that jobs may take now
	since   time.Time         // when credit was counted
	begun   time.Time         // the last job
	stats   WarmStats
	wake    chan struct{} // holds one where something is new
}

// NewWarmer returns one that has nothing to do.
func NewWarmer(q Quiet, s Sender, p WarmPolicy, now func() time.Time) *Warmer {
	return &Warmer{quiet: q, sender: s, policy: p, now: now, warm: map[string]string{}, credit: burst, since: now(), wake: make(chan struct{}, 1)}
}

// Want asks for a job, in place of one that waits for the same slot. It never blocks. A job whose state is warm already is left out, and so is every job where warming is off.
func (w *Warmer) Want(j Job) {
	if w.policy.Off {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(j.slot())
	if w.warm[j.slot()] == j.Key {
		w.stats.Skipped++
		return
	}
	if len(w.waiting) >= maxWaiting {
		w.waiting = w.waiting[1:]
	}
	w.waiting = append(w.waiting, j)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Passed notes that a client's generation passes a slot: what waits for the slot is out of date, and what was warm in it no longer is.
func (w *Warmer) Passed(slot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(slot)
	delete(w.warm, slot)
	if w.running == slot {
		w.stale = true
	}
}

// Stats returns the counts so far.
func (w *Warmer) Stats() WarmStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Run sends jobs until ctx ends, whose error it returns.
func (w *Warmer) Run(ctx context.Context) error {
	for {
		if err := w.due(ctx); err != nil {
			return err
		}
		if err := w.quiet.Quiet(ctx, w.policy.Quiet); err != nil {
			return err
		}
		if j, ok := w.take(); ok {
			w.send(ctx, j)
		}
	}
}

// due returns when a job waits and the rates allow one.
func (w *Warmer) due(ctx context.Context) error {
	for {
		w.mu.Lock()
		some, wait := len(w.waiting) > 0, w.untilAllowed()
		w.mu.Unlock()
		if some && wait <= 0 {
			return ctx.Err()
		}
		var later <-chan time.Time
		if some {
			later = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		case <-later:
		}
	}
}

// untilAllowed counts the credit and returns how long no job may begin yet. A clock that goes back earns nothing.
func (w *Warmer) untilAllowed() time.Duration {
	now := w.now()
	if passed := now.Sub(w.since); passed > 0 {
		w.credit = min(burst, w.credit+time.Duration(float64(min(passed, time.Hour))*w.policy.Share))
	}
	w.since = now
	wait := time.Duration(0)
	if w.credit <= 0 && w.policy.Share > 0 {
		wait = time.Duration(float64(-w.credit)/w.policy.Share) + time.Millisecond
	}
	if rest := w.policy.Interval - now.Sub(w.begun); !w.begun.IsZero() && rest <= w.policy.Interval {
		wait = max(wait, rest)
	}
	return wait
}

// take returns the job that has waited longest.
func (w *Warmer) take() (Job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return Job{}, false
	}
	j := w.waiting[0]
	w.waiting = w.waiting[1:]
	w.running, w.stale = j.slot(), false
	return j, true
}

// send sends one job, and ends it when a client's request begins.
func (w *Warmer) send(ctx context.Context, j Job) {
	ctx, end := context.WithCancel(ctx)
	busy := w.quiet.Busy()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-busy:
			end()
		case <-ctx.Done():
		}
	})
	begun := w.now()
	sent, err := false, error(nil)
	if w.sender.Loaded(ctx, j.Model) && ctx.Err() == nil {
		sent, err = true, w.sender.Send(ctx, j)
	}
	dropped := ctx.Err() != nil
	end()
	watching.Wait()
	w.settle(j, sent, dropped, err, begun)
}

// settle notes what became of a job. One that was dropped waits again, unless what it was for is out of date.
func (w *Warmer) settle(j Job, sent, dropped bool, err error, begun time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stale := w.stale
	w.running, w.stale = "", false
	if sent {
		took := max(0, w.now().Sub(begun))
		w.begun = begun
		w.credit -= took
		w.stats.Took += took
	}
	switch {
	case dropped:
		w.stats.Dropped++
		if !stale && !w.waits(j.slot()) {
			w.waiting = append(w.waiting, j)
		}
	case !sent:
		w.stats.Skipped++
	default:
		if err != nil {
			w.stats.Failed++
		} else {
			w.stats.Done++
		}
		if !stale { // a job that the engine does not take is not sent again either
			w.remember(j)
		}
	}
}

func (w *Warmer) remember(j Job) {
	if len(w.warm) >= maxWaiting {
		clear(w.warm)
	}
	w.warm[j.slot()] = j.Key
}

func (w *Warmer) waits(slot string) bool {
	return slices.ContainsFunc(w.waiting, func(j Job) bool { return j.slot() == slot })
}

func (w *Warmer) remove(slot string) {
	w.waiting = slices.DeleteFunc(w.waiting, func(j Job) bool { return j.slot() == slot })
}

func (j Job) slot() string { return cmp.Or(j.Slot, j.Model) }
