package eval

import (
	"fmt"
	"math"
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
}

func (g *goals) missing(name, goal, why string) {
	g.list = append(g.list, Goal{Name: name, Goal: goal, Why: why})
}

func (g *goals) measured(name, goal string, value float64, met bool, text string) {
	value = math.Round(value*1e4) / 1e4
	g.list = append(g.list, Goal{Name: name, Goal: goal, Measured: &value, Met: &met, Text: text})
}

// ratio compares the medians of two cells.
func (g *goals) ratio(name string, bound float64, a, b *TTFTCell, whyA, whyB string) {
	goal := fmt.Sprintf("≤ %.2f", bound)
	switch {
	case a == nil:
		g.missing(name, goal, whyA)
	case b == nil:
		g.missing(name, goal, whyB)
	default:
		g.times(name, bound, a.TTFT.P50, b.TTFT.P50)
	}
}

func (g *goals) times(name string, bound, a, b float64) {
	value := a / b
	g.measured(name, fmt.Sprintf("≤ %.2f", bound), value, value <= bound, fmt.Sprintf("%.3f (%s / %s)", value, seconds(a), seconds(b)))
}

// why a cell has no figure.
func (r *TTFTReport) why(catalog, scenario, variant, by string) string {
	for _, c := range r.Cells {
		if c.Catalog == catalog && c.Scenario == scenario && c.Variant == variant && c.By == by {
			return fmt.Sprintf("%s, %s, %s: %s", catalog, scenario, variant, c.Why)
		}
	}
	return fmt.Sprintf("%s, %s, %s is not part of this run", catalog, scenario, variant)
}

func (g *goals) pair(name string, bound float64, catalog string, a, b [3]string) {
	g.ratio(name, bound, g.r.find(catalog, a[0], a[1], a[2]), g.r.find(catalog, b[0], b[1], b[2]), g.r.why(catalog, a[0], a[1], a[2]), g.r.why(catalog, b[0], b[1], b[2]))
}

// targets sets what was measured beside what is to be reached; those that this run has nothing of say why.
func (r *TTFTReport) targets() []Goal {
	g := &goals{r: r}
	cold := [3]string{ColdScenario, AllTools, ByHand}
	ours := [3]string{ColdScenario, "append", ByDaemon}
	warm := [3]string{PrewarmedScenario, "append", ByDaemon}
	g.pair("cold first turn, GAIA's 38 tools, of all tools cold", .35, GAIAWorkload, ours, cold)
	g.pair("cold first turn, 60 compact tools, of all tools cold", .20, CompactWorkload, ours, cold)
	g.pair("first turn after pre-warm, of all tools cold", .10, GAIAWorkload, warm, cold)
	g.pair("first turn after pre-warm, of ours cold", .30, GAIAWorkload, warm, ours)
	g.same()
	g.sums()
	g.pair("turn 2, one new tool behind 2,000 tokens: late, of append (daemon)", .20, GAIAWorkload,
		[3]string{LongScenario, "late", ByDaemon}, [3]string{LongScenario, "append", ByDaemon})
	g.pair("turn 2, one new tool behind 2,000 tokens: late, of append (by hand)", .20, GAIAWorkload,
		[3]string{LongScenario, "late", ByHand}, [3]string{LongScenario, "append", ByHand})
	g.topics()
	g.context()
	g.foretold()
	g.missing("recall given up for keeping the list", "≤ 0.5 points", "toolbelt eval recall --replay measures it")
	return g.list
}

// same compares a second turn with its floor: within 5 % or 50 ms.
func (g *goals) same() {
	const name, goal = "turn 2, list unchanged, over the same request by hand", "≤ 5 % or 50 ms"
	for _, catalog := range []string{GAIAWorkload, CompactWorkload, DemoWorkload} {
		a, b := g.r.find(catalog, SameScenario, "append", ByDaemon), g.r.find(catalog, SameScenario, Floor, ByHand)
		if a == nil || b == nil {
			continue
		}
		over := a.TTFT.P50 - b.TTFT.P50
		g.measured(name+", "+catalog, goal, over, over <= 50 || over <= .05*b.TTFT.P50,
			fmt.Sprintf("%+.0f ms, %+.1f %% (%.0f / %.0f ms)", over, 100*over/b.TTFT.P50, a.TTFT.P50, b.TTFT.P50))
		return
	}
	g.missing(name, goal, g.r.why(GAIAWorkload, SameScenario, "append", ByDaemon))
}

// sums compares the tools that could be added: the sum of ours with that of the sorted rule.
func (g *goals) sums() {
	const name, bound = "turn 2, one new tool, every one that could be added, of the sorted rule", .25
	a, b := g.r.find(GAIAWorkload, OneNewScenario, "append", ByHand), g.r.find(GAIAWorkload, OneNewScenario, ByGAIA, ByHand)
	switch {
	case a == nil:
		g.missing(name, fmt.Sprintf("≤ %.2f", bound), g.r.why(GAIAWorkload, OneNewScenario, "append", ByHand))
	case b == nil:
		g.missing(name, fmt.Sprintf("≤ %.2f", bound), g.r.why(GAIAWorkload, OneNewScenario, ByGAIA, ByHand))
	case a.Requests != b.Requests:
		g.missing(name, fmt.Sprintf("≤ %.2f", bound), fmt.Sprintf("%d tools were added by ours, %d by the sorted rule", a.Requests, b.Requests))
	default:
		g.times(fmt.Sprintf("%s (%d)", name, a.Requests), bound, a.Sum.P50, b.Sum.P50)
	}
}

// topics compares 12 turns with GAIA's rule, and with all tools kept warm.
func (g *goals) topics() {
	gaia, all := g.r.find(GAIAWorkload, TopicsScenario, ByGAIA, ByHand), g.r.find(GAIAWorkload, TopicsScenario, AllWarm, ByHand)
	best := g.r.find(GAIAWorkload, TopicsScenario, "append", ByDaemon)
	for _, strategy := range []string{"late", "auto", "rebuild"} {
		if c := g.r.find(GAIAWorkload, TopicsScenario, strategy, ByDaemon); c != nil && (best == nil || c.Sum.P50 < best.Sum.P50) {
			best = c
		}
	}
	const name, second = "12 turns with topic switches, of GAIA's rule", "12 turns with topic switches, of all tools kept warm and their cold start"
	if best == nil {
		why := g.r.why(GAIAWorkload, TopicsScenario, "append", ByDaemon)
		g.missing(name, "≤ 0.40", why)
		g.missing(second, "< 1", why)
		return
	}
	if gaia == nil {
		g.missing(name, "≤ 0.40", g.r.why(GAIAWorkload, TopicsScenario, ByGAIA, ByHand))
	} else {
		g.times(name+", "+best.Variant, .40, best.Sum.P50, gaia.Sum.P50)
	}
	if all == nil || all.ColdStart == nil {
		g.missing(second, "< 1", g.r.why(GAIAWorkload, TopicsScenario, AllWarm, ByHand))
		return
	}
	g.times(second+", "+best.Variant, 1, best.Sum.P50, all.Sum.P50+*all.ColdStart)
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
		c := g.r.find(GAIAWorkload, ContextScenario, of.variant, of.by)
		if c == nil {
			g.missing(name+", "+of.variant, of.goal, g.r.why(GAIAWorkload, ContextScenario, of.variant, of.by))
			continue
		}
		text := fmt.Sprintf("%d of %d", c.Truncated, c.Requests)
		if c.Cut != "" {
			text += ": " + c.Cut
		}
		g.measured(name+", "+of.variant, of.goal, float64(c.Truncated), of.met(c), text)
	}
}

// foretold sums up how well the daemons foretold the evaluated tokens.
func (g *goals) foretold() {
	const name, goal = "evaluated tokens foretold within 10 % or 32", "≥ 90 % of turns"
	var all Judge
	for _, c := range g.r.Cells {
		if c.Foretold != nil {
			all.Right, all.Of = all.Right+c.Foretold.Right, all.Of+c.Foretold.Of
		}
	}
	if all.Of == 0 {
		why := "no daemon's log says how many tokens it expected to be evaluated"
		if !g.r.Log {
			why = "only the engine's log tells evaluated tokens exactly: --engine-log"
		}
		g.missing(name, goal, why)
		return
	}
	share := float64(all.Right) / float64(all.Of)
	g.measured(name, goal, share, share >= .9, fmt.Sprintf("%.1f %% (%d of %d)", 100*share, all.Right, all.Of))
}
