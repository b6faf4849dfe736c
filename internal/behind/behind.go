// Package behind has work done behind the back of whoever tells of it: in one goroutine, in the order in which it was told, while the teller goes on
// at once. It is for what nothing waits for (writing down, counting, learning), so a full queue drops and counts, and a job that panics is logged.
package behind

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Queue works with. Chores and Last may be left out, all else is required.
type Config[S any] struct {
	State    S   // given to every job, chore and Last: what only the Queue's goroutine touches once New was called
	Size     int // jobs that may wait, from 1
	Often    Chore[S]
	Seldom   Chore[S] // done once at the start too, before any job
	Last     func(S)  // done by Close, after all that waits
	Log      *slog.Logger
	Full     string // the warning when the first job is dropped
	Panicked string // the error logged when a job, a chore or Last panics, with what as "panic"
}

// Chore is work that comes round between the jobs. The zero Chore is none. What falls due while another job goes on is done once after it.
type Chore[S any] struct {
	Every time.Duration
	Do    func(S)
}

// Queue does jobs one after another in a goroutine of its own. A nil Queue does none. Safe for concurrent use.
type Queue[S any] struct {
	cfg     Config[S]
	telling sync.RWMutex // held for reading while a job is put into jobs
	closed  bool
	jobs    chan func(S)
	awaited chan func(S)
	ended   chan struct{} // closed when the goroutine ends
	dropped atomic.Int64
}

// New starts a Queue, which ends with Close.
func New[S any](cfg Config[S]) *Queue[S] {
	q := &Queue[S]{cfg: cfg, jobs: make(chan func(S), cfg.Size), awaited: make(chan func(S)), ended: make(chan struct{})}
	go q.work()
	return q
}

func (q *Queue[S]) work() {
	defer close(q.ended)
	often, seldom := time.Tick(q.cfg.Often.Every), time.Tick(q.cfg.Seldom.Every)
	q.try(q.cfg.Seldom.Do)
	for {
		select {
		case job, ok := <-q.jobs:
			if !ok {
				q.try(q.cfg.Last)
				return
			}
			q.try(job)
		case job := <-q.awaited:
			for range len(q.jobs) {
				q.try(<-q.jobs)
			}
			q.try(job)
		case <-often:
			q.try(q.cfg.Often.Do)
		case <-seldom:
			q.try(q.cfg.Seldom.Do)
		}
	}
}

// try does a piece of work, if there is one. Its panic must not end the program, since nothing waits for it.
func (q *Queue[S]) try(work func(S)) {
	if work == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			q.cfg.Log.Error(q.cfg.Panicked, "panic", v)
		}
	}()
	work(q.cfg.State)
}

// Tell has a job done later and reports whether it will be: not where too many wait, which is counted, nor after Close. It never waits.
func (q *Queue[S]) Tell(job func(S)) bool {
	if q == nil {
		return false
	}
	q.telling.RLock()
	defer q.telling.RUnlock()
	if q.closed {
		return false
	}
	select {
	case q.jobs <- job:
		return true
	default:
		if q.dropped.Add(1) == 1 {
			q.cfg.Log.Warn(q.cfg.Full)
		}
		return false
	}
}

// Do has a job done after all that was told before, and returns when that is done or has panicked; however much waits, it is not dropped. After Close
// it does nothing. The error is ctx's; the job may be done all the same. A job must not call it.
func (q *Queue[S]) Do(ctx context.Context, job func(S)) error {
	if q == nil {
		return nil
	}
	done := make(chan struct{})
	select {
	case q.awaited <- func(s S) { defer close(done); job(s) }:
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dropped returns how many jobs were told of while too many waited.
func (q *Queue[S]) Dropped() int64 {
	if q == nil {
		return 0
	}
	return q.dropped.Load()
}

// Close does what waits, then Last, and returns when the goroutine has ended. It may be called again, and from several goroutines, but not by a job.
func (q *Queue[S]) Close() {
	if q == nil {
		return
	}
	q.telling.Lock()
	if !q.closed {
		q.closed = true
		close(q.jobs)
	}
	q.telling.Unlock()
	<-q.ended
}
