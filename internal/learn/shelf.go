package learn

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Bounds of what is kept.
const (
	maxPerTool  = 16   // examples of one content of a tool
	maxPerApp   = 2000 // examples of one app
	maxApps     = 64
	maxFollows  = 4096 // pairs of one app
	sameRequest = 0.95 // two requests of at least this cosine are one example

	halfLife = 90 * 24 * time.Hour // an example that nothing was like for so long counts half
	minTrust = 1.0 / 8             // one that counts less is dropped

	followFor = 3 * halfLife // a pair that was not seen for so long is dropped
)

// shelf is what one app has taught. It belongs to the Learner's goroutine.
type shelf struct {
	examples map[catalog.Hash][]*Example // at most maxPerTool each
	follows  map[pair]*Follow
	size     int // examples
	touched  time.Time
}

type pair struct{ from, to string }

func newShelf() *shelf {
	return &shelf{examples: map[catalog.Hash][]*Example{}, follows: map[pair]*Follow{}}
}

// trust is how much an example counts, in [0, 1]: the share of its hits that came to something, halved each halfLife.
func (e *Example) trust(now time.Time) float64 {
	age := max(0, now.Sub(e.Last))
	return float64(max(0, e.Hits-e.Fails)) / float64(max(1, e.Hits)) * math.Exp2(-float64(age)/float64(halfLife))
}

// weight orders examples where one must go.
func (e *Example) weight(now time.Time) float64 { return e.trust(now) * float64(e.Hits) }

// like reports whether two examples of one tool are the same request.
func (e *Example) like(other *Example) bool {
	if e.Text == other.Text {
		return true
	}
	for model, v := range e.Vectors {
		if w := other.Vectors[model]; len(w) == len(v) && vek32.Dot(v, w) < sameRequest {
			return false
		}
	}
	return sharesModel(e.Vectors, other.Vectors)
}

func sharesModel(a, b map[embed.Model]embed.Vector) bool {
	for model, v := range a {
		if w := b[model]; len(v) > 0 && len(w) == len(v) {
			return true
		}
	}
	return false
}

// add takes an example in: it joins one that is like it, or takes a place of its own, which another must leave where all are taken.
func (s *shelf) add(e *Example, now time.Time) (c Change) {
	s.touched = now
	list := s.examples[e.Hash]
	if i := slices.IndexFunc(list, e.like); i >= 0 {
		old := list[i]
		old.Hits += e.Hits
		old.Last = e.Last
		if old.Text == e.Text {
			for model, v := range e.Vectors {
				if old.Vectors[model] == nil {
					old.Vectors[model] = v
				}
			}
		}
		return Change{Put: []Example{*old}}
	}
	if len(list) >= maxPerTool {
		c.Drop = append(c.Drop, *s.remove(weakest(list, now)))
	}
	s.place(e)
	for s.size > maxPerApp {
		c.Drop = append(c.Drop, *s.remove(s.weakestBut(e, now)))
	}
	c.Put = append(c.Put, *e)
	return c
}

// place gives an example a place, whatever the bounds.
func (s *shelf) place(e *Example) {
	s.examples[e.Hash] = append(s.examples[e.Hash], e)
	s.size++
	s.touched = later(s.touched, e.Last)
}

// fail notes that the request came to nothing with this tool.
func (s *shelf) fail(hash catalog.Hash, probe *Example) (c Change) {
	i := slices.IndexFunc(s.examples[hash], probe.like)
	if i < 0 {
		return c
	}
	e := s.examples[hash][i]
	if e.Fails++; e.Fails >= e.Hits {
		return Change{Drop: []Example{*s.remove(e)}}
	}
	return Change{Put: []Example{*e}}
}

// follow counts that a turn which called from was followed by one that called to.
func (s *shelf) follow(app, from, to string, now time.Time) (c Change) {
	f := s.follows[pair{from, to}]
	if f == nil {
		if len(s.follows) >= maxFollows {
			oldest := s.oldestFollow()
			delete(s.follows, pair{oldest.From, oldest.To})
			oldest.Count = 0
			c.Follows = append(c.Follows, oldest)
		}
		f = &Follow{App: app, From: from, To: to}
		s.follows[pair{from, to}] = f
	}
	f.Count++
	f.Last = now
	c.Follows = append(c.Follows, *f)
	return c
}

// oldestFollow is the first in order of the pairs seen longest ago.
func (s *shelf) oldestFollow() Follow {
	return *slices.MinFunc(s.sortedFollows(), func(a, b *Follow) int { return a.Last.Compare(b.Last) })
}

// sortedFollows are all pairs, in an order that depends on nothing but them.
func (s *shelf) sortedFollows() []*Follow {
	return slices.SortedFunc(maps.Values(s.follows), func(a, b *Follow) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
}

// age drops what counts too little by now, and what is over the bounds.
func (s *shelf) age(now time.Time) (c Change) {
	for _, e := range s.sorted() {
		for len(s.examples[e.Hash]) > maxPerTool {
			c.Drop = append(c.Drop, *s.remove(weakest(s.examples[e.Hash], now)))
		}
		if e.trust(now) < minTrust && slices.Contains(s.examples[e.Hash], e) {
			c.Drop = append(c.Drop, *s.remove(e))
		}
	}
	for s.size > maxPerApp {
		c.Drop = append(c.Drop, *s.remove(weakest(s.sorted(), now)))
	}
	for key, f := range s.follows {
		if now.Sub(f.Last) > followFor {
			delete(s.follows, key)
			f.Count = 0
			c.Follows = append(c.Follows, *f)
		}
	}
	return c
}

func (s *shelf) remove(e *Example) *Example {
	list := s.examples[e.Hash]
	if i := slices.Index(list, e); i >= 0 {
		s.size--
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			delete(s.examples, e.Hash)
		} else {
			s.examples[e.Hash] = list
		}
	}
	return e
}

// sorted are all examples, in an order that depends on nothing but them.
func (s *shelf) sorted() []*Example {
	all := make([]*Example, 0, s.size)
	for _, list := range s.examples {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *Example) int {
		return cmp.Or(slices.Compare(a.Hash[:], b.Hash[:]), cmp.Compare(a.Text, b.Text))
	})
	return all
}

func weakest(list []*Example, now time.Time) *Example {
	return slices.MinFunc(list, func(a, b *Example) int {
		return cmp.Or(cmp.Compare(a.weight(now), b.weight(now)), a.Last.Compare(b.Last), cmp.Compare(a.Text, b.Text))
	})
}

func (s *shelf) weakestBut(spared *Example, now time.Time) *Example {
	return weakest(slices.DeleteFunc(s.sorted(), func(e *Example) bool { return e == spared }), now)
}
