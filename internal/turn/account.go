package turn

import (
	"slices"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
)

// Meter is a Recorder that is also told what answers used and called. It must not block.
type Meter interface {
	// Spent tells what one of the engine's answers cost. It is told once for each that went into an answer of the client's, where the engine said anything.
	Spent(p *Plan, s Spent)
	// Again tells that the engine is asked again within an answer: calls of our tools were answered, or, as a guess, hidden tools were shown since the engine had dropped a call.
	Again(p *Plan, guess bool)
	// Called tells which tools of the client's array an answer in the session's newest turn called, each once, and which of those the plan hid.
	Called(s session.State, called, hidden []string)
	// Written tells which hidden tools' calls an answer in the session's newest turn wrote as text. They are told to Called, too.
	Written(s session.State, tools []string)
}

// Spent is what one of the engine's answers cost.
type Spent struct {
	Usage   chat.Usage
	Verdict kvcache.Verdict // on its prompt
	Later   bool            // others have gone into the same answer of the client's before
	Hidden  bool            // another follows: what was generated was not all for the client
}

// Account is what a plan comes to, for whoever keeps count. Tokens are estimated from bytes.
type Account struct {
	App, Model    string
	Offered       int  // tools in the client's array
	OfferedTokens int  // of all of them
	VisibleTokens int  // of the visible ones, our own included
	KeptTokens    int  // of those: what stands before the first place at which the array differs from the conversation's last; 0 in a new conversation
	Changed       bool // the array is not the conversation's last one, or there was none
}

// Offered is how many tools the client's array has.
func (p *Plan) Offered() int {
	if p.draft == nil {
		return 0
	}
	return len(p.draft.request.Chat.Elements)
}

// Account returns what the plan comes to. Cost: linear in the tools of the request, about 20 ns each.
func (p *Plan) Account() Account {
	d := p.draft
	if d == nil {
		return Account{App: p.state.App}
	}
	a := Account{App: p.state.App, Model: d.request.Chat.Model, Offered: p.Offered()}
	names := make([]string, len(p.state.List))
	for i, v := range p.state.List {
		names[i] = v.Name
	}
	marks, sizes := chat.MarksOf(names), make(map[string]int, len(names)) // of the visible tools
	for _, e := range d.request.Chat.Elements {
		tokens := d.inTokens(e.End - e.Start)
		a.OfferedTokens += tokens
		if _, visible := marks.Place(e.Key); visible {
			sizes[e.Key] = tokens
		}
	}
	if p.Fallback != "" {
		a.VisibleTokens = a.OfferedTokens
		return a
	}
	for _, v := range p.state.List {
		a.VisibleTokens += sizes[v.Name]
	}
	own := 0
	for _, o := range p.state.Own {
		own += d.inTokens(len(o.Name) + len(o.Description) + len(o.Schema))
	}
	a.VisibleTokens += own
	before, after := d.found.State.Array(), p.state.Array()
	a.KeptTokens = kvcache.PrefixTokens(before, after, func(key string) int { return sizes[key] })
	if kvcache.CommonPrefix(before, after) >= max(1, ownPlace(p.state)) {
		a.KeptTokens += own
	}
	a.Changed = len(before) == 0 || !slices.Equal(before, after)
	return a
}

// inArray are the names that are tools of the client's, each once.
func inArray(s session.State, called []string, exists func(string) bool) (names []string) {
	for _, name := range called {
		listed := s.Lists(name)
		if (listed || exists(name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
