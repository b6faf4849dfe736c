package turn

import (
	"math"
	"slices"
	"strings"

	"toolbelt/embed"
	"toolbelt/internal/learn"
	"toolbelt/selector"
)

// Learner learns from use which requests a tool is for. Its methods must not block; turns are named by their keys.
type Learner interface {
	Recall(learn.Ask) learn.Recalled
	Asked(key string, a learn.Ask)
	Used(key string, called []string)
	Failed(key string, tools []string)
}

// What is learned counts beside what a tool says of itself, not instead of it. The weights are beside one view's; beside several they grow with
// the root of their number, as BM25's does.
const (
	nearWeight  = 0.6 // rank a deviation by which the nearest example stands above the tool's own match
	habitWeight = 0.5 // rank a natural logarithm of how much likelier the tool is after those called before
)

// learned adds to the scores what was learned that bears on the request, and returns what to learn from its outcome.
func (p *Planner) learned(d *draft, q selector.Query, s *selector.Scores) learn.Ask {
	ask := d.ask(q)
	r := p.Learner.Recall(ask)
	views := float32(math.Sqrt(float64(max(1, len(s.Used)))))
	for i, near := range r.Near {
		s.Rank[i] += views * nearWeight * max(0, near-max(0, s.Match[i]))
	}
	for i, match := range r.Match {
		s.Match[i] = max(s.Match[i], match)
	}
	for i, habit := range r.Habit {
		s.Rank[i] += views * habitWeight * habit
	}
	s.Sure = r.Sure
	for _, id := range r.Sure {
		s.Match[id] = max(s.Match[id], float32(p.policy.Threshold))
	}
	return ask
}

// ask is the request as learning sees it.
func (d *draft) ask(q selector.Query) learn.Ask {
	a := learn.Ask{
		App: d.found.State.App, Tools: d.snapshot.Catalog(), Array: d.hash,
		After: d.lastCalled(), Vectors: map[embed.Model][]embed.Vector{},
	}
	spoken := 0 // user messages with a text
	for _, text := range slices.Backward(d.request.Chat.Users) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if spoken++; spoken == 1 {
			a.Text = text
		}
	}
	for model, vectors := range q.Vectors {
		a.Vectors[model] = vectors[:min(len(vectors), spoken, 2)]
	}
	return a
}

// lastCalled are the tools called on the newest turn before this one that called any.
func (d *draft) lastCalled() []string {
	last, names := 0, []string(nil)
	see := func(turn int, name string) {
		switch {
		case turn > last:
			last, names = turn, []string{name}
		case turn == last && turn > 0 && !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	for _, v := range d.found.State.List {
		see(v.Used, v.Name)
	}
	for _, name := range d.found.State.Called {
		see(d.calledTurn(), name)
	}
	return names
}
