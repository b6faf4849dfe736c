package turn

import (
	"toolbelt/catalog"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/skills/runs"
)

// Commit keeps the plan's list. Call it when the request has been written upstream.
func (p *Planner) Commit(plan *Plan) {
	p.Prefix.Sent(plan.prompt)
	p.Sessions.Commit(plan.key, plan.state)
	if d := plan.draft; d != nil {
		p.Sessions.Seen(d.request.Identity, p.firstTools(d))
	}
	p.arrays.Add(plan.key, p.namesOf(plan))
	if plan.ask.Tools != nil {
		p.Learner.Asked(plan.key, plan.ask)
	}
	if d := plan.draft; p.policy.Off == "" && !d.found.Same && len(d.request.Chat.Users) > 0 {
		p.Runs.Began(plan.key, runs.Began{App: plan.state.App, Session: plan.Session, Goal: d.request.Chat.Users[len(d.request.Chat.Users)-1], Skills: d.recalled})
	}
}

// firstTools are the names of the first of the app's own tools; nil where nothing is learned from use.
func (p *Planner) firstTools(d *draft) []string {
	if _, off := p.Learner.(learn.None); off {
		return nil
	}
	var names []string
	for _, e := range d.request.Chat.Elements {
		if e.Selectable() && e.Key != "" && len(names) < session.LabelTools {
			names = append(names, e.Key)
		}
	}
	return names
}

// ObserveSession is Observe for a session's newest turn. An error of kind NotFound names a session that is not known.
func (p *Planner) ObserveSession(id string, called []string) error {
	key, err := p.newest(id)
	if err != nil {
		return err
	}
	array, _ := p.arrays.Get(key) // of an earlier process: none, the list alone is known
	p.observe(key, called, array.has)
	p.Runs.Called(key, callsNamed(called))
	return nil
}

// SettleSession notes whether a session's newest turn, which called these tools, did what was asked for; counted names a recalled skill whose use
// the caller counts, "" for none. Call it after ObserveSession. An error of kind NotFound names a session that is not known.
func (p *Planner) SettleSession(id string, called []string, success bool, counted string) error {
	key, err := p.newest(id)
	if err != nil {
		return err
	}
	if !success && len(called) > 0 {
		p.Learner.Failed(key, called)
		p.Runs.Failed(key, called)
	}
	p.Runs.Ended(key, success, counted)
	return nil
}

func callsNamed(names []string) []runs.Call {
	calls := make([]runs.Call, len(names))
	for i, name := range names {
		calls[i] = runs.Call{Name: name}
	}
	return calls
}

// newest returns the key of a session's newest turn.
func (p *Planner) newest(id string) (string, error) {
	key, ok := p.Sessions.Key(id)
	if !ok {
		return "", catalog.NewError(catalog.NotFound, "no session "+quote(id)+": it was never seen here, or is too long ago", nil)
	}
	return key, nil
}

func (p *Planner) observe(key string, called []string, exists func(string) bool) {
	state, hidden := p.Sessions.Observe(key, called, exists)
	p.Learner.Used(key, called)
	if p.Recorder == nil {
		return
	}
	for _, name := range hidden {
		p.Recorder.Escaped(state, name)
	}
	if m, ok := p.Recorder.(Meter); ok && state.Session != "" {
		m.Called(state, inArray(state, called, exists), hidden)
	}
}
