package admission

import (
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/session"
)

// shedding is the order in which tiers give way to the budget. Pins and hatches never do.
var shedding = [...]session.Reason{session.Kept, session.Bundle, session.Seed, session.Semantic, session.Skill, session.Core}

// fitBudget drops tools until the list fits: tier by tier, and within a tier the last first
// (kept tools in their order of eviction). Where even the pins do not fit, they stay; a list is never emptied.
func (a *state) fitBudget() {
	limit := a.in.Limits.Tokens
	if limit <= 0 || a.in.Limits.Cost == nil {
		return
	}
	total := 0
	for _, id := range a.visible {
		total += a.in.Limits.Cost(id)
	}
	for _, tier := range shedding {
		for total > limit && len(a.visible) > 1 {
			id, ok := a.worst(tier)
			if !ok {
				break
			}
			total -= a.in.Limits.Cost(id)
			a.hide(id)
			if tier == session.Semantic {
				a.skipped = append(a.skipped, id)
			}
		}
	}
}

// worst returns the tool of the tier that goes first.
func (a *state) worst(tier session.Reason) (catalog.ID, bool) {
	if tier == session.Kept {
		oldest := slices.IndexFunc(a.kept, func(p Place) bool { return a.reason[p.ID] == session.Kept })
		if oldest < 0 {
			return catalog.None, false
		}
		id := a.kept[oldest].ID
		a.kept = slices.Delete(a.kept, oldest, oldest+1)
		return id, true
	}
	for _, id := range slices.Backward(a.visible) {
		if a.reason[id] == tier {
			return id, true
		}
	}
	return catalog.None, false
}
