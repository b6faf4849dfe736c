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
}

// begin notes a request; the caller calls the result once, when its answer has ended.
func (t *Traffic) begin() (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running++
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
