package eval

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// columns are a row's figures for people.
func (r SkillsRow) columns() []string {
	share := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *x)
	}
	return []string{
		r.Set, fmt.Sprint(r.Tools), fmt.Sprint(r.Turns), fmt.Sprint(r.Jobs), fmt.Sprintf("%.1f", r.Procedures), fmt.Sprintf("%.3f", r.Recalled),
		share(r.Precision), fmt.Sprintf("%.3f", r.Coverage), fmt.Sprintf("%.3f", r.OfJobs.Without), fmt.Sprintf("%.3f", r.OfJobs.With), share(r.OfJobs.Closed),
		fmt.Sprintf("%.3f", r.All.Without), fmt.Sprintf("%.3f", r.All.With), share(r.All.Closed), fmt.Sprintf("%.4f", r.Harmed), fmt.Sprintf("%.4f", r.Worst),
	}
}

func skillsHeads() []string {
	return []string{"SET", "TOOLS", "TURNS", "JOBS", "SKILLS", "RECALLED", "PRECISION", "COVERAGE", "JOBS WITHOUT", "WITH", "CLOSED", "ALL WITHOUT", "WITH", "CLOSED", "HARMED", "WORST"}
}

// WriteTable writes the report for people who read it in a terminal.
func (r *SkillsReport) WriteTable(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		fmt.Fprintln(table, strings.Join(skillsHeads(), "\t"))
	}
	for _, row := range r.Rows {
		fmt.Fprintln(table, strings.Join(row.columns(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, t := range r.Times {
		if _, err := fmt.Fprintf(w, "recall among %d: %.0f µs (p50), %.0f µs (p95); the best is that of a full search in %.1f %%\n", t.Procedures, t.RecallUS.P50, t.RecallUS.P95, 100*t.Agree); err != nil {
			return err
		}
	}
	if r.Partial != "" {
		_, err := fmt.Fprintln(w, "not finished:", r.Partial)
		return err
	}
	return nil
}

// WriteMarkdown writes the report as a page.
func (r *SkillsReport) WriteMarkdown(w io.Writer) error {
	s := r.Settings
	text := &strings.Builder{}
	fmt.Fprintf(text, "# What remembering jobs gains\n\nCap %d, %d folds, floor %.1f, at most %d procedures a turn, embedder %s. WITHOUT and WITH are the shares of turns on which every needed tool is visible; "+
		"jobs are turns of three calls or more; HARMED is the share of turns on which a needed tool lost its place, WORST that share in the worst of the %d ways to part a set.\n\n", s.Cap, s.Folds, s.Floor, s.Recalled, s.Embedder, s.Ways)
	fmt.Fprintf(text, "| %s |\n|%s\n", strings.Join(skillsHeads(), " | "), strings.Repeat("---|", len(skillsHeads())))
	for _, row := range r.Rows {
		fmt.Fprintf(text, "| %s |\n", strings.Join(row.columns(), " | "))
	}
	if len(r.Times) > 0 {
		fmt.Fprint(text, "\n| procedures | recall µs p50 | p95 | agrees with a full search |\n|---|---|---|---|\n")
	}
	for _, t := range r.Times {
		fmt.Fprintf(text, "| %d | %.0f | %.0f | %.3f |\n", t.Procedures, t.RecallUS.P50, t.RecallUS.P95, t.Agree)
	}
	if r.Partial != "" {
		fmt.Fprintf(text, "\nNot finished: %s\n", r.Partial)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
