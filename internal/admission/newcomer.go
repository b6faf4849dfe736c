package admission

import (
	"cmp"
	"slices"

	"toolbelt/catalog"
	"toolbelt/selector"
)

// standing is what a match may do to a list that exists.
type standing int

const (
	weak   standing = iota // it does not enter
	enough                 // it enters where a slot under the cap is free
	strong                 // it enters
)

// standing says how far a newcomer is below the turn's best match: each tool that is appended makes the engine read itself and all that follows, and each
// that is evicted all that stood behind it. A match that is good in itself is never too weak: beside a tool whose very name was said, most that a request needs are far below the best.
func (a *state) standing(m, best selector.Match) standing {
	_, old := a.before[m.ID]
	switch {
	case old || len(a.before) == 0 || m.Score >= a.in.Limits.Newcomer*best.Score || a.in.Limits.Sure > 0 && m.Score >= a.in.Limits.Sure:
		return strong
	case a.in.Limits.Enough > 0 && m.Score >= a.in.Limits.Enough:
		return enough
	}
	return weak
}

// turnAway turns away newcomers that are merely good enough where they take the list past its cap, the worst first. A strict list has no room to grow:
// there they may replace.
func (a *state) turnAway() {
	if a.in.Limits.Strict || a.in.PrefixLost {
		return
	}
	for a.counted() > a.cap && len(a.enough) > 0 {
		id := a.enough[len(a.enough)-1]
		a.enough = a.enough[:len(a.enough)-1]
		a.turnedAway(id)
	}
}

// turnedAway takes a match that was let in out again.
func (a *state) turnedAway(id catalog.ID) {
	a.hide(id)
	a.matched = slices.DeleteFunc(a.matched, func(m catalog.ID) bool { return m == id })
	a.skipped = append(a.skipped, id)
}

// hysteresis turns away newcomers that beat what they would replace by δ neither in match units nor in rank, the worst first, and returns
// how many must still be evicted. The turn's best match is never turned away.
func (a *state) hysteresis(need int) int {
	if a.in.Limits.Delta <= 0 || a.in.Limits.Score == nil || len(a.in.Matches) == 0 {
		return need
	}
	victims := make([]float64, 0, need)
	for _, p := range a.kept[:min(need, len(a.kept))] {
		victims = append(victims, a.in.Limits.Score(p.ID))
	}
	slices.SortFunc(victims, func(x, y float64) int { return cmp.Compare(y, x) })
	best := a.in.Matches[0].ID
	for i := len(a.matched) - 1; i >= 0 && len(victims) > 0; i-- {
		id := a.matched[i]
		if _, old := a.before[id]; old || id == best {
			continue
		}
		if a.in.Limits.Score(id) >= victims[0]+a.in.Limits.Delta || a.outranks(id, a.kept[:min(need, len(a.kept))]) {
			break
		}
		a.turnedAway(id)
		victims = victims[1:]
		need--
	}
	return need
}

// outranks reports whether a newcomer stands δ above all of the victims in rank. Match units know a tool's own texts alone; rank, which
// brought the newcomer into the list, also what words, clauses and the tools that are alike have to say.
func (a *state) outranks(id catalog.ID, victims []Place) bool {
	rank := a.in.Limits.Rank
	if rank == nil {
		return false
	}
	return !slices.ContainsFunc(victims, func(p Place) bool { return rank(id) < rank(p.ID)+a.in.Limits.Delta })
}
