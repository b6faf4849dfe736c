package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/ingest"
	"toolbelt/internal/sqlite"
	"toolbelt/selector"
)

func newCalibrateCommand(p Process) *cobra.Command {
	path, asJSON := "", false
	cmd := &cobra.Command{
		Use:   "calibrate --tools FILE",
		Short: "Measure what requests that no tool is for come to, by each embedder",
		Long: `Measure, for a catalog, the builtin embedder, the engine's where one is configured or found, and both together, against two lists: a built-in one of
requests that no tool is for, and requests made from the catalog that are about what its tools are about ("help me with calendar"). Each of the first list is measured
against the others of it. Shown are the cosines' mean and deviation, the match scores that such requests reach, how many tools one lets over a floor (tau) of 1 to 3 on average, and
between what tau should stand: FLOOR, from where on a request that no tool is for lets one over, and CEILING, up to where nine of ten that are about the tools still do.

The figures are kept in the database with the model's name and digest. The daemon measures by itself, in the background, whatever catalog it sees; no
measurement changes a setting. FILE is what "toolbelt select" takes; without --tools it is the catalog that the setting tools names.`,
		Example: `  toolbelt calibrate --tools demo
  toolbelt calibrate --tools demo --embedder ollama --embed-model all-minilm --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			tools, err := givenTools(p, path, cfg.Serve.Tools)
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: max(cfg.Log.Level, slog.LevelWarn)}))
			report, err := calibrate(cmd.Context(), cfg, tools, &embedding{out: p.Stderr, every: lineEvery}, log)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(p.Stdout, report)
			}
			return report.print(p.Stdout)
		},
	}
	cmd.Flags().StringVar(&path, "tools", "", toolsUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "db", "upstream", "tau", "embedder", "embed-model", "embed-url")
	return cmd
}

// calibrationReport is what "calibrate --json" prints.
type calibrationReport struct {
	Catalog   string              `json:"catalog"` // hash
	Tools     int                 `json:"tools"`
	Tau       float64             `json:"tau"` // in force
	Embedders []calibratedByModel `json:"embedders"`
	Engine    *string             `json:"engine"` // why the engine's embedder was not measured; null where it was, or is not wanted
}

type calibratedByModel struct {
	Model     string       `json:"model"`
	Digest    string       `json:"digest"`
	Prefix    int          `json:"prefix"`
	Requests  int          `json:"requests"`
	Mean      float64      `json:"mean"`
	Deviation float64      `json:"deviation"`
	P50       float64      `json:"p50"`
	P95       float64      `json:"p95"`
	P99       float64      `json:"p99"`
	Max       float64      `json:"max"`
	Admitted  []admittedAt `json:"admitted"`
	Floor     float64      `json:"floor"`

	Generic         int          `json:"generic_requests"` // about the catalog's own subjects
	GenericAdmitted []admittedAt `json:"generic_admitted"` // null where there are none
	Ceiling         float64      `json:"ceiling"`
}

type admittedAt struct {
	Tau   float64 `json:"tau"`
	Tools float64 `json:"tools"`
}

// calibrate measures and keeps what is configured.
func calibrate(ctx context.Context, cfg config.Config, tools []catalog.Tool, tell *embedding, log *slog.Logger) (*calibrationReport, error) {
	db, err := sqlite.OpenOrMake(ctx, cfg.Store.Path, log)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	report := &calibrationReport{Tau: cfg.Selection.Threshold}
	arrays := ingest.Config{Builtin: builtin, Log: log}
	defer tell.begin()()
	neural, err := openedNeural(ctx, cfg, db, tell, log)
	switch {
	case err != nil && cfg.Embed.Kind != config.Auto:
		return nil, fmt.Errorf("opening the engine's embedder: %w", err)
	case err != nil:
		why := err.Error() + whatToDo(err)
		report.Engine = &why
	case neural != nil:
		defer neural.Close()
		arrays.Neural = neural
	}
	ix, err := indexOf(ctx, arrays, tools)
	if err != nil {
		return nil, err
	}
	report.Catalog, report.Tools = ix.Catalog().Hash().String(), ix.Catalog().Len()
	for _, models := range ingest.Together(ix.Models()) {
		c, err := ingest.Calibrate(ctx, ix, models, arrays.Ask)
		if err != nil {
			return nil, err
		}
		c.At = time.Now()
		if err := db.SaveCalibration(ctx, c.Measured); err != nil {
			return nil, err
		}
		report.add(c)
	}
	return report, nil
}

// whatToDo says how the embedder that was found, but that nobody asked for by name, can be measured all the same; "" where that would not help.
func whatToDo(err error) string {
	if !errors.Is(err, embed.ErrNotReady) {
		return ""
	}
	return "; send the chat model a message first, so that it is loaded, or name the embedder: --embedder ollama tries it at once"
}

// indexOf makes a catalog ready with all views that are to be had.
func indexOf(ctx context.Context, arrays ingest.Config, tools []catalog.Tool) (*selector.Index, error) {
	library, err := ingest.New(arrays)
	if err != nil {
		return nil, err
	}
	defer library.Close()
	hash := catalog.New(tools).Hash()
	if _, err := library.Snapshot(hash, tools); err != nil {
		return nil, err
	}
	if err := library.Complete(ctx, hash); err != nil {
		return nil, err
	}
	snapshot, err := library.Snapshot(hash, tools)
	if err != nil {
		return nil, err
	}
	return snapshot.Index, nil
}

// openedNeural opens the engine's embedder that is configured, now; nil where none is. The caller closes it.
func openedNeural(ctx context.Context, cfg config.Config, store embed.Store, tell *embedding, log *slog.Logger) (*embed.Neural, error) {
	upstream, err := url.Parse(cfg.Serve.Upstream)
	if err != nil {
		return nil, err
	}
	open, _ := engineEmbedder(cfg, upstream)
	if open == nil {
		return nil, nil
	}
	model, err := open(ctx)
	if err != nil {
		return nil, err
	}
	model = tell.counted(model)
	neural := embed.NewNeural(ctx, embed.NeuralConfig{Store: store, Log: log}, func(context.Context) (embed.Embedder, error) { return model, nil })
	select {
	case <-neural.Ready():
		return neural, nil
	case <-ctx.Done():
		neural.Close()
		return nil, ctx.Err()
	}
}

func (r *calibrationReport) add(c selector.Calibration) {
	m := calibratedByModel{
		Model: c.Model.Name, Digest: c.Model.Digest, Prefix: c.Model.Prefix, Requests: c.Requests, Mean: c.Mean, Deviation: c.Deviation,
		P50: c.P50, P95: c.P95, P99: c.P99, Max: c.Max, Floor: c.Floor,
		Generic: c.Generic, Ceiling: c.Ceiling,
	}
	for _, a := range c.Admitted {
		m.Admitted = append(m.Admitted, admittedAt{a.Threshold, a.Tools})
	}
	for _, a := range c.GenericAdmitted {
		m.GenericAdmitted = append(m.GenericAdmitted, admittedAt{a.Threshold, a.Tools})
	}
	r.Embedders = append(r.Embedders, m)
}

func (r *calibrationReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s. Match scores of requests that no tool is for, and how many tools such a request lets over a floor:\n\n", count(r.Tools, "tool"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "EMBEDDER\tREQUESTS\tCOSINE\tP50\tP95\tP99\tMAX")
	for _, a := range r.Embedders[0].Admitted {
		fmt.Fprintf(table, "\tOVER %g", a.Tau)
	}
	fmt.Fprintln(table, "\tFLOOR")
	for _, m := range r.Embedders {
		fmt.Fprintf(table, "%s\t%d\t%.3f ± %.3f\t%.2f\t%.2f\t%.2f\t%.2f", m.Model, m.Requests, m.Mean, m.Deviation, m.P50, m.P95, m.P99, m.Max)
		for _, a := range m.Admitted {
			fmt.Fprintf(table, "\t%.2f", a.Tools)
		}
		fmt.Fprintf(table, "\t%.2f\n", m.Floor)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := r.printGeneric(w); err != nil {
		return err
	}
	if r.Engine != nil {
		fmt.Fprintf(w, "\nThe engine's embedder was not measured: %s.\n", *r.Engine)
	}
	_, err := fmt.Fprintf(w, "\ntau is %.2f. From FLOOR on, a request that no tool is for lets at most one tool over on average.\nUp to CEILING, nine of ten requests about what the tools are about let one over.\n", r.Tau)
	return err
}

// printGeneric prints the second list's figures, where the catalog's names gave one.
func (r *calibrationReport) printGeneric(w io.Writer) error {
	if r.Embedders[0].Generic == 0 {
		_, err := fmt.Fprintln(w, "\nThe names of the tools have no words to make requests about them from.")
		return err
	}
	fmt.Fprint(w, "\nThe same of requests about what the tools are about:\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "EMBEDDER\tREQUESTS")
	for _, a := range r.Embedders[0].GenericAdmitted {
		fmt.Fprintf(table, "\tOVER %g", a.Tau)
	}
	fmt.Fprintln(table, "\tCEILING")
	for _, m := range r.Embedders {
		fmt.Fprintf(table, "%s\t%d", m.Model, m.Generic)
		for _, a := range m.GenericAdmitted {
			fmt.Fprintf(table, "\t%.2f", a.Tools)
		}
		fmt.Fprintf(table, "\t%.2f\n", m.Ceiling)
	}
	return table.Flush()
}
