package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"toolbelt/internal/telemetry"
)

// printReport prints the report for a person.
func printReport(w io.Writer, r appReport, core []string) error {
	span := r.Until.Sub(r.From).Round(time.Minute)
	if len(r.Modes) == 0 {
		_, err := fmt.Fprintf(w, "No turn was counted in the last %s.\n%s\n", spanText(span), telemetry.NoData)
		return err
	}
	fmt.Fprintf(w, "The last %s.\n", spanText(span))
	for _, a := range r.Apps[:min(len(r.Apps), 10)] {
		fmt.Fprintf(w, "app %s: %s in %s\n", labelText(r.Labels[a.App]), count(a.Turns, "turn"), count(a.Sessions, "conversation"))
	}
	for _, m := range r.Modes {
		if err := printMode(w, m); err != nil {
			return err
		}
	}
	if err := printMissed(w, r.Missed); err != nil {
		return err
	}
	if err := printCore(w, r.Report, core); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", nextTitle)
	for _, sentence := range r.Advice(core) {
		fmt.Fprintf(w, "- %s\n", sentence)
	}
	return nil
}

// What the tables are called.
const (
	nextTitle   = "What to do next"
	missedTitle = "Hidden when they were called"
	coreTitle   = "Tools for CORE"
	coreAbout   = "used in 30 % of an app's conversations or more, or missed often"
)

// words are what a mode's figures are said with.
type words struct{ title, visible, saved string }

func wordsOf(mode string) words {
	if mode == telemetry.Shadow {
		return words{"Shadow: every request went on as it came; this is what selection would have done", "would have been visible", "would be saved"}
	}
	return words{"On: the engine got the visible tools", "were visible without being asked for", "saved"}
}

func printMode(w io.Writer, m telemetry.Mode) error {
	fmt.Fprintf(w, "\n%s\n", wordsOf(m.Mode).title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range modeRows(m) {
		fmt.Fprintf(table, "  %s\t%s\n", row[0], row[1])
	}
	return table.Flush()
}

// modeRows are a mode's figures: each has a name, or none where it goes on with the one before, and what is said of it.
func modeRows(m telemetry.Mode) [][]string {
	say := wordsOf(m.Mode)
	var rows [][]string
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	row("turns", "%d in %s, %d with a list%s", m.Turns, count(m.Sessions, "conversation"), m.Lists(), fallbackText(m.Fallbacks))
	switch share, low, high := m.Recall.Share(); {
	case m.Lists() == 0:
	case m.Recall.Calls == 0:
		row("recall", "no tool was called yet")
	default:
		row("recall", "%.1f %% of %s called %s (95 %% interval %.1f to %.1f)", 100*share, count(m.Recall.Calls, "tool"), say.visible, 100*low, 100*high)
		row("", "%d hidden when called%s, %d visible since the model asked for them", m.Recall.Misses, writtenText(m.Recall.Written), m.Recall.Asked)
	}
	if m.Lists() > 0 {
		row("tools", "%.1f a turn, %.1f of them visible", m.Tools.Offered, m.Tools.Visible)
		row("their tokens", "%.0f a turn, %.0f of them visible (estimated); %d hidden in all", m.Tools.OfferedTokens, m.Tools.VisibleTokens, m.Tools.HiddenTokens)
		hiddenRows(row, m.Hidden)
		savingRows(row, m, say)
	}
	return rows
}

func writtenText(written int) string {
	if written == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d in writing, which the engine took for text)", written)
}

// hiddenRows tell what clients saw nothing of, where there was any.
func hiddenRows(row func(name, format string, args ...any), h telemetry.HiddenTurns) {
	if h.Turns == 0 {
		return
	}
	row("hidden turns", "on %d of the turns; calls of load_tools and tool_search answered: %d, guesses after the engine had dropped a call: %d", h.Turns, h.Asked, h.Guesses)
	row("", "they cost %s of reading and %d of generating", count(h.Evaluated, "token"), h.Generated)
}

func savingRows(row func(name, format string, args ...any), m telemetry.Mode, say words) {
	s := m.Saving
	if s.Judged == 0 {
		row(say.saved, "not known: the engine does not say how much of a prompt it reads, or has not yet")
		return
	}
	hidden := ""
	if s.Hidden < 0 {
		hidden = fmt.Sprintf(" and %d read for hidden turns", -s.Hidden)
	}
	row(say.saved, "about %s of reading on %s (estimated; %d lost on turns whose list changed%s are taken off)", count(s.Tokens, "token"), count(s.Judged, "turn"), -s.Price, hidden)
	if s.Unjudged > 0 {
		row("", "turns that could not be judged, since the answer did not say enough: %d", s.Unjudged)
	}
	if !s.Timed {
		row("time", "not known: the engine does not say how long it reads")
		return
	}
	var rates []string
	for _, model := range slices.Sorted(maps.Keys(m.PerSecond)) {
		rates = append(rates, fmt.Sprintf("%s reads %.0f tokens a second", printable(model), m.PerSecond[model]))
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
	fmt.Fprintf(w, "\n%s\n", missedTitle)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  TOOL\tMISSES\tTURNS THAT CALLED IT")
	for _, row := range missedRows(missed[:min(len(missed), maxMissedShown)]) {
		fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(missed) - maxMissedShown; more > 0 {
		fmt.Fprintf(w, "  and %s\n", count(more, "other"))
	}
	return nil
}

func missedRows(missed []telemetry.Missed) (rows [][]string) {
	for _, m := range missed {
		rows = append(rows, []string{printable(m.Tool), strconv.Itoa(m.Misses), strconv.Itoa(m.Calls)})
	}
	return rows
}

func printCore(w io.Writer, r telemetry.Report, core []string) error {
	if len(r.Core) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s: %s\n", coreTitle, coreAbout)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  TOOL\tCONVERSATIONS\tSHARE\tMISSES\t")
	for _, row := range coreRows(r.Core, core) {
		fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "In toolbelt.yaml:\n%s\n", telemetry.CoreYAML(r.CoreWith(core)))
	return err
}

func coreRows(tools []telemetry.CoreTool, core []string) (rows [][]string) {
	for _, c := range tools {
		configured := ""
		if slices.Contains(core, c.Tool) {
			configured = "configured"
		}
		rows = append(rows, []string{printable(c.Tool), strconv.Itoa(c.Sessions), fmt.Sprintf("%.0f %%", 100*c.Share), strconv.Itoa(c.Misses), configured})
	}
	return rows
}

// printable is a tool's or a model's name as a terminal can show it: control characters are escaped.
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
