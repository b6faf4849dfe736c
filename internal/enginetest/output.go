package enginetest

import (
	"errors"
	"net/http"
)

// output writes a body as the round wants it: in pieces, with a stall, cut off.
type output struct {
	w       http.ResponseWriter
	gone    <-chan struct{}
	round   Round
	split   int
	written int
	stalled bool
	streams bool // every write is flushed
}

// write sends p. It panics with http.ErrAbortHandler, which breaks the connection, where the round cuts the answer off or the client is gone.
func (o *output) write(p []byte) {
	if o.round.CutAfter < 0 {
		o.cut()
	}
	for len(p) > 0 {
		n := len(p)
		if o.split > 0 {
			n = min(n, o.split)
		}
		if o.round.CutAfter > 0 {
			n = min(n, o.round.CutAfter-o.written)
		}
		if stall := o.round.StallAt - o.written; o.round.Stall != nil && !o.stalled && stall > 0 {
			n = min(n, stall)
		}
		o.stall()
		if _, err := o.w.Write(p[:n]); err != nil {
			panic(http.ErrAbortHandler)
		}
		o.written += n
		if o.streams || o.split > 0 {
			o.flush()
		}
		if o.round.CutAfter > 0 && o.written >= o.round.CutAfter {
			o.cut()
		}
		p = p[n:]
	}
}

// finish waits where the whole body stands before the stall.
func (o *output) finish() { o.stall() }

// stall waits where it is time to.
func (o *output) stall() {
	if o.round.Stall == nil || o.stalled || o.written < o.round.StallAt {
		return
	}
	o.stalled = true
	o.flush()
	select {
	case <-o.round.Stall:
	case <-o.gone:
		panic(http.ErrAbortHandler)
	}
}

func (o *output) cut() {
	o.flush()
	panic(http.ErrAbortHandler)
}

func (o *output) flush() {
	if err := http.NewResponseController(o.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		panic(http.ErrAbortHandler)
	}
}
