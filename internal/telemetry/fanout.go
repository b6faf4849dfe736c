package telemetry

import (
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// All tells several recorders, in order. What a Meter is told reaches those that are one.
type All []turn.Recorder

var (
	_ turn.Recorder = All{}
	_ Meter         = All{}
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

// Spent implements Meter.
func (a All) Spent(p *turn.Plan, u chat.Usage, v kvcache.Verdict) {
	for _, r := range a {
		if m, ok := r.(Meter); ok {
			m.Spent(p, u, v)
		}
	}
}

// Called implements Meter.
func (a All) Called(s session.State, called, hidden []string) {
	for _, r := range a {
		if m, ok := r.(Meter); ok {
			m.Called(s, called, hidden)
		}
	}
}
