package main

import (
	"github.com/spf13/cobra"

	"toolbelt/eval"
)

func newEvalStrategyCommand(p Process) *cobra.Command {
	f := ttftFlags{Options: eval.TTFTOptions{Embedder: "builtin"}}
	cmd := &cobra.Command{
		Use:   "strategy --engine URL --model NAME",
		Short: "Find the strategy that is fastest on an engine with a model",
		Long: `Play a short conversation with topic switches, and one new tool behind a long history, through daemons with each of the strategies
append, late, rebuild and all, and choose the one with the least time to first tokens. One that hides more of the needed tools than append does is not chosen.`,
		Example: `  toolbelt eval strategy --engine http://127.0.0.1:11434 --model qwen3:4b`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, workloads, stop, err := f.prepare(cmd.Context(), p)
			if err != nil {
				return err
			}
			defer stop()
			report, runErr := m.Strategy(cmd.Context(), workloads[0])
			if report == nil {
				return runErr
			}
			return f.finish(p, "strategy", report, runErr)
		},
	}
	f.add(cmd, eval.CompactWorkload)
	cmd.Flags().IntVar(&f.Options.Trials, "trials", 3, "`number` of trials of each strategy")
	return cmd
}
