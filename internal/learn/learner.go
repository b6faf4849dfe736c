package learn

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/behind"
	"toolbelt/selector"
)

const (
	maxPending = 256  // turns whose outcome is waited for
	maxArrays  = 64   // tools arrays whose contents' hashes are kept
	maxQueued  = 1024 // outcomes that wait to be learned; past it new ones are dropped, since a request never waits

	syncEvery  = 5 * time.Second // how soon an erasure by another process is seen
	ageEvery   = 24 * time.Hour
	storeLimit = 10 * time.Second
)

// Neural gives an engine's vectors: Query in time or not at all, Queries in the background. Implemented by *embed.Neural.
type Neural interface {
	Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
	Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
}

// Config is what a Learner works with. Only Builtin is required.
type Config struct {
	Store   Store // nil: nothing outlives the Learner
	Builtin embed.Embedder
	Neural  Neural
	Now     func() time.Time
	Log     *slog.Logger
}

// Learner learns. Recall, Asked, Used and Failed never wait for a disk, an embedder or each other's work. Safe for
// concurrent use.
type Learner struct {
	cfg      Config
	pending  *lru.Cache[string, *turn]
	arrays   *lru.Cache[catalog.Hash, map[catalog.Hash]catalog.ID]
	bindings *lru.Cache[place, *binding]
	memories atomic.Pointer[map[string]*memory] // by app
	queue    *behind.Queue[*book]
	cancel   context.CancelFunc // of the chores
}

// turn is one turn whose outcome is waited for. All but ask belongs to the Learner's goroutine.
type turn struct {
	ask    Ask
	used   map[string]bool
	failed map[string]bool
}

// place is an app's view of a tools array.
type place struct {
	app   string
	array catalog.Hash
}

// binding says which tool of the array each slot of a memory is.
type binding struct {
	memory *memory
	ids    []catalog.ID
}

// New returns a Learner that knows what its store holds, and starts its work in the background, which ends with Close. An error
// means that the store could not be read, or that the builtin embedder fails.
func New(ctx context.Context, cfg Config) (*Learner, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	background, err := cfg.Builtin.Embed(ctx, embed.Query, selector.Background())
	if err != nil {
		return nil, fmt.Errorf("embedding the background requests: %w", err)
	}
	l := &Learner{cfg: cfg}
	l.pending, _ = lru.New[string, *turn](maxPending) // fails for sizes below 1 only, as do the others
	l.arrays, _ = lru.New[catalog.Hash, map[catalog.Hash]catalog.ID](maxArrays)
	l.bindings, _ = lru.New[place, *binding](maxArrays)
	l.memories.Store(&map[string]*memory{})
	b := newBook(l, background)
	if err := b.load(ctx); err != nil {
		return nil, err
	}
	work, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.queue = behind.New(behind.Config[*book]{
		State: b,
		Size:  maxQueued,
		Often: behind.Chore[*book]{Every: syncEvery, Do: func(b *book) {
			b.sync(work)
			b.refill(work)
		}},
		Seldom:   behind.Chore[*book]{Every: ageEvery, Do: (*book).age},
		Log:      cfg.Log,
		Full:     "more is used than can be learned at once: some uses are passed over",
		Panicked: "learning from use panicked",
	})
	return l, nil
}

// Close learns what is waiting, writes it and stops.
func (l *Learner) Close() {
	l.cancel()
	l.queue.Close()
}

// Flush returns when all that was told before it is learned and written. The error is ctx's.
func (l *Learner) Flush(ctx context.Context) error { return l.queue.Do(ctx, func(*book) {}) }

// Sync reads again what another process erased. The Learner does so itself every few seconds.
func (l *Learner) Sync(ctx context.Context) error {
	return l.queue.Do(ctx, func(b *book) { b.sync(ctx) })
}

// Recall returns what was learned that bears on the ask. Cost: a dot product an example of the app and embedder; the first time an array
// is seen, also a hash a tool.
func (l *Learner) Recall(a Ask) Recalled {
	m := (*l.memories.Load())[a.App]
	if m == nil || a.Tools == nil {
		return Recalled{}
	}
	return m.recall(a, l.bind(m, a))
}

func (l *Learner) bind(m *memory, a Ask) []catalog.ID {
	at := place{a.App, a.Array}
	if b, ok := l.bindings.Get(at); ok && b.memory == m {
		return b.ids
	}
	known, ok := l.arrays.Get(a.Array)
	if !ok {
		known = make(map[catalog.Hash]catalog.ID, a.Tools.Len())
		for id := range catalog.ID(a.Tools.Len()) {
			known[a.Tools.Tool(id).Hash()] = id
		}
		l.arrays.Add(a.Array, known)
	}
	ids := make([]catalog.ID, len(m.slots))
	for i, hash := range m.slots {
		if id, ok := known[hash]; ok {
			ids[i] = id
		} else {
			ids[i] = catalog.None
		}
	}
	l.bindings.Add(at, &binding{m, ids})
	return ids
}

// maxArrayTokens is the largest array of a turn that is noted, by estimate: no engine's context has room for more, and its bytes would stay.
const maxArrayTokens = 2 << 20

// Asked notes what a turn asks for, by the turn's key, so that Used and Failed can tell of it later.
func (l *Learner) Asked(key string, a Ask) {
	if key == "" || a.Tools == nil || a.Tools.EstimatedTokens() > maxArrayTokens {
		return
	}
	if len(a.Text) > MaxTextBytes {
		a.Text = "" // it is not learned (see MaxTextBytes)
	}
	l.pending.Add(key, &turn{ask: a, used: map[string]bool{}, failed: map[string]bool{}})
}

// Used learns that the turn called these tools. A turn that was not noted, or is too long ago, is passed over.
func (l *Learner) Used(key string, called []string) {
	if t, ok := l.pending.Get(key); ok && len(called) > 0 {
		l.queue.Tell(func(b *book) { b.used(t, called) })
	}
}

// Failed learns that what the turn called came to nothing with these tools. Tools that it did not call are passed over.
func (l *Learner) Failed(key string, tools []string) {
	if t, ok := l.pending.Get(key); ok && len(tools) > 0 {
		l.queue.Tell(func(b *book) { b.failed(t, tools) })
	}
}

// Stats counts what is known.
type Stats struct {
	Apps, Examples, Follows int
}

// Stats returns what is known at this moment.
func (l *Learner) Stats() Stats {
	var s Stats
	for _, m := range *l.memories.Load() {
		s.Apps++
		s.Examples += len(m.owner)
		for _, h := range m.habits {
			s.Follows += len(h.to)
		}
	}
	return s
}
