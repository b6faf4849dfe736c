package eval

import (
	"context"
	"fmt"
	"slices"

	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// What toolbelt is compared with to see what keeping its list costs: the same planner, rules, floor and cap, with less regard for the list that there was.
const (
	// Rebuilt makes the list anew on every turn, best first, as if the engine never held anything of it. Of what was visible, only tools that the conversation
	// has used keep a claim to a place. Nothing is turned away for the sake of the list.
	Rebuilt = "rebuilt"
	// Unguarded keeps what was visible where nothing that matches wants the place, as toolbelt does, and appends; but it turns no match away for being
	// far below the turn's best, or hardly better than what it would replace. The difference is the price of those two rules alone.
	Unguarded = "unguarded"
)

// GivenUp is the visible recall that toolbelt gives up by keeping its list, against a method that keeps less.
type GivenUp struct {
	By       string   `json:"by"`       // the row of the same set that gives it up: toolbelt, without learning
	Points   float64  `json:"points"`   // visible recall less that of By, in points of a hundred; below 0 where keeping the list gains
	Interval Interval `json:"interval"` // 95 %, of the differences turn by turn, by resampling conversations
}

// givenUp compares turn by turn what two methods showed of what was needed: kept and freed are of the same turns, in the same order.
func givenUp(by string, kept, freed []judged, seed uint64) *GivenUp {
	differences := make([]judged, len(freed))
	for i, f := range freed {
		differences[i] = judged{f.cluster, []float64{100 * (f.values[0] - kept[i].values[0]), 0, 0, 0}}
	}
	means, limits := summarize(differences, []int{1}, seed)
	return &GivenUp{By: by, Points: means.Recall["1"], Interval: limits.Recall["1"]}
}

// later reports whether any of the conversations has a second turn: without one there is no list to keep.
func later(conversations [][]Case) bool {
	return slices.ContainsFunc(conversations, func(turns []Case) bool { return len(turns) > 1 })
}

// looser are the methods that plain is compared with.
func (m *measuring) looser(policy turn.Policy, plain method) []method {
	policy.Newcomer, policy.Delta = 0, 0
	anew, open := m.bench.planner(policy, nil), m.bench.planner(policy, nil)
	return []method{
		{name: Rebuilt, embedder: plain.embedder, against: plain.name, begin: func(id string) lister {
			return &rebuilt{planned{planner: anew, session: id}, m.bench.clock}
		}},
		{name: Unguarded, embedder: plain.embedder, against: plain.name, begin: func(id string) lister {
			return &planned{planner: open, session: id}
		}},
	}
}

// rebuilt is the daemon's way where a list is lost before every turn, and all is forgotten that was not used.
type rebuilt struct {
	planned
	clock *clock
}

func (l *rebuilt) turn(ctx context.Context, r turn.Request) (visible, seed []string, err error) {
	l.clock.pass(session.PrefixIdle)
	return l.planned.turn(ctx, r)
}

func (l *rebuilt) used(names []string) {
	l.planned.used(names)
	sessions := l.planner.Sessions
	key, _ := sessions.Key(l.last.Session)
	state, ok := sessions.Get(l.last.Session)
	if !ok {
		return // it has no list then
	}
	state.List = slices.DeleteFunc(slices.Clone(state.List), func(v session.Visible) bool { return v.Used == 0 })
	sessions.Commit(key, state)
}

// keepingSection shows what toolbelt gives up by keeping its list, and what it saves; without rows where nothing was compared.
func (r *RecallReport) keepingSection() section {
	s := section{
		title: "What keeping the list costs", about: "Visible recall that toolbelt gives up by keeping its list, in points, with the 95 % interval of the difference turn by turn; below 0 keeping gains. " +
			"rebuilt: the list made anew on every turn, best first, only used tools kept. unguarded: what was visible is kept where no match wants its place, and no match is turned away for the list's sake. " +
			"changes and lost (estimated tokens of the list before that an engine must evaluate again, a turn): toolbelt's and theirs.",
		head: []string{"set", "against", "embedder", "cases", "visible", "theirs", "given up", "95 %", "changes", "theirs", "lost", "theirs"},
	}
	for _, row := range r.Replay {
		g := row.GivenUp
		if g == nil {
			continue
		}
		own := slices.IndexFunc(r.Replay, func(o ReplayRow) bool { return o.Set == row.Set && o.Method == g.By })
		if own < 0 {
			continue
		}
		kept := r.Replay[own]
		s.rows = append(s.rows, []string{
			row.Set, row.Method, dash(row.Embedder), count(row.Cases), share(kept.VisibleRecall), share(row.VisibleRecall),
			fmt.Sprintf("%+.1f", g.Points), fmt.Sprintf("%+.1f to %+.1f", g.Interval[0], g.Interval[1]),
			fmt.Sprintf("%.2f", kept.ChangesPerTurn), fmt.Sprintf("%.2f", row.ChangesPerTurn),
			fmt.Sprintf("%.0f", kept.PrefixLostPerTurn), fmt.Sprintf("%.0f", row.PrefixLostPerTurn),
		})
	}
	return s
}
