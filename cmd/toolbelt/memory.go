package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toolbelt/internal/learn"
	"toolbelt/internal/sqlite"
	"toolbelt/skills/runs"
)

func newMemoryCommand(p Process) *cobra.Command {
	cmd := group("memory", "See and erase what was learned from use", newMemoryStatsCommand(p), newMemoryEraseCommand(p),
		newMemoryExportCommand(p), newMemoryImportCommand(p), newMemorySwitchCommand(p, "off", false), newMemorySwitchCommand(p, "on", true))
	cmd.Long = `What users said before a tool was called, which tool followed which, and which calls a job took, teach the daemon which tools a
request wants, and become skills ("toolbelt skills learn"). It is kept in the daemon's database, for the user who runs it alone to read.
TOOLBELT_LEARN=off keeps nothing of it; while memory is off nothing at all is read or written, and every tool is visible.`
	cmd.Example = `  toolbelt memory stats
  toolbelt memory export --to backup.jsonl
  toolbelt memory erase --tool send_mail
  toolbelt memory erase --since 2026-05-01 --until 2026-05-03
  toolbelt memory erase --all`
	return cmd
}

// toolMemory is what was learned of one tool, in all apps and contents.
type toolMemory struct {
	Tool     string `json:"tool"`
	Examples int    `json:"examples"`
	Hits     int    `json:"hits"`
	Fails    int    `json:"fails"`
	Habits   int    `json:"habits"` // pairs with a tool before or after
}

// memoryStats is what "memory stats --json" prints.
type memoryStats struct {
	Apps     int          `json:"apps"`
	Examples int          `json:"examples"`
	Habits   int          `json:"habits"`
	Tools    []toolMemory `json:"tools"`

	Observed runs.Stats `json:"observed"`
}

func newMemoryStatsCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count what was learned of each tool",
		Example: "  toolbelt memory stats --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd, p, openKept, func(db *sqlite.DB, _ *slog.Logger) error {
				kept, err := db.Learned(cmd.Context())
				if err != nil {
					return err
				}
				stats := countMemory(kept)
				if stats.Observed, err = db.MemoryStats(cmd.Context()); err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.Stdout, stats)
				}
				return printMemory(p.Stdout, stats)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}

func countMemory(kept learn.Kept) memoryStats {
	apps, tools := map[string]bool{}, map[string]*toolMemory{}
	of := func(app, name string) *toolMemory {
		apps[app] = true
		if tools[name] == nil {
			tools[name] = &toolMemory{Tool: name}
		}
		return tools[name]
	}
	for _, e := range kept.Examples {
		t := of(e.App, e.Tool)
		t.Examples++
		t.Hits += e.Hits
		t.Fails += e.Fails
	}
	for _, f := range kept.Follows {
		of(f.App, f.To).Habits++
		if f.From != "" && f.From != f.To {
			of(f.App, f.From).Habits++
		}
	}
	stats := memoryStats{Apps: len(apps), Examples: len(kept.Examples), Habits: len(kept.Follows), Tools: []toolMemory{}}
	for _, t := range tools {
		stats.Tools = append(stats.Tools, *t)
	}
	slices.SortFunc(stats.Tools, func(a, b toolMemory) int { return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(a.Tool, b.Tool)) })
	return stats
}

func printMemory(w io.Writer, stats memoryStats) error {
	if stats.Examples+stats.Habits+stats.Observed.Runs+stats.Observed.Skills == 0 {
		_, err := fmt.Fprintln(w, "nothing was learned yet")
		return err
	}
	o := stats.Observed
	fmt.Fprintf(w, "%s (%d succeeded, %d failed, %d without an end), %s, %d of them learned\n", count(o.Runs, "run"), o.Succeeded, o.Failed, o.Open, count(o.Skills, "skill"), o.Learned)
	if stats.Examples+stats.Habits == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tEXAMPLES\tHITS\tFAILS\tHABITS")
	for _, t := range stats.Tools {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", t.Tool, t.Examples, t.Hits, t.Fails, t.Habits)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s and %s of %s\n", count(stats.Examples, "example"), count(stats.Habits, "habit"), count(stats.Apps, "app"))
	return err
}
