package telemetry

import (
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// All tells several recorders, in order. What a turn.Meter is told reaches those that are one.
type All []turn.Recorder

var (
	_ turn.Recorder = All{}
	_ turn.Meter    = All{}
)

// Planned implements turn.Recorder.
func (a All) Planned(p *turn.Plan) {
	for _, r := range a {
		r.Planned(p)
	}
}

// Escaped implements turn.Recorder.
func (a All) Escaped(s session.State, tool string) {
	for _, r := range a {
		r.Escaped(s, tool)
	}
}

// Loaded implements turn.Recorder.
func (a All) Loaded(p *turn.Plan, what string) {
	for _, r := range a {
		r.Loaded(p, what)
	}
}

// Answered implements turn.Recorder.
func (a All) Answered(p *turn.Plan, v kvcache.Verdict) {
	for _, r := range a {
		r.Answered(p, v)
	}
}

// Spent implements turn.Meter.
func (a All) Spent(p *turn.Plan, s turn.Spent) {
	a.meters(func(m turn.Meter) { m.Spent(p, s) })
}

// Again implements turn.Meter.
func (a All) Again(p *turn.Plan, guess bool) {
	a.meters(func(m turn.Meter) { m.Again(p, guess) })
}

// Written implements turn.Meter.
func (a All) Written(s session.State, tools []string) {
	a.meters(func(m turn.Meter) { m.Written(s, tools) })
}

// Called implements turn.Meter.
func (a All) Called(s session.State, called, hidden []string) {
	a.meters(func(m turn.Meter) { m.Called(s, called, hidden) })
}

// meters tells those that are meters.
func (a All) meters(tell func(turn.Meter)) {
	for _, r := range a {
		if m, ok := r.(turn.Meter); ok {
			tell(m)
		}
	}
}
