package learn

import (
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

const (
	// discount is what an example counts beside what the tool says of itself: a request that was heard before is not proof.
	discount = 0.8
	// habitPrior is how many turns the app's overall uses count as, beside those that followed one tool.
	habitPrior = 5
	// maxHabit bounds a habit's logarithm: twenty times as likely says as much as any more.
	maxHabit = 3
	// sure is the share of the turns after a tool from which another is expected.
	sure = 0.5
)

// recall scores the ask's tools. ids are the catalog's of m.slots, catalog.None for those that it does not have. Cost: a dot product an example and source.
func (m *memory) recall(a Ask, ids []catalog.ID) Recalled {
	var r Recalled
	m.examples(a, ids, &r)
	m.habit(a, &r)
	return r
}

// widest is the text that an ask is compared by: previous and last message, or the last where there is no other.
func widest(vectors []embed.Vector) embed.Vector {
	for i := min(len(vectors), 2) - 1; i >= 0; i-- {
		if vectors[i] != nil {
			return vectors[i]
		}
	}
	return nil
}

func (m *memory) examples(a Ask, ids []catalog.ID, r *Recalled) {
	n := len(m.owner)
	var near, match, seen []float32
	for i := range m.sources {
		s := &m.sources[i]
		q := widest(a.Vectors[s.model])
		if len(q) != s.model.Dim {
			continue
		}
		if near == nil {
			near, match, seen = make([]float32, n), make([]float32, n), make([]float32, n)
		}
		for j, owner := range m.owner {
			if ids[owner] == catalog.None || s.has[j] == 0 {
				continue
			}
			c := vek32.Dot(s.row(j), q)
			near[j] += (c - s.near.mean[j]) * s.near.scale[j]
			match[j] += (c - s.match.mean[j]) * s.match.scale[j]
			seen[j]++
		}
	}
	for j, by := range seen {
		if by == 0 {
			continue
		}
		if r.Near == nil {
			r.Near, r.Match = make([]float32, a.Tools.Len()), make([]float32, a.Tools.Len())
		}
		id, weight := ids[m.owner[j]], discount*m.trust[j]/by
		r.Near[id] = max(r.Near[id], near[j]*weight)
		r.Match[id] = max(r.Match[id], match[j]*weight)
	}
}

// habit compares how often each tool followed those called before with how often the app uses it at all:
// log((count + prior·p) / (total + prior) / p), where p is the tool's share of all uses. The strongest of those called before decides.
func (m *memory) habit(a Ask, r *Recalled) {
	before := a.After
	if len(before) == 0 {
		before = []string{""}
	}
	n := float64(a.Tools.Len())
	for _, from := range before {
		h := m.habits[from]
		for name, count := range h.to {
			id, ok := a.Tools.Lookup(name)
			if !ok {
				continue
			}
			share := (m.uses[name] + 0.5) / (m.total + 0.5*n)
			likely := (count + habitPrior*share) / (h.total + habitPrior)
			if r.Habit == nil {
				r.Habit = make([]float32, a.Tools.Len())
			}
			r.Habit[id] = max(r.Habit[id], float32(math.Min(maxHabit, math.Log(likely/share))))
			if likely >= sure && from != "" {
				r.Sure = append(r.Sure, id)
			}
		}
	}
	slices.Sort(r.Sure)
	r.Sure = slices.Compact(r.Sure)
}
