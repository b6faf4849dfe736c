package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"toolbelt/embed"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/synth"
)

// synthesis is what learning skills works with, on one database.
func synthesis(db *sqlite.DB, library *skills.Library, builtin embed.Embedder, log *slog.Logger) synth.Parts {
	return synth.Parts{History: db, Shelf: library, Archive: db, Embedder: builtin, Log: log}
}

func newSkillsLearnCommand(p Process) *cobra.Command {
	dryRun, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "Learn skills from what was done here",
		Long: `Look through the runs that the daemon observed: what users asked for and the tools that were called for it. What was done at least three
times, with three calls or more and success in four of five runs, by about the same tools, becomes a skill. A skill that is done otherwise by now is
superseded, never deleted; what a user wrote, edited, disabled or removed stays as it is. The daemon does the same in the background. --dry-run changes
nothing and says what would be done.`,
		Example: `  toolbelt skills learn --dry-run
  toolbelt skills learn --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, from, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			if !cfg.Selection.Learn {
				return fmt.Errorf("learning is off (%s): nothing that users said is read; --learn on allows it for this time", from.Origins["learn"])
			}
			open := openToWrite
			if dryRun {
				open = openToTry
			}
			return withSkillsAndDatabase(cmd, p, open, func(ctx context.Context, db *sqlite.DB, library *skills.Library) error {
				builtin, err := embed.NewBuiltin()
				if err != nil {
					return err
				}
				parts := synthesis(db, library, builtin, nil)
				report, err := parts.Look(ctx)
				if err != nil {
					return err
				}
				done := report.Proposals
				if !dryRun {
					if done, err = synth.Apply(ctx, library, report.Proposals); err != nil {
						return err
					}
				}
				if asJSON {
					return printJSON(p.Stdout, learned{report, done, dryRun})
				}
				return printLearned(p.Stdout, learned{report, done, dryRun})
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	addSettings(cmd, "db", "memory", "learn")
	return cmd
}

// learned is what "skills learn --json" prints: the pass, and what was put into effect.
type learned struct {
	synth.Report
	Done   []synth.Proposal `json:"done"`
	DryRun bool             `json:"dry_run"`
}

func printLearned(w io.Writer, l learned) error {
	if l.Fit == 0 {
		_, err := fmt.Fprintf(w, "nothing to learn from yet: %d runs were observed, none of them with three calls or more and an end\n", l.Runs)
		return err
	}
	fmt.Fprintf(w, "%d runs, %d of them long enough, in %d groups\n", l.Runs, l.Fit, l.Groups)
	verbs := map[synth.Action]string{synth.Add: "learned", synth.Supersede: "learned", synth.Return: "enabled", synth.Leave: "left"}
	if l.DryRun {
		verbs = map[synth.Action]string{synth.Add: "would learn", synth.Supersede: "would learn", synth.Return: "would enable", synth.Leave: "would leave"}
	}
	for _, proposal := range l.Proposals {
		name := proposal.Procedure.Name
		if proposal.Action == synth.Return || proposal.Action == synth.Leave && proposal.Existing != "" {
			name = proposal.Existing
		}
		fmt.Fprintf(w, "%s %s: %s", verbs[proposal.Action], name, proposal.Why)
		if proposal.Action == synth.Add || proposal.Action == synth.Supersede {
			fmt.Fprintf(w, "; tools %s", strings.Join(proposal.Procedure.ToolsRequired, ", "))
		}
		fmt.Fprintln(w)
	}
	if l.More > 0 {
		fmt.Fprintf(w, "%d more groups are left to the next time\n", l.More)
	}
	return nil
}

func newSkillsWhyCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "why NAME [MESSAGE]",
		Short: "Say where a skill comes from, how it does, and whether a message recalls it",
		Example: `  toolbelt skills why weekly-report
  toolbelt skills why weekly-report "send Martha the report of the week"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("got %d arguments, allowed are a skill's name and a message", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkillsAndDatabase(cmd, p, openKept, func(ctx context.Context, db *sqlite.DB, _ *skills.Library) error {
				builtin, err := embed.NewBuiltin()
				if err != nil {
					return err
				}
				library, err := skills.Open(ctx, skills.Parts{Store: db, Local: builtin, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					return err
				}
				message := ""
				if len(args) == 2 {
					if message = strings.TrimSpace(args[1]); message == "" {
						return &usageError{errors.New("the message is empty: what does the user say?")}
					}
				}
				why, err := library.Why(ctx, args[0], message)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.Stdout, why)
				}
				for _, line := range why.Lines() {
					fmt.Fprintln(p.Stdout, line)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}
