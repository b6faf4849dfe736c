package proxy

import (
	"context"
	"sync"
	"time"
)

// Traffic knows when the engine is busy with what clients ask of it, so that our own work on it can wait: on a laptop, an embedding
// beside a prefill makes both slow. The zero Traffic is usable and safe for concurrent use.
type Traffic struct {
	mu      sync.Mutex
	running int
	ended   time.Time // of the last request
	changed chan struct{}
	busy    chan struct{} // closed when the next request begins
}

// begin notes a request; the caller calls the result once, when its answer has ended.
func (t *Traffic) begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
	if t.busy != nil {
		close(t.busy)
		t.busy = nil
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.running--
		t.ended = time.Now()
		if t.changed != nil {
			close(t.changed)
			t.changed = nil
		}
	})
}

// Busy returns a channel that is closed when a request begins, at once where one is running.
func (t *Traffic) Busy() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running > 0 {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if t.busy == nil {
		t.busy = make(chan struct{})
	}
	return t.busy
}

// Quiet returns when no request has been running for so long, or with ctx's error.
func (t *Traffic) Quiet(ctx context.Context, long time.Duration) error {
	for {
		t.mu.Lock()
		running, since := t.running, time.Since(t.ended)
		if running == 0 && since >= long {
			t.mu.Unlock()
			return ctx.Err()
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		var soon <-chan time.Time
		if running == 0 {
			soon = time.After(long - since)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-soon:
		}
	}
}
