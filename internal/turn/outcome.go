package turn

import (
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/session"
)

// finish writes down the list that was chosen, and the body that holds it.
func (p *Planner) finish(d *draft) *Plan {
	o := d.chosen
	array, late := p.arrange(d, o.admitted)
	plan := p.plan(d)
	plan.Embedder = o.embedder
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
	fresh := plan.state.Own == nil && (d.remade || !d.found.State.HasList())
	plan.state.Embedder = o.embedder
	plan.state.List = d.list(plan, array, late, reasons)
	plan.state.Called = nil
	if fresh || p.wanting(d, plan.state) {
		plan.state.Own = p.own(d, plan.state)
	}
	if news := d.unannounced(late); len(news) > 0 {
		d.announce(&plan.state, news)
	}
	p.offer(d, &plan.state)
	body, sent := d.render(&plan.state)
	plan.Body = body
	for _, v := range plan.state.List {
		if v.Name[0] != 0 {
			plan.Tools = append(plan.Tools, Tool{v.Name, v.Reason, plan.Scores[v.Name]})
		}
	}
	p.expect(d, plan, sent)
	return plan
}

// unannounced are the names that were not in the list until now.
func (d *draft) unannounced(late []string) []string {
	var news []string
	for _, name := range late {
		if !d.found.State.Lists(name) {
			news = append(news, name)
		}
	}
	return news
}

// list is the visible list after the plan.
func (d *draft) list(plan *Plan, array, late []string, reasons map[string]session.Reason) []session.Visible {
	list := make([]session.Visible, 0, len(array)+len(late))
	for i, key := range slices.Concat(array, late) {
		v := session.Visible{Name: key, Admitted: plan.Turn, Reason: session.Pin}
		if at := d.found.State.Place(key); at >= 0 {
			v = d.found.State.List[at]
		}
		v.Late = i >= len(array)
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
	state.Catalog, state.Body, state.Fallback, state.Policy = d.hash, d.request.Identity.Body, "", d.under
	state.Core, state.Serial = slices.Clone(d.core), p.serial.Add(1)
	return &Plan{
		Body: d.request.Body, Session: state.Session, Turn: state.Turn, QuerySHA: p.querySHA(d.request.Chat.Users),
		made: made{
			threshold: p.policy.Threshold, maxTools: p.policy.MaxTools, state: state, key: d.found.Key, draft: d,
		},
	}
}

// fallback shows everything: the client's bytes go on as they came. A list that the session had is forgotten, since the engine
// now holds another.
func (p *Planner) fallback(d *draft, why string) *Plan {
	plan := p.plan(d)
	plan.Fallback, plan.state.Fallback = why, why
	plan.state = plan.state.Forget()
	plan.state.List, plan.state.Called, plan.state.Own = nil, nil, nil
	seen := map[string]bool{}
	for _, t := range d.request.Chat.Tools {
		if !seen[t.Name] {
			seen[t.Name] = true
			plan.Tools = append(plan.Tools, Tool{Name: t.Name, Reason: session.Kept})
		}
	}
	plan.prompt = promptOf(d.request.Body, d.request.Chat, plan.state.Session, plan.state.App)
	plan.Expected = p.Prefix.Expect(plan.prompt)
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

// unchanged sends the session's list again, with pins and hatches that it lacks brought in.
func (p *Planner) unchanged(d *draft) *Plan {
	plan := p.plan(d)
	state := &plan.state
	state.List = slices.Clone(state.List)
	called := state.Called
	plan.Admitted = append(p.bring(d, state, called, session.Hatch), p.bring(d, state, d.pins(), session.Pin)...)
	for i, v := range state.List {
		if slices.Contains(called, v.Name) {
			state.List[i].Used = max(v.Used, d.calledTurn())
		}
	}
	state.Called = nil
	for _, e := range d.request.Chat.Elements {
		if !e.Selectable() && !d.served(e) && !state.Lists(e.Key) {
			state.List = append(state.List, session.Visible{Name: e.Key, Reason: session.Pin, Admitted: plan.Turn})
		}
	}
	plan.Repeated = d.found.Same && len(plan.Admitted) == 0
	plan.Embedder = state.Embedder
	body, sent := d.render(state)
	plan.Body = body
	for _, v := range state.List {
		if v.Name[0] != 0 && plan.draft.has(v.Name) {
			plan.Tools = append(plan.Tools, Tool{Name: v.Name, Reason: v.Reason})
		}
	}
	p.expect(d, plan, sent)
	return plan
}
