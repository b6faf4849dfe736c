package session

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"toolbelt/internal/behind"
)

// maxQueued is how many writes may wait for the disk; past it new ones are dropped and counted, since a request never waits.
const maxQueued = 4096

// writer writes behind to a Store. The zero writer keeps nothing.
type writer struct {
	queue *behind.Queue[*disk]
}

// disk is the Store as the queue's goroutine sees it.
type disk struct {
	store   Store
	log     *slog.Logger
	failing bool // the last write failed
}

func newWriter(store Store, log *slog.Logger) *writer {
	return &writer{behind.New(behind.Config[*disk]{
		State:    &disk{store: store, log: log},
		Size:     maxQueued,
		Log:      log,
		Full:     "the disk is slower than the conversations: some session records are dropped",
		Panicked: "keeping a session panicked",
	})}
}

func (w *writer) enqueue(write func(context.Context, Store) error) {
	w.queue.Tell(func(d *disk) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := write(ctx, d.store)
		if err != nil && !d.failing {
			d.log.Warn("sessions are not being kept", "error", err)
		}
		d.failing = err != nil
	})
}

// save keeps a record, less the notes that hold what a skill says: memory can be erased, and would live on here.
func (w *writer) save(r Record) {
	r.State.Notes = slices.DeleteFunc(slices.Clone(r.State.Notes), func(n Note) bool { return len(n.Tools) == 0 })
	w.enqueue(func(ctx context.Context, s Store) error { return s.SaveRecord(ctx, r) })
}

func (w *writer) uses(app, session string, tools []string, at time.Time) {
	if len(tools) > 0 {
		w.enqueue(func(ctx context.Context, s Store) error { return s.AddUses(ctx, app, session, tools, at) })
	}
}

func (w *writer) close() { w.queue.Close() }
