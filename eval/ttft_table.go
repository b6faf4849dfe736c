package eval

import (
	"fmt"
	"io"
	"slices"
	"strconv"
)

// WriteTable writes the report for a terminal.
func (r *TTFTReport) WriteTable(w io.Writer) error { return r.page().writeText(w) }

// WriteMarkdown writes the report as a Markdown document.
func (r *TTFTReport) WriteMarkdown(w io.Writer) error { return r.page().WriteMarkdown(w) }

// WriteHTML writes the report as one page that needs nothing else.
func (r *TTFTReport) WriteHTML(w io.Writer) error { return r.page().WriteHTML(w) }

// Pictures are the report's pictures as files that need nothing else, by their names.
func (r *TTFTReport) Pictures() map[string]func(io.Writer) error { return r.page().Pictures() }

func (r *TTFTReport) page() Page {
	return Page{Title: "Time to the first token, measured", Settings: r.settings(), Partial: r.Partial, Charts: r.charts(), Tables: r.tables(), Notes: r.Notes}
}

// settings is one sentence on how the figures were taken.
func (r *TTFTReport) settings() string {
	how := "evaluated tokens from the engine's log"
	if !r.Log {
		how = "evaluated tokens as the engine tells them, or estimated from its time of evaluation"
	}
	window := ""
	if r.Context > 0 {
		window = fmt.Sprintf(", num_ctx %d", r.Context)
	}
	return fmt.Sprintf("%s at %s (%s API%s), %s, on %s; %s; embedder %s, GAIA's rule with %s.",
		r.Model, r.Engine, r.API, window, r.Date, r.Machine, how, r.Embedder, r.Dense)
}

// tables are the figures of each catalog, then what was to be reached, as far as the run could judge it.
func (r *TTFTReport) tables() []Table {
	var list []Table
	last := ""
	for _, c := range r.Cells {
		if c.Catalog != last {
			last = c.Catalog
			list = append(list, Table{
				Title: fmt.Sprintf("Catalog %s, %d tools", c.Catalog, r.Catalogs[c.Catalog]),
				About: "Times to the first token in seconds: median over the requests, 95 % interval of the median, 95th percentile; sum over a trial's turns. Tokens are medians; ~ marks those estimated from the time of evaluation.",
				Head:  []string{"scenario", "variant", "by", "trials", "p50 s", "interval", "p95 s", "sum s", "tools", "prompt", "evaluated", "reused", "tok/s", "cut", "needed hidden"},
			})
		}
		t := &list[len(list)-1]
		t.Rows = append(t.Rows, c.row())
	}
	if len(r.Targets) > 0 {
		list = append(list, r.goals())
	}
	return list
}

func (r *TTFTReport) goals() Table {
	t := Table{Title: "To reach", About: "Ratios are of medians, or of sums where they say so.", Head: []string{"what", "to reach", "", "measured"}}
	for _, g := range r.Targets {
		met, text := "not measured", g.Why
		if g.Met != nil {
			met, text = map[bool]string{true: "met", false: "MISSED"}[*g.Met], g.Text
		}
		t.Rows = append(t.Rows, []string{g.Name, g.Goal, met, text})
	}
	return t
}

func (c TTFTCell) row() []string {
	row := []string{c.Scenario, c.Variant, c.By, strconv.Itoa(c.Trials)}
	if c.TTFT == nil {
		return append(row, "not measured: "+c.Why)
	}
	sum := ""
	if c.Sum != nil {
		sum = plainSeconds(c.Sum.P50)
	}
	if c.ColdStart != nil {
		sum += " + " + plainSeconds(*c.ColdStart) + " before"
	}
	between := ""
	if c.Interval != nil {
		between = plainSeconds(c.Interval[0]) + "–" + plainSeconds(c.Interval[1])
	}
	about := map[bool]string{true: "~"}[c.Estimated]
	rate := "—"
	if c.PerSecond != nil {
		rate = fmt.Sprintf("%.0f", *c.PerSecond)
	}
	return append(row, plainSeconds(c.TTFT.P50), between, plainSeconds(c.TTFT.P95), sum, strconv.Itoa(c.Tools),
		orDash("", c.Prompt), orDash(about, c.Evaluated), orDash(about, c.Cached), rate,
		fmt.Sprintf("%d/%d", c.Truncated, c.Requests), fmt.Sprintf("%d/%d", c.Missing, c.Requests))
}

func plainSeconds(ms float64) string { return fmt.Sprintf("%.2f", ms/1000) }

func orDash(before string, n *int) string {
	if n == nil {
		return "—"
	}
	return before + strconv.Itoa(*n)
}

// charts are, for each catalog, the times of single requests and the sums of whole conversations.
func (r *TTFTReport) charts() []chart {
	var list []chart
	for _, name := range r.catalogs() {
		single := chart{Title: "Time to the first token, " + name, About: "Seconds, medians with 95 % intervals.", File: pictureFile("ttft-first-" + name)}
		sums := chart{Title: "Whole conversations, " + name, About: "Seconds of waiting for first tokens, all turns of a conversation together, the cold start included; medians.", File: pictureFile("ttft-whole-" + name)}
		var singles, summed []barGroup
		for _, c := range r.Cells {
			if c.Catalog != name || c.TTFT == nil {
				continue
			}
			if c.Sum != nil && several(c.Scenario) {
				value := c.Sum.P50
				if c.ColdStart != nil {
					value += *c.ColdStart
				}
				summed = grouped(summed, c.Scenario, bar{series: c.Variant, value: value / 1000})
				continue
			}
			b := bar{series: c.Variant, value: c.TTFT.P50 / 1000}
			if c.Interval != nil {
				b.low, b.high = c.Interval[0]/1000, c.Interval[1]/1000
			}
			group := c.Scenario
			if c.By == ByHand && !theirs(c.Variant) && c.Variant != Floor {
				group += " by hand"
			}
			singles = grouped(singles, group, b)
		}
		if len(singles) > 0 {
			single.show(bars(single.Title, singles, 0, "%.2f s"))
			list = append(list, single)
		}
		if len(summed) > 0 {
			sums.show(bars(sums.Title, summed, 0, "%.2f s"))
			list = append(list, sums)
		}
	}
	return list
}

// catalogs are the names of the catalogs in the order of the cells.
func (r *TTFTReport) catalogs() []string {
	var names []string
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Catalog) {
			names = append(names, c.Catalog)
		}
	}
	return names
}
