// Package admission decides which tools are visible on a turn: CORE, pins, what a skill requires, what matched, their
// bundle mates, and what was visible before, under a cap. It is a pure function of values.
package admission

import (
	"cmp"
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/session"
	"toolbelt/selector"
)

// MinSemantic is how many slots a turn leaves to semantic matches, whatever CORE and skills take; a smaller cap leaves as many as it is.
const MinSemantic = 3

// OpenSlots is that number under a cap, of 1 or more.
func OpenSlots(cap int) int { return min(MinSemantic, cap) }

// staleTurns is how many turns a kept tool may go without a use or a match before a batch takes it.
const staleTurns = 4

// Place is one tool of the list as it was.
type Place struct {
	ID            catalog.ID
	Matched, Used int // last turn of each, 0 never
}

func (p Place) touched() int { return max(p.Matched, p.Used) }

// Limits bound the list.
type Limits struct {
	Cap      int     // CORE, skill, semantic, bundle, seed and kept tools; pins and hatches do not count
	Overflow int     // how many more are appended before anything is evicted
	Strict   bool    // the list is never longer than Cap: pins and hatches count and are kept like other used tools, and CORE is cut to it
	Newcomer float64 // share of the turn's best score that a match must reach to enter a list that exists; 0 for any
	Sure     float64 // or this many match units, however high the best is; 0: nothing but the share is enough
	Enough   float64 // or this many, less than Sure, for a free slot under the cap; 0 for Sure
	Delta    float64 // by how much, in match units or in rank, a newcomer must beat a kept tool that it replaces; 0 across a change of embedder

	Tokens int                      // budget of the whole list, 0 for none
	Cost   func(id catalog.ID) int  // tokens of one tool; unused without a budget
	Score  func(catalog.ID) float64 // match units of any tool on this turn
	Rank   func(catalog.ID) float64 // what matches are ordered by, of any tool on this turn; nil: Delta looks at Score alone
}

// Input is all that the decision depends on. IDs are of one catalog; a list holds no ID twice.
type Input struct {
	Turn     int
	Core     []catalog.ID // in configured order
	Pins     []catalog.ID
	Hatches  []catalog.ID     // called while hidden
	Skill    []catalog.ID     // in rank order, then declared order
	Offered  []catalog.ID     // of a skill that the matches speak against: into slots that nothing else wants
	Spared   []catalog.ID     // matches that are the last to give way to Skill
	Matches  []selector.Match // over the floor, best first
	Mates    []catalog.ID     // best first
	Seed     []catalog.ID     // shown where there is nothing else to go by, as many as the cap lets
	Previous []Place          // in the order sent
	// PrefixLost says that the engine holds nothing of the list any more, so that an eviction costs nothing.
	PrefixLost bool
	Limits     Limits
}

// Entry is one visible tool.
type Entry struct {
	ID     catalog.ID
	Reason session.Reason
}

// Result is the decision. Visible is in the order of the tiers: CORE, pins, hatches, skill, semantic, kept, bundle, seed; putting it in
// the order to send is kvcache's work.
type Result struct {
	Visible  []Entry
	Admitted []catalog.ID // visible now and not before; seed is not counted
	Evicted  []catalog.ID // visible before and not now
	Skipped  []catalog.ID // over the floor, but without a slot
}

// Admit decides. The turn's best match is always visible, unless only the budget's last resort takes it; CORE, pins,
// hatches and skill tools are never evicted by the cap.
func Admit(in Input) Result {
	var called []Place
	if in.Limits.Strict {
		in, called = strict(in)
	}
	a := newState(in)
	a.require(in.Core, session.Core)
	a.require(in.Pins, session.Pin)
	a.require(in.Hatches, session.Hatch)
	a.require(in.Skill, session.Skill)
	a.match(in.Matches)
	a.keep(in.Previous)
	a.keep(called)
	a.makeRoom()
	free := a.fill(in.Offered, session.Skill, a.cap-a.counted())
	a.fill(in.Mates, session.Bundle, free)
	a.seed()
	a.fitBudget()
	return a.result()
}

// state is one decision in the making.
type state struct {
	in      Input
	before  map[catalog.ID]Place
	reason  map[catalog.ID]session.Reason
	visible []catalog.ID // in tier order
	kept    []Place      // visible only because it was; in the order sent
	matched []catalog.ID // took a semantic slot, best first
	skipped []catalog.ID
	enough  []catalog.ID // of matched, the newcomers that are merely good enough, best first
	fixed   int          // CORE and skill tools
	cap     int          // the cap, widened so that OpenSlots of it are open
}

func newState(in Input) *state {
	a := &state{in: in, before: make(map[catalog.ID]Place, len(in.Previous)), reason: map[catalog.ID]session.Reason{}}
	for _, p := range in.Previous {
		a.before[p.ID] = p
	}
	return a
}

func (a *state) show(id catalog.ID, why session.Reason) bool {
	if _, ok := a.reason[id]; ok {
		return false
	}
	a.reason[id] = why
	a.visible = append(a.visible, id)
	return true
}

func (a *state) hide(id catalog.ID) {
	delete(a.reason, id)
	a.visible = slices.DeleteFunc(a.visible, func(v catalog.ID) bool { return v == id })
}

func (a *state) require(ids []catalog.ID, why session.Reason) {
	for _, id := range ids {
		if a.show(id, why) && (why == session.Core || why == session.Skill) {
			a.fixed++
		}
	}
}

// match gives the open slots to the matches, by their own rank; where a skill leaves too few, to those first that it spares.
func (a *state) match(matches []selector.Match) {
	a.cap = max(a.in.Limits.Cap, a.fixed+OpenSlots(a.in.Limits.Cap))
	if a.in.Limits.Strict {
		a.cap = a.in.Limits.Cap
	}
	reserved := a.reserved(matches)
	for _, m := range matches {
		if _, ok := a.reason[m.ID]; ok {
			continue
		}
		taken := a.fixed + len(a.matched) + len(reserved)
		if reserved[m.ID] {
			taken--
			delete(reserved, m.ID)
		}
		standing := a.standing(m, matches[0])
		if taken >= a.cap || standing == weak {
			a.skipped = append(a.skipped, m.ID)
			continue
		}
		a.show(m.ID, session.Semantic)
		a.matched = append(a.matched, m.ID)
		if standing == enough {
			a.enough = append(a.enough, m.ID)
		}
	}
}

// reserved are the spared matches that have a slot of their own where no skill takes one.
func (a *state) reserved(matches []selector.Match) map[catalog.ID]bool {
	reserved := map[catalog.ID]bool{}
	if len(a.in.Spared) == 0 {
		return reserved
	}
	open := a.cap
	for _, why := range a.reason {
		if why == session.Core {
			open--
		}
	}
	for _, m := range matches {
		if open <= 0 {
			break
		}
		why, shown := a.reason[m.ID]
		if shown && why != session.Skill || a.standing(m, matches[0]) == weak {
			continue
		}
		open--
		if !shown && slices.Contains(a.in.Spared, m.ID) && a.fixed+len(reserved) < a.cap {
			reserved[m.ID] = true
		}
	}
	return reserved
}

// keep keeps what was visible. A tool that matched but found no semantic slot is kept as one that matched this turn.
func (a *state) keep(previous []Place) {
	for _, p := range previous {
		if !a.show(p.ID, session.Kept) {
			continue
		}
		if i := slices.Index(a.skipped, p.ID); i >= 0 {
			a.skipped = slices.Delete(a.skipped, i, i+1)
			p.Matched = a.in.Turn
		}
		a.kept = append(a.kept, p)
	}
	a.sortKept()
}

func (a *state) counted() int { return a.fixed + len(a.matched) + len(a.kept) }

// makeRoom evicts in one batch where the list has outgrown the cap and what may be appended past it.
func (a *state) makeRoom() {
	allowed := a.cap + a.in.Limits.Overflow
	if a.in.PrefixLost {
		allowed = a.cap
	}
	a.turnAway()
	if a.counted() <= allowed {
		return
	}
	need := a.hysteresis(a.counted() - allowed)
	if need <= 0 {
		return
	}
	stale := 0
	for stale < len(a.kept) && a.kept[stale].touched() <= a.in.Turn-staleTurns-1 {
		stale++
	}
	batch := max(min(stale, a.counted()/2), 2, need)
	if a.in.Limits.Strict {
		batch = need
	}
	for range min(batch, len(a.kept)) {
		a.hide(a.kept[0].ID)
		if a.kept[0].Matched == a.in.Turn {
			a.skipped = append(a.skipped, a.kept[0].ID)
		}
		a.kept = a.kept[1:]
	}
}

// sortKept puts the kept tools in the order of eviction: the least recently used or matched first, and of one age the one
// latest in the list, since less stands behind it.
func (a *state) sortKept() {
	place := make(map[catalog.ID]int, len(a.in.Previous))
	for i, p := range a.in.Previous {
		place[p.ID] = i
	}
	slices.SortFunc(a.kept, func(x, y Place) int {
		if c := cmp.Compare(x.touched(), y.touched()); c != 0 {
			return c
		}
		return cmp.Compare(place[y.ID], place[x.ID])
	})
}

// fill shows what fits into what is left under the cap, and returns what is left then: no match and no kept tool ever loses its slot to one.
func (a *state) fill(ids []catalog.ID, why session.Reason, free int) int {
	for _, id := range ids {
		if free <= 0 {
			return 0
		}
		if slices.Contains(a.skipped, id) {
			continue
		}
		if a.show(id, why) {
			free--
		}
	}
	return free
}

func (a *state) seed() {
	if len(a.in.Core) > 0 || len(a.in.Matches) > 0 || len(a.in.Previous) > 0 {
		return
	}
	for _, id := range a.in.Seed[:min(len(a.in.Seed), a.in.Limits.Cap)] {
		a.show(id, session.Seed)
	}
}

func (a *state) result() Result {
	r := Result{Skipped: a.skipped}
	for _, id := range a.visible {
		why := a.reason[id]
		r.Visible = append(r.Visible, Entry{id, why})
		if _, old := a.before[id]; !old && why != session.Seed {
			r.Admitted = append(r.Admitted, id)
		}
	}
	for _, p := range a.in.Previous {
		if _, ok := a.reason[p.ID]; !ok {
			r.Evicted = append(r.Evicted, p.ID)
		}
	}
	return r
}
