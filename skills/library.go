package skills

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Neural gives an engine's vectors, in the background, as long as that takes: of documents and of queries, in order, with the
// model that made them. A text with nothing to embed has a nil vector. Implemented by *embed.Neural.
type Neural interface {
	Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
	Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
}

// Parts are what a Library works with.
type Parts struct {
	Store  Store
	Local  embed.Embedder // quick (embed.Builtin): asked at every change; nil: none
	Neural Neural         // asked by Reload and Run only; nil: none
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
}

func (p Parts) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// ageEvery is how often the procedures' ages are looked at anew.
const ageEvery = 24 * time.Hour

// Library is the procedures of a Store, kept ready for recall in a Set. It is safe for concurrent use; only Reload and
// Run wait for an engine.
type Library struct {
	parts Parts
	set   atomic.Pointer[Set]
	wake  chan struct{} // to Run: something changed

	changing sync.Mutex // held while a procedure is read and written back
	slow     sync.Mutex // held while the engine is asked

	mu         sync.Mutex // held while those below are used, never while the engine is asked
	procedures []Procedure
	local      source
	engine     source
	published  time.Time // when the Set was made
}

// Open reads the store, asks the local embedder and makes the Set; what the engine makes of the procedures is added by
// Run or Reload. Without an embedder nothing is recalled. An error means that the store could not be read.
func Open(ctx context.Context, parts Parts) (*Library, error) {
	l := &Library{parts: parts, wake: make(chan struct{}, 1)}
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Set is the current set, never nil. It costs one atomic load.
func (l *Library) Set() *Set { return l.set.Load() }

// List returns all procedures by name.
func (l *Library) List(ctx context.Context) ([]Procedure, error) {
	return l.parts.Store.Procedures(ctx)
}

// Show returns the procedure of this name, or an error of kind NotFound.
func (l *Library) Show(ctx context.Context, name string) (Procedure, error) {
	all, err := l.parts.Store.Procedures(ctx)
	if err != nil {
		return Procedure{}, err
	}
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
	}
	return Procedure{}, catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no skill %q", name), nil)
}

// Add stores a new procedure, enabled, and returns it as stored. An error of kind Conflict says that the name is taken,
// Invalid what Validate found.
func (l *Library) Add(ctx context.Context, p Procedure) (Procedure, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	if err := p.Validate(); err != nil {
		return Procedure{}, err
	}
	_, err := l.Show(ctx, p.Name)
	if err == nil {
		return Procedure{}, catalog.NewError(catalog.Conflict, fmt.Sprintf("there is a skill %q already", p.Name), nil)
	}
	if catalog.KindOf(err) != catalog.NotFound {
		return Procedure{}, err
	}
	p.Enabled = true
	return l.save(ctx, p)
}

// Save stores p as its user's, whether or not there is one of its name, and returns it as stored (see Store.SaveProcedure). One that was
// learned counts as edited from then on, so that nothing but its user changes it; one that had been superseded is recalled again.
func (l *Library) Save(ctx context.Context, p Procedure) (Procedure, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	p.SupersededBy, p.Note = "", ""
	if k := p.Origin.Kind; k == Learned || k == Folder || k == Imported {
		p.Origin.Edited = true
	}
	return l.save(ctx, p)
}

// Enable makes the procedure recallable again, also where another had superseded it, and returns it; one that did badly begins anew. NotFound as Show.
func (l *Library) Enable(ctx context.Context, name string) (Procedure, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	p, err := l.Show(ctx, name)
	if err != nil || p.Enabled && p.SupersededBy == "" {
		return p, err
	}
	if p.Trust() < TrustFloor {
		if err := l.parts.Store.CountProcedure(ctx, name, Forgive, time.Time{}); err != nil {
			return Procedure{}, err
		}
	}
	p.Enabled, p.SupersededBy, p.Note = true, "", ""
	return l.save(ctx, p)
}

// Disable keeps the procedure, but out of every recall, and returns it. NotFound as Show.
func (l *Library) Disable(ctx context.Context, name string) (Procedure, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	p, err := l.Show(ctx, name)
	if err != nil || !p.Enabled && p.Note == "" {
		return p, err
	}
	p.Enabled, p.Note = false, ""
	return l.save(ctx, p)
}

// Remove deletes the procedure. NotFound as Show.
func (l *Library) Remove(ctx context.Context, name string) error {
	if err := l.parts.Store.RemoveProcedure(ctx, name); err != nil {
		return err
	}
	l.changed(ctx)
	return nil
}

func (l *Library) save(ctx context.Context, p Procedure) (Procedure, error) {
	if err := p.Validate(); err != nil {
		return Procedure{}, err
	}
	p, err := l.parts.Store.SaveProcedure(ctx, p)
	if err != nil {
		return Procedure{}, err
	}
	l.changed(ctx)
	return p, nil
}

// changed brings the Set up to date with the store after a change, which is done whatever happens here.
func (l *Library) changed(ctx context.Context) {
	if err := l.refresh(context.WithoutCancel(ctx)); err != nil {
		l.parts.Log.Warn("the skills changed, but could not be read back: recall goes on with the former ones", "err", err)
	}
	signal(l.wake)
}

// refresh reads the store, asks the local embedder, and publishes a Set where anything is new.
func (l *Library) refresh(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.parts.Store.Procedures(ctx)
	if err != nil {
		return err
	}
	same := slices.EqualFunc(all, l.procedures, sameVersion) && l.parts.now().Sub(l.published) < ageEvery
	l.procedures = all
	if l.parts.Local != nil {
		made, err := l.local.ask(ctx, l.local.missing(all), always{l.parts.Local})
		if l.local.settle(l.parts.Log, made, err) {
			same = false
		}
	}
	if !same || l.set.Load() == nil {
		l.publish()
	}
	return nil
}

func sameVersion(a, b Procedure) bool {
	return a.Name == b.Name && a.Version == b.Version && a.Updated.Equal(b.Updated) &&
		a.Enabled == b.Enabled && a.Attempts == b.Attempts && a.Successes == b.Successes && a.Unused == b.Unused && a.LastUsed.Equal(b.LastUsed)
}

// publish makes the Set of what is known. The caller holds mu.
func (l *Library) publish() {
	l.set.Store(NewSet(l.procedures, []View{l.local.view(l.procedures), l.engine.view(l.procedures)}, l.parts.now()))
	l.published = l.parts.now()
}

// Reload brings the Set up to date with the store, which another process may have changed, and asks the engine for what
// is missing. An engine that fails leaves the local embedder's vectors in use; a failure is reported once, until
// it works again. An error means that the store could not be read, or that ctx ended.
func (l *Library) Reload(ctx context.Context) error {
	if err := l.refresh(ctx); err != nil {
		return err
	}
	l.askEngine(ctx)
	return ctx.Err()
}

func (l *Library) askEngine(ctx context.Context) {
	if l.parts.Neural == nil {
		return
	}
	l.slow.Lock()
	defer l.slow.Unlock()
	l.mu.Lock()
	engine, missing := l.engine, l.engine.missing(l.procedures)
	l.mu.Unlock()
	made, err := engine.ask(ctx, missing, l.parts.Neural)
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine.settle(l.parts.Log, made, err) {
		l.publish()
	}
}

// Run does what Reload does at once, after every change, and at every interval, so that the changes of another process
// are seen and an engine that was away is asked again; a slow engine does not hold up the rest. It returns when ctx ends.
func (l *Library) Run(ctx context.Context, interval time.Duration) {
	ask := make(chan struct{}, 1)
	var engine sync.WaitGroup
	defer engine.Wait()
	engine.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ask:
				l.askEngine(ctx)
			}
		}
	})
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := l.refresh(ctx); err != nil && ctx.Err() == nil {
			l.parts.Log.Warn("reading the skills; recall goes on with the former ones", "err", err)
		}
		signal(ask)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-l.wake:
		}
	}
}

// signal leaves one signal in a channel that holds one, where there is none yet.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
