package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"toolbelt/kvcache"
)

// Store keeps what is known of models between runs of the program. model is a Known.Key.
type Store interface {
	EngineFacts(ctx context.Context, engine, model string) (kvcache.Facts, bool, error)
	SaveEngineFacts(ctx context.Context, engine, model string, f kvcache.Facts) error
}

// Quiet tells when nobody wants anything from the engine.
type Quiet interface {
	// Quiet returns when no request of a client has been running for so long, or with ctx's error.
	Quiet(ctx context.Context, long time.Duration) error
	// Busy returns a channel that is closed when a client's request begins; closed already where one is running.
	Busy() <-chan struct{}
}

// Options are what a Prober may be told besides; each has a value that does nothing.
type Options struct {
	Engine   string                      // the name that facts are stored under; "" for the client's base URL
	OnLoad   func(model string)          // called when a model is seen loaded that was not at the look before; may be nil
	OnFacts  func(model string, k Known) // called when what is known of a model is new; may be nil
	Measure  bool                        // models whose template says nothing are measured (see Confirm)
	Now      func() time.Time            // nil for time.Now
	Log      *slog.Logger                // nil for none
	LookEach time.Duration               // how often the loaded models are asked for while there is traffic; 0 for 10 s
}

// Times of a Prober.
const (
	lookEach    = 10 * time.Second
	restEach    = time.Minute      // without traffic
	trafficFor  = time.Minute      // what counts as traffic still
	lookFor     = 30 * time.Minute // after the last request nothing is looked at any more
	askTime     = 10 * time.Second // for one question
	askAgain    = 30 * time.Minute // a model's facts: it may have been made anew under its name
	askRetry    = 30 * time.Second // after a failure
	measureTime = 2 * time.Minute
	measureLag  = 20 * time.Second // of quiet before anything is measured
	maxModels   = 256
)

// Prober asks an engine in the background, never while a client's request runs, and tells a Belief what it hears. It needs none of the endpoints that it asks at: what an engine
// does not know stays unknown. Safe for concurrent use; Run does the work.
type Prober struct {
	client Client
	store  Store
	belief *kvcache.Belief
	quiet  Quiet
	o      Options

	mu      sync.Mutex
	models  *simplelru.LRU[string, *asked]
	traffic time.Time       // the last request
	looked  time.Time       // the last look at what is loaded
	noLook  bool            // the engine does not tell what is loaded
	loaded  map[string]bool // at the last look
	wake    chan struct{}
}

// asked is what is known of a model.
type asked struct {
	due      time.Time // when it is asked for again
	known    Known
	measured bool // or tried to be
}

// dueIn is how long the model is not to be asked for yet. What is due later than it can be was set by a clock that has gone back since.
func (m *asked) dueIn(now time.Time) time.Duration {
	if in := m.due.Sub(now); in <= askAgain {
		return in
	}
	return 0
}

// NewProber returns one that knows nothing and has told nothing. store may be nil.
func NewProber(c Client, store Store, belief *kvcache.Belief, q Quiet, o Options) *Prober {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Engine == "" {
		o.Engine = c.Base.String()
	}
	if o.LookEach <= 0 {
		o.LookEach = lookEach
	}
	models, _ := simplelru.NewLRU[string, *asked](maxModels, nil) // the error is that of a size below 1
	return &Prober{client: c, store: store, belief: belief, quiet: q, o: o, models: models, wake: make(chan struct{}, 1)}
}

// Saw notes that a request names a model. It does not block.
func (p *Prober) Saw(model string) {
	if model == "" {
		return
	}
	now := p.o.Now()
	p.mu.Lock()
	p.traffic = now
	if _, ok := p.models.Get(model); !ok {
		p.models.Add(model, &asked{due: now})
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run asks until ctx ends, whose error it returns.
func (p *Prober) Run(ctx context.Context) error {
	for {
		if wait := p.wait(); wait > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-p.wake:
			case <-time.After(wait):
			}
			continue
		}
		if err := p.quiet.Quiet(ctx, 0); err != nil {
			return err
		}
		p.step(ctx)
	}
}

// wait is how long there is nothing to ask.
func (p *Prober) wait() time.Duration {
	now := p.o.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := time.Hour
	if now.Sub(p.traffic) > lookFor { // nothing is asked while nobody asks for anything
		return wait
	}
	for _, m := range p.models.Values() {
		wait = min(wait, m.dueIn(now))
	}
	if p.measurable() != "" {
		wait = min(wait, p.traffic.Add(measureLag).Sub(now))
	}
	return min(wait, p.untilLook(now))
}

// measurable returns a model that is to be measured, "" without one.
func (p *Prober) measurable() string {
	if !p.o.Measure {
		return ""
	}
	for _, name := range p.models.Keys() {
		m, _ := p.models.Peek(name)
		f := m.known.Facts
		if m.known.Key != "" && !m.measured && f.Placement == kvcache.PlacementUnknown && (f.Tools || !f.ToolsKnown) && (p.noLook || p.isLoaded(name)) {
			return name
		}
	}
	return ""
}

// isLoaded reports whether a model was loaded at the last look, under whatever spelling of its name.
func (p *Prober) isLoaded(model string) bool {
	return p.loaded[model] || p.loaded[model+":latest"] || p.loaded[strings.TrimSuffix(model, ":latest")]
}

// untilLook is how long the loaded models need not be looked at.
func (p *Prober) untilLook(now time.Time) time.Duration {
	idle := now.Sub(p.traffic)
	switch {
	case p.noLook, p.traffic.IsZero(), idle > lookFor:
		return time.Hour
	case p.looked.IsZero(), p.looked.After(now): // the clock went back
		return 0
	case idle > trafficFor:
		return max(restEach, p.o.LookEach) - now.Sub(p.looked)
	}
	return p.o.LookEach - now.Sub(p.looked)
}

// step asks the one thing that is due most. A client's request that begins ends the question, which is asked again later.
func (p *Prober) step(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer whenClosed(p.quiet.Busy(), end)()
	now := p.o.Now()
	p.mu.Lock()
	look, measure := p.untilLook(now) <= 0, p.measurable()
	model, due := "", time.Duration(0)
	for _, name := range p.models.Keys() {
		if m, _ := p.models.Peek(name); m.dueIn(now) <= due {
			model, due = name, m.dueIn(now)
		}
	}
	p.mu.Unlock()
	limit := askTime
	if model == "" && !look {
		limit = measureTime
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	switch {
	case model != "":
		p.ask(ctx, model)
	case look:
		p.look(ctx)
	case measure != "" && now.Sub(p.traffic) >= measureLag:
		p.measure(ctx, measure)
	}
}

// whenClosed calls end once busy is closed, until the func that it returns is called.
func whenClosed(busy <-chan struct{}, end func()) (stop func()) {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-busy:
			end()
		case <-done:
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}
