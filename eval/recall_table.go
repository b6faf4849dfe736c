package eval

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the report for a terminal.
func (r *RecallReport) WriteTable(w io.Writer) error {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, section := range r.sections() {
		fmt.Fprintln(table, strings.ToUpper(strings.Join(section.head, "\t")))
		for _, row := range section.rows {
			fmt.Fprintln(table, strings.Join(row, "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		out.WriteByte('\n')
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	if r.Partial != "" {
		fmt.Fprintf(&out, "NOT COMPLETE: %s\n", r.Partial)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// WriteMarkdown writes the report as a Markdown document, misses included.
func (r *RecallReport) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# Tool selection, measured\n\n%s\n", r.Settings)
	if r.Partial != "" {
		fmt.Fprintf(&out, "\n**Not complete:** %s\n", markdown(r.Partial))
	}
	for _, section := range r.sections() {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| %s |\n|%s\n", section.title, section.about, strings.Join(section.head, " | "), strings.Repeat("---|", len(section.head)))
		for _, row := range section.rows {
			for i := range row {
				row[i] = markdown(row[i])
			}
			fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		}
	}
	for _, row := range r.Rows {
		if len(row.Misses) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n## Misses of %s\n", row.Set)
		for _, m := range row.Misses {
			fmt.Fprintf(&out, "\n- %s: “%s”\n  - needed: %s\n  - instead: %s\n", markdown(m.Case), markdown(m.Text), markdown(m.needs()), markdown(strings.Join(m.Instead, ", ")))
		}
	}
	if len(r.Notes) > 0 {
		out.WriteString("\n## Notes\n\n")
		for _, note := range r.Notes {
			fmt.Fprintf(&out, "- %s\n", markdown(note))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// String says what was measured, in a sentence.
func (s Settings) String() string {
	replay := ""
	for _, way := range []struct {
		on   bool
		name string
	}{{s.History, "calls written into history"}, {s.Long, "conversations joined to 30 turns"}, {s.Learn, "the first half only learnt from"}} {
		if way.on {
			replay += "; " + way.name
		}
	}
	return fmt.Sprintf("Cases %s, embedder %s, cap %d, seed %d%s.", s.Cases, s.Embedder, s.Cap, s.Seed, replay)
}

// needs lists the needed tools with their ranks.
func (m Miss) needs() string {
	var parts []string
	for _, n := range m.Needed {
		rank := "not in the catalog"
		if n.Rank > 0 {
			rank = "rank " + strconv.Itoa(n.Rank)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", n.Name, rank))
	}
	return strings.Join(parts, ", ")
}

// markdown keeps what users wrote from being read as markup.
func markdown(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "`", "'", "\n", " ").Replace(text)
}

// section is one table of the report.
type section struct {
	title, about string
	head         []string
	rows         [][]string
}

func (r *RecallReport) sections() []section {
	list := []section{r.recallSection()}
	if s := r.shortfallSection(); len(s.rows) > 0 {
		list = append(list, s)
	}
	if s := r.reviewSection(); len(s.rows) > 0 {
		list = append(list, s)
	}
	if len(r.Replay) > 0 {
		list = append(list, r.replaySection())
	}
	if s := r.restraintSection(); len(s.rows) > 0 {
		list = append(list, s)
	}
	if s := r.keepingSection(); len(s.rows) > 0 {
		list = append(list, s)
	}
	if len(r.Scale) > 0 {
		list = append(list, r.scaleSection())
	}
	return list
}

func (r *RecallReport) recallSection() section {
	s := section{
		title: "Ranking", about: "Each case alone. all@k: share of cases with every needed tool among the first k. ±: half of the 95 % interval of the last recall. floor: tools let through on turns that need one, and on turns that need none; in brackets how well the best match tells the two apart, 0.5 being chance.",
		head: []string{"set", "method", "embedder", "tools", "cases"},
	}
	last := ""
	for _, k := range r.Settings.Ks {
		last = strconv.Itoa(k)
		s.head = append(s.head, "R@"+last)
	}
	s.head = append(s.head, "±", "all@"+last, "nDCG@5", "MRR", "plan p50/p95 µs", "floor")
	for _, row := range append(r.Rows[:len(r.Rows):len(r.Rows)], r.Mean...) {
		cells := []string{row.Set, row.Method, dash(row.Embedder), count(row.Tools), strconv.Itoa(row.Cases)}
		for _, k := range r.Settings.Ks {
			cells = append(cells, share(row.Recall[strconv.Itoa(k)]))
		}
		margin, plan, floor := "–", "–", "–"
		if in, ok := row.Intervals.Recall[last]; ok {
			margin = share((in[1] - in[0]) / 2)
		}
		if row.PlanUS != nil {
			plan = fmt.Sprintf("%.0f/%.0f", row.PlanUS.P50, row.PlanUS.P95)
		}
		if f := row.Floor; f != nil {
			floor = fmt.Sprintf("%.1f", f.Over)
			if f.None > 0 {
				floor += fmt.Sprintf("/%.1f (%.2f)", f.OverNone, f.Apart)
			}
		}
		s.rows = append(s.rows, append(cells, margin, share(row.AllFound[last]), share(row.NDCG5), share(row.MRR), plan, floor))
	}
	return s
}

func (r *RecallReport) shortfallSection() section {
	s := section{
		title: "What was missed", about: "Needed tools that are not among the first of the largest k. twin: one that says the same stands there. unnamed: it shares no word with the messages. far: no nearer to the request than half of all tools. silent: both. found, unnamed: for comparison, the tools that were found without a word in common.",
		head: []string{"set", "needed", "missed", "absent", "twin", "unnamed", "far", "silent", "found, unnamed"},
	}
	for _, row := range r.Rows {
		if f := row.Shortfall; f != nil && f.Missed > 0 {
			cells := []string{row.Set}
			for _, n := range []int{f.Needed, f.Missed, f.Absent, f.Twin, f.Unnamed, f.Far, f.Silent} {
				cells = append(cells, strconv.Itoa(n))
			}
			s.rows = append(s.rows, append(cells, fmt.Sprintf("%d of %d", f.FoundUnnamed, f.Needed-f.Missed)))
		}
	}
	return s
}

func (r *RecallReport) replaySection() section {
	s := section{
		title: "Replay", about: "Conversations turn by turn. visible: share of the needed tools that is visible when the model is called; lost: estimated tokens of the list before that an engine must evaluate again.",
		head: []string{"set", "method", "embedder", "cap", "cases", "visible", "±", "all", "changes", "tools", "tokens", "admitted if none needed", "longest", "evicted", "lost"},
	}
	for _, row := range r.Replay {
		if row.GivenUp != nil { // it has a table of its own
			continue
		}
		none := "–"
		if row.AdmittedWhenNone != nil {
			none = fmt.Sprintf("%.2f", *row.AdmittedWhenNone)
		}
		s.rows = append(s.rows, []string{
			row.Set, row.Method, dash(row.Embedder), strconv.Itoa(row.Cap), strconv.Itoa(row.Cases), share(row.VisibleRecall), share((row.VisibleInterval[1] - row.VisibleInterval[0]) / 2), share(row.AllVisible),
			fmt.Sprintf("%.2f", row.ChangesPerTurn), fmt.Sprintf("%.1f", row.ToolsPerTurn), fmt.Sprintf("%.0f", row.TokensPerTurn), none,
			strconv.Itoa(row.LongestList), fmt.Sprintf("%.2f", row.EvictedPerTurn), fmt.Sprintf("%.0f", row.PrefixLostPerTurn),
		})
	}
	return s
}

func (r *RecallReport) scaleSection() section {
	s := section{title: "Scale", about: "Generated catalogs, builtin embedder.", head: []string{"tools", "prepare ms", "select p50/p95 µs", "plan p50/p95 µs"}}
	for _, p := range r.Scale {
		s.rows = append(s.rows, []string{
			strconv.Itoa(p.Tools), fmt.Sprintf("%.0f", p.PrepareMS), fmt.Sprintf("%.0f/%.0f", p.SelectUS.P50, p.SelectUS.P95), fmt.Sprintf("%.0f/%.0f", p.PlanUS.P50, p.PlanUS.P95),
		})
	}
	return s
}

func share(x float64) string { return fmt.Sprintf("%.3f", x) }

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func count(n int) string {
	if n == 0 {
		return "–"
	}
	return strconv.Itoa(n)
}
