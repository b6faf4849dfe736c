package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"toolbelt/catalog"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
)

func newSkillsCommand(p Process) *cobra.Command {
	cmd := group("skills", "Keep remembered ways of doing a job",
		newSkillsAddCommand(p), newSkillsListCommand(p), newSkillsShowCommand(p),
		newSkillsSwitchCommand(p, "enable", "Let a skill be recalled again", true),
		newSkillsSwitchCommand(p, "disable", "Keep a skill without recalling it", false),
		newSkillsRemoveCommand(p), newSkillsEditCommand(p), newSkillsLearnCommand(p), newSkillsImportCommand(p), newSkillsExportCommand(p),
		newSkillsWhyCommand(p), newSkillsHistoryCommand(p))
	cmd.Long = `A skill is a remembered way to do a job. When a user asks for something that it fits, the tools which it requires are
visible from the start. Skills are added by hand, learned from what was done here, or imported from SKILL.md files. They are kept in the
daemon's database; a running daemon sees a change within moments.`
	cmd.Example = `  toolbelt skills add weekly-report --when "write the weekly report" --tools read_file,send_mail --body report.md
  toolbelt skills list
  toolbelt skills learn --dry-run
  toolbelt skills import my-skills.zip
  toolbelt skills why weekly-report "the report of the week, please"
  toolbelt skills disable weekly-report`
	return cmd
}

// withSkills opens what the database keeps for the time of run.
func withSkills(cmd *cobra.Command, p Process, run func(ctx context.Context, library *skills.Library) error) error {
	return withSkillsAndDatabase(cmd, p, openKept, func(ctx context.Context, _ *sqlite.DB, library *skills.Library) error { return run(ctx, library) })
}

// withSkillsAndDatabase opens the database with open for the time of run.
func withSkillsAndDatabase(cmd *cobra.Command, p Process, open databaseOpener, run func(ctx context.Context, db *sqlite.DB, library *skills.Library) error) error {
	return withDatabase(cmd, p, open, func(db *sqlite.DB, log *slog.Logger) error {
		library, err := skills.Open(cmd.Context(), skills.Parts{Store: db, Log: log})
		if err != nil {
			return err
		}
		return run(cmd.Context(), db, library)
	})
}

// skillsSettings gives cmd the flags that all skills commands share.
func skillsSettings(cmd *cobra.Command) *cobra.Command {
	addSettings(cmd, "db", "memory")
	return cmd
}

func newSkillsAddCommand(p Process) *cobra.Command {
	when, tools, body, replace := "", []string{}, "", false
	cmd := &cobra.Command{
		Use:   "add NAME --when TEXT --tools NAME,NAME",
		Short: "Remember a way to do a job",
		Long: `Remember a way to do a job: when to use it, in the words of somebody who asks for it, and the tools that it requires, the
most important first. The body, Markdown, is the steps; - reads them from standard input.`,
		Example: `  toolbelt skills add weekly-report --when "write the weekly report" --tools read_file,send_mail
  toolbelt skills add weekly-report --when "write the weekly report" --tools read_file --body - --replace < report.md`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if when == "" || len(tools) == 0 {
				return &usageError{errors.New("--when and --tools are needed: when to use the skill, and which tools it requires")}
			}
			s := skills.Procedure{Name: args[0], WhenToUse: when, ToolsRequired: trimmed(tools), Enabled: true}
			if body != "" {
				text, err := readInput(p, body, skills.MaxBodyBytes)
				if err != nil {
					return fmt.Errorf("reading the body: %w", err)
				}
				s.Body = string(text)
			}
			if err := s.Validate(); err != nil {
				return &usageError{err}
			}
			return withSkillsAndDatabase(cmd, p, openToWrite, func(ctx context.Context, _ *sqlite.DB, library *skills.Library) error {
				return addSkill(ctx, p.Stdout, library, s, replace)
			})
		},
	}
	cmd.Flags().StringVar(&when, "when", "", "when to use it, in a user's `words`")
	cmd.Flags().StringSliceVar(&tools, "tools", nil, "`names` of the tools that it requires, separated by commas")
	cmd.Flags().StringVar(&body, "body", "", "`file` with its steps, - for standard input")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the skill of this name")
	return skillsSettings(cmd)
}

func addSkill(ctx context.Context, w io.Writer, library *skills.Library, s skills.Procedure, replace bool) error {
	save := library.Add
	s.Origin.Kind = skills.Own
	if old, err := library.Show(ctx, s.Name); err == nil && replace {
		s.Enabled, s.Origin, s.Version, save = old.Enabled, old.Origin, old.Version, library.Save
	}
	saved, err := save(ctx, s)
	if catalog.KindOf(err) == catalog.Conflict {
		return fmt.Errorf("%w: give --replace to replace it", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "saved the skill %s, version %d\n", saved.Name, saved.Version)
	return err
}

func newSkillsListCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all skills",
		Example: "  toolbelt skills list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				list, err := library.List(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.Stdout, map[string]any{"skills": append([]skills.Procedure{}, list...)})
				}
				return printSkills(p.Stdout, list)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}

func printSkills(w io.Writer, list []skills.Procedure) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, `no skills; "toolbelt skills add --help" shows how to add one`)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	superseded := skills.Superseded(list)
	fmt.Fprintln(table, "SKILL\tSTATE\tORIGIN\tSUCCESSES\tTOOLS\tWHEN TO USE")
	for _, s := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", s.Name, stateOf(s, superseded), originOf(s), s.Successes, s.Attempts,
			strings.Join(s.ToolsRequired, ","), clip(strings.Join(strings.Fields(s.WhenToUse), " "), whenColumns))
	}
	return table.Flush()
}

func newSkillsShowCommand(p Process) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show one skill",
		Example: "  toolbelt skills show weekly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				s, err := library.Show(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(p.Stdout, s)
				}
				return printSkill(p.Stdout, s)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}

func printSkill(w io.Writer, s skills.Procedure) error {
	fmt.Fprintf(w, "%s, version %d, %s\nwhen to use: %s\ntools: %s\nsuccesses: %d of %d\norigin: %s\n", s.Name, s.Version, enabledWord(s.Enabled),
		s.WhenToUse, strings.Join(s.ToolsRequired, ", "), s.Successes, s.Attempts, originOf(s))
	for _, line := range []struct{ name, text string }{
		{"calls in order", strings.Join(s.ToolSequence, ", ")}, {"learned from", strings.Join(inQuotes(s.Examples), ", ")}, {"not for", strings.Join(inQuotes(s.NotFor), ", ")},
		{"superseded by", s.SupersededBy}, {"note", s.Note}, {"license", s.Origin.License}, {"read from", s.Origin.Path},
	} {
		if line.text != "" {
			fmt.Fprintf(w, "%s: %s\n", line.name, line.text)
		}
	}
	if s.Body != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimRight(s.Body, "\n"))
	}
	return nil
}

func newSkillsSwitchCommand(p Process, verb, short string, enabled bool) *cobra.Command {
	return skillsSettings(&cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Example: "  toolbelt skills " + verb + " weekly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				set := library.Disable
				if enabled {
					set = library.Enable
				}
				s, err := set(ctx, args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.Stdout, "the skill %s is %s\n", s.Name, enabledWord(s.Enabled))
				return err
			})
		},
	})
}

func newSkillsRemoveCommand(p Process) *cobra.Command {
	return skillsSettings(&cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget a skill",
		Example: "  toolbelt skills remove weekly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSkills(cmd, p, func(ctx context.Context, library *skills.Library) error {
				if err := library.Remove(ctx, args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.Stdout, "removed the skill %s\n", args[0])
				return err
			})
		},
	})
}

func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d names, allowed is one skill's name", len(args))
	}
	return nil
}

func trimmed(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

// whenColumns is how much of a skill's when_to_use a list shows.
const whenColumns = 80

// clip returns at most n runes of text.
func clip(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

func inQuotes(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", clip(s, whenColumns))
	}
	return out
}

func stateOf(s skills.Procedure, superseded map[string]bool) string {
	switch {
	case superseded[s.Name]:
		return "superseded"
	case !s.Enabled && s.Note != "":
		return "disabled*"
	}
	return enabledWord(s.Enabled)
}

func originOf(s skills.Procedure) string {
	kind := string(s.Origin.Kind)
	if kind == "" {
		kind = string(skills.Own)
	}
	if s.Origin.Edited {
		kind += ", edited"
	}
	return kind
}

func enabledWord(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}
