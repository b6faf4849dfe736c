// Package ahead has an engine read what is already known of the next prompt while nobody wants anything of it: what an app's next
// conversation begins with, after a start and after the model was loaded; the conversation that somebody is in, after another request has pushed it out.
package ahead

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"toolbelt/internal/hop"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// Beginning is what an app's conversations with one model begin with, as it is kept over a restart. It holds the app's own words alone.
type Beginning struct {
	App, Model, Path string
	Body             []byte
	At               time.Time
}

// Store keeps beginnings, one for each model: that of the newest conversation.
type Store interface {
	Beginnings(ctx context.Context) ([]Beginning, error)
	SaveBeginning(ctx context.Context, b Beginning) error
}

// Config is what a Reader works with. All are required but Store and Drafter.
type Config struct {
	Upstream *url.URL
	Loaded   func(ctx context.Context, model string) bool // whether a model is loaded now
	Belief   *kvcache.Belief
	Quiet    kvcache.Quiet
	Policy   kvcache.WarmPolicy
	Drafter  Drafter // nil: no drafts
	Store    Store   // nil: beginnings are forgotten
	Now      func() time.Time
	Log      *slog.Logger
}

// Drafter plans a message that is still being written, as what would follow a plan's answer, and keeps nothing.
type Drafter interface {
	Draft(ctx context.Context, p *turn.Plan, draft string) (a turn.Ahead, added []string, err error)
}

// How long a conversation is one that somebody is in, and how many models are kept track of.
const (
	liveFor  = 10 * time.Minute
	maxSlots = 8
)

// maxKeptBytes is the largest body of a conversation that is kept to be read again: about a million tokens of text, more than a local engine holds. The
// largest are those with pictures, at several times their size for each model.
const maxKeptBytes = 4 << 20

// Reader decides what is read ahead. Safe for concurrent use; Run does the work.
type Reader struct {
	Config
	warmer *kvcache.Warmer
	sender *sender

	mu    sync.Mutex
	slots map[string]*slot // by model: the slot's own name changes when the model's file becomes known
}

// slot is what is known of the prompts for one model.
type slot struct {
	model string
	path  string
	head  http.Header
	begin turn.Ahead // of the next conversation
	next  turn.Ahead // of the one under way
	plan  *turn.Plan // of its newest answer; nil after a restart
	at    time.Time  // of that
}

// New returns a Reader that knows nothing yet.
func New(cfg Config) *Reader {
	r := &Reader{Config: cfg, slots: map[string]*slot{}}
	r.sender = &sender{upstream: cfg.Upstream, loaded: cfg.Loaded, belief: cfg.Belief, client: &http.Client{Transport: hop.NewTransport()}, prompts: map[string]kvcache.Prompt{}}
	r.warmer = kvcache.NewWarmer(cfg.Quiet, r.sender, cfg.Policy, cfg.Now)
	return r
}

// Run reads ahead until ctx ends, whose error it returns. First it takes up what the store holds.
func (r *Reader) Run(ctx context.Context) error {
	if r.Policy.Off {
		<-ctx.Done()
		return ctx.Err()
	}
	if r.Store != nil {
		list, err := r.Store.Beginnings(ctx)
		if err != nil {
			r.Log.Warn("what conversations begin with cannot be read", "error", err)
		}
		for _, b := range list {
			r.restore(b)
		}
	}
	return r.warmer.Run(ctx)
}

// restore takes up a beginning of an earlier process.
func (r *Reader) restore(b Beginning) {
	a, err := turn.ReadAhead(b.Path, b.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.slots[b.Model]; known || len(r.slots) >= maxSlots {
		return
	}
	s := &slot{model: b.Model, path: b.Path, begin: a}
	r.slots[b.Model] = s
	r.want(s, a)
}

// Passed notes that a client's request for a model passes. planned: it is one of a conversation that Answered will tell of; otherwise what the
// conversation under way had in the engine is gone, and is read again when it is quiet.
func (r *Reader) Passed(model string, planned bool) {
	key := r.Belief.Slot(model)
	r.warmer.Passed(key)
	if planned {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots { // models of one file push each other out
		if r.Belief.Slot(s.model) == key && r.live(s) {
			r.want(s, s.next)
		}
	}
}

// live reports whether somebody is in a conversation with the model.
func (r *Reader) live(s *slot) bool { return s.next.Body != nil && r.Now().Sub(s.at) < liveFor }

// PassedUnread is Passed for a request of which nobody knows the model.
func (r *Reader) PassedUnread() {
	r.mu.Lock()
	models := make([]string, 0, len(r.slots))
	for _, s := range r.slots {
		models = append(models, s.model)
	}
	r.mu.Unlock()
	for _, model := range models {
		r.Passed(model, false)
	}
}

// Answered notes that the engine has answered a plan's request, which came on this path with these headers: it holds the conversation now.
func (r *Reader) Answered(p *turn.Plan, path string, header http.Header) {
	if r.Policy.Off {
		return
	}
	if p.Bytes() > maxKeptBytes {
		r.forget(p.Model())
		return
	}
	next, ok := p.Next()
	if !ok {
		return
	}
	begin, begins := p.Begin()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slots[next.Model]
	if s == nil {
		r.makeRoom()
		s = &slot{}
		r.slots[next.Model] = s
	}
	fresh := begins && s.begin.Key != begin.Key
	s.model, s.path, s.head, s.next, s.plan, s.at = next.Model, path, header, next, p, r.Now()
	if begins {
		s.begin = begin
	}
	if fresh && !begin.Spoken && r.Store != nil {
		b := Beginning{App: p.App(), Model: begin.Model, Path: path, Body: begin.Body, At: s.at}
		go r.save(b)
	}
}

// forget drops the conversation under way with a model: the engine goes on with one that is not kept.
func (r *Reader) forget(model string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slots[model]; s != nil {
		s.next, s.plan = turn.Ahead{}, nil
	}
}

func (r *Reader) save(b Beginning) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Store.SaveBeginning(ctx, b); err != nil {
		r.Log.Warn("what a conversation begins with is not kept", "error", err)
	}
}

// makeRoom forgets the slot that was used longest ago where there are too many.
func (r *Reader) makeRoom() {
	if len(r.slots) < maxSlots {
		return
	}
	oldest := slices.MinFunc(slices.Collect(maps.Keys(r.slots)), func(a, b string) int { return r.slots[a].at.Compare(r.slots[b].at) })
	delete(r.slots, oldest)
}

// Loaded notes that a model was loaded anew and holds nothing: the conversation under way is read, or what the next one begins with.
func (r *Reader) Loaded(model string) {
	key := r.Belief.Slot(model)
	r.warmer.Passed(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots {
		switch {
		case r.Belief.Slot(s.model) != key:
		case r.live(s):
			r.want(s, s.next)
		case s.begin.Body != nil:
			r.want(s, s.begin)
		}
	}
}

// want asks for one request. r.mu is held.
func (r *Reader) want(s *slot, a turn.Ahead) {
	r.sender.remember(a)
	r.warmer.Want(kvcache.Job{Key: a.Key, Slot: r.Belief.Slot(s.model), Model: s.model, Path: s.path, Header: s.head, Body: a.Body})
}

// Stats are the counts so far.
func (r *Reader) Stats() kvcache.WarmStats { return r.warmer.Stats() }
