package eval

import (
	"context"
	"slices"
)

// cell is one figure to take.
type cell struct {
	key   cellKey
	fixed int  // trials; 0: as many as the options and their length ask for
	block bool // its trials are played one after the other, since each leaves the engine as the next needs it
	play  func(ctx context.Context, n int) ([]Step, error)
}

// fewTools is how many tools are added in OneNewScenario where not every one is.
const fewTools = 5

// cells are the figures to take, grouped by scenario.
func (s *scene) cells() [][]cell {
	var groups [][]cell
	add := func(scenario string, cells ...cell) {
		if !s.Options.wants(s.w.Name, scenario) && !(scenario == ColdScenario && s.Options.wants(s.w.Name, SameScenario)) {
			return
		}
		chosen := slices.DeleteFunc(cells, func(c cell) bool {
			return len(s.Options.Variants) > 0 && !slices.Contains(s.Options.Variants, c.key.variant)
		})
		if len(chosen) > 0 {
			groups = append(groups, chosen)
		}
	}
	make := func(scenario, variant, by string, play func(ctx context.Context, n int) ([]Step, error)) cell {
		return cell{key: cellKey{s.w.Name, scenario, variant, by}, play: play}
	}
	// each makes a cell for each variant: theirs by hand, ours by the daemon.
	each := func(scenario string, play func(ctx context.Context, variant string) ([]Step, error), variants ...string) []cell {
		var cells []cell
		for _, v := range variants {
			by := ByDaemon
			if theirs(v) {
				by = ByHand
			}
			cells = append(cells, make(scenario, v, by, func(ctx context.Context, _ int) ([]Step, error) { return play(ctx, v) }))
		}
		return cells
	}
	add(ColdScenario, each(ColdScenario, s.playFirst, append([]string{AllTools, ByGAIA}, s.ours("append")...)...)...)
	add(PrewarmedScenario, each(PrewarmedScenario, s.playPrewarmed, s.ours("append")...)...)
	add(OneNewScenario, s.oneNewCells(make)...)
	add(LongScenario, s.longCells(make)...)
	add(TopicsScenario, each(TopicsScenario, s.playTopics, append([]string{AllWarm, ByGAIA}, s.ours("append", "late")...)...)...)
	add(TwoScenario, each(TwoScenario, s.playTwo, append([]string{AllTools, ByGAIA}, s.ours("append")...)...)...)
	if s.Target.API == OllamaAPI {
		context := each(ContextScenario, s.playContext, append([]string{AllTools}, s.ours("append")...)...)
		for i := range context {
			context[i].fixed = 1 // what is cut does not change from trial to trial
		}
		add(ContextScenario, context...)
	}
	return groups
}

// ours are the strategies to play in a scenario: those that were asked for, else the ones that it compares.
func (s *scene) ours(usual ...string) []string {
	asked := slices.DeleteFunc(slices.Clone(s.Options.Variants), theirs)
	if len(s.Options.Variants) > 0 {
		return asked
	}
	return usual
}

type cellMaker func(scenario, variant, by string, play func(ctx context.Context, n int) ([]Step, error)) cell

// oneNewCells control by hand which tool is added, since what is measured is the order; beside them the daemon's own way.
func (s *scene) oneNewCells(make cellMaker) []cell {
	addable := without(s.w.names(), s.base())
	if len(addable) == 0 {
		return nil
	}
	if !s.Options.Every && len(addable) > fewTools {
		var some []string
		for i := range fewTools {
			some = append(some, addable[i*len(addable)/fewTools])
		}
		addable = some
	}
	slices.Sort(addable)
	slices.Reverse(addable) // see playAdded
	var cells []cell
	for _, variant := range []string{ByGAIA, "append"} {
		c := make(OneNewScenario, variant, ByHand, func(ctx context.Context, n int) ([]Step, error) { return s.playAdded(ctx, variant, addable[n]) })
		c.fixed, c.block = len(addable), true
		cells = append(cells, c)
	}
	for _, strategy := range s.ours("append") {
		c := make(OneNewScenario, strategy, ByDaemon, func(ctx context.Context, n int) ([]Step, error) {
			return s.playAsked(ctx, strategy, n, 0)
		})
		c.fixed = min(s.Options.Trials, fewTrials)
		cells = append(cells, c)
	}
	return cells
}

// historyTokens is the length of a long history.
const historyTokens = 2000

func (s *scene) longCells(make cellMaker) []cell {
	addable := without(s.w.names(), s.base())
	if len(addable) == 0 {
		return nil
	}
	var cells []cell
	for _, variant := range []string{"append", "late"} {
		c := make(LongScenario, variant, ByHand, func(ctx context.Context, n int) ([]Step, error) { return s.playBound(ctx, variant, addable) })
		c.fixed = 1 // to see by it whether the daemon's way costs more
		cells = append(cells, c)
	}
	for _, strategy := range s.ours("append", "late") {
		c := make(LongScenario, strategy, ByDaemon, func(ctx context.Context, n int) ([]Step, error) {
			return s.playAsked(ctx, strategy, n, historyTokens)
		})
		c.fixed = min(s.Options.Trials, fewTrials)
		cells = append(cells, c)
	}
	return cells
}
