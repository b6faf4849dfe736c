package kvcache_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"toolbelt/kvcache"
)

// What a definition or a message costs is known once it was seen to be added, however far it is from what so many bytes cost on the whole: then it is foretold when it is read again.
func TestPiecesThatWereSeenAreForetold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation}
	turn := func(c *conversation) (expected, evaluated int) {
		t.Helper()
		p := c.prompt(b)
		expected = b.Expect(p).Evaluated
		b.Sent(p)
		evaluated, answer := e.read(c, "It is done.")
		b.Answered(p, answer)
		c.messages = append(c.messages, "aIt is done.")
		return expected, evaluated
	}
	var tools []string
	for i := range 12 {
		tools = append(tools, definition(r, i))
	}
	dear := "t " + strings.Repeat("1;2,", 120) // each sign a token
	begin := func(session string) *conversation {
		return &conversation{session: session, system: "Be kind.", tools: tools[:6:6], messages: []string{"u" + sentence(r, 12)}}
	}
	one := begin("one")
	turn(one)
	one.messages = append(one.messages, "u"+strings.Repeat("a b c ", 100))
	if expected, evaluated := turn(one); evaluated-expected < 100 {
		t.Fatalf("the message is an ordinary one: %d of %d tokens foretold", expected, evaluated)
	}
	one.messages, one.tools = append(one.messages, "uAnd now?"), append(one.tools, tools[6])
	if expected, evaluated := turn(one); max(expected-evaluated, evaluated-expected) > 16 {
		t.Errorf("a tool before a message whose cost was seen: %d tokens foretold, %d evaluated", expected, evaluated)
	}
	one.messages, one.tools = append(one.messages, "uAnd now?"), append(one.tools, dear)
	if expected, evaluated := turn(one); evaluated-expected < 100 {
		t.Fatalf("the definition is an ordinary one: %d of %d tokens foretold", expected, evaluated)
	}
	two := begin("two")
	turn(two)
	two.messages, two.tools = append(two.messages, "uAnd now?"), append(two.tools, dear)
	if expected, evaluated := turn(two); max(expected-evaluated, evaluated-expected) > 24 {
		t.Errorf("a definition whose cost was seen in another conversation: %d tokens foretold, %d evaluated", expected, evaluated)
	}
}

// A definition that came with the same others again and again, so that only their sum was seen, is told from them when it comes alone.
func TestAPieceThatCameWithOthersIsStillLearned(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation}
	var tools []string
	for i := range 9 {
		tools = append(tools, definition(r, i))
	}
	dear := "t " + strings.Repeat("1;2,", 40) // each sign a token
	ask := func(session string, tools []string, messages ...string) (expected, evaluated int) {
		c := &conversation{session: session, system: session, tools: tools, messages: messages}
		p := c.prompt(b)
		expected = b.Expect(p).Evaluated
		b.Sent(p)
		evaluated, answer := e.read(c, "Yes.")
		b.Answered(p, answer)
		return expected, evaluated
	}
	for i := range 12 {
		ask(fmt.Sprint("with it ", i), append(tools[:8:8], dear), "uGo on.")
	}
	for i := range 3 {
		session := fmt.Sprint("without it ", i)
		ask(session, tools, "uGo on.")
		expected, evaluated := ask(session, append(tools[:9:9], dear), "uGo on.", "aYes.", "uAnd now?")
		if off := max(expected-evaluated, evaluated-expected); i == 2 && off > 16 {
			t.Errorf("added alone for the third time: %d tokens foretold, %d evaluated", expected, evaluated)
		}
	}
}

// What a template says before all else is held with the beginning, however much it is.
func TestWhatTheTemplateBeginsWithIsHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation, says: 120}
	for i := range 30 {
		c := &conversation{session: fmt.Sprint(i), system: "Be kind."}
		for j := range 2 + r.IntN(12) {
			c.tools = append(c.tools, definition(r, 100*i+j))
		}
		for j := range 2 {
			c.messages = append(c.messages, "u"+sentence(r, 12))
			c.tools = append(c.tools, definition(r, 100*i+50+j))
			p := c.prompt(b)
			expected := b.Expect(p).Evaluated
			b.Sent(p)
			evaluated, answer := e.read(c, "Yes.")
			b.Answered(p, answer)
			if off := max(expected-evaluated, evaluated-expected); i > 20 && j > 0 && off > 32 {
				t.Errorf("conversation %d: %d tokens foretold, %d evaluated", i, expected, evaluated)
			}
			c.messages = append(c.messages, "aYes.")
		}
	}
}

// More pieces than are kept one by one are foretold by the rates.
func TestManyPiecesAreForetoldByTheRates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation}
	c := &conversation{session: "s", system: "Be kind."}
	for i := range 300 {
		c.tools = append(c.tools, fmt.Sprintf("%d %s", i, definition(r, i)))
	}
	for i := range 4 {
		c.messages = append(c.messages, "u"+sentence(r, 20))
		p := c.prompt(b)
		expected := b.Expect(p).Evaluated
		b.Sent(p)
		evaluated, answer := e.read(c, "Yes.")
		b.Answered(p, answer)
		if off := max(expected-evaluated, evaluated-expected); i > 0 && off > max(32, evaluated/10) {
			t.Errorf("turn %d: %d tokens foretold, %d evaluated", i+1, expected, evaluated)
		}
		c.messages = append(c.messages, "aYes.")
	}
}
