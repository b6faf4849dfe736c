package turn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/session"
	"toolbelt/selector"
)

// Verdict is, in a word, why a tool is visible or hidden.
type Verdict string

// The verdicts.
const (
	Shown      Verdict = "visible"          // it has a place of its own: see the reason
	AllShown   Verdict = "fallback"         // every tool is visible
	BelowFloor Verdict = "below_floor"      // neither its match nor its words reach the floor
	NoSlot     Verdict = "no_slot"          // others rank higher, and the cap holds no more
	Outranked  Verdict = "outranked"        // it reaches tau, but on a turn that clearly needs a tool as many as do rank higher
	NotBetter  Verdict = "not_better"       // it does not beat by δ what it would replace
	TooWeak    Verdict = "too_weak"         // over the floor, but far below the turn's best match: a list is not disturbed for it
	OverBudget Verdict = "over_budget"      // the context that the request names holds no more
	Dropped    Verdict = "evicted"          // it was visible, and the list outgrew the cap
	NoRoom     Verdict = "no_room_for_mate" // a bundle mate of a match, but matches and kept tools fill the list
	ListKept   Verdict = "list_kept"        // the list is the last turn's: no embedder could judge this message, or tool_choice is none
	Settled    Verdict = "decided_before"   // an earlier request of this turn made the list, without it
)

// Explanation is why a tool is visible or hidden in one request. Numbers are finite.
type Explanation struct {
	Tool     string         `json:"tool"`
	Visible  bool           `json:"visible"`
	Reason   session.Reason `json:"reason,omitempty"` // its tier; none where it is hidden or a fallback shows everything
	Verdict  Verdict        `json:"verdict"`
	Fallback string         `json:"fallback,omitempty"` // why every tool is visible
	Turn     int            `json:"turn"`
	Embedder string         `json:"embedder"`
	Signals  *Signals       `json:"signals,omitempty"`  // nil where nothing was scored
	Recalled []Remembered   `json:"recalled,omitempty"` // skills that fit the message, best first
	Floor    Bar            `json:"floor"`
	Slots    Slots          `json:"slots"`
	Why      string         `json:"why"` // a sentence
	Do       string         `json:"do"`  // a sentence: what would change it, or that nothing need be done
}

// Signals are what speaks for one tool.
type Signals struct {
	Place   int      `json:"place"` // among all tools by rank, from 1
	Of      int      `json:"of"`    // tools in all
	Rank    float64  `json:"rank"`  // z-scores of all signals, summed
	Match   float64  `json:"match"` // match units: the mean of the views' z, or what was learned where that is more
	Words   float64  `json:"words"` // share of the last message's word weight, in [0, 1]
	BM25    float64  `json:"bm25"`
	Views   []View   `json:"views"` // one an embedder that answered
	Learned *Learned `json:"learned,omitempty"`

	Prepares *Prepares `json:"prepares,omitempty"` // nil where the tool rose by nothing of the kind
	Does     *Does     `json:"does,omitempty"`     // nil where its rank did not move by what it does
}

// Prepares is that a tool gives what another requires, which is among the best or prepares one of them itself.
type Prepares struct {
	Tool  string  `json:"tool"`  // the other
	Rise  float64 `json:"rise"`  // what the rank grew by, part of it
	Match float64 `json:"match"` // match units that the tool counts as for it, on a turn that clearly needs a tool
}

// Does is what a tool does by its name, and what that is worth on a turn that asks for such a thing, or for another.
type Does struct {
	Deed string  `json:"deed"` // "read", "make", "change", "remove" or "send"
	Rise float64 `json:"rise"` // what the rank grew by, part of it; below 0 where something else is asked for
}

// View is what one embedder has to say of a tool.
type View struct {
	Model     string  `json:"model"`
	Cosine    float64 `json:"cosine"` // the best over the texts
	Text      string  `json:"text"`   // that gave it
	Example   bool    `json:"example"`
	Mean      float64 `json:"mean"`      // of the tool's cosines with unrelated requests
	Deviation float64 `json:"deviation"` // of the same
	Z         float64 `json:"z"`         // (cosine - mean) / deviation
}

// Learned is what use has taught of a tool that bears on the request.
type Learned struct {
	Near  float64 `json:"near"`  // deviations by which the nearest example stands above requests in general
	Match float64 `json:"match"` // the same above this app's requests for other tools: match units
	Habit float64 `json:"habit"` // logarithm of how much likelier it is after the tools called last
	Sure  bool    `json:"sure"`  // it followed those more often than not: the floor is no bar
}

// Bar is the floor as it is on this turn.
type Bar struct {
	Tau   float64 `json:"tau"`   // the least match
	Words float64 `json:"words"` // or the least share of words
	Least float64 `json:"least"` // the match that is enough for a tool that ranks among as many as have tau or the words: below tau where the turn clearly needs a tool, else tau
	Tools int     `json:"tools"` // how many have tau or the words, and so how many are over the floor; 0 where nothing was scored
	Over  bool    `json:"over"`  // the tool is one of those that are
}

// reaches reports whether the tool has tau or the words; on a turn that clearly needs a tool it may be over the floor without, or not over it for all that.
func (b Bar) reaches(s *Signals) bool { return s.Match >= b.Tau || s.Words >= b.Words }

// Slots are who has the places.
type Slots struct {
	MaxTools int      `json:"max_tools"`
	Tools    []Holder `json:"tools"`          // visible, in the order sent; none in a fallback
	Last     string   `json:"last,omitempty"` // the lowest ranked tool that has its slot by matching
	Skipped  []string `json:"skipped"`        // over the floor, without a slot
}

// Holder is one visible tool.
type Holder struct {
	Tool
	Place int `json:"place,omitempty"` // by rank, 0 where nothing was scored
}

// Explain says why one tool is visible or hidden in the plan that this request would get now. It takes the plan's own steps, and keeps, counts and
// logs nothing. An error of kind NotFound says that the request has no such tool, and lists names near to it, or the first ones of all. Cost: a few plans.
func (p *Planner) Explain(ctx context.Context, r Request, tool string) (Explanation, error) {
	if !slices.ContainsFunc(r.Chat.Tools, func(t catalog.Tool) bool { return t.Name == tool }) {
		return Explanation{}, unknownTool(tool, r.Chat.Tools)
	}
	defer p.Sessions.Lock(r.Identity)()
	d := p.draft(r)
	plan, err := p.decide(ctx, d)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{
		Tool: tool, Fallback: plan.Fallback, Turn: plan.Turn, Embedder: plan.Embedder,
		Floor: Bar{Tau: p.policy.Threshold, Words: p.policy.Words, Least: p.policy.Threshold}, Recalled: p.remembered(d),
		Slots: Slots{MaxTools: p.policy.MaxTools, Skipped: append([]string{}, plan.Skipped...)},
	}
	by, known := p.scoredFor(ctx, d)
	if known {
		e.Signals = p.signals(d, by, tool)
		e.Floor.see(d, p.floor(), by.scores, tool)
	}
	if plan.Fallback == "" {
		e.Slots.fill(plan, d, by, known)
	}
	e.Verdict = p.verdict(plan, d, tool)
	for _, t := range plan.Tools {
		if t.Name == tool {
			e.Visible = true
			if plan.Fallback == "" {
				e.Reason = t.Reason
			}
		}
	}
	e.Why, e.Do = why(e), p.advice(d, e)
	if e.Signals.shownAsStep(e) {
		e.Why = fmt.Sprintf("It is visible: it gives what %q requires, and ranks among as many as reach the floor, which are %d, on a turn that clearly needs a tool.", e.Signals.Prepares.Tool, e.Floor.Tools)
	}
	return e, nil
}

// scoredFor returns what the list was chosen by; where none was chosen, what it would be. It reports false where nothing can be scored.
func (p *Planner) scoredFor(ctx context.Context, d *draft) (scored, bool) {
	if d.chosen != nil {
		return d.chosen.scored, true
	}
	if p.policy.Off != "" {
		return scored{}, false
	}
	if d.snapshot == nil {
		snapshot, err := p.Snapshots.Snapshot(d.hash, d.request.Chat.Tools)
		if err != nil {
			return scored{}, false
		}
		d.snapshot = snapshot
	}
	scores, query, embedder, err := p.score(ctx, d.snapshot, d.request.Chat)
	if err != nil {
		return scored{}, false
	}
	p.learned(d, query, &scores)
	return scored{scores: scores, query: query, embedder: embedder}, true
}

// shownAsStep reports whether the tool is visible since it prepares another, and would not match by itself.
func (s *Signals) shownAsStep(e Explanation) bool {
	return s != nil && s.Prepares != nil && e.Visible && e.Reason == session.Semantic && s.Match < e.Floor.Least && e.Floor.Over
}

// see fills in what the turn's scores make of the floor.
func (b *Bar) see(d *draft, f selector.Floor, s selector.Scores, tool string) {
	id, _ := d.snapshot.Catalog().Lookup(tool)
	b.Least, b.Tools = number(f.Least(s)), f.Count(s)
	b.Over = slices.ContainsFunc(selector.Select(s, f, len(s.Rank)), func(m selector.Match) bool { return m.ID == id })
}

func (p *Planner) signals(d *draft, by scored, tool string) *Signals {
	id, _ := d.snapshot.Catalog().Lookup(tool)
	x := d.snapshot.Index.Explain(by.query, id)
	s := &Signals{
		Place: place(by.scores, id), Of: d.snapshot.Catalog().Len(), Views: []View{},
		Rank: number(by.scores.Rank[id]), Match: number(by.scores.Match[id]), Words: number(by.scores.Words[id]), BM25: number(x.BM25),
	}
	for _, v := range x.Views {
		s.Views = append(s.Views, View{v.Model.Name, number(v.Cosine), v.Text, v.Example, number(v.Mean), number(v.Deviation), number(v.Z)})
	}
	if x.Prepares != catalog.None {
		s.Prepares = &Prepares{d.snapshot.Catalog().Tool(x.Prepares).Name, number(x.Rise), number(x.Step)}
	}
	if x.Asked != 0 {
		s.Does = &Does{x.Deed, number(x.Asked)}
	}
	recalled := p.Learner.Recall(d.ask(by.query))
	at := func(values []float32) float64 {
		if values == nil {
			return 0
		}
		return number(values[id])
	}
	learned := Learned{at(recalled.Near), at(recalled.Match), at(recalled.Habit), slices.Contains(recalled.Sure, id)}
	if learned != (Learned{}) {
		s.Learned = &learned
	}
	return s
}

// fill lists who has the places.
func (s *Slots) fill(plan *Plan, d *draft, by scored, known bool) {
	s.Tools = []Holder{}
	last := 0
	for _, t := range plan.Tools {
		t.Score = number(t.Score)
		h := Holder{Tool: t}
		if known {
			if id, ok := d.snapshot.Catalog().Lookup(t.Name); ok {
				h.Place = place(by.scores, id)
			}
		}
		if t.Reason == session.Semantic && h.Place > last {
			last, s.Last = h.Place, t.Name
		}
		s.Tools = append(s.Tools, h)
	}
}

// verdict tells the cases apart by leaving one limit out at a time.
func (p *Planner) verdict(plan *Plan, d *draft, tool string) Verdict {
	switch {
	case plan.Fallback != "":
		return AllShown
	case slices.ContainsFunc(plan.Tools, func(t Tool) bool { return t.Name == tool }):
		return Shown
	case d.chosen == nil && !d.found.Same:
		return ListKept
	case d.chosen == nil:
		return Settled
	}
	id, _ := d.snapshot.Catalog().Lookup(tool)
	c := d.chosen
	without := func(change func(*admission.Limits)) bool {
		in := c.input
		change(&in.Limits)
		return shows(admission.Admit(in), id)
	}
	required := slices.Concat(c.input.Core, c.input.Pins, c.input.Hatches, c.input.Skill, c.input.Offered)
	switch {
	case c.input.Limits.Tokens > 0 && without(func(l *admission.Limits) { l.Tokens = 0 }):
		return OverBudget
	case c.input.Limits.Delta > 0 && without(func(l *admission.Limits) { l.Delta = 0 }):
		return NotBetter
	case c.input.Limits.Newcomer > 0 && without(func(l *admission.Limits) { l.Newcomer = 0 }):
		return TooWeak
	case slices.ContainsFunc(c.input.Previous, func(v admission.Place) bool { return v.ID == id }):
		return Dropped
	case slices.Contains(required, id) || slices.ContainsFunc(c.matches, func(m selector.Match) bool { return m.ID == id }):
		return NoSlot
	case p.floor().Over(c.scores, id) && len(c.matches) < maxMatches:
		return Outranked
	case p.floor().Over(c.scores, id):
		return NoSlot
	case slices.Contains(c.input.Mates, id):
		return NoRoom
	}
	return BelowFloor
}

// would reports whether the tool were visible under another policy, and how many tools were over the floor then.
func (p *Planner) would(d *draft, tool string, change func(*Policy)) (visible bool, over int) {
	other := *p
	change(&other.policy)
	id, _ := d.snapshot.Catalog().Lookup(tool)
	c := other.choose(d, d.chosen.scored)
	return shows(c.admitted, id), len(c.matches)
}

func shows(r admission.Result, id catalog.ID) bool {
	return slices.ContainsFunc(r.Visible, func(e admission.Entry) bool { return e.ID == id })
}

// place is the tool's place among all by rank, from 1; of equal ranks the catalog's first is first.
func place(s selector.Scores, id catalog.ID) int {
	n := 1
	for i, r := range s.Rank {
		if r > s.Rank[id] || r == s.Rank[id] && catalog.ID(i) < id {
			n++
		}
	}
	return n
}

// number is x as JSON can say it.
func number[T float32 | float64](x T) float64 {
	if f := float64(x); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f
	}
	return 0
}

// maxListed is how many names are listed where none is near.
const maxListed = 30

// unknownTool says that there is no such tool, and which names are near, or where none is, which there are.
func unknownTool(name string, tools []catalog.Tool) error {
	text, rest := "no tool "+quote(name)+" is among the request's", ""
	names := nearNames(name, tools, 3)
	switch {
	case len(names) > 0:
		text += "; near to it: "
	case len(tools) > 0:
		text += ", which are "
		for _, t := range tools[:min(len(tools), maxListed)] {
			names = append(names, t.Name)
		}
		if more := len(tools) - maxListed; more > 0 {
			rest = fmt.Sprintf(" and %d more", more)
		}
	}
	for i := range names {
		names[i] = quote(names[i])
	}
	return catalog.NewError(catalog.NotFound, text+strings.Join(names, ", ")+rest, nil)
}
