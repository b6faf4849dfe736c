package eval

import (
	"fmt"
	"math"
	"slices"
)

// Goal is one thing to reach, beside what was measured.
type Goal struct {
	Name     string   `json:"name"`
	Goal     string   `json:"goal"`
	Measured *float64 `json:"measured"` // null where it could not be taken
	Text     string   `json:"text"`     // the figure with what it is made of
	Met      *bool    `json:"met"`      // null likewise
	Why      string   `json:"why,omitempty"`
}

// goals is a list under way.
type goals struct {
	r    *TTFTReport
	list []Goal
	left bool // some are left out, since this run could not judge them
}

func (g *goals) missing(name, goal, why string) {
	g.list = append(g.list, Goal{Name: name, Goal: goal, Why: why})
}

func (g *goals) measured(name, goal string, value float64, met bool, text string) {
	value = math.Round(value*1e4) / 1e4
	g.list = append(g.list, Goal{Name: name, Goal: goal, Measured: &value, Met: &met, Text: text})
}

// judged reports whether all of these cells have a figure. Otherwise the goal says why the first of them has none, or is left out where the run is
// without one of them.
func (g *goals) judged(name, goal string, keys ...cellKey) bool {
	for _, k := range keys {
		if g.r.cell(k) == nil {
			g.left = true
			return false
		}
	}
	for _, k := range keys {
		if c := g.r.cell(k); c.TTFT == nil {
			g.missing(name, goal, fmt.Sprintf("%s, %s, %s: %s", c.Catalog, c.Scenario, c.Variant, c.Why))
			return false
		}
	}
	return true
}

// pair compares the medians of two cells.
func (g *goals) pair(name string, bound float64, a, b cellKey) {
	if g.judged(name, atMost(bound), a, b) {
		g.times(name, bound, g.r.cell(a).TTFT.P50, g.r.cell(b).TTFT.P50)
	}
}

func (g *goals) times(name string, bound, a, b float64) {
	value := a / b
	g.measured(name, atMost(bound), value, value <= bound, fmt.Sprintf("%.3f (%s / %s)", value, seconds(a), seconds(b)))
}

func atMost(bound float64) string { return fmt.Sprintf("≤ %.2f", bound) }

// targets sets what was measured beside what is to be reached: what the run's scenarios, catalogs and variants can judge, and where that is all of it,
// what another command measures too.
func (r *TTFTReport) targets() []Goal {
	g := &goals{r: r, list: []Goal{}}
	cold := cellKey{GAIAWorkload, ColdScenario, AllTools, ByHand}
	ours := cellKey{GAIAWorkload, ColdScenario, "append", ByDaemon}
	warm := cellKey{GAIAWorkload, PrewarmedScenario, "append", ByDaemon}
	g.pair("cold first turn, GAIA's 38 tools, of all tools cold", .35, ours, cold)
	g.pair("cold first turn, 60 compact tools, of all tools cold", .20,
		cellKey{CompactWorkload, ColdScenario, "append", ByDaemon}, cellKey{CompactWorkload, ColdScenario, AllTools, ByHand})
	g.pair("first turn after pre-warm, of all tools cold", .10, warm, cold)
	g.pair("first turn after pre-warm, of ours cold", .30, warm, ours)
	g.same()
	g.sums()
	g.pair("turn 2, one new tool behind 2,000 tokens: late, of append (daemon)", .20,
		cellKey{GAIAWorkload, LongScenario, "late", ByDaemon}, cellKey{GAIAWorkload, LongScenario, "append", ByDaemon})
	g.pair("turn 2, one new tool behind 2,000 tokens: late, of append (by hand)", .20,
		cellKey{GAIAWorkload, LongScenario, "late", ByHand}, cellKey{GAIAWorkload, LongScenario, "append", ByHand})
	g.topics()
	g.context()
	g.foretold()
	if !g.left {
		g.missing("recall given up for keeping the list", "≤ 0.5 points", "toolbelt eval recall --replay measures it")
	}
	return g.list
}

// ourCatalogs are those that the goals are of.
func ourCatalogs() []string { return []string{GAIAWorkload, CompactWorkload, DemoWorkload} }

// same compares a second turn with its floor, in the first catalog that has both measured: within 5 % or 50 ms.
func (g *goals) same() {
	const name, goal = "turn 2, list unchanged, over the same request by hand", "≤ 5 % or 50 ms"
	var ours, floor cellKey // in the first catalog that the run has both of, until one is found that has both measured
	for _, catalog := range ourCatalogs() {
		a, b := cellKey{catalog, SameScenario, "append", ByDaemon}, cellKey{catalog, SameScenario, Floor, ByHand}
		measured := g.r.find(a) != nil && g.r.find(b) != nil
		if measured || ours == (cellKey{}) && g.r.cell(a) != nil && g.r.cell(b) != nil {
			ours, floor = a, b
		}
		if measured {
			break
		}
	}
	if !g.judged(name, goal, ours, floor) {
		return
	}
	a, b := g.r.find(ours).TTFT.P50, g.r.find(floor).TTFT.P50
	over := a - b
	g.measured(name+", "+ours.catalog, goal, over, over <= 50 || over <= .05*b, fmt.Sprintf("%+.0f ms, %+.1f %% (%.0f / %.0f ms)", over, 100*over/b, a, b))
}

// sums compares the tools that could be added: the sum of ours with that of the sorted rule.
func (g *goals) sums() {
	const name, bound = "turn 2, one new tool, every one that could be added, of the sorted rule", .25
	ours, sorted := cellKey{GAIAWorkload, OneNewScenario, "append", ByHand}, cellKey{GAIAWorkload, OneNewScenario, ByGAIA, ByHand}
	if !g.judged(name, atMost(bound), ours, sorted) {
		return
	}
	a, b := g.r.find(ours), g.r.find(sorted)
	if a.Requests != b.Requests {
		g.missing(name, atMost(bound), fmt.Sprintf("%d tools were added by ours, %d by the sorted rule", a.Requests, b.Requests))
		return
	}
	g.times(fmt.Sprintf("%s (%d)", name, a.Requests), bound, a.Sum.P50, b.Sum.P50)
}

// topics compares 12 turns, by the strategy that took the least time, with GAIA's rule, and with all tools kept warm.
func (g *goals) topics() {
	const name, second = "12 turns with topic switches, of GAIA's rule", "12 turns with topic switches, of all tools kept warm and their cold start"
	of := func(variant, by string) cellKey { return cellKey{GAIAWorkload, TopicsScenario, variant, by} }
	best := of("append", ByDaemon)
	for _, strategy := range []string{"late", "auto", "rebuild"} {
		k := of(strategy, ByDaemon)
		c, least := g.r.find(k), g.r.find(best)
		if g.r.cell(best) == nil || c != nil && (least == nil || c.Sum.P50 < least.Sum.P50) {
			best = k
		}
	}
	gaia, all := of(ByGAIA, ByHand), of(AllWarm, ByHand)
	if g.judged(name, atMost(.40), best, gaia) {
		g.times(name+", "+best.variant, .40, g.r.find(best).Sum.P50, g.r.find(gaia).Sum.P50)
	}
	if !g.judged(second, "< 1", best, all) {
		return
	}
	kept := g.r.find(all)
	if kept.ColdStart == nil {
		g.missing(second, "< 1", "the cold start of all tools was not measured")
		return
	}
	g.times(second+", "+best.variant, 1, g.r.find(best).Sum.P50, kept.Sum.P50+*kept.ColdStart)
}

// context shows what a small context cuts.
func (g *goals) context() {
	const name = "turns cut in a context of 4,096 tokens"
	for _, of := range []struct {
		variant, by, goal string
		met               func(c *TTFTCell) bool
	}{
		{AllTools, ByHand, "> 0 (shown)", func(c *TTFTCell) bool { return c.Truncated > 0 }},
		{"append", ByDaemon, "0", func(c *TTFTCell) bool { return c.Truncated == 0 }},
	} {
		k := cellKey{GAIAWorkload, ContextScenario, of.variant, of.by}
		if !g.judged(name+", "+of.variant, of.goal, k) {
			continue
		}
		c := g.r.find(k)
		text := fmt.Sprintf("%d of %d", c.Truncated, c.Requests)
		if c.Cut != "" {
			text += ": " + c.Cut
		}
		g.measured(name+", "+of.variant, of.goal, float64(c.Truncated), of.met(c), text)
	}
}

// foretold sums up how well the daemons foretold the evaluated tokens, which only the engine's log tells exactly.
func (g *goals) foretold() {
	const name, goal = "evaluated tokens foretold within 10 % or 32", "≥ 90 % of turns"
	var all Judge
	daemons := 0
	for _, c := range g.r.Cells {
		if !slices.Contains(ourCatalogs(), c.Catalog) || c.By != ByDaemon {
			continue
		}
		daemons++
		if c.Foretold != nil {
			all.Right, all.Of = all.Right+c.Foretold.Right, all.Of+c.Foretold.Of
		}
	}
	switch {
	case daemons == 0 || !g.r.Log:
		g.left = true
	case all.Of == 0:
		g.missing(name, goal, "no daemon's log says how many tokens it expected to be evaluated")
	default:
		share := float64(all.Right) / float64(all.Of)
		g.measured(name, goal, share, share >= .9, fmt.Sprintf("%.1f %% (%d of %d)", 100*share, all.Right, all.Of))
	}
}
