package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/config"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/telemetry"
)

func newReportCommand(p Process) *cobra.Command {
	since, app, asJSON := "", "", false
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Say what selection does on your own requests, or would do in shadow mode",
		Long: `Say what selection did on the requests that this daemon saw, and in shadow mode what it would have done: the share of the tools called
that were visible, the tokens and the time that are saved, which tools were missed, which should be in CORE, and what to do next.

In shadow mode (TOOLBELT_MODE=shadow) every request goes on byte for byte and the list is only noted, so a day of it changes nothing
and shows every miss. In mode on a miss is seen only where the model asked for the tool or called it anyway.

The daemon counts for 90 days, at most 50,000 turns, in its database: numbers, and names of models and of tools called, nothing that
anybody said. TOOLBELT_LEARN=off keeps the numbers without the tools' names, TOOLBELT_MEMORY=off keeps nothing. Tokens of tools are
estimated from their bytes, tokens saved from what the engine said that it read, and time from the pace at which it did. A daemon may
run while this reads its database.`,
		Example: `  toolbelt report
  toolbelt report --since 24h
  toolbelt report --since 4w --app 3f2a90c1d4e5b6a7 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := parseSpan(since)
			if err != nil {
				return &usageError{err}
			}
			cfg, from, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			if !cfg.Selection.Memory {
				return fmt.Errorf("memory is off (%s): nothing is counted; --memory on reads what was counted before", from.Origins["memory"])
			}
			now := time.Now()
			report, err := readReport(cmd.Context(), p, cfg, telemetry.Filter{From: now.Add(-span), Until: now.Add(time.Second), App: app})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(p.Stdout, documentOf(report, cfg.Selection.Core))
			}
			return printReport(p.Stdout, report, cfg.Selection.Core)
		},
	}
	cmd.Flags().StringVar(&since, "since", "7d", "how far back: a `time` such as 90m, 24h, 7d or 4w")
	cmd.Flags().StringVar(&app, "app", "", "one app alone, by its `id` in this report")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "db", "memory")
	return cmd
}

// maxSpan is what no report goes back beyond: times before it are older than the program.
const maxSpan = 100 * 365 * 24 * time.Hour

// parseSpan reads a time in days or weeks, or as time.ParseDuration does.
func parseSpan(text string) (time.Duration, error) {
	bad := fmt.Errorf("--since: got %q, allowed is a time such as 90m, 24h, 7d or 4w", text)
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	span, err := time.ParseDuration(text)
	for unit, one := range units {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		n, parseErr := strconv.ParseFloat(number, 64)
		if parseErr != nil || !(n > 0 && n <= float64(maxSpan/one)) {
			return 0, bad
		}
		span, err = time.Duration(n*float64(one)), nil
	}
	if err != nil || span <= 0 || span > maxSpan {
		return 0, bad
	}
	return span, nil
}

// readReport reads the turns that f chooses. Where there is no database yet there are none, and none is made.
func readReport(ctx context.Context, p Process, cfg config.Config, f telemetry.Filter) (telemetry.Report, error) {
	if cfg.Store.Path != "" && cfg.Store.Path != sqlite.Memory {
		path := cfg.Store.Path
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return telemetry.Summarize(nil, f), nil
		}
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: max(cfg.Log.Level, slog.LevelWarn)}))
	db, err := sqlite.Open(ctx, cfg.Store.Path, log)
	if err != nil {
		return telemetry.Report{}, err
	}
	defer db.Close()
	turns, err := db.Turns(ctx, f)
	if err != nil {
		return telemetry.Report{}, err
	}
	if f.App != "" && len(turns) == 0 {
		return telemetry.Report{}, unknownApp(ctx, db, f)
	}
	return telemetry.Summarize(turns, f), nil
}

// unknownApp says which apps there are; nil where there is none.
func unknownApp(ctx context.Context, db *sqlite.DB, f telemetry.Filter) error {
	app := f.App
	f.App = ""
	turns, err := db.Turns(ctx, f)
	if err != nil || len(turns) == 0 {
		return err
	}
	var ids []string
	for _, a := range telemetry.Summarize(turns, f).Apps {
		ids = append(ids, a.App)
	}
	return fmt.Errorf("no turn of the app %q is counted in this time; there are those of %s", app, strings.Join(ids[:min(len(ids), 10)], ", "))
}
