package eval

import (
	"fmt"
	"slices"
)

// Restraint is what newly becomes visible on the turns of a replay that need no tool: CORE and seed not counted. Many such turns are of a job under way, for
// which something is still asked; what is admitted there is called when that is answered, and is then visible already.
type Restraint struct {
	Turns       int     `json:"turns"`        // that need none
	Admitting   int     `json:"admitting"`    // of these: with a newly visible tool
	Early       int     `json:"early"`        // of these in turn: with one that the conversation calls later
	IdleTurns   int     `json:"idle_turns"`   // of all: after which the conversation calls nothing any more
	IdleAdmits  float64 `json:"idle_admits"`  // newly visible tools on such a turn, the mean; 0 without one
	OtherAdmits float64 `json:"other_admits"` // the same of the others
}

// restraining counts towards a Restraint.
type restraining struct {
	turns, admitting, early, idle int
	admitted, idleAdmitted        float64
}

// count notes a turn that needs no tool: what it newly admits, and the turns of the conversation behind it.
func (r *restraining) count(admitted []string, behind []Case) {
	r.turns++
	r.admitted += float64(len(admitted))
	if len(admitted) > 0 {
		r.admitting++
	}
	calls := func(c Case) bool { return len(c.Needed) > 0 }
	switch {
	case !slices.ContainsFunc(behind, calls):
		r.idle++
		r.idleAdmitted += float64(len(admitted))
	case slices.ContainsFunc(behind, func(c Case) bool { return calls(c) && c.found(admitted) > 0 }):
		r.early++
	}
}

// mean is the number of newly visible tools a turn, nil without a turn.
func (r *restraining) mean() *float64 {
	if r.turns == 0 {
		return nil
	}
	mean := r.admitted / float64(r.turns)
	return &mean
}

func (r *restraining) finish() *Restraint {
	if r.turns == 0 {
		return nil
	}
	return &Restraint{
		Turns: r.turns, Admitting: r.admitting, Early: r.early, IdleTurns: r.idle,
		IdleAdmits: r.idleAdmitted / float64(max(1, r.idle)), OtherAdmits: (r.admitted - r.idleAdmitted) / float64(max(1, r.turns-r.idle)),
	}
}

func (r *RecallReport) restraintSection() section {
	s := section{
		title: "Turns that need no tool", about: "What newly becomes visible on them, CORE and seed not counted. admitting: turns with such a tool; early: those of them with one that the conversation calls later; idle: turns after which it calls nothing any more.",
		head: []string{"set", "method", "embedder", "turns", "mean", "admitting", "early", "idle", "mean if idle", "mean else"},
	}
	for _, row := range r.Replay {
		none := row.Restraint
		if none == nil || row.GivenUp != nil {
			continue
		}
		s.rows = append(s.rows, []string{
			row.Set, row.Method, dash(row.Embedder), fmt.Sprint(none.Turns), fmt.Sprintf("%.2f", *row.AdmittedWhenNone), fmt.Sprint(none.Admitting), fmt.Sprint(none.Early), fmt.Sprint(none.IdleTurns),
			fmt.Sprintf("%.2f", none.IdleAdmits), fmt.Sprintf("%.2f", none.OtherAdmits),
		})
	}
	return s
}
