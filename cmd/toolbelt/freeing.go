package main

import (
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

const (
	largeBytes = 256 << 10       // of a request's body: after one of more, memory is given back to the system
	freeAfter  = 5 * time.Second // what is done behind the answer is done by then
	freeEvery  = time.Minute     // at most: each time all memory is looked through
)

// freeing is a handler that gives memory back to the system some time after a request with a large body has ended. The runtime keeps what it has once
// had for long, and one request with a few images, or a large catalog that is then embedded, takes several times its size.
type freeing struct {
	http.Handler
	free func()

	mu   sync.Mutex
	next time.Time // not before that
	due  bool
}

func newFreeing(h http.Handler) *freeing { return &freeing{Handler: h, free: debug.FreeOSMemory} }

// ServeHTTP implements http.Handler.
func (f *freeing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size := r.ContentLength
	if size >= 0 {
		f.Handler.ServeHTTP(w, r)
	} else {
		counted := &countedBody{ReadCloser: r.Body}
		r.Body = counted
		f.Handler.ServeHTTP(w, r)
		size = counted.size()
	}
	if size > largeBytes {
		f.soon()
	}
}

// soon has memory given back, once for all that have asked for it until then.
func (f *freeing) soon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.due {
		return
	}
	f.due = true
	time.AfterFunc(max(freeAfter, time.Until(f.next)), func() {
		f.mu.Lock()
		f.due, f.next = false, time.Now().Add(freeEvery)
		f.mu.Unlock()
		f.free()
	})
}

// countedBody counts what was read of a body of unknown length. The count is of the handler and what it started.
type countedBody struct {
	io.ReadCloser
	mu sync.Mutex
	n  int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.n += int64(n)
	b.mu.Unlock()
	return n, err
}

func (b *countedBody) size() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}
