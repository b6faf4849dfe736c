package selector

import (
	"cmp"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
)

// Match is a tool over the floor.
type Match struct {
	ID    catalog.ID
	Rank  float64 // order
	Score float64 // match units
}

// Floor decides which tools are over it. On a turn that clearly needs a tool it decides only how many are: besides those that are so
// beyond doubt, rank says which, among those with Low and more. Match knows a tool's own texts alone, rank also what words, clauses and the tools that are alike have to say.
type Floor struct {
	Threshold float64 // τ, in match units: deviations above the tool's own background
	Words     float64 // or: the share of the request's word weight that the tool must have, in (0, 1]
	Clear     float64 // match units that are beyond doubt, above τ: a turn with such a match clearly needs a tool; 0: there are none
	Low       float64 // the threshold that is left on such a turn, in match units, below τ
}

// Over reports whether a tool reaches the floor as it is on a turn that does not clearly need one.
func (f Floor) Over(s Scores, id catalog.ID) bool { return f.over(&s, int(id)) }

func (f *Floor) over(s *Scores, i int) bool {
	return float64(s.Match[i]) >= f.Threshold || f.named(s, i)
}

// beyondDoubt reports whether a tool is over the floor however it ranks.
func (f *Floor) beyondDoubt(s *Scores, i int) bool {
	return float64(s.Match[i]) >= f.Clear || f.named(s, i)
}

func (f *Floor) named(s *Scores, i int) bool {
	return float64(s.Words[i]) >= f.Words || len(s.Sure) > 0 && slices.Contains(s.Sure, catalog.ID(i))
}

// Least is the least match that is enough on this turn, in match units, for a tool that ranks high enough: Low on a turn that clearly needs a tool, else the threshold.
func (f Floor) Least(s Scores) float64 {
	if f.Clear > 0 && f.Low < f.Threshold && len(s.Match) > 0 && float64(vek32.Max(s.Match)) >= f.Clear {
		return f.Low
	}
	return f.Threshold
}

// Count is the number of tools that Over reports. Cost: linear.
func (f Floor) Count(s Scores) int {
	n := 0
	for i := range s.Rank {
		if f.over(&s, i) {
			n++
		}
	}
	return n
}

// Select returns the tools over the floor, best rank first, at most limit of them; equal ranks keep the catalog's order. On a turn that clearly needs
// a tool they are as many as reach it, and a step of the best ones matches at least as a step. A tool that is over the floor by its words alone has the threshold for its
// Score. Cost: O(n log limit).
func Select(s Scores, f Floor, limit int) []Match {
	least := f.Least(s)
	if least >= f.Threshold {
		return f.best(&s, limit, func(i int) bool { return f.over(&s, i) })
	}
	sure := f.best(&s, limit, func(i int) bool { return f.beyondDoubt(&s, i) })
	open := 0 // tools that reach the floor, and not beyond doubt
	for i := range s.Rank {
		if f.over(&s, i) && !f.beyondDoubt(&s, i) {
			open++
		}
	}
	rest := f.best(&s, min(limit, open), func(i int) bool {
		return max(float64(s.Match[i]), s.step(catalog.ID(i))) >= least && !f.beyondDoubt(&s, i)
	})
	for i := range rest {
		rest[i].Score = max(rest[i].Score, s.step(rest[i].ID))
	}
	list := append(sure, rest...)
	list.sort()
	return list[:min(limit, len(list))]
}

// best returns the best tools by rank for which is says yes.
func (f *Floor) best(s *Scores, limit int, is func(i int) bool) matches {
	if limit <= 0 {
		return nil
	}
	best := make(matches, 0, min(limit, len(s.Rank)))
	for i, rank := range s.Rank {
		if len(best) == limit && !(float64(rank) > best[0].Rank) || !is(i) {
			continue
		}
		m := Match{catalog.ID(i), float64(rank), float64(s.Match[i])}
		if f.named(s, i) {
			m.Score = max(m.Score, f.Threshold)
		}
		if len(best) < limit {
			best = append(best, m)
			best.up(len(best) - 1)
		} else {
			best[0] = m
			best.down(0)
		}
	}
	best.sort()
	return best
}

// Top returns the k tools of the highest rank, floor or not.
func Top(s Scores, k int) []Match {
	return Select(s, Floor{Threshold: negativeInfinity, Words: 2}, k)
}

const negativeInfinity = -1e30

// matches is a heap with the worst match on top, until it is sorted.
type matches []Match

func worse(a, b Match) bool { return a.Rank < b.Rank || a.Rank == b.Rank && a.ID > b.ID }

func (h matches) sort() {
	slices.SortFunc(h, func(a, b Match) int { return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.ID, b.ID)) })
}

// up moves a match towards the top until what stands above it is worse.
func (h matches) up(i int) {
	for i > 0 {
		above := (i - 1) / 2
		if !worse(h[i], h[above]) {
			return
		}
		h[i], h[above] = h[above], h[i]
		i = above
	}
}

// down moves a match towards the bottom until nothing below it is worse.
func (h matches) down(i int) {
	for {
		worst := i
		for _, below := range [2]int{2*i + 1, 2*i + 2} {
			if below < len(h) && worse(h[below], h[worst]) {
				worst = below
			}
		}
		if worst == i {
			return
		}
		h[i], h[worst] = h[worst], h[i]
		i = worst
	}
}
