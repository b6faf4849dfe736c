package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
)

//go:embed recall.html.tmpl
var recallPage string

// page is what the template shows.
type page struct {
	Palette  template.CSS
	Settings string
	Partial  string
	Charts   []chart
	Tables   []pageTable
	Misses   []RecallRow
	Notes    []string
}

type pageTable struct {
	Title, About string
	Head         []string
	Rows         [][]string
}

// Needs lists the needed tools with their ranks.
func (m Miss) Needs() string { return m.needs() }

// WriteHTML writes the report as one page that needs nothing else: pictures, tables and misses.
func (r *RecallReport) WriteHTML(w io.Writer) error {
	t, err := template.New("recall").Parse(recallPage)
	if err != nil {
		return fmt.Errorf("reading the page's template: %w", err)
	}
	p := page{Palette: template.CSS(palette), Settings: r.Settings.String(), Partial: r.Partial, Charts: r.charts(), Notes: r.Notes}
	for _, s := range r.sections() {
		p.Tables = append(p.Tables, pageTable{s.title, s.about, s.head, s.rows})
	}
	for _, row := range r.Rows {
		if len(row.Misses) > 0 {
			p.Misses = append(p.Misses, row)
		}
	}
	return t.Execute(w, p)
}

func (r *RecallReport) charts() []chart {
	var charts []chart
	if len(r.Rows) > 0 {
		charts = append(charts, r.recallChart())
	}
	if len(r.Replay) > 0 {
		charts = append(charts, r.replayChart())
	}
	if len(r.Scale) > 0 {
		charts = append(charts, r.scaleChart())
	}
	return charts
}

func (r *RecallReport) recallChart() chart {
	k := strconv.Itoa(r.Settings.Ks[len(r.Settings.Ks)-1])
	c := chart{Title: "Needed tools among the first " + k, About: "Mean share of a case's needed tools, with 95 % intervals, each case alone."}
	var groups []barGroup
	for _, row := range append(r.Rows[:len(r.Rows):len(r.Rows)], r.Mean...) {
		in := row.Intervals.Recall[k]
		groups = grouped(groups, row.Set, bar{row.Method, row.Recall[k], in[0], in[1]})
	}
	c.show(bars(c.Title, groups, 1, "%.3f"))
	return c
}

func (r *RecallReport) replayChart() chart {
	c := chart{Title: "Visible when the model is called", About: fmt.Sprintf("Conversations played turn by turn, at most %d tools visible, with 95 %% intervals.", r.Settings.Cap)}
	if r.Settings.Long {
		c.About = "Conversations joined to 30 turns, with 95 % intervals."
	}
	var groups []barGroup
	for _, row := range r.Replay {
		if row.GivenUp != nil {
			continue
		}
		groups = grouped(groups, row.Set, bar{row.Method, row.VisibleRecall, row.VisibleInterval[0], row.VisibleInterval[1]})
	}
	c.show(bars(c.Title, groups, 1, "%.3f"))
	return c
}

func (r *RecallReport) scaleChart() chart {
	c := chart{Title: "Time over the size of the catalog", About: "Median microseconds, builtin embedder, generated tools. select: from the message to the matches; plan: all of a plan, the request's bytes rewritten."}
	plan, choose := line{series: "plan"}, line{series: "select"}
	for _, p := range r.Scale {
		plan.points = append(plan.points, point{float64(p.Tools), max(1, p.PlanUS.P50)})
		choose.points = append(choose.points, point{float64(p.Tools), max(1, p.SelectUS.P50)})
	}
	c.show(lines(c.Title, "tools in the catalog", "µs", []line{plan, choose}, true))
	return c
}
