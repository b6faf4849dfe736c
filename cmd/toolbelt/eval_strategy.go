package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/eval"
	"toolbelt/internal/engine"
	"toolbelt/internal/proxy"
	"toolbelt/internal/sqlite"
	"toolbelt/kvcache"
)

func newEvalStrategyCommand(p Process) *cobra.Command {
	dryRun := false
	f := ttftFlags{Options: eval.TTFTOptions{Embedder: "builtin"}}
	cmd := &cobra.Command{
		Use:   "strategy --engine URL --model NAME",
		Short: "Find the strategy that is fastest on an engine with a model",
		Long: `Play a short conversation with topic switches, and one new tool behind a long history, through daemons with each of the strategies
append, late, rebuild and all, and choose the one with the least time to first tokens. One that hides more of the needed tools than append does is not chosen.

The choice is kept in the daemon's database for this engine and this very model, and used by "toolbelt serve" from its next start on, where the setting strategy is auto.`,
		Example: `  toolbelt eval strategy --engine http://127.0.0.1:11434 --model qwen3:4b
  toolbelt eval strategy --engine http://127.0.0.1:11434 --model qwen3:4b --dry-run`,
		Args: cobra.NoArgs,
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
			if err := f.finish(p, "strategy", report, runErr); err != nil || dryRun || report.Choice == "" {
				return err
			}
			if err := keepStrategy(cmd, p, f.Engine, f.Model, kvcache.Strategy(report.Choice)); err != nil {
				fmt.Fprintf(p.Stderr, "toolbelt: warning: %v\n", err) // the report is whole
			}
			return nil
		},
	}
	f.add(cmd, eval.CompactWorkload)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "measure, and keep nothing")
	addSettings(cmd, "db")
	cmd.Flags().IntVar(&f.Options.Trials, "trials", 3, "`number` of trials of each strategy")
	return cmd
}

// keepStrategy stores a choice where the daemon looks for it.
func keepStrategy(cmd *cobra.Command, p Process, address, model string, choice kvcache.Strategy) error {
	cfg, _, err := loadConfig(cmd, p)
	if err != nil {
		return err
	}
	upstream, err := proxy.ParseUpstream(address)
	if err != nil {
		return &usageError{err}
	}
	known, err := engine.Ask(cmd.Context(), engine.Client{Base: upstream, HTTP: http.DefaultClient}, model)
	if err != nil {
		return fmt.Errorf("the choice is not kept: %w", err)
	}
	db, err := sqlite.OpenOrMake(cmd.Context(), cfg.Store.Path, slog.New(slog.NewTextHandler(p.Stderr, nil)))
	if err != nil {
		return fmt.Errorf("the choice is not kept: %w", err)
	}
	defer db.Close()
	return storeStrategy(cmd, p, db, upstream, known, choice)
}

// storeStrategy keeps what else is known of the model, and says where the choice is.
func storeStrategy(cmd *cobra.Command, p Process, db *sqlite.DB, upstream *url.URL, known engine.Known, choice kvcache.Strategy) error {
	facts, ok, err := db.EngineFacts(cmd.Context(), upstream.String(), known.Key)
	if err != nil {
		return fmt.Errorf("the choice is not kept: %w", err)
	}
	if !ok {
		facts = known.Facts
	}
	facts.Strategy, facts.Measured = choice, time.Now()
	if err := db.SaveEngineFacts(cmd.Context(), upstream.String(), known.Key, facts); err != nil {
		return fmt.Errorf("the choice is not kept: %w", err)
	}
	fmt.Fprintf(p.Stderr, "kept: %s, for this model on %s; toolbelt serve uses it from its next start on\n", choice, upstream)
	return nil
}
