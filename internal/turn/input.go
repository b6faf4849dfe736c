package turn

import (
	"math"
	"slices"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/chat"
	"toolbelt/kvcache"
	"toolbelt/selector"
)

// input is all that admission depends on.
func (p *Planner) input(d *draft, scores selector.Scores, matches []selector.Match, mates []bundles.Mate, skill brought, embedder string) admission.Input {
	cat := d.snapshot.Catalog()
	in := admission.Input{
		Turn:       d.found.State.Turn,
		Core:       d.ids(d.core),
		Pins:       d.ids(d.pins()),
		Hatches:    d.ids(d.found.State.Called),
		Skill:      d.ids(skill.required),
		Offered:    d.ids(skill.offered),
		Spared:     d.ids(skill.spared),
		Matches:    matches,
		Mates:      mateIDs(mates),
		Previous:   d.places(),
		PrefixLost: d.remade,
		Limits: admission.Limits{
			Cap: p.policy.MaxTools, Newcomer: p.policy.Newcomer, Sure: sureMatch * p.policy.Threshold, Enough: enoughMatch * p.policy.Threshold, Overflow: p.policy.Overflow, Strict: p.policy.Strict, Delta: p.policy.Delta,
			Tokens: d.tokenBudget(),
			Cost:   func(id catalog.ID) int { return d.rates.ToolTokens(1, cat.Tool(id).Bytes) },
			Score:  func(id catalog.ID) float64 { return float64(scores.Match[id]) },
			Rank:   func(id catalog.ID) float64 { return float64(scores.Rank[id]) },
		},
	}
	if embedder != d.found.State.Embedder {
		in.Limits.Delta = 0
	}
	switch how := p.how(d, d.found.State); {
	case d.remade:
	case how == kvcache.Late: // nothing can leave a frozen array, nor the text of a message
		in.Limits.Overflow = cat.Len()
	case how == kvcache.Frozen:
		in.Limits.Newcomer, in.Limits.Sure, in.Limits.Enough = math.MaxFloat64, 0, 0
	}
	if len(in.Previous) == 0 { // a list that exists is never seeded
		in.Seed = p.seed(d)
	}
	return in
}

// seed is the app's most used tools, then the first of the client's array.
func (p *Planner) seed(d *draft) []catalog.ID {
	seed := d.ids(p.Sessions.MostUsed(d.request.Identity.App(), seedTools))
	for id := catalog.ID(0); len(seed) < seedTools && int(id) < d.snapshot.Catalog().Len(); id++ {
		if !slices.Contains(seed, id) && !d.hides(id) {
			seed = append(seed, id)
		}
	}
	return seed
}

// hides reports whether the app wants a tool hidden until it is selected or asked for.
func (d *draft) hides(id catalog.ID) bool {
	name := d.snapshot.Catalog().Tool(id).Name
	return slices.ContainsFunc(d.request.Chat.Elements, func(e chat.Element) bool { return e.Deferred && e.Key == name })
}

// A match of sureMatch × τ enters a list that exists, however much better the turn's best match is, and one of enoughMatch × τ where a slot is
// free: doc/recall.md, "What keeping the list costs".
const (
	sureMatch   = 2.5
	enoughMatch = 1.75
)

// seedTools is how many tools are shown for want of anything to go by.
const seedTools = 3
