package selector

import (
	"cmp"
	"container/heap"
	"slices"

	"toolbelt/catalog"
)

// Match is a tool over the floor.
type Match struct {
	ID    catalog.ID
	Rank  float64 // order
	Score float64 // match units
}

// Floor decides which tools are over it.
type Floor struct {
	Threshold float64 // τ, in match units: deviations above the tool's own background
	Words     float64 // or: the share of the request's word weight that the tool must have, in (0, 1]
}

// Over reports whether a tool is over the floor.
func (f Floor) Over(s Scores, id catalog.ID) bool {
	return float64(s.Match[id]) >= f.Threshold || float64(s.Words[id]) >= f.Words
}

// Select returns the tools over the floor, best rank first, at most limit of them; equal ranks keep the catalog's order. A tool that is over
// the floor by its words alone has the threshold for its Score. Cost: O(n log limit).
func Select(s Scores, f Floor, limit int) []Match {
	h := make(matches, 0, limit+1)
	for i := range s.Rank {
		id := catalog.ID(i)
		if !f.Over(s, id) {
			continue
		}
		m := Match{ID: id, Rank: float64(s.Rank[i]), Score: max(float64(s.Match[i]), f.Threshold)}
		if len(h) < limit {
			heap.Push(&h, m)
		} else if limit > 0 && worse(h[0], m) {
			h[0] = m
			heap.Fix(&h, 0)
		}
	}
	slices.SortFunc(h, func(a, b Match) int {
		if c := cmp.Compare(b.Rank, a.Rank); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return h
}

// Top returns the k tools of the highest rank, floor or not.
func Top(s Scores, k int) []Match {
	return Select(s, Floor{Threshold: negativeInfinity, Words: 2}, k)
}

const negativeInfinity = -1e30

// matches is a heap with the worst match on top.
type matches []Match

func worse(a, b Match) bool { return a.Rank < b.Rank || a.Rank == b.Rank && a.ID > b.ID }

func (h matches) Len() int           { return len(h) }
func (h matches) Less(i, j int) bool { return worse(h[i], h[j]) }
func (h matches) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *matches) Push(x any)        { *h = append(*h, x.(Match)) }
func (h *matches) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
