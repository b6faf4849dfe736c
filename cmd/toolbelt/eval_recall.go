package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"toolbelt/embed"
	"toolbelt/eval"
	"toolbelt/internal/proxy"
)

// recallFlags are the flags of eval recall as they were given.
type recallFlags struct {
	Data, Embedder, Engine string
	Model, Cache, Out      string
	Verdicts               string
	Sets                   []string
	K                      string
	SkipBroken             bool
	Scale, JSON            bool
	Options                eval.RecallOptions
}

func newEvalRecallCommand(p Process) *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall --data PATH",
		Short: "Measure whether the needed tools are found",
		Long: `Measure, on labelled requests, whether the tools that a request needs are among those that toolbelt would show.

PATH is a folder of sets, one of them, or a file. A set is a folder: catalog.jsonl with a tool a line (name, description, parameters, bundle), cases.NAME.jsonl
with a case a line (id, messages, needed, and optionally alt, conversation, turn, group, steps), and optionally bundles.json. A file holds such cases,
with the catalog beside it, or your own traffic: request bodies, one a line, as your app sends them in any of the protocols. Their tools are then the catalog, and
what the model called after a user's message is what was needed. Every case is scored by the same code as a request to the daemon.

--replay plays the conversations turn by turn through real plans with sessions, under a cap that counts everything, and tells what recall is
given up by keeping the list from turn to turn, against a list made anew on each, and what that saves. --baseline measures BM25, one dense
embedder and GAIA's rule in the same run. An engine's vectors are kept in a file, so that only the first run waits for them. Interrupted, it
prints and writes what was measured until then.`,
		Example: `  toolbelt eval recall --data data
  toolbelt eval recall --data data --sets gaia --embedder both --engine http://127.0.0.1:11434 --model all-minilm --replay --baseline
  toolbelt eval recall --data requests.jsonl --replay --out report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), p) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Data, "data", "", "`path` of the sets: a folder of them, one set, or a file of cases or requests")
	flags.StringSliceVar(&f.Sets, "sets", nil, "`names` of sets, separated by commas; all without it")
	flags.StringVar(&f.Options.Cases, "cases", "dev", "`name` of the cases: cases.NAME.jsonl")
	flags.StringVar(&f.Embedder, "embedder", "builtin", "builtin, ollama (the engine's alone) or both")
	flags.StringVar(&f.Engine, "engine", "", "base `URL` of an Ollama engine; without it OLLAMA_HOST")
	flags.StringVar(&f.Model, "model", "all-minilm", "`name` of its embedding model")
	flags.StringVar(&f.K, "k", "5,10,14", "`numbers` of tools to look at, ascending")
	flags.IntVar(&f.Options.Cap, "cap", 14, "`number` of tools visible at once in a replay")
	flags.BoolVar(&f.Options.Replay, "replay", false, "play the conversations turn by turn")
	flags.BoolVar(&f.Options.History, "history", false, "write each turn's calls and results into the requests after it")
	flags.BoolVar(&f.Options.Long, "long", false, "join conversations to 30 turns, with the daemon's own cap")
	flags.BoolVar(&f.Options.Learn, "learn", false, "learn from use in the first half of the conversations, measure the second")
	flags.BoolVar(&f.Options.Baselines, "baseline", false, "measure BM25, one dense embedder and GAIA's rule too")
	flags.Float64Var(&f.Options.Tau, "gaia-tau", 0, "floor of GAIA's rule, a `cosine`; 0 for its own, 0.20")
	flags.BoolVar(&f.Scale, "scale", false, "measure the time of a plan with 10 to 100,000 generated tools too")
	flags.StringVar(&f.Out, "out", "", "`folder` for recall.json, recall.md and recall.html")
	flags.BoolVar(&f.JSON, "json", false, "print one JSON document")
	flags.Uint64Var(&f.Options.Seed, "seed", 1, "`number` that resampling and joining depend on")
	flags.BoolVar(&f.SkipBroken, "skip-broken", false, "skip and count broken lines of data instead of stopping at the first")
	flags.IntVar(&f.Options.Misses, "misses", 0, "`number` of misses a set to report, the worst first, each with the names of the first k; without it ten, with five names")
	flags.StringVar(&f.Verdicts, "verdicts", "", "`file` of a reader's verdicts on needed tools: set, case, place among the needed, and chosen, equal or other, with tabs between them")
	flags.StringVar(&f.Cache, "cache", "", "`file` that keeps an engine's vectors between runs, or none; without it one in the user's cache folder")
	return cmd
}

func (f *recallFlags) run(ctx context.Context, p Process) error {
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
	report, runErr := eval.Recall(ctx, sets, f.Options)
	if f.Scale && runErr == nil {
		builtin, err := embed.NewBuiltin()
		if err != nil {
			return err
		}
		if report.Scale, runErr = eval.Scale(ctx, builtin, eval.ScaleSizes(), progress.show); runErr != nil {
			report.Partial = runErr.Error()
		}
	}
	progress.end()
	if err := f.write(report, p); err != nil {
		return err
	}
	return runErr
}

// check reads the data and looks at all flags before anything takes long.
func (f *recallFlags) check(p Process) ([]*eval.Dataset, error) {
	wrong := func(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }
	if f.Data == "" {
		return nil, wrong("--data is missing: name a folder of sets, or a file of your own requests")
	}
	if !slices.Contains([]string{"builtin", "ollama", "both"}, f.Embedder) {
		return nil, wrong("--embedder is %q: it must be builtin, ollama or both", f.Embedder)
	}
	ks, err := numbers(f.K)
	if err != nil {
		return nil, wrong("--k is %q: it must be numbers separated by commas, such as 5,10,14", f.K)
	}
	f.Options.Ks = ks
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	f.Options.Embedders.First, f.Options.Learning = builtin, newLearning
	if f.Verdicts != "" {
		if f.Options.Verdicts, err = readVerdicts(f.path(p, f.Verdicts)); err != nil {
			return nil, &usageError{err}
		}
	}
	if err := f.Options.Valid(); err != nil {
		return nil, &usageError{err}
	}
	dirs, err := eval.FindDatasets(f.path(p, f.Data), f.Sets)
	if err != nil {
		return nil, &usageError{err}
	}
	var sets []*eval.Dataset
	for _, dir := range dirs {
		d, err := eval.ReadDataset(dir, f.Options.Cases, f.SkipBroken)
		if err != nil {
			return nil, err
		}
		sets = append(sets, d)
	}
	return sets, nil
}

func readVerdicts(path string) (eval.Verdicts, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	verdicts, err := eval.ReadVerdicts(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return verdicts, nil
}

func (f *recallFlags) path(p Process, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

func numbers(list string) ([]int, error) {
	var ns []int
	for part := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// embedders opens what tools are chosen by; the engine's keeps its vectors in the cache file, which close closes.
func (f *recallFlags) embedders(ctx context.Context, p Process) (e eval.Embedders, closeStore func(), err error) {
	closeStore = func() {}
	e.First = f.Options.Embedders.First
	if f.Embedder == "builtin" {
		return e, closeStore, nil
	}
	engine, err := f.engine(p)
	if err != nil {
		return e, closeStore, &usageError{err}
	}
	model, err := embed.NewOllama(ctx, embed.OllamaClient(engine, http.DefaultClient), f.Model)
	if err != nil {
		return e, closeStore, fmt.Errorf("asking the engine at %s: %w", engine, err)
	}
	store, closeStore, err := f.store(ctx, p)
	if err != nil {
		return e, closeStore, err
	}
	vectors := eval.NewVectors(model, store)
	if f.Embedder == "ollama" {
		e.First = vectors
	} else {
		e.Engine = vectors
	}
	return e, closeStore, nil
}

func (f *recallFlags) engine(p Process) (*url.URL, error) {
	address := f.Engine
	if address == "" {
		address = valueOf(p.Environ, "OLLAMA_HOST")
	}
	if address == "" {
		address = "http://127.0.0.1:11434"
	}
	u, err := proxy.ParseUpstream(address)
	if err != nil {
		return nil, fmt.Errorf("--engine: %w", err)
	}
	return u, nil
}

// valueOf is the value of an environment variable, "" where it is not set.
func valueOf(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

func (f *recallFlags) write(report *eval.RecallReport, p Process) error {
	if f.Out != "" {
		if err := written(f.path(p, f.Out), map[string]func(io.Writer) error{
			"recall.json": func(w io.Writer) error { return printJSON(w, report) },
			"recall.md":   report.WriteMarkdown,
			"recall.html": report.WriteHTML,
		}); err != nil {
			return err
		}
	}
	if f.JSON {
		return printJSON(p.Stdout, report)
	}
	return report.WriteTable(p.Stdout)
}
