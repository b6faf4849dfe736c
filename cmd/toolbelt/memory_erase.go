package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/internal/sqlite"
	"toolbelt/skills/runs"
)

// eraseFlags are the flags of memory erase as they were given.
type eraseFlags struct {
	all                     bool
	tool, session           string
	since, until            string
	asJSON                  bool
	toolGiven, sessionGiven bool
	sinceGiven, untilGiven  bool
}

func newMemoryEraseCommand(p Process) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase --all | [--tool NAME] [--session ID] [--since TIME] [--until TIME]",
		Short: "Erase what was learned: all, of one tool, of a session, of a span of time",
		Long: `Erase what was learned: the runs and requests kept, their vectors, which tool followed which, and the learned skills that they stand in. A skill that you
wrote or edited stays, without the requests that it was learned from. Several of --tool, --session, --since and --until together erase what all of
them are true of. A tool is named exactly (one that is not known here is an error); a session by its id ("curl …/toolbelt/v1/sessions" lists them); a time is a day (2026-05-01), a time
(2026-05-01T14:00:00Z) or a while ago (36h). A running daemon forgets it too, within moments.`,
		Example: `  toolbelt memory erase --tool send_mail
  toolbelt memory erase --session 3f2a9c41d07b
  toolbelt memory erase --since 2h
  toolbelt memory erase --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := cmd.Flags()
			f.toolGiven, f.sessionGiven, f.sinceGiven, f.untilGiven = flags.Changed("tool"), flags.Changed("session"), flags.Changed("since"), flags.Changed("until")
			filter, err := f.filter(time.Now())
			if err != nil {
				return &usageError{err}
			}
			return withDatabase(cmd, p, openKept, func(db *sqlite.DB, _ *slog.Logger) error {
				if err := f.known(cmd.Context(), db); err != nil {
					return err
				}
				erased, err := db.EraseMemory(cmd.Context(), filter)
				if err != nil {
					return err
				}
				if f.asJSON {
					return printJSON(p.Stdout, erased)
				}
				text := fmt.Sprintf("erased %s and %s, %s and %s", count(erased.Examples, "example"), count(erased.Habits, "habit"), count(erased.Runs, "run"), count(erased.Skills, "learned skill"))
				if erased.Kept > 0 {
					text += fmt.Sprintf("; %d learned skills that were edited stay, without the requests that they were learned from", erased.Kept)
				}
				_, err = fmt.Fprintln(p.Stdout, text)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "forget everything that was learned")
	cmd.Flags().StringVar(&f.tool, "tool", "", "`name` of the tool to forget")
	cmd.Flags().StringVar(&f.session, "session", "", "`id` of the session to forget")
	cmd.Flags().StringVar(&f.since, "since", "", "`time` from which on to forget")
	cmd.Flags().StringVar(&f.until, "until", "", "`time` before which to forget")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document")
	return skillsSettings(cmd)
}

// filter is what the flags choose.
func (f eraseFlags) filter(now time.Time) (runs.Filter, error) {
	some := f.toolGiven || f.sessionGiven || f.sinceGiven || f.untilGiven
	if f.all == some || f.toolGiven && f.tool == "" || f.sessionGiven && f.session == "" {
		return runs.Filter{}, errors.New("give --all or --tool NAME, --session ID, --since or --until: what is to be erased?")
	}
	filter := runs.Filter{Tool: f.tool, Session: f.session}
	for _, t := range []struct {
		flag, text string
		given      bool
		into       *time.Time
	}{{"--since", f.since, f.sinceGiven, &filter.From}, {"--until", f.until, f.untilGiven, &filter.Until}} {
		if !t.given {
			continue
		}
		at, err := parseTime(t.text, now)
		if err != nil {
			return runs.Filter{}, fmt.Errorf("%s is %q: it must be a day (2026-05-01), a time (2026-05-01T14:00:00Z) or a while ago (36h)", t.flag, t.text)
		}
		*t.into = at
	}
	if f.sinceGiven && f.untilGiven && !filter.From.Before(filter.Until) {
		return runs.Filter{}, fmt.Errorf("--since %s is not before --until %s", f.since, f.until)
	}
	return filter, nil
}

// known refuses a tool or a session that nothing is kept of, which is one that is not spelt as it is called.
func (f eraseFlags) known(ctx context.Context, db *sqlite.DB) error {
	for _, one := range []struct {
		what, name, where string
		given             bool
		list              func(context.Context) ([]string, error)
	}{
		{"tool", f.tool, "toolbelt memory stats", f.toolGiven, db.KnownTools},
		{"session", f.session, "toolbelt memory export", f.sessionGiven, db.KnownSessions},
	} {
		if !one.given {
			continue
		}
		names, err := one.list(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(names, one.name) {
			continue
		}
		hint := meant(one.name, names, printable)
		if hint == "" {
			hint = fmt.Sprintf("; %q shows those that are", one.where)
		}
		return fmt.Errorf("nothing was erased: no %s %q is known here%s", one.what, one.name, hint)
	}
	return nil
}

// parseTime reads a day in local time, a time, or how long ago.
func parseTime(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339, text)
}
