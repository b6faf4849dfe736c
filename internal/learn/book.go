package learn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/selector"
)

// smallTalk is the cosine with one of the background requests over which a message says too little to be an example ("yes, do that").
const smallTalk = 0.6

// book is the Learner's own copy of all that was learned. Only the Learner's goroutine touches it, and New before that starts.
type book struct {
	*Learner
	shelves     map[string]*shelf
	backgrounds map[embed.Model][]embed.Vector
	erasures    int
	failing     bool // the last write failed
}

func newBook(l *Learner, background []embed.Vector) *book {
	return &book{Learner: l, shelves: map[string]*shelf{}, backgrounds: map[embed.Model][]embed.Vector{l.cfg.Builtin.Model(): background}}
}

// load replaces everything by what the store holds; age brings it within bounds.
func (b *book) load(ctx context.Context) error {
	if b.cfg.Store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	kept, err := b.cfg.Store.Learned(ctx)
	if err != nil {
		return err
	}
	b.shelves, b.erasures = map[string]*shelf{}, kept.Erasures
	for i := range kept.Examples {
		e := &kept.Examples[i]
		b.embedBuiltin(ctx, e)
		b.shelf(e.App).place(e)
	}
	for _, f := range kept.Follows {
		s := b.shelf(f.App)
		s.follows[pair{f.From, f.To}] = &f
		s.touched = later(s.touched, f.Last)
	}
	memories := map[string]*memory{}
	for app, s := range b.shelves {
		memories[app] = remember(s, b.backgrounds, b.cfg.Now())
	}
	b.memories.Store(&memories)
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// embedBuiltin gives an example the builtin vector that it lacks: the table may be another than when it was kept.
func (b *book) embedBuiltin(ctx context.Context, e *Example) {
	model := b.cfg.Builtin.Model()
	if e.Vectors[model] != nil {
		return
	}
	vectors, err := b.cfg.Builtin.Embed(ctx, embed.Query, []string{e.Text})
	if err != nil || vectors[0] == nil {
		return
	}
	if e.Vectors == nil {
		e.Vectors = map[embed.Model]embed.Vector{}
	}
	e.Vectors[model] = vectors[0]
}

func (b *book) shelf(app string) *shelf {
	s := b.shelves[app]
	if s == nil {
		s = newShelf()
		b.shelves[app] = s
	}
	return s
}

// used learns from calls, each tool of a turn once, and once more where it was called again after it had failed.
func (b *book) used(t *turn, called []string) {
	if b.cfg.Neural != nil && b.strange(t.ask) {
		ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
		b.meet(ctx)
		cancel()
	}
	s, now := b.shelf(t.ask.App), b.cfg.Now()
	s.touched = now
	var c Change
	for _, name := range called {
		id, ok := t.ask.Tools.Lookup(name)
		if !ok || t.used[name] && !t.failed[name] {
			continue
		}
		if !t.used[name] {
			for _, from := range orStart(t.ask.After) {
				c.add(s.follow(t.ask.App, from, name, now))
			}
		}
		t.used[name] = true
		delete(t.failed, name)
		if e := b.example(t.ask, name, id, now); e != nil {
			c.add(s.add(e, now))
		}
	}
	b.crowd(&c)
	b.publish(t.ask.App)
	b.save(c)
}

// orStart is the tools before, or the start of a session.
func orStart(after []string) []string {
	if len(after) == 0 {
		return []string{""}
	}
	return after
}

// example is what the ask teaches of a tool, nil for nothing.
func (b *book) example(a Ask, name string, id catalog.ID, now time.Time) *Example {
	if len(a.Text) > MaxTextBytes || !strings.ContainsFunc(a.Text, isWordRune) {
		return nil
	}
	e := &Example{App: a.App, Tool: name, Hash: a.Tools.Tool(id).Hash(), Text: a.Text, Hits: 1, Last: now, Vectors: map[embed.Model]embed.Vector{}}
	for model, vectors := range a.Vectors {
		if len(vectors) > 0 && len(vectors[0]) == model.Dim {
			e.Vectors[model] = slices.Clone(vectors[0])
		}
	}
	b.embedBuiltin(context.Background(), e)
	if b.isSmallTalk(e) {
		return nil
	}
	return e
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isSmallTalk reports whether the builtin embedder finds the text close to a request that no tool is for, or finds nothing in it.
func (b *book) isSmallTalk(e *Example) bool {
	model := b.cfg.Builtin.Model()
	v := e.Vectors[model]
	return v == nil || slices.ContainsFunc(b.backgrounds[model], func(other embed.Vector) bool {
		return len(other) == len(v) && vek32.Dot(v, other) > smallTalk
	})
}

func (b *book) failed(t *turn, tools []string) {
	var c Change
	for _, name := range tools {
		if !t.used[name] || t.failed[name] {
			continue
		}
		t.failed[name] = true
		if id, ok := t.ask.Tools.Lookup(name); ok {
			if e := b.example(t.ask, name, id, b.cfg.Now()); e != nil {
				c.add(b.shelf(t.ask.App).fail(e.Hash, e))
			}
		}
	}
	if !c.Empty() {
		b.publish(t.ask.App)
		b.save(c)
	}
}

// crowd forgets the app that was used longest ago where there are too many.
func (b *book) crowd(c *Change) {
	for len(b.shelves) > maxApps {
		oldest := ""
		for app, s := range b.shelves {
			if oldest == "" || s.touched.Before(b.shelves[oldest].touched) || s.touched.Equal(b.shelves[oldest].touched) && app < oldest {
				oldest = app
			}
		}
		for _, e := range b.shelves[oldest].sorted() {
			c.Drop = append(c.Drop, *e)
		}
		for _, f := range b.shelves[oldest].follows {
			f.Count = 0
			c.Follows = append(c.Follows, *f)
		}
		delete(b.shelves, oldest)
		b.publish(oldest)
	}
}

// publish makes an app's memory anew.
func (b *book) publish(app string) {
	next := maps.Clone(*b.memories.Load())
	if s := b.shelves[app]; s != nil {
		next[app] = remember(s, b.backgrounds, b.cfg.Now())
	} else {
		delete(next, app)
	}
	b.memories.Store(&next)
}

func (c *Change) add(other Change) {
	c.Put = append(c.Put, other.Put...)
	c.Drop = append(c.Drop, other.Drop...)
	c.Follows = append(c.Follows, other.Follows...)
}

// save writes a change behind. Where somebody erased meanwhile, what is here is given up for what the store has: better a lesson lost than one
// that comes back.
func (b *book) save(c Change) {
	if b.cfg.Store == nil || c.Empty() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
	defer cancel()
	err := b.cfg.Store.SaveLearned(ctx, b.erasures, c)
	if catalog.KindOf(err) == catalog.Conflict {
		err = b.load(ctx)
	}
	if err != nil && !b.failing {
		b.cfg.Log.Warn("what is learned is not being kept", "error", err)
	}
	b.failing = err != nil
}

// sync reads everything again where something was erased by another process.
func (b *book) sync(ctx context.Context) {
	if b.cfg.Store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	n, err := b.cfg.Store.Erasures(ctx)
	if err == nil && n != b.erasures {
		err = b.load(ctx)
	}
	if err != nil && ctx.Err() == nil && !b.failing {
		b.failing = true
		b.cfg.Log.Warn("what another process erased could not be looked for", "error", err)
	}
}

// age drops what counts too little by now, and what is too much: two processes may have filled one store.
func (b *book) age() {
	var c Change
	b.crowd(&c)
	for app, s := range b.shelves {
		c.add(s.age(b.cfg.Now()))
		b.publish(app)
	}
	b.save(c)
}

// refillAtOnce is how many examples are given the engine's vectors in one go.
const refillAtOnce = 16

// refill asks the engine's embedder for vectors that examples lack: it was away when they were learned, or is another now.
func (b *book) refill(ctx context.Context) {
	if b.cfg.Neural == nil || len(b.shelves) == 0 {
		return
	}
	model, fresh, ok := b.meet(ctx)
	if !ok {
		return
	}
	left := refillAtOnce
	for _, app := range slices.Sorted(maps.Keys(b.shelves)) {
		s := b.shelves[app]
		if s == nil { // erased meanwhile
			continue
		}
		c, available := b.refillShelf(ctx, s, model, &left)
		if fresh || !c.Empty() {
			b.publish(app)
		}
		b.save(c)
		if !available {
			return
		}
	}
}

// meet asks which model the engine embeds by, and has it embed the background the first time it is met. ok is false where the engine cannot
// be had now.
func (b *book) meet(ctx context.Context) (model embed.Model, fresh, ok bool) {
	background, model, err := b.cfg.Neural.Queries(ctx, selector.Background())
	if err != nil {
		return embed.Model{}, false, false
	}
	if fresh = b.backgrounds[model] == nil; fresh {
		b.backgrounds = map[embed.Model][]embed.Vector{
			b.cfg.Builtin.Model(): b.backgrounds[b.cfg.Builtin.Model()], model: background,
		}
	}
	return model, fresh, true
}

// strange reports whether an ask has vectors by a model that was not met yet.
func (b *book) strange(a Ask) bool {
	for model := range a.Vectors {
		if b.backgrounds[model] == nil {
			return true
		}
	}
	return false
}

// refillShelf reports false where the engine cannot be had now.
func (b *book) refillShelf(ctx context.Context, s *shelf, model embed.Model, left *int) (c Change, available bool) {
	for _, e := range s.sorted() {
		if *left <= 0 || ctx.Err() != nil {
			return c, ctx.Err() == nil
		}
		if e.Vectors[model] != nil {
			continue
		}
		*left--
		vectors, by, err := b.cfg.Neural.Query(ctx, []string{e.Text})
		if err != nil {
			return c, false
		}
		if by != model || len(vectors) != 1 || len(vectors[0]) != model.Dim {
			continue
		}
		e.Vectors[model] = slices.Clone(vectors[0])
		c.Put = append(c.Put, *e)
	}
	return c, true
}
