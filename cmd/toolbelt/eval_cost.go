package main

import (
	"github.com/spf13/cobra"

	"toolbelt/eval"
)

func newEvalCostCommand(p Process) *cobra.Command {
	var f engineFlags
	cmd := &cobra.Command{
		Use:   "cost --engine URL --model NAME",
		Short: "Count the prompt tokens that each tool costs",
		Long: `Count, by the engine's own figures, what each tool of a catalog, CORE and the whole catalog cost in prompt tokens. The list is
sent with one tool more each time, so that an engine with a prefix cache evaluates each tool once.`,
		Example: `  toolbelt eval cost --engine http://127.0.0.1:11434 --model qwen3:4b --catalog demo
  toolbelt eval cost --model smollm2 --catalog compact --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			target, _, err := f.target(p)
			if err != nil {
				return err
			}
			workloads, err := f.workloads(p)
			if err != nil {
				return err
			}
			report, runErr := eval.MeasureCost(cmd.Context(), target, workloads[0], sinceStart(p.Stderr))
			if report == nil {
				return runErr
			}
			return f.finish(p, "cost", report, runErr)
		},
	}
	f.add(cmd, eval.CompactWorkload)
	return cmd
}
