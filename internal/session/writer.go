package session

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxQueued is how many writes may wait for the disk; past it new ones are dropped and counted, since a request never waits.
const maxQueued = 4096

// writer writes behind to a Store from one goroutine. The zero writer keeps nothing.
type writer struct {
	store   Store
	log     *slog.Logger
	jobs    chan func(context.Context) error
	done    chan struct{}
	mu      sync.Mutex
	closed  bool
	dropped int
}

func newWriter(store Store, log *slog.Logger) *writer {
	w := &writer{store: store, log: log, jobs: make(chan func(context.Context) error, maxQueued), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	failing := false
	for job := range w.jobs {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := job(ctx)
		cancel()
		if err != nil && !failing {
			w.log.Warn("sessions are not being kept", "error", err)
		}
		failing = err != nil
	}
}

func (w *writer) enqueue(job func(context.Context) error) {
	if w.store == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	select {
	case w.jobs <- job:
	default:
		if w.dropped++; w.dropped == 1 {
			w.log.Warn("the disk is slower than the conversations: some session records are dropped")
		}
	}
}

func (w *writer) save(r Record) {
	w.enqueue(func(ctx context.Context) error { return w.store.SaveRecord(ctx, r) })
}

func (w *writer) uses(app, session string, tools []string, at time.Time) {
	if len(tools) > 0 {
		w.enqueue(func(ctx context.Context) error { return w.store.AddUses(ctx, app, session, tools, at) })
	}
}

func (w *writer) close() {
	if w.store == nil {
		return
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	close(w.jobs)
	w.mu.Unlock()
	<-w.done
}
