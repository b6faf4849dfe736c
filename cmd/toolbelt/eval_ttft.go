package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/eval"
)

// ttftFlags are the flags of eval ttft as they were given.
type ttftFlags struct {
	engineFlags
	Options    eval.TTFTOptions
	EmbedModel string
}

func newEvalTTFTCommand(p Process) *cobra.Command {
	var f ttftFlags
	cmd := &cobra.Command{
		Use:   "ttft --engine URL --model NAME",
		Short: "Measure the time to the first token, with and without toolbelt",
		Long: `Measure on a real engine how long a user waits for the first token, and how many tokens the engine evaluates for it: with every
tool, with GAIA's rule (a sorted list of at most 14), and through daemons of this program's own, one for each strategy.

The trials of all variants are interleaved. A cold figure is only printed where the evaluated tokens prove it: they are read from --engine-log (Ollama with
OLLAMA_DEBUG=1) or from the engine's answers, or estimated from its time of evaluation, and then marked.
Each finished trial is added to ttft.jsonl in --out; --resume goes on from there. Interrupted, it reports what was measured until then.

The engine is unloaded and loaded again many times: whoever else uses it meanwhile disturbs the figures.`,
		Example: `  toolbelt eval ttft --engine http://127.0.0.1:11434 --model qwen3:4b --scenarios cold,turn2_same
  toolbelt eval ttft --model smollm2 --catalog gaia,compact --data data --engine-log ollama.log --out report
  toolbelt eval ttft --engine http://127.0.0.1:8080 --api openai --model any --catalog demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), p) },
	}
	f.add(cmd, eval.CompactWorkload)
	flags := cmd.Flags()
	flags.IntVar(&f.Options.Trials, "trials", 5, "`number` of trials; at most 3 where one takes over 20 seconds")
	flags.StringSliceVar(&f.Options.Scenarios, "scenarios", nil, "`names` of scenarios, separated by commas; all without it")
	flags.StringSliceVar(&f.Options.Variants, "variants", nil, "`names` of variants: all, all_warm, gaia, and strategies of ours")
	flags.BoolVar(&f.Options.Every, "every", false, "add every tool in turn2_one_new, not five of them")
	flags.BoolVar(&f.Options.Resume, "resume", false, "go on with the run whose trials are in --out")
	flags.StringVar(&f.Options.Embedder, "embedder", "builtin", "`setting` of the daemons")
	flags.StringVar(&f.EmbedModel, "embed-model", "all-minilm", "`name` of the engine's embedding model for GAIA's rule; the builtin embedder where it has none")
	return cmd
}

func (f *ttftFlags) run(ctx context.Context, p Process) error {
	m, workloads, stop, err := f.prepare(ctx, p)
	if err != nil {
		return err
	}
	defer stop()
	report, runErr := m.Run(ctx, workloads)
	if report == nil {
		return runErr
	}
	report.Date, report.Machine, report.Version = time.Now().Format(time.DateOnly), machine(), version()
	return f.finish(p, "ttft", report, runErr)
}

// prepare checks the flags, reads the catalogs and opens the engine. The caller calls stop at the end.
func (f *ttftFlags) prepare(ctx context.Context, p Process) (m *eval.TTFT, workloads []*eval.Workload, stop func(), err error) {
	if f.Out != "" {
		f.Options.Folder = absolute(p, f.Out)
	}
	if err := f.Options.Valid(); err != nil {
		return nil, nil, nil, &usageError{err}
	}
	target, base, err := f.target(p)
	if err != nil {
		return nil, nil, nil, err
	}
	if workloads, err = f.workloads(p); err != nil {
		return nil, nil, nil, err
	}
	if f.Options.Dense, err = dense(ctx, base, f.API, f.EmbedModel); err != nil {
		return nil, nil, nil, err
	}
	f.Options.Cap, f.Options.Progress = visibleCap, sinceStart(p.Stderr)
	m = &eval.TTFT{Target: target, Recorder: eval.NewRecorder(base), Start: new(measured).start, Client: untimed(), Options: f.Options}
	m.Recorded, stop, err = serveLocally(m.Recorder)
	return m, workloads, stop, err
}

// visibleCap is GAIA's cap, and the daemon's own by default.
const visibleCap = 14

// sinceStart writes lines with the time since now.
func sinceStart(w io.Writer) func(string) {
	begun := time.Now()
	return func(line string) { fmt.Fprintf(w, "%7s  %s\n", time.Since(begun).Round(time.Second), line) }
}
