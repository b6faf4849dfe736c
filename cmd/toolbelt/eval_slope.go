package main

import (
	"github.com/spf13/cobra"

	"toolbelt/eval"
)

func newEvalSlopeCommand(p Process) *cobra.Command {
	f := ttftFlags{Options: eval.TTFTOptions{Embedder: "builtin"}}
	cmd := &cobra.Command{
		Use:   "slope --engine URL --model NAME",
		Short: "Measure how a cold first turn grows with the number of tools",
		Long: `Measure a cold first turn with 20 tools and 0, 10, 20 and 40 clones of them, with every tool sent and through a daemon, and fit
what one tool more costs each way.`,
		Example: `  toolbelt eval slope --engine http://127.0.0.1:11434 --model qwen3:4b`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, workloads, stop, err := f.prepare(cmd.Context(), p)
			if err != nil {
				return err
			}
			defer stop()
			report, runErr := m.Slope(cmd.Context(), workloads[0])
			if report == nil {
				return runErr
			}
			return f.finish(p, "slope", report, runErr)
		},
	}
	f.add(cmd, eval.CompactWorkload)
	cmd.Flags().IntVar(&f.Options.Trials, "trials", 3, "`number` of trials of each size")
	return cmd
}
