package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/config"
	"toolbelt/internal/session"
	"toolbelt/internal/telemetry"
)

func newReportCommand(p Process) *cobra.Command {
	since, app, out, asJSON := "", "", "", false
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Say what selection does on your own requests, or would do in shadow mode",
		Long: `Say what selection did on the requests that this daemon saw, and in shadow mode what it would have done: the share of the tools called
that were visible, the tokens and the time that are saved, which tools were missed, which should be in CORE, and what to do next.

In shadow mode (TOOLBELT_MODE=shadow) every request goes on byte for byte and the list is only noted, so a day of it changes nothing
and shows every miss. In mode on a miss is seen only where the model asked for the tool or called it anyway.

Each app stands with the protocol that it speaks, the product of its User-Agent, and the tools that it calls most or that its first request
began with; --app takes its id, the beginning of the id, or that product.

The daemon counts for 90 days, at most 50,000 turns, in its database: numbers, and names of models and of tools called, nothing that
anybody said. TOOLBELT_LEARN=off keeps the numbers without the tools' names, TOOLBELT_MEMORY=off keeps nothing. Tokens of tools are
estimated from their bytes, tokens saved from what the engine said that it read, and time from the pace at which it did, and from how much
slower it reads what stands late in a prompt where prompts of different lengths tell that. A daemon may run while this reads its database.`,
		Example: `  toolbelt report
  toolbelt report --since 24h
  toolbelt report --since 4w --app open-webui --json
  toolbelt report --app 3f2a --out report`,
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
			report, err := readReport(cmd.Context(), p, cfg, from, telemetry.Filter{From: now.Add(-span), Until: now.Add(time.Second), App: app})
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeReport(absolute(p, out), report, cfg.Selection.Core); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(p.Stdout, documentOf(report, cfg.Selection.Core))
			}
			return printReport(p.Stdout, report, cfg.Selection.Core)
		},
	}
	cmd.Flags().StringVar(&since, "since", "7d", "how far back: a `time` such as 90m, 24h, 7d or 4w")
	cmd.Flags().StringVar(&app, "app", "", "one app alone: the `id` that this report shows, its beginning, or the User-Agent's product")
	cmd.Flags().StringVar(&out, "out", "", "`folder` for report.json, report.md and report.html")
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

// appReport is a report, and what its apps can be told by.
type appReport struct {
	telemetry.Report
	Labels map[string]session.Label // by id
}

// readReport reads the turns that f chooses. f.App is an id, the beginning of one, or the product of a User-Agent. Where there is no database yet there
// are no turns, and none is made.
func readReport(ctx context.Context, p Process, cfg config.Config, from config.Provenance, f telemetry.Filter) (appReport, error) {
	db, err := openKept(ctx, p, cfg, from, warnings(p, cfg))
	if err != nil {
		return appReport{}, err
	}
	defer db.Close()
	app := f.App
	f.App = ""
	turns, err := db.Turns(ctx, f)
	if err != nil {
		return appReport{}, err
	}
	report := telemetry.Summarize(turns, f)
	labels, err := labelsOf(ctx, db, turns)
	if err != nil {
		return appReport{}, err
	}
	if app == "" || len(turns) == 0 {
		return appReport{report, labels}, nil
	}
	if f.App, err = chooseApp(app, report.Apps, labels); err != nil {
		return appReport{}, err
	}
	turns = slices.DeleteFunc(turns, func(t telemetry.Turn) bool { return t.App != f.App })
	return appReport{telemetry.Summarize(turns, f), labels}, nil
}
