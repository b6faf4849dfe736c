package kvcache_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"toolbelt/kvcache"
)

// cache is a model of an engine: it makes tokens of a conversation and holds one sequence of them.
type cache struct {
	place   kvcache.Placement
	sliding int // window, 0 for a whole cache
	says    int // tokens that the template begins with
	held    []string
}

// conversation is what the cache reads; replies are given by the caller.
type conversation struct {
	session, system string
	tools           []string
	messages        []string // "u…", "a…" or "r…" for a tool's result
}

func (c *conversation) prompt(b *kvcache.Belief) kvcache.Prompt {
	p := kvcache.Prompt{Session: c.session, Model: "m", System: []kvcache.Piece{b.Piece(kvcache.System, []byte(c.system))}}
	for _, t := range c.tools {
		p.Tools = append(p.Tools, b.Piece(kvcache.Tool, []byte(t)))
	}
	for _, m := range c.messages {
		p.Messages = append(p.Messages, b.Piece(kvcache.Role(m[0]), []byte(m[1:])))
	}
	return p
}

// tokens are the words of the text, each sign by itself.
func tokens(text string) []string {
	var list []string
	word := ""
	flush := func() {
		for len(word) > 5 {
			list, word = append(list, word[:5]), word[5:]
		}
		if word != "" {
			list = append(list, word)
		}
		word = ""
	}
	for _, r := range text {
		switch {
		case r == ' ':
			flush()
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			word += string(r)
		default:
			flush()
			list = append(list, string(r))
		}
	}
	flush()
	return list
}

func (e *cache) render(c *conversation) []string {
	var out []string
	tools := func() {
		for _, t := range c.tools {
			out = append(append(out, "<tool>"), tokens(t)...)
		}
	}
	for range e.says {
		out = append(out, "<says>")
	}
	out = append(append(out, "<head>"), tokens(c.system)...)
	if e.place == kvcache.BeforeConversation {
		tools()
	}
	last := -1
	for i, m := range c.messages {
		if m[0] == 'u' {
			last = i
		}
	}
	for i, m := range c.messages {
		if i == last && e.place == kvcache.LastUser {
			tools()
		}
		out = append(append(append(out, "<start>", string(m[0]), "\n"), tokens(m[1:])...), "<end>", "\n")
	}
	return append(out, "<start>", "a", "\n")
}

// read holds the conversation and the reply from now on, and returns how many tokens it had to evaluate, and of how many.
func (e *cache) read(c *conversation, reply string) (evaluated int, answer kvcache.Answer) {
	prompt := e.render(c)
	n := 0
	for n < len(prompt) && n < len(e.held) && prompt[n] == e.held[n] {
		n++
	}
	if e.sliding > 0 && n < len(e.held) && len(e.held) > e.sliding {
		n = 0
	}
	evaluated = max(1, len(prompt)-n)
	said := tokens(reply)
	e.held = append(prompt, said...)
	return evaluated, kvcache.Answer{PromptTokens: len(prompt), OutputTokens: len(said)}
}

func sentence(r *rand.Rand, words int) string {
	const all = "the calendar says that my sister comes on Tuesday with 12 friends, so please write her (and Bob) about the boat: 3 beds, €40; thanks"
	list := strings.Fields(all)
	var b strings.Builder
	for range words {
		b.WriteString(list[r.IntN(len(list))] + " ")
	}
	return strings.TrimSpace(b.String())
}

func definition(r *rand.Rand, n int) string {
	return fmt.Sprintf(`{"name":"tool_%d","description":"%s","parameters":{"type":"object","properties":{"x":{"type":"string","description":"%s"}}}}`, n, sentence(r, 8+r.IntN(30)), sentence(r, 5))
}

// Whatever happens in two conversations, what is expected to be evaluated is what a cache of one sequence evaluates, within a tenth or 32 tokens, on nine turns of
// ten. The last tenth is a beginner's, before the rates are learned, and echoes told from others by their length alone.
func TestExpectForeseesOneSequence(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts kvcache.Facts
	}{
		{"tools before the conversation", kvcache.Facts{Placement: kvcache.BeforeConversation}},
		{"tools at the last user message", kvcache.Facts{Placement: kvcache.LastUser}},
		{"a sliding window", kvcache.Facts{Placement: kvcache.BeforeConversation, Sliding: true, Window: 300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			turns, good := 0, 0
			for seed := range uint64(12) {
				n, ok := play(rand.New(rand.NewPCG(seed, 5)), c.facts)
				turns, good = turns+n, good+ok
			}
			t.Logf("%d of %d turns", good, turns)
			if turns < 300 || good*10 < turns*9 {
				t.Errorf("%d of %d turns were foreseen", good, turns)
			}
		})
	}
}

// play lets two conversations go on by chance and returns how many turns were foreseen.
func play(r *rand.Rand, f kvcache.Facts) (turns, good int) {
	b := kvcache.NewBelief(time.Now)
	b.SetFacts("m", f)
	e := &cache{place: f.Placement}
	if f.Sliding {
		e.sliding = f.Window
	}
	system := sentence(r, 30)
	var pool []string
	for i := range 30 {
		pool = append(pool, definition(r, i))
	}
	talks := []*conversation{{session: "1", system: system, tools: pool[:8:8]}, {session: "2", system: system, tools: pool[:8:8]}}
	now := 0
	for range 40 {
		if r.IntN(6) == 0 {
			now = 1 - now
		}
		c := talks[now]
		switch n := len(c.messages); {
		case n > 0 && r.IntN(12) == 0: // the last message edited
			c.messages[n-1] = "u" + sentence(r, 10)
		case n > 0 && r.IntN(8) == 0:
			c.messages[n-1] = "r" + `{"id": 17, "when": "2024-05-03"} ` + sentence(r, 20)
		default:
			c.messages = append(c.messages, "u"+sentence(r, 5+r.IntN(30)))
		}
		switch r.IntN(8) {
		case 0:
			c.tools = append(c.tools, pool[8+r.IntN(22)])
		case 1:
			i := r.IntN(len(c.tools))
			c.tools = append(c.tools[:i:i], c.tools[i+1:]...)
		}
		p := c.prompt(b)
		want := b.Expect(p).Evaluated
		b.Sent(p)
		reply := sentence(r, 3+r.IntN(40))
		got, answer := e.read(c, reply)
		b.Answered(p, answer)
		turns++
		if off := max(got-want, want-got); off <= max(32, got/10) {
			good++
		}
		if r.IntN(5) == 0 {
			reply = sentence(r, 60) // the client puts something else in its place
		}
		c.messages = append(c.messages, "a"+reply)
	}
	return turns, good
}
