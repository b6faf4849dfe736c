package turn

import (
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
)

// finish writes down the list that was chosen, in the order to send, and the body that holds it.
func (p *Planner) finish(d *draft, order []string, body []byte) *Plan {
	plan, o := p.plan(d), d.chosen
	plan.Body, plan.Embedder = body, o.embedder
	cat := d.snapshot.Catalog()
	name := func(id catalog.ID) string { return cat.Tool(id).Name }
	plan.Scores = map[string]float64{}
	for _, m := range o.matches {
		plan.Matched = append(plan.Matched, name(m.ID))
		plan.Scores[name(m.ID)] = m.Score
	}
	reasons := map[string]session.Reason{}
	for _, e := range o.admitted.Visible {
		n := name(e.ID)
		reasons[n] = e.Reason
		if _, ok := plan.Scores[n]; !ok {
			plan.Scores[n] = float64(o.scores.Match[e.ID])
		}
		switch e.Reason {
		case session.Pin:
			plan.Pinned = append(plan.Pinned, n)
		case session.Skill:
			plan.Skill = append(plan.Skill, n)
		case session.Bundle:
			plan.BundlePulled = append(plan.BundlePulled, n)
		}
	}
	plan.Admitted, plan.Evicted, plan.Skipped = names(cat, o.admitted.Admitted), names(cat, o.admitted.Evicted), names(cat, o.admitted.Skipped)
	plan.PrefixKept = prefixKept(d, order)
	plan.state.Embedder = o.embedder
	plan.state.List = d.list(plan, order, reasons)
	plan.state.Called = nil
	for _, v := range plan.state.List {
		if v.Name[0] != 0 {
			plan.Tools = append(plan.Tools, Tool{v.Name, v.Reason, plan.Scores[v.Name]})
		}
	}
	return plan
}

// list is the visible list after the plan.
func (d *draft) list(plan *Plan, order []string, reasons map[string]session.Reason) []session.Visible {
	list := make([]session.Visible, 0, len(order))
	for _, key := range order {
		v := session.Visible{Name: key, Admitted: plan.Turn, Reason: session.Pin}
		if i := slices.IndexFunc(d.found.State.List, func(old session.Visible) bool { return old.Name == key }); i >= 0 {
			v = d.found.State.List[i]
		}
		if why, ok := reasons[key]; ok {
			v.Reason = why
		}
		if slices.Contains(plan.Matched, key) {
			v.Matched = plan.Turn
		}
		if slices.Contains(d.found.State.Called, key) {
			v.Used = max(v.Used, d.calledTurn())
		}
		list = append(list, v)
	}
	return list
}

// calledTurn is the turn that the session's newest calls belong to.
func (d *draft) calledTurn() int {
	if d.found.Same {
		return d.found.State.Turn
	}
	return d.found.State.Turn - 1
}

func names(cat *catalog.Catalog, ids []catalog.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, cat.Tool(id).Name)
	}
	return out
}

// plan is the part that all outcomes share.
func (p *Planner) plan(d *draft) *Plan {
	state := d.found.State
	state.Catalog, state.Body, state.Fallback, state.Policy = d.hash, d.request.Identity.Body, "", p.under
	state.Core = slices.Clone(d.core)
	elements := d.request.Chat.Elements
	return &Plan{
		Body: d.request.Body, Session: state.Session, Turn: state.Turn, QuerySHA: p.querySHA(d.request.Chat.Users),
		threshold: p.policy.Threshold, maxTools: p.policy.MaxTools, state: state, key: d.found.Key,
		exists: func(name string) bool {
			return slices.ContainsFunc(elements, func(e chat.Element) bool { return e.Key == name })
		},
	}
}

// fallback shows everything: the client's bytes go on as they came. A list that the session had is forgotten, since the engine
// now holds another.
func (p *Planner) fallback(d *draft, why string) *Plan {
	plan := p.plan(d)
	plan.Fallback, plan.state.Fallback = why, why
	plan.state.List, plan.state.Called = nil, nil
	seen := map[string]bool{}
	for _, t := range d.request.Chat.Tools {
		if !seen[t.Name] {
			seen[t.Name] = true
			plan.Tools = append(plan.Tools, Tool{Name: t.Name, Reason: session.Kept})
		}
	}
	return plan
}

// retreat is what follows an embedder that fails: the list that the session has, unchanged, and only where there is none everything.
func (p *Planner) retreat(d *draft, err error) *Plan {
	if d.keepable() {
		plan := p.unchanged(d)
		plan.Kept, plan.Embedder = err.Error(), ""
		return plan
	}
	return p.fallback(d, embedderFailed+err.Error())
}

// embedderFailed begins the reason of a fallback that an embedder's failure caused.
const embedderFailed = "embedder: "

// repeat answers a later request of a turn whose list is made: the same list, byte for byte, and behind it what must not be hidden any
// more: tools that were called while hidden, or that the request names.
func (p *Planner) repeat(d *draft) *Plan {
	if d.found.State.Fallback != "" {
		plan := p.fallback(d, d.found.State.Fallback)
		plan.Repeated = true
		return plan
	}
	return p.unchanged(d)
}

// unchanged sends the session's list again, with pins and hatches that it lacks appended.
func (p *Planner) unchanged(d *draft) *Plan {
	plan := p.plan(d)
	state := &plan.state
	state.List = slices.Clone(state.List)
	listed := func(name string) bool {
		return slices.ContainsFunc(state.List, func(v session.Visible) bool { return v.Name == name })
	}
	add := func(name string, why session.Reason, used int) {
		if plan.exists(name) && !listed(name) {
			state.List = append(state.List, session.Visible{Name: name, Reason: why, Admitted: plan.Turn, Used: used})
			plan.Admitted = append(plan.Admitted, name)
		}
	}
	for _, name := range state.Called {
		add(name, session.Hatch, d.calledTurn())
	}
	for _, name := range d.pins() {
		add(name, session.Pin, 0)
	}
	state.Called = nil
	var order []string
	for _, v := range state.List {
		order = append(order, v.Name)
		if v.Name[0] != 0 && plan.exists(v.Name) {
			plan.Tools = append(plan.Tools, Tool{Name: v.Name, Reason: v.Reason})
		}
	}
	for _, e := range d.request.Chat.Elements {
		if !e.Selectable() && !listed(e.Key) {
			order = append(order, e.Key)
			state.List = append(state.List, session.Visible{Name: e.Key, Reason: session.Pin, Admitted: plan.Turn})
		}
	}
	plan.Repeated = d.found.Same && len(plan.Admitted) == 0
	plan.Embedder = state.Embedder
	plan.PrefixKept = prefixKept(d, order)
	plan.Body = chat.Render(d.request.Body, d.request.Chat, order)
	return plan
}
