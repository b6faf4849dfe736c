package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toolbelt/internal/learn"
	"toolbelt/internal/sqlite"
)

func newMemoryCommand(p Process) *cobra.Command {
	cmd := group("memory", "See and erase what was learned from use", newMemoryStatsCommand(p), newMemoryEraseCommand(p))
	cmd.Long = `What users said before a tool was called, and which tool followed which, teach the daemon which tools a request wants. It is
kept in the daemon's database, for the user who runs it alone to read. TOOLBELT_LEARN=off keeps nothing of it.`
	cmd.Example = `  toolbelt memory stats
  toolbelt memory erase --tool send_mail
  toolbelt memory erase --all`
	return cmd
}

// withMemory opens the database for the time of run.
func withMemory(cmd *cobra.Command, p Process, run func(ctx context.Context, store learn.Store) error) error {
	return withDatabase(cmd, p, func(db *sqlite.DB, _ *slog.Logger) error { return run(cmd.Context(), db) })
}

func newMemoryEraseCommand(p Process) *cobra.Command {
	tool, all := "", false
	cmd := &cobra.Command{
		Use:   "erase --all | --tool NAME",
		Short: "Erase what was learned, of one tool or of all",
		Long: `Erase what was learned of one tool, by its exact name, or of all: the requests kept, their vectors, and which tool followed which. A
running daemon forgets it too, within moments.`,
		Example: `  toolbelt memory erase --tool send_mail
  toolbelt memory erase --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all == (tool != "") {
				return &usageError{errors.New("give --all or --tool NAME, one of them: what is to be erased?")}
			}
			return withMemory(cmd, p, func(ctx context.Context, store learn.Store) error {
				erased, err := store.EraseLearned(ctx, tool)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.Stdout, "erased %d examples and %d habits\n", erased.Examples, erased.Follows)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "", "`name` of the tool to forget")
	cmd.Flags().BoolVar(&all, "all", false, "forget everything that was learned")
	addSettings(cmd, "db")
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
}

func newMemoryStatsCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count what was learned of each tool",
		Example: "  toolbelt memory stats --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withMemory(cmd, p, func(ctx context.Context, store learn.Store) error {
				kept, err := store.Learned(ctx)
				if err != nil {
					return err
				}
				stats := countMemory(kept)
				if asJSON {
					return printJSON(p.Stdout, stats)
				}
				return printMemory(p.Stdout, stats)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "db")
	return cmd
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
	if stats.Examples+stats.Habits == 0 {
		_, err := fmt.Fprintln(w, "nothing was learned yet")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tEXAMPLES\tHITS\tFAILS\tHABITS")
	for _, t := range stats.Tools {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", t.Tool, t.Examples, t.Hits, t.Fails, t.Habits)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d examples and %d habits of %d apps\n", stats.Examples, stats.Habits, stats.Apps)
	return err
}
