package main

import "github.com/spf13/cobra"

func newEvalCommand(p Process) *cobra.Command {
	return group("eval", "Measure how well tools are chosen, and what that costs", newEvalRecallCommand(p), newEvalSkillsCommand(p),
		newEvalTTFTCommand(p), newEvalCostCommand(p), newEvalSlopeCommand(p), newEvalStrategyCommand(p))
}
