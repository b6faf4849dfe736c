package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"

	"toolbelt/catalog"
)

// What a Query or Documents may return without having asked the embedder, or without its answer. All are of kind Unavailable.
var (
	ErrOff      = catalog.NewError(catalog.Unavailable, "no neural embedder is in use", nil)
	ErrNotReady = catalog.NewError(catalog.Unavailable, "the neural embedder is not ready yet", nil)
	ErrLate     = catalog.NewError(catalog.Unavailable, "the neural embedder did not answer in time", nil)
	ErrOpen     = catalog.NewError(catalog.Unavailable, "the neural embedder has failed repeatedly and is left alone for a while", nil)
)

// because is one of the errors above, with a sentence of its own in place of the general one.
type because struct {
	message string
	general error
}

func (e because) Error() string { return e.message }
func (e because) Unwrap() error { return e.general }

const (
	defaultDeadline   = 120 * time.Millisecond
	defaultCacheTexts = 1024
	lateLimit         = 5 * time.Second  // a call of Query runs on for so long
	openLimit         = 2 * time.Minute  // opening loads a model
	documentsLimit    = 2 * time.Minute  // for one batch
	firstRetry        = 2 * time.Second  // after a failed opening; doubled up to lastRetry
	lastRetry         = time.Minute      //
	breakerFailures   = 3                // in a row, to open the breaker
	breakerWait       = 30 * time.Second // until it is half open
	missesToDrop      = 5                // in a row, in auto mode
	callsAtOnce       = 2                // of Query, late ones included
	guardEvery        = time.Minute      // between looks at what is loaded
	guardLimit        = 5 * time.Second
	documentsPerCall  = 8 // few, so that a query never waits for long behind them
)

// A Guard sees to it that a use of the embedder does no harm to the engine's other models. Residency is one.
type Guard interface {
	// Watch is called directly before a use and must not wait for anything. What it returns is called after the use, where that
	// succeeded: an error that is ErrEvicts says that the embedder must not be used again; other errors are ignored.
	Watch(ctx context.Context, m Model) (check func(context.Context) error)
}

// NeuralConfig sets up a Neural. The zero value is usable.
type NeuralConfig struct {
	Deadline   time.Duration // for a Query; 0: 120 ms
	CacheTexts int           // query vectors kept; 0: 1,024
	Auto       bool          // nobody asked for this embedder: drop it for good after five late answers in a row
	Guard      Guard         // nil: none
	// Quiet returns when the engine has nothing else to do: waited for before the embedder is opened and before each piece of work in the
	// background, since an embedding beside a prefill makes both slow. nil: nothing is waited for.
	Quiet func(context.Context) error
	Store Store        // of document vectors; nil: none are kept
	Log   *slog.Logger // nil: no logging
}

// Neural makes an engine's embedder fit for the time before a turn's first token: it answers from a cache, within
// a deadline, or with an error at once. The embedder need not be there yet: it is opened in the background, again and again until
// that succeeds. Safe for concurrent use.
type Neural struct {
	cfg     NeuralConfig
	open    func(context.Context) (Embedder, error)
	ctx     context.Context // of all work in the background
	cancel  context.CancelFunc
	cache   *lru.Cache[catalog.Hash, Vector]
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	slots   chan struct{} // one a running call of Query
	poke    chan struct{} // a Query came while nothing was open
	ready   chan struct{}
	work    sync.WaitGroup

	mu    sync.Mutex
	state neuralState
}

// neuralState is what changes, guarded by Neural.mu.
type neuralState struct {
	embedder  Embedder // nil until opened and once dropped
	dropped   string   // why, "" where it was not
	closed    bool
	settled   bool // ready is closed
	lastError string
	failing   bool // the last use failed or was late; said once until one is in time again
	toldLate  bool // a late answer was logged
	queries   int
	inTime    int
	misses    int       // late answers in a row
	late      int       // calls that run on though nobody waits for them
	documents int       // calls of Documents that run
	guarded   time.Time // the guard's last watch began
}

// NewNeural begins to open the embedder in the background, until ctx is done or Close is called. Where open returns an
// error that is ErrEvicts or ErrOff the embedder is dropped for good; any other is tried again, after 2 s at first and a minute at last, sooner when a Query comes.
func NewNeural(ctx context.Context, cfg NeuralConfig, open func(context.Context) (Embedder, error)) *Neural {
	if cfg.Deadline <= 0 {
		cfg.Deadline = defaultDeadline
	}
	if cfg.CacheTexts <= 0 {
		cfg.CacheTexts = defaultCacheTexts
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cache, err := lru.New[catalog.Hash, Vector](cfg.CacheTexts)
	if err != nil {
		panic("embed: " + err.Error()) // only for a size below 1
	}
	n := &Neural{
		cfg: cfg, open: open, cache: cache,
		slots: make(chan struct{}, callsAtOnce),
		poke:  make(chan struct{}, 1),
		ready: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(ctx)
	n.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     breakerWait,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			cfg.Log.Warn("neural embedder: breaker "+to.String(), "was", from.String())
		},
		IsExcluded: func(error) bool { return n.ctx.Err() != nil },
	})
	n.background(n.opening)
	return n
}

// Close ends all work in the background and waits for it. Every later call returns ErrOff.
func (n *Neural) Close() {
	n.mu.Lock()
	n.state.closed, n.state.embedder = true, nil
	n.mu.Unlock()
	n.cancel()
	n.work.Wait()
}

// Ready is closed when the embedder was opened, or dropped before that.
func (n *Neural) Ready() <-chan struct{} { return n.ready }

// background runs f in a goroutine that Close waits for. It reports false where Close was called.
func (n *Neural) background(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state.closed {
		return false
	}
	n.work.Go(func() {
		defer func() { // a chat must not end because an embedding did
			if v := recover(); v != nil {
				n.cfg.Log.Error("neural embedder: panic", "panic", v)
			}
		}()
		f()
	})
	return true
}

// current returns the embedder, or why there is none.
func (n *Neural) current() (Embedder, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch s := &n.state; {
	case s.closed:
		return nil, because{"the neural embedder is closed", ErrOff}
	case s.dropped != "":
		return nil, because{"dropped because " + s.dropped, ErrOff}
	case s.embedder == nil:
		return nil, ErrNotReady
	default:
		return s.embedder, nil
	}
}

// opening opens the embedder, however often that takes.
func (n *Neural) opening() {
	told := false
	for wait := firstRetry; ; {
		if n.quiet(n.ctx) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(n.ctx, openLimit)
		e, err := n.open(ctx)
		cancel()
		switch {
		case n.ctx.Err() != nil:
			return
		case err == nil && e != nil:
			n.opened(e)
			return
		case errors.Is(err, ErrEvicts) || errors.Is(err, ErrOff):
			n.drop(err.Error())
			return
		}
		n.failed(err)
		if !told {
			told = true
			n.cfg.Log.Info("neural embedder: not ready, will be tried again", "why", err)
		}
		asked, ended := n.pause(wait)
		if ended {
			return
		}
		if wait = min(2*wait, lastRetry); asked { // somebody chats: what was missing may be there in a moment
			wait = firstRetry
		}
	}
}

// quiet waits until the engine has nothing else to do.
func (n *Neural) quiet(ctx context.Context) error {
	if n.cfg.Quiet == nil {
		return nil
	}
	return n.cfg.Quiet(ctx)
}

// pause waits, where a Query asks no longer than firstRetry. It reports whether one did, and whether all work is to end.
func (n *Neural) pause(wait time.Duration) (asked, ended bool) {
	select {
	case <-n.ctx.Done():
		return false, true
	case <-time.After(firstRetry):
	}
	select {
	case <-n.ctx.Done():
		return false, true
	case <-n.poke:
		return true, false
	case <-time.After(wait - firstRetry):
		return false, false
	}
}

func (n *Neural) opened(e Embedder) {
	n.mu.Lock()
	if !n.state.closed {
		n.state.embedder = e
		n.state.guarded = time.Now()
		n.state.lastError, n.state.failing = "", false
	}
	n.settle()
	n.mu.Unlock()
	m := e.Model()
	n.cfg.Log.Info("neural embedder: in use", "model", m.Name, "dimensions", m.Dim)
}

// drop gives the embedder up for good, with one line.
func (n *Neural) drop(reason string) {
	n.mu.Lock()
	first := n.state.dropped == ""
	if first {
		n.state.dropped, n.state.embedder = reason, nil
	}
	n.settle()
	n.mu.Unlock()
	if !first {
		return
	}
	n.cache.Purge()
	n.cfg.Log.Warn("neural embedder: dropped, the built-in one goes on alone", "why", reason)
}

// settle closes ready. Call it under mu.
func (n *Neural) settle() {
	if !n.state.settled {
		n.state.settled = true
		close(n.ready)
	}
}

func (n *Neural) failed(err error) {
	if err == nil {
		return
	}
	n.mu.Lock()
	first := !n.state.failing
	n.state.lastError, n.state.failing = outline(err), true
	opened := n.state.embedder != nil
	n.mu.Unlock()
	if first && opened {
		n.cfg.Log.Warn("neural embedder: failed, the built-in one decides until it works again", "why", outline(err))
	}
}

// works notes that a use succeeded in time.
func (n *Neural) works() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.failing = false
}

// watch has the Guard watch the coming use, where its last one is a minute old. It returns what to call after the use, in the background.
func (n *Neural) watch(m Model) (check func(used error)) {
	n.mu.Lock()
	due := n.cfg.Guard != nil && time.Since(n.state.guarded) >= guardEvery
	if due {
		n.state.guarded = time.Now()
	}
	n.mu.Unlock()
	if !due {
		return func(error) {}
	}
	ctx, cancel := context.WithTimeout(n.ctx, openLimit)
	verdict := n.cfg.Guard.Watch(ctx, m)
	return func(used error) {
		defer cancel()
		if used != nil {
			return
		}
		if err := verdict(ctx); errors.Is(err, ErrEvicts) {
			n.drop(err.Error())
		}
	}
}

// missed counts a late answer, and drops the embedder after too many.
func (n *Neural) missed() {
	n.mu.Lock()
	tell := !n.state.failing && !n.state.toldLate
	n.state.lastError, n.state.failing, n.state.toldLate = ErrLate.Error(), true, true
	if n.state.documents == 0 { // behind documents it is late for a reason that passes
		n.state.misses++
	}
	drop := n.cfg.Auto && n.state.misses >= missesToDrop
	n.mu.Unlock()
	if tell {
		n.cfg.Log.Info("neural embedder: late, the built-in one decided; how often it is in time stands in /toolbelt/readyz, and this is said once", "deadline", n.cfg.Deadline)
	}
	if drop {
		n.drop(fmt.Sprintf("%d queries in a row were not answered within %v", missesToDrop, n.cfg.Deadline))
	}
}
