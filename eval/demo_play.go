package eval

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The two ways in which a conversation is played.
const (
	Straight = "straight" // at the engine, with every tool
	Toolbelt = "toolbelt" // through the daemon
)

// Player plays a conversation and measures each turn.
type Player struct {
	Conversation *Conversation
	Model        string
	Options      map[string]any // sent with every request
	Engine       *Ollama        // the engine itself, made cold before each run
	Recorder     *Recorder      // stands in front of the engine, behind the client under test
	Progress     func(string)   // told what is about to be done, and every 15 s that it goes on, one call at a time; may be nil
}

// Run is one conversation played once.
type Run struct {
	Way   string
	Turns []Turn
}

// Turn is what was measured on one turn.
type Turn struct {
	Tools   []string // that reached the engine, in the order sent
	Needs   string
	Visible bool // Needs is among Tools
	Timing  Timing
}

// Play makes the engine cold and plays the conversation once, sending every turn's request, with every
// tool, to client: the recorder's own address or a daemon in front of it. It stops at the first turn that
// fails. Each turn costs one request; the answer is thrown away, so that both ways see the same history.
func (p *Player) Play(ctx context.Context, way string, client *Ollama) (Run, error) {
	run := Run{Way: way}
	if err := p.cold(ctx, way); err != nil {
		return run, err
	}
	for i, scripted := range p.Conversation.Turns {
		timing, err := p.ask(ctx, client, fmt.Sprintf("%s: turn %d of %d", way, i+1, len(p.Conversation.Turns)), ChatRequest{
			Model:    p.Model,
			Messages: p.Conversation.Messages(i),
			Tools:    p.Conversation.Tools,
			Options:  p.Options,
		})
		if err != nil {
			return run, fmt.Errorf("%s, turn %d: %w", way, i+1, err)
		}
		sent, ok := p.Recorder.Take(scripted.User)
		if !ok {
			return run, fmt.Errorf("%s, turn %d: its request never reached the engine", way, i+1)
		}
		run.Turns = append(run.Turns, Turn{
			Tools:   sent.Tools,
			Needs:   scripted.Needs,
			Visible: slices.Contains(sent.Tools, scripted.Needs),
			Timing:  timing,
		})
		p.tell("%s: turn %d: %d tools, %d prompt tokens, first token after %s", way, i+1,
			len(sent.Tools), timing.PromptTokens, timing.FirstToken.Round(time.Millisecond))
	}
	return run, nil
}

func (p *Player) tell(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}
