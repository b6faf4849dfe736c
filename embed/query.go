package embed

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"toolbelt/catalog"
)

func hashText(text string) catalog.Hash { return sha256.Sum256([]byte(text)) }

// Query returns the vectors of a turn's texts, which share one call; a text that was embedded before comes from the cache. It never takes
// longer than the deadline. The vectors are shared: do not change them. The error is ErrNotReady, ErrOff or ErrOpen at once;
// ErrLate when the deadline passes (the call goes on for a few seconds, and what it brings is there for the next Query); ctx's
// where ctx was cancelled; or the embedder's. Every next Query tries again, unless it is ErrOff.
func (n *Neural) Query(ctx context.Context, texts []string) ([]Vector, Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, Model{}, err
	}
	e, err := n.current()
	if err != nil {
		select {
		case n.poke <- struct{}{}:
		default:
		}
		return nil, Model{}, err
	}
	n.asked()
	vectors := make([]Vector, len(texts))
	ask := call{embedder: e, places: map[catalog.Hash][]int{}}
	for i, text := range texts {
		key := hashText(text)
		if v, ok := n.cache.Get(key); ok {
			vectors[i] = v
			continue
		}
		if ask.places[key] == nil {
			ask.texts, ask.keys = append(ask.texts, text), append(ask.keys, key)
		}
		ask.places[key] = append(ask.places[key], i)
	}
	if len(ask.texts) > 0 {
		got, err := n.ask(ctx, &ask)
		if err != nil {
			return nil, Model{}, err
		}
		for i, key := range ask.keys {
			for _, place := range ask.places[key] {
				vectors[place] = got[i]
			}
		}
	}
	n.answered(len(ask.texts) > 0)
	return vectors, e.Model(), nil
}

// call is one call of the embedder for a Query.
type call struct {
	embedder Embedder
	texts    []string // each once
	keys     []catalog.Hash
	places   map[catalog.Hash][]int // in the Query's texts

	finished bool // guarded by Neural.mu, as is late
	late     bool // nobody waits for it
}

type answer struct {
	vectors []Vector
	err     error
}

// ask makes the call, and leaves it to itself when the deadline passes.
func (n *Neural) ask(ctx context.Context, c *call) ([]Vector, error) {
	if n.breaker.State() == gobreaker.StateOpen {
		return nil, ErrOpen
	}
	deadline := time.NewTimer(n.cfg.Deadline)
	defer deadline.Stop()
	if n.allLate() {
		n.missed()
		return nil, ErrLate
	}
	select {
	case n.slots <- struct{}{}:
	case <-deadline.C:
		n.missed()
		return nil, ErrLate
	case <-ctx.Done():
		return nil, n.givenUp(ctx)
	}
	done, err := n.breaker.Allow()
	if err != nil {
		<-n.slots
		return nil, ErrOpen
	}
	result := make(chan answer, 1)
	if !n.background(func() { n.run(c, done, result) }) {
		done(nil)
		<-n.slots
		return nil, ErrOff
	}
	select {
	case a := <-result:
		return a.vectors, a.err
	case <-deadline.C:
		if !n.leave(c) {
			a := <-result // it came at the same moment
			return a.vectors, a.err
		}
		n.missed()
		return nil, ErrLate
	case <-ctx.Done():
		n.leave(c)
		return nil, n.givenUp(ctx)
	}
}

// run makes the call, keeps what it brings and tells the breaker.
func (n *Neural) run(c *call, done func(error), result chan<- answer) {
	ctx, cancel := context.WithTimeout(n.ctx, lateLimit)
	defer cancel()
	m := c.embedder.Model()
	check := n.watch(m)
	vectors, err := c.embedder.Embed(ctx, Query, c.texts)
	if err == nil {
		err = checkAnswer(vectors, len(c.texts), m.Dim)
	}
	if err != nil {
		vectors = nil
		n.failed(err)
	} else if _, stale := n.current(); stale == nil {
		for i, key := range c.keys {
			n.cache.Add(key, vectors[i])
		}
	}
	done(err)
	n.finish(c, func() { result <- answer{vectors, err} })
	<-n.slots
	check(err)
}

// leave marks a call as one that nobody waits for. It reports false where the call has finished already: its result is there.
func (n *Neural) leave(c *call) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.finished {
		return false
	}
	c.late = true
	n.state.late++
	return true
}

// finish delivers a call's result, such that either leave sees that it is there or the call counted as late.
func (n *Neural) finish(c *call, deliver func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.finished = true
	if c.late {
		n.state.late--
	}
	deliver()
}

func (n *Neural) allLate() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.late >= callsAtOnce
}

// givenUp is the error where the caller's time is over: late, or the caller has gone.
func (n *Neural) givenUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		n.missed()
		return ErrLate
	}
	return ctx.Err()
}

func (n *Neural) asked() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.queries++
}

func (n *Neural) answered(byEmbedder bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.inTime++
	if byEmbedder {
		n.state.misses, n.state.failing = 0, false
	}
}
