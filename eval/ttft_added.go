package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// bridgeTool stands in for a dispatcher where the daemon's own is not at hand: late-bound tools are called through it.
const bridgeTool = `{"type":"function","function":{"name":"call_tool","description":"Call a function that was described in a message.","parameters":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]}}}`

// playAdded adds one tool on the second turn, in the order of the variant: sorted, or appended. Sorted tools come in descending order of their names: then a
// prompt that holds the one before differs from the next in the same place as the first turn's would, so that the first turn need not be evaluated again.
func (s *scene) playAdded(ctx context.Context, variant, tool string) ([]Step, error) {
	if err := s.learnedMeta(ctx); err != nil {
		return nil, err
	}
	before := s.base()
	after := kvcache.Order(before, append(slices.Clone(before), tool))
	t := handTurn{before: s.array(before), after: s.array(after)}
	held := ""
	if variant == ByGAIA {
		before, after = slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))
		t = handTurn{before: s.w.tools(before), after: s.w.tools(after), ready: s.held >= tool}
		held = tool
	}
	s.held = ""
	step, err := s.handTurn(ctx, t)
	if step.Name = tool; err == nil {
		s.held = held
	}
	return []Step{step}, err
}

// lateRepeats is how many tools are bound late in one trial: each costs little, what comes before it much.
const lateRepeats = 3

// playBound adds one tool on a turn behind a long history: at the end of the array, or as text in the newest message.
func (s *scene) playBound(ctx context.Context, variant string, addable []string) ([]Step, error) {
	if err := s.learnedMeta(ctx); err != nil {
		return nil, err
	}
	t := handTurn{before: append(s.array(s.base()), json.RawMessage(bridgeTool)), history: historyTokens}
	if variant != "late" {
		t.after = append(slices.Clone(t.before), s.w.tools(addable[:1])...)
		step, err := s.handTurn(ctx, t)
		step.Name = addable[0]
		return []Step{step}, err
	}
	t.after = t.before
	var steps []Step
	for _, tool := range addable[:min(len(addable), lateRepeats)] {
		t.text = "\n\nOne more function can be called, through call_tool:\n" + string(s.w.tools([]string{tool})[0])
		step, err := s.handTurn(ctx, t)
		if err != nil {
			return nil, err
		}
		step.Name = tool
		steps = append(steps, step)
	}
	return steps, nil
}

// handTurn is a second turn, controlled by hand.
type handTurn struct {
	before, after []json.RawMessage // tools of the first and of the second turn
	history       int               // tokens of conversation before the first turn
	text          string            // added to the second turn's message
	ready         bool              // the engine holds what it would of the first turn
}

// handTurn makes the engine hold the first turn and measures the second.
func (s *scene) handTurn(ctx context.Context, t handTurn) (Step, error) {
	opening, next := s.first(), s.w.Turns[len(s.w.Turns)-1]
	talk := newTalk(s.Target.API, s.w.System)
	talk.past(t.history)
	first := asking{at: s.Recorded, text: opening.User, messages: talk.say(opening.User), tools: t.before}
	if !t.ready {
		if _, _, err := s.ask(ctx, first); err != nil {
			return Step{}, err
		}
	}
	talk.answer(opening)
	said := next.User + t.text
	step, _, err := s.ask(ctx, asking{at: s.Recorded, text: said, messages: talk.say(said), tools: t.after})
	return step, err
}

// past adds earlier turns of about so many tokens in all.
func (t *talk) past(tokens int) {
	const piece = 250
	for i := 0; tokens > 0; i++ {
		t.say(fmt.Sprintf("Please keep list number %d in mind.", i+1))
		t.messages = append(t.messages, textMessage("assistant", fmt.Sprintf("List %d. ", i+1)+filler(min(tokens, piece)-20)))
		tokens -= piece
	}
}

// learnedMeta finds out, by one request through a daemon, which tools it adds to a list, so that they count in ours.
func (s *scene) learnedMeta(ctx context.Context) error {
	if s.seen {
		return nil
	}
	return s.teach(ctx, "append", "")
}

// playAsked plays two turns through the daemon, behind a history of so many tokens; the second asks by name for a tool that is not visible yet.
func (s *scene) playAsked(ctx context.Context, strategy string, n, history int) ([]Step, error) {
	daemon, err := s.start(ctx, strategy, false, "")
	if err != nil {
		return nil, err
	}
	defer daemon.Stop()
	opening := s.first()
	talk := newTalk(s.Target.API, s.w.System)
	talk.past(history)
	_, sent, err := s.ask(ctx, asking{daemon: daemon, text: opening.User, messages: talk.say(opening.User), tools: s.w.Tools})
	if err != nil {
		return nil, err
	}
	s.learnMeta(sent)
	talk.answer(opening)
	hidden := without(s.w.names(), sent.Tools)
	switch {
	case strategy == AllTools && len(hidden) > 0:
		return []Step{{Name: "added", Why: fmt.Sprintf("the daemon hides %d tools, though its strategy is to show all", len(hidden))}}, nil
	case strategy == AllTools:
		hidden = s.w.names() // a turn costs what it costs, whichever tool it asks for
	case len(hidden) == 0:
		return []Step{{Name: "added", Why: "the daemon shows every tool from the first turn on"}}, nil
	}
	repeats := 1
	if strategy == "late" {
		repeats = min(lateRepeats, len(hidden))
	}
	before := slices.Clone(talk.messages)
	var steps []Step
	for i := range repeats {
		if i > 0 {
			if _, err := s.repeat(ctx, "restore", sent); err != nil {
				return nil, err
			}
		}
		talk.messages = slices.Clone(before)
		tool := hidden[(n+i)*7%len(hidden)]
		step, err := s.askFor(ctx, daemon, talk, tool, sent, strategy)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			step.Expected = nil // the daemon knows nothing of what went past it
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// askFor plays a turn that asks for a tool by name; sent is what reached the engine on the turn before.
func (s *scene) askFor(ctx context.Context, daemon *Daemon, talk *talk, tool string, sent Sent, strategy string) (Step, error) {
	said := fmt.Sprintf("Now use %s for it, please.", tool)
	step, after, err := s.ask(ctx, asking{name: tool, daemon: daemon, text: said, messages: talk.say(said), tools: s.w.Tools, needs: []string{tool}})
	switch {
	case err != nil:
	case len(step.Missing) > 0:
		step.Why = fmt.Sprintf("the daemon did not show %q, which was asked for by name", tool)
	case strategy == "late" && !sameArray(after.Array, sent.Array):
		step.Why = "the daemon changed the array instead of binding the tool late"
	}
	return step, err
}

// parsed are the tools that can be read of an array.
func parsed(array []json.RawMessage) []catalog.Tool {
	var tools []catalog.Tool
	for _, raw := range array {
		if t, ok := catalog.ParseTool(raw); ok {
			tools = append(tools, t)
		}
	}
	return tools
}
