package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// SlopeReport is how a cold first turn grows with the number of tools: with every tool sent, and through the daemon.
type SlopeReport struct {
	Engine  string       `json:"engine"`
	Model   string       `json:"model"`
	Base    int          `json:"base_tools"` // to which clones are added
	Points  []SlopePoint `json:"points"`
	Slopes  []Slope      `json:"slopes"`
	Notes   []string     `json:"notes"`
	Partial string       `json:"partial,omitempty"`
}

// SlopePoint is one size, one way.
type SlopePoint struct {
	Variant   string       `json:"variant"`
	Clones    int          `json:"clones"`
	Trials    int          `json:"trials"`
	TTFT      *Percentiles `json:"ttft_ms"` // null where it could not be taken
	Prompt    *int         `json:"prompt_tokens"`
	Evaluated *int         `json:"evaluated_tokens"`
	Estimated bool         `json:"estimated"`
	Sent      int          `json:"tools_sent"`
	Why       string       `json:"why,omitempty"`
}

// Slope is a straight line through all trials of a variant, by least squares.
type Slope struct {
	Variant      string   `json:"variant"`
	PerToolMS    *float64 `json:"ms_per_tool"` // null of fewer than two sizes
	TokensPerOne *float64 `json:"tokens_per_tool"`
	Why          string   `json:"why,omitempty"`
}

// SlopeClones are the numbers of clones that are tried.
func SlopeClones() []int { return []int{0, 10, 20, 40} }

// slopeBase is how many tools of the workload are cloned from.
const slopeBase = 20

// Slope measures the workload's first 20 tools, CORE among them, with clones of them added. Where ctx ends, or the engine stops answering, the report holds what
// was measured until then and says so; the error comes with it.
func (m *TTFT) Slope(ctx context.Context, w *Workload) (*SlopeReport, error) {
	if err := m.Options.Valid(); err != nil {
		return nil, err
	}
	if err := m.Target.Check(ctx, w.Tools[0]); err != nil {
		return nil, err
	}
	scenes := map[int]*scene{}
	for _, k := range SlopeClones() {
		cloned, err := w.withClones(k)
		if err != nil {
			return nil, err
		}
		s, err := m.scene(ctx, cloned, false)
		if err != nil {
			return nil, err
		}
		defer s.close()
		s.openingOnly = true
		scenes[k] = s
	}
	trials := map[SlopePoint][]Trial{}
	err := m.Target.Gauge(ctx)
	if err == nil {
		err = m.slopeTrials(ctx, scenes, trials)
	}
	r := &SlopeReport{Engine: m.Target.base.String(), Model: m.Target.Model, Base: len(scenes[0].w.Tools)}
	if ctx.Err() != nil {
		r.Partial = "the run was interrupted"
	} else if err != nil {
		r.Partial = err.Error()
	}
	for _, v := range slopeVariants() {
		r.add(v, trials)
	}
	return r, err
}

func slopeVariants() []string { return []string{AllTools, "append"} }

// slopeTrials takes one trial of each size and variant after the other, in an order that is turned by one each time.
func (m *TTFT) slopeTrials(ctx context.Context, scenes map[int]*scene, trials map[SlopePoint][]Trial) error {
	var points []SlopePoint
	for _, k := range SlopeClones() {
		for _, v := range slopeVariants() {
			points = append(points, SlopePoint{Variant: v, Clones: k})
		}
	}
	for n := range m.Options.Trials {
		for i := range points {
			p := points[(i+n)%len(points)]
			done := trials[p]
			if n >= fewTrials && slices.ContainsFunc(done, func(t Trial) bool { return trialMS(t) >= longTrialMS }) {
				continue
			}
			m.tell(fmt.Sprintf("%d tools and %d clones: %s, trial %d of %d", len(scenes[0].w.Tools), p.Clones, p.Variant, n+1, m.Options.Trials))
			steps, err := scenes[p.Clones].playFirst(ctx, p.Variant)
			t := Trial{Scenario: ColdScenario, Variant: p.Variant, Steps: steps}
			switch {
			case refused(err):
				t.Why, t.Steps = err.Error(), nil
			case err != nil:
				return err
			}
			trials[p] = append(done, t)
		}
	}
	return nil
}

// add sums up a variant.
func (r *SlopeReport) add(variant string, trials map[SlopePoint][]Trial) {
	var xs, ms, tokens []float64
	sizes := 0
	for _, k := range SlopeClones() {
		p := SlopePoint{Variant: variant, Clones: k}
		cell := summed(cellKey{"", ColdScenario, variant, ""}, trials[p], func(Step) bool { return true })
		if cell.TTFT != nil {
			sizes++
		}
		for _, t := range trials[p] {
			for _, s := range t.Steps {
				if s.Why == "" && s.Prompt != nil {
					xs, ms, tokens = append(xs, float64(k)), append(ms, s.TTFTMS), append(tokens, float64(*s.Prompt))
				}
			}
		}
		p.Trials, p.TTFT, p.Prompt, p.Evaluated, p.Estimated, p.Sent, p.Why = cell.Trials, cell.TTFT, cell.Prompt, cell.Evaluated, cell.Estimated, cell.Tools, cell.Why
		r.Points = append(r.Points, p)
	}
	slope := Slope{Variant: variant}
	if sizes < 2 {
		slope.Why = "fewer than two sizes were measured"
	} else {
		a, b := leastSquares(xs, ms), leastSquares(xs, tokens)
		slope.PerToolMS, slope.TokensPerOne = &a, &b
	}
	r.Slopes = append(r.Slopes, slope)
}

// leastSquares is the slope of the straight line through the points; the xs are not all the same.
func leastSquares(xs, ys []float64) float64 {
	var mx, my float64
	for i := range xs {
		mx, my = mx+xs[i]/float64(len(xs)), my+ys[i]/float64(len(xs))
	}
	var above, below float64
	for i := range xs {
		above, below = above+(xs[i]-mx)*(ys[i]-my), below+(xs[i]-mx)*(xs[i]-mx)
	}
	return above / below
}

// withClones is the workload with its first tools only, CORE and what its turns need before the others, and k clones of them under names of their own.
func (w *Workload) withClones(k int) (*Workload, error) {
	s := &scene{TTFT: &TTFT{Options: TTFTOptions{Cap: slopeBase}}, w: w}
	names := s.base()
	out := *w
	out.Name, out.Bundles, out.Tools = w.Name+"+"+strconv.Itoa(k), nil, w.tools(names)
	for i := range k {
		clone, err := renamed(out.Tools[i%len(names)], fmt.Sprintf("%s_v%d", names[i%len(names)], 2+i/len(names)))
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, clone)
	}
	out.Turns = slices.DeleteFunc(slices.Clone(w.Turns), func(t WorkTurn) bool { return len(without(t.Needs, names)) > 0 })
	return &out, out.valid()
}

// renamed is the tool under another name.
func renamed(tool json.RawMessage, name string) (json.RawMessage, error) {
	path := "name"
	if gjson.GetBytes(tool, "function").IsObject() {
		path = "function.name"
	}
	out, err := sjson.SetBytes(tool, path, name)
	if err != nil {
		return nil, fmt.Errorf("cloning a tool: %v", err)
	}
	return out, nil
}

// WriteTable writes the report for a terminal.
func (r *SlopeReport) WriteTable(w io.Writer) error { return r.page().writeText(w) }

// WriteMarkdown writes the report as a Markdown document.
func (r *SlopeReport) WriteMarkdown(w io.Writer) error { return r.page().WriteMarkdown(w) }

// WriteHTML writes the report as one page.
func (r *SlopeReport) WriteHTML(w io.Writer) error { return r.page().WriteHTML(w) }

// Pictures are the report's pictures as files that need nothing else, by their names.
func (r *SlopeReport) Pictures() map[string]func(io.Writer) error { return r.page().Pictures() }

func (r *SlopeReport) page() Page {
	p := Page{Title: "A cold first turn over the number of tools", Partial: r.Partial, Notes: r.Notes}
	p.Settings = fmt.Sprintf("%s at %s, %d tools and clones of them.", r.Model, r.Engine, r.Base)
	slopes := Table{Title: "Slopes", Head: []string{"variant", "ms a tool", "prompt tokens a tool"}}
	for _, s := range r.Slopes {
		if s.PerToolMS == nil {
			slopes.Rows = append(slopes.Rows, []string{s.Variant, s.Why})
			continue
		}
		slopes.Rows = append(slopes.Rows, []string{s.Variant, fmt.Sprintf("%.1f", *s.PerToolMS), fmt.Sprintf("%.1f", *s.TokensPerOne)})
	}
	points := Table{Title: "Sizes", Head: []string{"variant", "clones", "trials", "p50 s", "p95 s", "sent", "prompt", "evaluated"}}
	picture := chart{Title: "Time to the first token over clones", About: "Seconds, medians, nothing cached.", File: pictureFile("slope")}
	var drawn []line
	for _, pt := range r.Points {
		row := []string{pt.Variant, strconv.Itoa(pt.Clones), strconv.Itoa(pt.Trials)}
		if pt.TTFT == nil {
			points.Rows = append(points.Rows, append(row, "not measured: "+pt.Why))
			continue
		}
		about := map[bool]string{true: "~"}[pt.Estimated]
		points.Rows = append(points.Rows, append(row, plainSeconds(pt.TTFT.P50), plainSeconds(pt.TTFT.P95), strconv.Itoa(pt.Sent), orDash("", pt.Prompt), orDash(about, pt.Evaluated)))
		if len(drawn) == 0 || drawn[len(drawn)-1].series != pt.Variant {
			drawn = append(drawn, line{series: pt.Variant})
		}
		last := &drawn[len(drawn)-1]
		last.points = append(last.points, point{float64(pt.Clones), pt.TTFT.P50 / 1000})
	}
	if len(drawn) > 0 {
		picture.show(lines(picture.Title, "clones beside "+strconv.Itoa(r.Base)+" tools", "seconds", drawn, false))
		p.Charts = []chart{picture}
	}
	p.Tables = []Table{slopes, points}
	return p
}
