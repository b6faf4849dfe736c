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

// More pieces than are kept one by one are foretold by the rates, and nothing grows.
func TestManyPiecesAreForetoldByTheRates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	b := kvcache.NewBelief(time.Now)
	e := &cache{place: kvcache.BeforeConversation}
	c := &conversation{session: "s", system: "Be kind."}
	for i := range 700 {
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
