package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"toolbelt/internal/telemetry"
)

// printReport prints the report for a person.
func printReport(w io.Writer, r telemetry.Report, core []string) error {
	span := r.Until.Sub(r.From).Round(time.Minute)
	if len(r.Modes) == 0 {
		_, err := fmt.Fprintf(w, "No turn was counted in the last %s.\n%s\n", spanText(span), telemetry.NoData)
		return err
	}
	fmt.Fprintf(w, "The last %s.\n", spanText(span))
	if len(r.Apps) > 1 {
		for _, a := range r.Apps[:min(len(r.Apps), 10)] {
			fmt.Fprintf(w, "app %s: %d turns in %d conversations\n", a.App, a.Turns, a.Sessions)
		}
	}
	for _, m := range r.Modes {
		if err := printMode(w, m); err != nil {
			return err
		}
	}
	if err := printMissed(w, r.Missed); err != nil {
		return err
	}
	if err := printCore(w, r, core); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nWhat to do next")
	for _, sentence := range r.Advice(core) {
		fmt.Fprintf(w, "- %s\n", sentence)
	}
	return nil
}

// words are what a mode's figures are said with.
type words struct{ title, visible, saved string }

func wordsOf(mode string) words {
	if mode == telemetry.Shadow {
		return words{"Shadow: every request went on as it came; this is what selection would have done", "would have been visible", "would be saved"}
	}
	return words{"On: the engine got the visible tools", "were visible without being asked for", "saved"}
}

func printMode(w io.Writer, m telemetry.Mode) error {
	say := wordsOf(m.Mode)
	fmt.Fprintf(w, "\n%s\n", say.title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("turns", "%d in %d conversations, %d with a list%s", m.Turns, m.Sessions, m.Lists(), fallbackText(m.Fallbacks))
	switch share, low, high := m.Recall.Share(); {
	case m.Lists() == 0:
	case m.Recall.Calls == 0:
		row("recall", "no tool was called yet")
	default:
		row("recall", "%.1f %% of %d tools called %s (95 %% interval %.1f to %.1f)", 100*share, m.Recall.Calls, say.visible, 100*low, 100*high)
		row("", "%d hidden when called, %d visible since the model asked for them", m.Recall.Misses, m.Recall.Asked)
	}
	if m.Lists() > 0 {
		row("tools", "%.1f a turn, %.1f of them visible", m.Tools.Offered, m.Tools.Visible)
		row("their tokens", "%.0f a turn, %.0f of them visible (estimated); %d hidden in all", m.Tools.OfferedTokens, m.Tools.VisibleTokens, m.Tools.HiddenTokens)
		printSaving(row, m, say)
	}
	return table.Flush()
}

func printSaving(row func(name, format string, args ...any), m telemetry.Mode, say words) {
	s := m.Saving
	if s.Judged == 0 {
		row(say.saved, "not known: the engine does not say how much of a prompt it reads, or has not yet")
		return
	}
	row(say.saved, "about %d tokens of reading on %d turns (estimated; %d lost on turns whose list changed are taken off)", s.Tokens, s.Judged, -s.Price)
	if s.Unjudged > 0 {
		row("", "turns that could not be judged, since the answer did not say enough: %d", s.Unjudged)
	}
	if !s.Timed {
		row("time", "not known: the engine does not say how long it reads")
		return
	}
	var rates []string
	for _, model := range slices.Sorted(maps.Keys(m.PerSecond)) {
		rates = append(rates, fmt.Sprintf("%s reads %.0f tokens a second", model, m.PerSecond[model]))
	}
	row("time", "about %s (estimated: %s)", s.Time.Round(100*time.Millisecond), strings.Join(rates, ", "))
}

func fallbackText(reasons map[string]int) string {
	if len(reasons) == 0 {
		return ""
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%s %d", reason, reasons[reason]))
	}
	return ", the others with every tool (" + strings.Join(parts, ", ") + ")"
}

// maxMissedShown is how many of the missed tools a person wants to see.
const maxMissedShown = 20

func printMissed(w io.Writer, missed []telemetry.Missed) error {
	if len(missed) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nHidden when they were called")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  TOOL\tMISSES\tTURNS THAT CALLED IT")
	for _, m := range missed[:min(len(missed), maxMissedShown)] {
		fmt.Fprintf(table, "  %s\t%d\t%d\n", printable(m.Tool), m.Misses, m.Calls)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(missed) - maxMissedShown; more > 0 {
		fmt.Fprintf(w, "  and %d others\n", more)
	}
	return nil
}

func printCore(w io.Writer, r telemetry.Report, core []string) error {
	if len(r.Core) == 0 {
		return nil
	}
	fmt.Fprintln(w, "\nTools for CORE: used in 30 % of an app's conversations or more, or missed often")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  TOOL\tCONVERSATIONS\tSHARE\tMISSES\t")
	for _, c := range r.Core {
		configured := ""
		if slices.Contains(core, c.Tool) {
			configured = "configured"
		}
		fmt.Fprintf(table, "  %s\t%d\t%.0f %%\t%d\t%s\n", printable(c.Tool), c.Sessions, 100*c.Share, c.Misses, configured)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "In toolbelt.yaml:\n%s\n", telemetry.CoreYAML(r.CoreWith(core)))
	return err
}

// printable is a tool's name as a terminal can show it: control characters are escaped.
func printable(name string) string {
	quoted := fmt.Sprintf("%q", name)
	if inner := quoted[1 : len(quoted)-1]; inner != name {
		return quoted
	}
	return name
}

// spanText is a time in the largest unit that divides it.
func spanText(span time.Duration) string {
	for _, unit := range []struct {
		name string
		one  time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := span / unit.one; n > 0 && span%unit.one == 0 {
			if n == 1 {
				return unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return span.String()
}
