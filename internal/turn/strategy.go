package turn

import (
	"slices"

	"toolbelt/internal/admission"
	"toolbelt/internal/chat"
	"toolbelt/internal/hatch"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
)

// Prefix knows what the engine holds of the prompts that it has read. Its methods must not block.
type Prefix interface {
	// Model is what is known of a model in a request that asks for so many tokens of context, 0 for none, and what its tokens are worth.
	Model(name string, askedContext int) (kvcache.Facts, kvcache.Rates)
	Expect(p kvcache.Prompt) kvcache.Expected
	Sent(p kvcache.Prompt)
	Answered(p kvcache.Prompt, a kvcache.Answer) kvcache.Verdict
}

// noPrefix is a Prefix that knows nothing.
type noPrefix struct{}

func (noPrefix) Model(string, int) (kvcache.Facts, kvcache.Rates) {
	return kvcache.Facts{}, kvcache.UsualRates()
}
func (noPrefix) Expect(kvcache.Prompt) kvcache.Expected                  { return kvcache.Expected{} }
func (noPrefix) Sent(kvcache.Prompt)                                     {}
func (noPrefix) Answered(kvcache.Prompt, kvcache.Answer) kvcache.Verdict { return kvcache.Verdict{} }

// facts is what is known of the request's model.
func (p *Planner) facts(d *draft) kvcache.Facts {
	f, _ := p.Prefix.Model(d.request.Chat.Model, d.request.Chat.ContextTokens)
	return f
}

// ready is the strategy that a conversation is made ready for when its list is made.
func (p *Planner) ready(d *draft) kvcache.Strategy {
	if p.policy.Strategy != "" {
		return p.policy.Strategy
	}
	return kvcache.Choose(p.facts(d), kvcache.LateFrom)
}

// how is how a tool that is newly needed reaches the model in this request.
func (p *Planner) how(d *draft, s session.State) kvcache.Strategy {
	strategy := kvcache.Strategy(s.Strategy)
	switch {
	case strategy == "":
		return kvcache.Append
	case strategy == kvcache.Late && !s.HasOwn(hatch.CallTool): // the app has a tool of that name
		return kvcache.Append
	case strategy == kvcache.Late && p.policy.Strategy == "":
		return kvcache.Choose(p.facts(d), d.request.Chat.TextBytes/4)
	}
	return strategy
}

// lost reports whether the engine has nothing left of what this conversation sent, so that a change of its list costs nothing. That another conversation
// came between is no such case: an engine may have room for both. Without anything known of the engine, its usual keep-alive decides.
func (p *Planner) lost(d *draft) bool {
	if d.found.New || !d.found.State.HasList() {
		return true
	}
	if p.Prefix == (noPrefix{}) {
		return d.found.Idle > session.PrefixIdle
	}
	switch p.Prefix.Expect(d.prompt(d.edits(d.found.State))).Lost {
	case kvcache.Unloaded, kvcache.OptionsChanged, kvcache.KeepAliveOver, kvcache.Restarted, kvcache.Overflowed:
		return true
	case kvcache.OtherRequest, kvcache.Changed, kvcache.Rewound:
		return p.policy.Strategy == kvcache.Rebuild
	}
	return d.found.Idle > session.PrefixIdle && p.facts(d).Digest == ""
}

// arrange settles which of the visible tools the array holds, in the order to send, and which come as text.
func (p *Planner) arrange(d *draft, r admission.Result) (array, late []string) {
	state := &d.found.State
	wanted := make([]string, 0, len(r.Visible))
	for _, e := range r.Visible {
		wanted = append(wanted, d.snapshot.Catalog().Tool(e.ID).Name)
	}
	switch how := p.how(d, *state); {
	case d.remade || how == kvcache.Rebuild:
		*state = state.Forget()
		return d.order(nil, wanted), nil
	case how != kvcache.Late || len(r.Evicted) > 0 || d.forced() || d.newest() < 0:
		if len(r.Evicted) > 0 {
			*state = state.Forget()
		}
	default:
		inArray := state.Array()
		for _, name := range wanted {
			if !slices.Contains(inArray, name) {
				late = append(late, name)
			}
		}
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(late, name) })
		return d.order(inArray, wanted), late
	}
	for _, v := range state.List {
		if v.Late && slices.Contains(wanted, v.Name) && !d.forces(v.Name) {
			late = append(late, v.Name)
		}
	}
	wanted = slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(late, name) })
	return d.order(state.Array(), wanted), late
}

// forced reports whether the request's tool_choice must find its tools in the array.
func (d *draft) forced() bool {
	return d.request.Chat.Choice == chat.Named || d.request.Chat.Choice == chat.Required
}

// forces reports whether the request's tool_choice names a tool, which must be in the array then.
func (d *draft) forces(name string) bool {
	return d.forced() && slices.Contains(d.request.Chat.ChoiceNames, name)
}

// newest is the index of the newest message that text of ours can stand at the end of: a user's or a tool's. -1: there is none.
func (d *draft) newest() int {
	for i, m := range slices.Backward(d.request.Chat.Messages) {
		switch m.Role {
		case chat.RoleUser, chat.RoleTool:
			return i
		}
	}
	return -1
}

// own are the tools of ours that stand in a new list's array; none where nothing is hidden.
func (p *Planner) own(d *draft, s session.State) []session.Own {
	if !d.request.Answers || s.Plain || len(s.List) >= len(d.request.Chat.Elements) {
		return nil
	}
	cat := d.snapshot.Catalog()
	menu := hatch.MenuInput{
		Tools: cat, Groups: d.snapshot.Bundles.List(cat), Core: s.Core,
		Search: d.search || p.policy.ToolSearch > 0 && cat.Len() > p.policy.ToolSearch,
		Bridge: kvcache.Strategy(s.Strategy) == kvcache.Late || s.HasOwn(hatch.CallTool),
	}
	after := ""
	if place := ownPlace(session.State{List: s.List, Core: s.Core}); place > 0 {
		after = s.Array()[place-1]
	}
	var own []session.Own
	for _, def := range hatch.Definitions(menu) {
		if def.Name != hatch.CallTool && !p.policy.LoadTools || d.has(def.Name) {
			continue
		}
		own = append(own, session.Own{Name: def.Name, Description: def.Description, Schema: string(def.Schema), After: after})
	}
	return own
}

// yielding returns s without the tools of ours whose names the app has taken for its own since, and then without all that was said of ours.
func (d *draft) yielding(s session.State) session.State {
	taken := func(o session.Own) bool { return d.has(o.Name) }
	if !slices.ContainsFunc(s.Own, taken) {
		return s
	}
	s = s.Forget()
	s.Own = slices.DeleteFunc(slices.Clone(s.Own), taken)
	return s
}

// wanting reports whether a list that hides tools leaves the model nothing to ask for them by: the array hid none when the list was made, or
// an answer took our tools away when the model had asked often enough.
func (p *Planner) wanting(d *draft, s session.State) bool {
	return p.policy.LoadTools && !s.Plain && len(s.List) < len(d.request.Chat.Elements) && !s.HasOwn(hatch.LoadTools) && !d.has(hatch.LoadTools)
}

// has reports whether the request's array has an element of this key.
func (d *draft) has(key string) bool {
	return slices.ContainsFunc(d.request.Chat.Elements, func(e chat.Element) bool { return e.Key == key })
}
