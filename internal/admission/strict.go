package admission

import (
	"slices"

	"toolbelt/catalog"
)

// strict is the input as it is where the cap counts everything: CORE, skill and seed tools are cut to the cap, and what must stay competes
// among the kept tools: a tool called while hidden as one used on the turn before, a pin that is not listed as one never used.
func strict(in Input) (Input, []Place) {
	in.Limits.Overflow = 0
	in.Core = in.Core[:min(len(in.Core), in.Limits.Cap)]
	in.Skill = slices.DeleteFunc(slices.Clone(in.Skill), func(id catalog.ID) bool { return slices.Contains(in.Core, id) })
	in.Skill = in.Skill[:min(len(in.Skill), in.Limits.Cap-len(in.Core))]
	in.Seed = in.Seed[:min(len(in.Seed), in.Limits.Cap)]
	var also []Place
	add := func(ids []catalog.ID, used int) {
		for _, id := range ids {
			if !slices.ContainsFunc(in.Previous, func(p Place) bool { return p.ID == id }) {
				also = append(also, Place{ID: id, Used: used})
			}
		}
	}
	add(in.Hatches, in.Turn-1)
	add(in.Pins, 0)
	in.Pins, in.Hatches = nil, nil
	return in, also
}
