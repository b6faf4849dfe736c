package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"toolbelt/embed"
	"toolbelt/eval"
	"toolbelt/skills"
)

// skillsFlags are the flags of eval skills as they were given.
type skillsFlags struct {
	recallFlags // Data, Sets, Embedder, Engine, Model, Cache, Out, JSON, SkipBroken
	Floor       float64
	Sizes       string
	Own         bool
	Options     eval.SkillsOptions
}

func newEvalSkillsCommand(p Process) *cobra.Command {
	var f skillsFlags
	cmd := &cobra.Command{
		Use:   "skills [--data PATH]",
		Short: "Measure what remembering jobs gains, and whom it harms",
		Long: `Measure procedures on labelled turns with ordered calls ("steps"): learn them from some conversations, recall them on the others, each
turn as the first request of a session, under a cap that counts everything. It tells how precise recalled tools_required are, how much of what
jobs need they cover, on how many turns every needed tool is visible with and without them, and how often a needed tool lost its place.

PATH is as for "eval recall". Without it, or with --generator, the repeated jobs that are part of the program are measured: 30 jobs in five
wordings each, learned from three of them and tested on the other two. --times measures a recall among so many procedures.`,
		Example: `  toolbelt eval skills
  toolbelt eval skills --data data --sets bfcl_mt,nestful,tau2,mcp_live --generator
  toolbelt eval skills --data mytraffic --by-group --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), p) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Data, "data", "", "`path` of the sets: a folder of them, one set, or a file of cases or requests")
	flags.StringSliceVar(&f.Sets, "sets", nil, "`names` of sets, separated by commas; all without it")
	flags.BoolVar(&f.Own, "generator", false, "measure the repeated jobs that are part of the program too")
	flags.StringVar(&f.Options.Cases, "cases", "dev", "`name` of the cases: cases.NAME.jsonl")
	flags.StringVar(&f.Embedder, "embedder", "builtin", "builtin, ollama (the engine's alone) or both")
	flags.StringVar(&f.Engine, "engine", "", "base `URL` of an Ollama engine; without it OLLAMA_HOST")
	flags.StringVar(&f.Model, "model", "all-minilm", "`name` of its embedding model")
	flags.StringVar(&f.Cache, "cache", "", "`file` that keeps an engine's vectors between runs, or none; without it one in the user's cache folder")
	flags.IntVar(&f.Options.Cap, "cap", 14, "`number` of tools visible at once")
	flags.IntVar(&f.Options.Folds, "folds", 5, "`number` of parts: learned from all but one, tested on that one")
	flags.BoolVar(&f.Options.ByGroup, "by-group", false, "keep what belongs to one group in one part, not only what belongs to one conversation")
	flags.Float64Var(&f.Floor, "floor", float64(skills.DefaultFloor), "`height` from which a procedure is recalled")
	flags.IntVar(&f.Options.Recalled, "recalled", 2, "`number` of procedures that a turn recalls at most")
	flags.StringVar(&f.Sizes, "times", "10,1000,50000", "`numbers` of procedures to time a recall among, or none")
	flags.Uint64Var(&f.Options.Seed, "seed", 1, "`number` that the parts depend on")
	flags.IntVar(&f.Options.Ways, "ways", 1, "`number` of ways to part each set, over which figures are taken together: one way says little where harm is rare")
	flags.StringVar(&f.Out, "out", "", "`folder` for skills.json and skills.md")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON document")
	flags.BoolVar(&f.SkipBroken, "skip-broken", false, "skip and count broken lines of data instead of stopping at the first")
	return cmd
}

func (f *skillsFlags) run(ctx context.Context, p Process) error {
	sets, err := f.check(p)
	if err != nil {
		return err
	}
	embedders, closeStore, err := f.embedders(ctx, p)
	if err != nil {
		return err
	}
	defer closeStore()
	progress := newProgress(p.Stderr)
	f.Options.Embedders, f.Options.Progress = embedders, progress.show
	report, runErr := eval.Skills(ctx, sets, f.Options)
	progress.end()
	if f.Out != "" {
		if err := written(f.path(p, f.Out), map[string]func(io.Writer) error{
			"skills.json": func(w io.Writer) error { return printJSON(w, report) },
			"skills.md":   report.WriteMarkdown,
		}); err != nil {
			return err
		}
	}
	if f.JSON {
		err = printJSON(p.Stdout, report)
	} else {
		err = report.WriteTable(p.Stdout)
	}
	return errors.Join(err, runErr)
}

// check reads the data and looks at all flags before anything takes long.
func (f *skillsFlags) check(p Process) (sets []*eval.Dataset, err error) {
	wrong := func(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }
	if !slices.Contains([]string{"builtin", "ollama", "both"}, f.Embedder) {
		return nil, wrong("--embedder is %q: it must be builtin, ollama or both", f.Embedder)
	}
	if f.Sizes != "none" && f.Sizes != "" {
		if f.Options.Sizes, err = numbers(f.Sizes); err != nil {
			return nil, wrong("--times is %q: it must be numbers separated by commas, such as 10,1000, or none", f.Sizes)
		}
	}
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	f.recallFlags.Options.Embedders.First = builtin
	f.Options.Embedders.First, f.Options.Floor = builtin, skills.Floor(f.Floor)
	if err := f.Options.Valid(); err != nil {
		return nil, &usageError{err}
	}
	if f.Data != "" {
		dirs, err := eval.FindDatasets(f.path(p, f.Data), f.Sets)
		if err != nil {
			return nil, &usageError{err}
		}
		for _, dir := range dirs {
			d, err := eval.ReadDataset(dir, f.Options.Cases, f.SkipBroken)
			if err != nil {
				return nil, err
			}
			sets = append(sets, d)
		}
	} else if len(f.Sets) > 0 {
		return nil, wrong("--sets needs --data: the folder of the sets")
	}
	if f.Own || f.Data == "" {
		own, err := eval.RepeatedJobs()
		if err != nil {
			return nil, err
		}
		sets = append(sets, own)
	}
	return sets, nil
}
