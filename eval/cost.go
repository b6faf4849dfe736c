package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// CostReport is what tools cost in prompt tokens, by the engine's own count.
type CostReport struct {
	Engine   string     `json:"engine"`
	Model    string     `json:"model"`
	Catalog  string     `json:"catalog"`
	Tools    int        `json:"tools"`
	Empty    *int       `json:"tokens_without_tools"` // of the measuring request; null where the engine tells no counts
	Preamble *int       `json:"tokens_of_preamble"`   // what the first tool costs beyond itself: the template's words around the list
	PerTool  []ToolCost `json:"per_tool"`
	Lists    []ListCost `json:"lists"`
	Notes    []string   `json:"notes"`
	Partial  string     `json:"partial,omitempty"`
}

// ToolCost is one tool's.
type ToolCost struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens *int   `json:"tokens"` // null where it could not be counted
	Why    string `json:"why,omitempty"`
}

// ListCost is a list's, the preamble included.
type ListCost struct {
	Name   string `json:"name"` // core, all
	Tools  int    `json:"tools"`
	Tokens *int   `json:"tokens"`
	Why    string `json:"why,omitempty"`
}

// MeasureCost counts the prompt tokens of a workload's tools: the list is sent with one tool more each time, CORE first, so that the engine evaluates each of them
// once. Where ctx ends, or the engine stops answering, the report holds what was counted until then and says so; the error comes with it.
func MeasureCost(ctx context.Context, t *Target, w *Workload, progress func(string)) (*CostReport, error) {
	if err := t.Check(ctx, w.Tools[0]); err != nil {
		return nil, err
	}
	r := &CostReport{Engine: t.base.String(), Model: t.Model, Catalog: w.Name, Tools: len(w.Tools)}
	err := r.count(ctx, t, w, progress)
	switch {
	case ctx.Err() != nil:
		r.Partial = "the run was interrupted"
	case err != nil:
		r.Partial = err.Error()
	}
	r.list(w)
	return r, err
}

// errNoCounts is an engine that does not tell how long a prompt was.
var errNoCounts = errors.New("the engine does not say how many tokens a prompt has")

func (r *CostReport) count(ctx context.Context, t *Target, w *Workload, progress func(string)) error {
	order := slices.Concat(w.Core, without(w.names(), w.Core))
	array := w.tools(order)
	for i, name := range order {
		r.PerTool = append(r.PerTool, ToolCost{Name: name, Bytes: len(array[i]), Why: "not counted"})
	}
	tokens := func(tools []json.RawMessage) (int, error) {
		reading, err := t.Ask(ctx, Asked{At: t.base, Messages: []json.RawMessage{textMessage("system", w.System), textMessage("user", "Hello")}, Tools: tools})
		if err == nil && reading.PromptTokens == 0 {
			err = errNoCounts
		}
		if err == nil && reading.Truncated != "" {
			err = fmt.Errorf("with %d tools %s", len(tools), reading.Truncated)
		}
		return reading.PromptTokens, err
	}
	empty, err := tokens(nil)
	if err != nil {
		return err
	}
	r.Empty = &empty
	second := 0
	if len(array) > 1 {
		if second, err = tokens(array[1:2]); err != nil {
			return err
		}
	}
	last := empty
	for i := range array {
		if progress != nil {
			progress(fmt.Sprintf("%d of %d tools", i+1, len(array)))
		}
		now, err := tokens(array[:i+1])
		if refused(err) {
			r.Notes = append(r.Notes, fmt.Sprintf("the first %d tools are all that the engine takes: %v", i, err))
			for k := i; k < len(array); k++ {
				r.PerTool[k].Why = "it did not fit"
			}
			return nil
		}
		if err != nil {
			return err
		}
		cost := now - last
		r.PerTool[i].Tokens, r.PerTool[i].Why = &cost, ""
		if last = now; i == 1 {
			r.split(second - empty - cost)
		}
	}
	return nil
}

// split takes what the first tool cost apart: the preamble, and itself.
func (r *CostReport) split(preamble int) {
	preamble = max(0, preamble)
	own := *r.PerTool[0].Tokens - preamble
	r.Preamble, r.PerTool[0].Tokens = &preamble, &own
}

// list sums up CORE and all.
func (r *CostReport) list(w *Workload) {
	for _, l := range []ListCost{{Name: inCore, Tools: len(w.Core)}, {Name: "all", Tools: len(w.Tools)}} {
		if l.Tools == 0 || r.PerTool == nil {
			continue
		}
		sum := 0
		if r.Preamble != nil {
			sum = *r.Preamble
		}
		for _, t := range r.PerTool[:l.Tools] {
			if t.Tokens == nil {
				l.Why = fmt.Sprintf("%q was not counted", t.Name)
				break
			}
			sum += *t.Tokens
		}
		if l.Why == "" {
			l.Tokens = &sum
		}
		r.Lists = append(r.Lists, l)
	}
}

// WriteTable writes the report for a terminal.
func (r *CostReport) WriteTable(w io.Writer) error { return r.page().writeText(w) }

// WriteMarkdown writes the report as a Markdown document.
func (r *CostReport) WriteMarkdown(w io.Writer) error { return r.page().WriteMarkdown(w) }

// WriteHTML writes the report as one page.
func (r *CostReport) WriteHTML(w io.Writer) error { return r.page().WriteHTML(w) }

// Pictures are the report's pictures as files that need nothing else, by their names.
func (r *CostReport) Pictures() map[string]func(io.Writer) error { return r.page().Pictures() }

func (r *CostReport) page() Page {
	p := Page{Title: "What tools cost in prompt tokens", Partial: r.Partial, Notes: r.Notes}
	p.Settings = fmt.Sprintf("%s at %s, catalog %s of %d tools; tokens by the engine's own count. Without tools the request has %s tokens, the words around a list are %s.",
		r.Model, r.Engine, r.Catalog, r.Tools, orDash("", r.Empty), orDash("", r.Preamble))
	lists := Table{Title: "Lists", Head: []string{"list", "tools", "tokens"}}
	for _, l := range r.Lists {
		lists.Rows = append(lists.Rows, []string{l.Name, strconv.Itoa(l.Tools), orWhy(l.Tokens, l.Why)})
	}
	tools := Table{Title: "Tools", Head: []string{"tool", "bytes", "tokens"}}
	for _, t := range r.PerTool {
		tools.Rows = append(tools.Rows, []string{t.Name, strconv.Itoa(t.Bytes), orWhy(t.Tokens, t.Why)})
	}
	p.Tables = []Table{lists, tools}
	if c, ok := r.chart(); ok {
		p.Charts = []chart{c}
	}
	return p
}

// mostCosts is how many tools a picture shows.
const mostCosts = 60

// chart shows what was counted, the dearest tools first; false where nothing was.
func (r *CostReport) chart() (chart, bool) {
	core := 0
	for _, l := range r.Lists {
		if l.Name == inCore {
			core = l.Tools
		}
	}
	var groups []barGroup
	for i, t := range r.PerTool {
		if t.Tokens == nil {
			continue
		}
		b := bar{value: float64(*t.Tokens)}
		if i < core {
			b.series = inCore
		}
		groups = append(groups, barGroup{name: t.Name, bars: []bar{b}})
	}
	if len(groups) == 0 {
		return chart{}, false
	}
	slices.SortStableFunc(groups, func(a, b barGroup) int { return cmp.Compare(b.bars[0].value, a.bars[0].value) })
	c := chart{Title: "Tokens of each tool", About: "Prompt tokens of its definition.", File: pictureFile("cost")}
	if len(groups) > mostCosts {
		c.About = fmt.Sprintf("Prompt tokens of its definition, of the %d tools that cost most.", mostCosts)
		groups = groups[:mostCosts]
	}
	c.show(bars(c.Title, groups, 0, "%.0f"))
	return c, true
}

func orWhy(n *int, why string) string {
	if n == nil {
		return why
	}
	return strconv.Itoa(*n)
}
