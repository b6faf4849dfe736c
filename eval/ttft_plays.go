package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// sameAgain is a turn that needs nothing new: the same is asked for once more.
func sameAgain(opening WorkTurn, n int) string {
	return fmt.Sprintf("And again: %s (%d)", opening.User, n)
}

// floorRounds is how often a second turn is taken in one trial, and its floor.
const floorRounds = 3

// playFirst plays the first turn with nothing cached, then a second one with the same list.
func (s *scene) playFirst(ctx context.Context, variant string) ([]Step, error) {
	opening := s.first()
	nonce, err := s.Target.Cold(ctx, 0)
	if err != nil {
		return nil, err
	}
	talk := newTalk(s.Target.API, nonce+s.w.System)
	one := asking{name: "turn1", at: s.Recorded, text: opening.User, messages: talk.say(opening.User), needs: opening.Needs}
	talk.answer(opening)
	switch {
	case variant == ByGAIA:
		lists, err := s.gaiaLists(ctx, []WorkTurn{opening})
		if err != nil {
			return nil, err
		}
		one.tools = s.w.tools(lists[0])
	case theirs(variant):
		one.tools = s.w.Tools
	default:
		daemon, err := s.start(ctx, variant, false, "")
		if err != nil {
			return nil, err
		}
		defer daemon.Stop()
		return s.playOurs(ctx, daemon, one, talk)
	}
	first, _, err := s.ask(ctx, one)
	if err != nil {
		return nil, err
	}
	first.prove()
	if s.openingOnly {
		return []Step{first}, nil
	}
	two := asking{name: "turn2", at: s.Recorded, text: sameAgain(opening, 1), messages: talk.say(sameAgain(opening, 1)), tools: one.tools}
	second, _, err := s.ask(ctx, two)
	return []Step{first, second}, err
}

// maxSettling is how often a list may change under the same question before it counts as one that does not stand.
const maxSettling = 2

// playOurs plays a first turn through the daemon, then second turns, each of which is repeated by hand from where the first turn left the engine. Where a list still
// changes on a second turn (a tool that was called leaves a place behind), that turn takes the place of the first.
func (s *scene) playOurs(ctx context.Context, daemon *Daemon, one asking, talk *talk) ([]Step, error) {
	one.daemon, one.tools = daemon, s.w.Tools
	first, held, err := s.ask(ctx, one)
	if err != nil {
		return nil, err
	}
	first.prove()
	s.learnMeta(held)
	steps := []Step{first}
	if s.openingOnly {
		return steps, nil
	}
	before, again := slices.Clone(talk.messages), 0
	ask := func(name string) (Step, Sent, error) {
		again++
		talk.messages = slices.Clone(before)
		text := sameAgain(s.first(), again)
		return s.ask(ctx, asking{name: name, daemon: daemon, text: text, messages: talk.say(text), tools: s.w.Tools})
	}
	for n, settling := 0, 0; n < floorRounds; {
		if n > 0 {
			if _, err := s.repeat(ctx, "restore", held); err != nil {
				return nil, err
			}
		}
		second, sent, err := ask("turn2")
		if err != nil {
			return nil, err
		}
		if !sameArray(sent.Array, held.Array) {
			if n == 0 && settling < maxSettling {
				settling++
				talk.answer(WorkTurn{Answer: s.first().Answer})
				before, held, second.Name = slices.Clone(talk.messages), sent, "settling"
				steps = append(steps, second)
				continue
			}
			second.Why = "the list changed from one turn to the next"
		}
		if n > 0 {
			second.Expected = nil // the daemon knows nothing of what went past it
		}
		if _, err := s.repeat(ctx, "restore", held); err != nil {
			return nil, err
		}
		floor, err := s.repeat(ctx, "floor", sent)
		if err != nil {
			return nil, err
		}
		floor.Why = second.Why
		steps = append(steps, second, floor)
		n++
	}
	return steps, nil
}

func sameArray(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// warmLimit is how long the daemon may take to warm the engine.
const warmLimit = 2 * time.Minute

// playPrewarmed plays the first turn of a conversation when the daemon, started anew, has warmed the engine with what it knows of the app from an
// earlier conversation.
func (s *scene) playPrewarmed(ctx context.Context, variant string) ([]Step, error) {
	key := "prewarmed-" + variant
	if !s.taught[variant] {
		if err := s.teach(ctx, variant, key); err != nil {
			return nil, err
		}
		s.taught[variant] = true
	}
	if _, err := s.Target.Cold(ctx, 0); err != nil {
		return nil, err
	}
	daemon, err := s.start(ctx, variant, true, key)
	if err != nil {
		return nil, err
	}
	defer daemon.Stop()
	why, err := awaitPrewarmed(ctx, s.Client, daemon.URL, warmLimit)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return []Step{{Name: "turn1", Why: why}}, nil
	}
	opening := s.first()
	talk := newTalk(s.Target.API, s.w.System)
	first, _, err := s.ask(ctx, asking{name: "turn1", daemon: daemon, text: opening.User, messages: talk.say(opening.User), tools: s.w.Tools, needs: opening.Needs})
	return []Step{first}, err
}

// keptWithin is how soon a daemon has written down what it saw of an app.
const keptWithin = 500 * time.Millisecond

// teach lets a daemon see one conversation of the app; one that does not warm the engine keeps nothing for it.
func (s *scene) teach(ctx context.Context, variant, key string) error {
	daemon, err := s.start(ctx, variant, true, key)
	if err != nil {
		return err
	}
	defer daemon.Stop()
	opening := s.w.Turns[len(s.w.Turns)-1]
	talk := newTalk(s.Target.API, s.w.System)
	_, sent, err := s.ask(ctx, asking{daemon: daemon, text: opening.User, messages: talk.say(opening.User), tools: s.w.Tools})
	if err != nil {
		return err
	}
	s.learnMeta(sent)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(keptWithin):
		return nil
	}
}

// conversing is a conversation played turn by turn.
type conversing struct {
	*scene
	prefix string // of the steps' names
	at     *url.URL
	daemon *Daemon    // nil: by hand
	lists  [][]string // by turn; nil: every tool
	talk   *talk
	window int
	cut    bool
}

func (c *conversing) turn(ctx context.Context, i int, t WorkTurn) (Step, error) {
	tools := c.w.Tools
	if c.lists != nil {
		tools = c.w.tools(c.lists[i])
	}
	step, _, err := c.ask(ctx, asking{
		name: fmt.Sprintf("%s%d", c.prefix, i+1), at: c.at, daemon: c.daemon, text: t.User, messages: c.talk.say(t.User), tools: tools, needs: t.Needs, context: c.window, cut: c.cut,
	})
	c.talk.answer(t)
	return step, err
}

// converse begins conversations of these turns, all of which share a daemon where the variant is ours. The caller stops it.
func (s *scene) converse(ctx context.Context, variant, nonce string, conversations ...[]WorkTurn) (list []*conversing, stop func(), err error) {
	stop = func() {}
	var daemon *Daemon
	if !theirs(variant) {
		if daemon, err = s.start(ctx, variant, false, ""); err != nil {
			return nil, stop, err
		}
		stop = daemon.Stop
	}
	for i, turns := range conversations {
		c := &conversing{scene: s, prefix: string(rune('a' + i)), at: s.Recorded, daemon: daemon, talk: newTalk(s.Target.API, nonce+s.w.System)}
		if variant == ByGAIA {
			if c.lists, err = s.gaiaLists(ctx, turns); err != nil {
				return nil, stop, err
			}
		}
		list = append(list, c)
	}
	return list, stop, nil
}

// playTopics plays the whole conversation from a cold start. Where all tools are kept warm, the cold start is a request of its own.
func (s *scene) playTopics(ctx context.Context, variant string) ([]Step, error) {
	nonce, err := s.Target.Cold(ctx, 0)
	if err != nil {
		return nil, err
	}
	var steps []Step
	if variant == AllWarm {
		warm := newTalk(s.Target.API, nonce+s.w.System)
		step, _, err := s.ask(ctx, asking{name: coldStart, at: s.Recorded, text: "Hello", messages: warm.say("Hello"), tools: s.w.Tools})
		if err != nil {
			return nil, err
		}
		step.prove()
		steps = append(steps, step)
	}
	list, stop, err := s.converse(ctx, variant, nonce, s.w.Turns)
	defer func() { stop() }()
	if err != nil {
		return nil, err
	}
	for i, t := range s.w.Turns {
		step, err := list[0].turn(ctx, i, t)
		if err != nil {
			return nil, err
		}
		if i == 0 && variant != AllWarm {
			step.prove()
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// coldStart names the step that makes the engine warm.
const coldStart = "cold_start"

// playTwo plays two conversations of the same app in turns. The first turn of the first is the cold start.
func (s *scene) playTwo(ctx context.Context, variant string) ([]Step, error) {
	half := len(s.w.Turns) / 2
	long := min(half, 4)
	a, b := s.w.Turns[:long], s.w.Turns[half:half+long]
	nonce, err := s.Target.Cold(ctx, 0)
	if err != nil {
		return nil, err
	}
	list, stop, err := s.converse(ctx, variant, nonce, a, b)
	defer func() { stop() }()
	if err != nil {
		return nil, err
	}
	var steps []Step
	for i := range long {
		for k, turns := range [][]WorkTurn{a, b} {
			step, err := list[k].turn(ctx, i, turns[i])
			if err != nil {
				return nil, err
			}
			if len(steps) == 0 {
				step.prove()
				step.Name = coldStart
			}
			steps = append(steps, step)
		}
	}
	return steps, nil
}

// smallContext is Ollama's own default without a GPU, in tokens.
const smallContext = 4096

// playContext plays the conversation in a small context, where the engine cuts what does not fit. Where every tool is sent two turns are enough to
// show it: each costs a whole context.
func (s *scene) playContext(ctx context.Context, variant string) ([]Step, error) {
	nonce, err := s.Target.Cold(ctx, smallContext)
	if err != nil {
		return nil, err
	}
	turns := s.w.Turns
	if variant == AllTools {
		turns = turns[:2]
	}
	list, stop, err := s.converse(ctx, variant, nonce, turns)
	defer func() { stop() }()
	if err != nil {
		return nil, err
	}
	list[0].window, list[0].cut = smallContext, true
	var steps []Step
	for i, t := range turns {
		step, err := list[0].turn(ctx, i, t)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}
