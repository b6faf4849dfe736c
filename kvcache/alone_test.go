package kvcache_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"toolbelt/kvcache"
)

// That another conversation has pushed one out is certain from the first answer on that shows it, and not any more when an answer shows the opposite.
func TestWhetherAnEngineHoldsOneConversationIsSeen(t *testing.T) {
	const one, two = "one", "two"
	for _, c := range []struct {
		name  string
		rooms int // conversations that the engine holds
		turns []string
		want  []bool // Expected.Alone before each turn
	}{
		{"one room", 1, []string{one, two, one, two, one, one}, []bool{false, false, false, true, true, false}},
		{"two rooms", 2, []string{one, two, one, two, one, two}, make([]bool, 6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			b := kvcache.NewBelief(time.Now)
			engines := map[string]*cache{}
			talks := map[string]*conversation{}
			var tools []string
			for i := range 10 {
				tools = append(tools, definition(r, i)+strings.Repeat(" more", 30))
			}
			for i, session := range c.turns {
				room := ""
				if c.rooms > 1 {
					room = session
				}
				if engines[room] == nil {
					engines[room] = &cache{place: kvcache.BeforeConversation}
				}
				if talks[session] == nil {
					talks[session] = &conversation{session: session, system: session + " " + sentence(r, 20), tools: tools}
				}
				talk := talks[session]
				talk.messages = append(talk.messages, "u"+sentence(r, 6))
				p := talk.prompt(b)
				if e := b.Expect(p); e.Alone != c.want[i] {
					t.Errorf("turn %d: alone %v, lost %q", i+1, e.Alone, e.Lost)
				}
				b.Sent(p)
				evaluated, answer := engines[room].read(talk, "Yes.")
				answer.EvaluatedTokens = evaluated
				b.Answered(p, answer)
				talk.messages = append(talk.messages, "aYes.")
			}
		})
	}
}

// What speaks against an engine of one room outweighs two answers that speak for it.
func TestOneRoomIsDoubted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation}
	var talks []*conversation
	for range 2 {
		talks = append(talks, &conversation{session: sentence(r, 5), system: sentence(r, 40), tools: []string{definition(r, 1) + strings.Repeat(" more", 600)}})
	}
	var alone []bool
	for i := range 11 {
		talk := talks[i%2]
		talk.messages = append(talk.messages, "u"+sentence(r, 6))
		p := talk.prompt(b)
		alone = append(alone, b.Expect(p).Alone)
		b.Sent(p)
		_, answer := e.read(talk, "Yes.")
		answer.EvaluatedTokens = answer.PromptTokens
		if i == 5 {
			answer.EvaluatedTokens = 20 // it was there all the same
		}
		b.Answered(p, answer)
		talk.messages = append(talk.messages, "aYes.")
	}
	for i, want := range []bool{false, false, false, true, true, true, false, false, false, true, true} {
		if alone[i] != want {
			t.Fatalf("alone before each turn: %v; the sixth spoke against it", alone)
		}
	}
}
