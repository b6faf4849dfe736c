package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// StrategyReport is which strategy is fastest on an engine with a model.
type StrategyReport struct {
	Engine  string        `json:"engine"`
	Model   string        `json:"model"`
	Digest  string        `json:"digest"` // of the model; "" where the engine does not tell
	Catalog string        `json:"catalog"`
	Choice  string        `json:"choice"` // "" where none could be made
	Why     string        `json:"why"`    // of the choice, or of there being none
	Rows    []StrategyRow `json:"rows"`
	Notes   []string      `json:"notes"`
	Partial string        `json:"partial,omitempty"`
}

// StrategyRow is one strategy's.
type StrategyRow struct {
	Strategy  string    `json:"strategy"`
	Trials    int       `json:"trials"`
	Short     *float64  `json:"short_ms"` // a conversation's first tokens in all, cold start included, median; null where it could not be taken
	Long      *float64  `json:"long_ms"`  // a new tool behind a history of 2,000 tokens, median
	Interval  *Interval `json:"short_interval_ms"`
	Evaluated *int      `json:"sum_evaluated_tokens"`
	Missing   int       `json:"requests_without_needed_tool"`
	Why       string    `json:"why,omitempty"`
}

// Strategies are those that are compared.
func Strategies() []string { return []string{"append", "late", "rebuild", AllTools} }

// strategyTurns is how long the short conversation is.
const strategyTurns = 6

// Strategy plays a short conversation, and one new tool behind a long history, by each strategy, through daemons, and chooses. Where ctx ends, or the
// engine stops answering, the report holds what was measured until then and chooses nothing; the error comes with it.
func (m *TTFT) Strategy(ctx context.Context, w *Workload) (*StrategyReport, error) {
	if err := m.Options.Valid(); err != nil {
		return nil, err
	}
	if err := m.Target.Check(ctx, w.Tools[0]); err != nil {
		return nil, err
	}
	short := *w
	short.Turns = w.Turns[:min(len(w.Turns), strategyTurns)]
	s, err := m.scene(ctx, &short, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &StrategyReport{Engine: m.Target.base.String(), Model: m.Target.Model, Digest: m.Target.digestOf(ctx), Catalog: w.Name}
	trials := map[[2]string][]Trial{}
	err = s.strategyTrials(ctx, trials)
	for _, strategy := range Strategies() {
		r.Rows = append(r.Rows, strategyRow(strategy, trials))
	}
	switch {
	case ctx.Err() != nil:
		r.Partial = "the run was interrupted"
	case err != nil:
		r.Partial = err.Error()
	}
	if r.Why = "the run was not complete"; r.Partial == "" {
		r.Choice, r.Why = choose(r.Rows)
	}
	return r, err
}

func (s *scene) strategyTrials(ctx context.Context, trials map[[2]string][]Trial) error {
	all := Strategies()
	for n := range s.Options.Trials {
		for i := range all {
			strategy := all[(i+n)%len(all)]
			s.tell(fmt.Sprintf("%s, trial %d of %d", strategy, n+1, s.Options.Trials))
			for _, scenario := range []string{TopicsScenario, LongScenario} {
				t := Trial{Scenario: scenario, Variant: strategy}
				var err error
				if scenario == TopicsScenario {
					t.Steps, err = s.playStrategy(ctx, strategy)
				} else {
					t.Steps, err = s.playAsked(ctx, strategy, n, historyTokens)
				}
				switch {
				case refused(err):
					t.Why, t.Steps = err.Error(), nil
				case err != nil:
					return err
				}
				key := [2]string{scenario, strategy}
				trials[key] = append(trials[key], t)
			}
		}
	}
	return nil
}

// playStrategy plays the conversation through a daemon with that strategy, AllTools included, from a cold start.
func (s *scene) playStrategy(ctx context.Context, strategy string) ([]Step, error) {
	nonce, err := s.Target.Cold(ctx, 0)
	if err != nil {
		return nil, err
	}
	daemon, err := s.start(ctx, strategy, false, "")
	if err != nil {
		return nil, err
	}
	defer daemon.Stop()
	c := &conversing{scene: s, prefix: "a", daemon: daemon, talk: newTalk(s.Target.API, nonce+s.w.System)}
	var steps []Step
	for i, t := range s.w.Turns {
		step, err := c.turn(ctx, i, t)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func strategyRow(strategy string, trials map[[2]string][]Trial) StrategyRow {
	row := StrategyRow{Strategy: strategy}
	every := func(Step) bool { return true }
	short := summed(cellKey{"", TopicsScenario, strategy, ByDaemon}, trials[[2]string{TopicsScenario, strategy}], every)
	long := summed(cellKey{"", LongScenario, strategy, ByDaemon}, trials[[2]string{LongScenario, strategy}], every)
	row.Trials, row.Missing, row.Evaluated, row.Why = short.Trials, short.Missing, short.SumTokens, short.Why
	if short.Sum != nil {
		row.Short, row.Interval = &short.Sum.P50, short.SumInterval
	}
	if long.TTFT != nil {
		row.Long = &long.TTFT.P50
	} else {
		row.Why = long.Why
	}
	return row
}

// choose takes the strategy with the least time in all. One that hid needed tools more often than append, or could not be measured, is not taken.
func choose(rows []StrategyRow) (choice, why string) {
	hidden := math.MaxInt
	for _, r := range rows {
		if r.Strategy == "append" {
			hidden = r.Missing
		}
	}
	total := func(r StrategyRow) float64 { return *r.Short + *r.Long }
	fit := slices.DeleteFunc(slices.Clone(rows), func(r StrategyRow) bool { return r.Short == nil || r.Long == nil || r.Missing > hidden })
	if len(fit) == 0 {
		return "", "no strategy could be measured"
	}
	slices.SortStableFunc(fit, func(a, b StrategyRow) int { return cmp.Compare(total(a), total(b)) })
	why = fmt.Sprintf("%s in all", seconds(total(fit[0])))
	for _, r := range fit[1:] {
		why += fmt.Sprintf(", %s %s", r.Strategy, seconds(total(r)))
	}
	return fit[0].Strategy, why
}

// WriteTable writes the report for a terminal.
func (r *StrategyReport) WriteTable(w io.Writer) error { return r.page().writeText(w) }

// WriteMarkdown writes the report as a Markdown document.
func (r *StrategyReport) WriteMarkdown(w io.Writer) error { return r.page().WriteMarkdown(w) }

// WriteHTML writes the report as one page.
func (r *StrategyReport) WriteHTML(w io.Writer) error { return r.page().WriteHTML(w) }

// Pictures are the report's pictures as files that need nothing else, by their names.
func (r *StrategyReport) Pictures() map[string]func(io.Writer) error { return r.page().Pictures() }

func (r *StrategyReport) page() Page {
	p := Page{Title: "The fastest strategy", Partial: r.Partial, Notes: slices.Clone(r.Notes)}
	choice := "no strategy was chosen: " + r.Why
	if r.Choice != "" {
		choice = "the choice is " + r.Choice + ": " + r.Why
	}
	p.Settings = fmt.Sprintf("%s at %s, catalog %s; %s.", r.Model, r.Engine, r.Catalog, choice)
	t := Table{Title: "Strategies", About: "Seconds to the first tokens: of a conversation of six turns with its cold start, and of a turn with one new tool behind a history of 2,000 tokens.",
		Head: []string{"strategy", "trials", "conversation s", "interval", "new tool s", "evaluated", "needed hidden"}}
	var groups []barGroup
	picture := chart{Title: "A conversation of six turns", About: "Seconds to the first tokens in all, medians.", File: pictureFile("strategy")}
	for _, row := range r.Rows {
		cells := []string{row.Strategy, strconv.Itoa(row.Trials)}
		if row.Short == nil {
			t.Rows = append(t.Rows, append(cells, "not measured: "+row.Why))
			continue
		}
		long, between := "—", ""
		if row.Long != nil {
			long = plainSeconds(*row.Long)
		} else if row.Why != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("%s, new tool: not measured: %s", row.Strategy, row.Why))
		}
		if row.Interval != nil {
			between = plainSeconds(row.Interval[0]) + "–" + plainSeconds(row.Interval[1])
		}
		t.Rows = append(t.Rows, append(cells, plainSeconds(*row.Short), between, long, orDash("", row.Evaluated), strconv.Itoa(row.Missing)))
		groups = grouped(groups, row.Strategy, bar{series: row.Strategy, value: *row.Short / 1000})
	}
	if len(groups) > 0 {
		picture.show(bars(picture.Title, groups, 0, "%.2f s"))
		p.Charts = []chart{picture}
	}
	p.Tables = []Table{t}
	return p
}
