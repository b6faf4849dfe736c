package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Conversations groups cases by their conversation, each in the order of its turns; a case without one is a conversation of one turn. The
// order is that of first appearance.
func Conversations(cases []Case) [][]Case {
	var list [][]Case
	place := map[string]int{}
	for _, c := range cases {
		i, ok := place[c.Conversation]
		if c.Conversation == "" || !ok {
			i = len(list)
			list = append(list, nil)
			if c.Conversation != "" {
				place[c.Conversation] = i
			}
		}
		list[i] = append(list[i], c)
	}
	for _, turns := range list {
		slices.SortStableFunc(turns, func(a, b Case) int { return cmp.Compare(a.Turn, b.Turn) })
	}
	return list
}

// longTurns is how many turns a joined conversation has at least.
const longTurns = 30

// Join puts whole conversations one after the other, in an order that the seed decides, until each has 30 turns; a rest that has fewer
// than half of that joins the last one. Their messages run on: each turn's request holds those of all turns before it.
func Join(conversations [][]Case, seed uint64) [][]Case {
	rng := rand.New(rand.NewPCG(seed, 1))
	var joined [][]Case
	var turns []Case
	var said []json.RawMessage
	for _, i := range rng.Perm(len(conversations)) {
		before := 0
		for _, c := range conversations[i] {
			said = append(slices.Clip(said), c.Messages[min(before, len(c.Messages)-1):]...)
			before = len(c.Messages)
			c.Messages = said
			turns = append(turns, c)
		}
		if len(turns) >= longTurns {
			joined = append(joined, turns)
			turns, said = nil, nil
		}
	}
	switch {
	case len(turns) == 0:
	case len(turns) < longTurns/2 && len(joined) > 0:
		last := joined[len(joined)-1]
		said = last[len(last)-1].Messages
		for _, c := range turns {
			c.Messages = slices.Concat(said, c.Messages)
			last = append(last, c)
		}
		joined[len(joined)-1] = last
	default:
		joined = append(joined, turns)
	}
	return joined
}

// halves puts the conversations in an order that the seed decides, what belongs to one group staying together, and returns where
// the second half begins.
func halves(conversations [][]Case, seed uint64) (ordered [][]Case, second int) {
	groups := map[string][][]Case{}
	var names []string
	for _, turns := range conversations {
		name := turns[0].cluster()
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], turns)
	}
	for i, at := range rand.New(rand.NewPCG(seed, 3)).Perm(len(names)) {
		if i == len(names)/2 {
			second = len(ordered)
		}
		ordered = append(ordered, groups[names[at]]...)
	}
	return ordered, second
}

// withHistory writes each turn's calls, and a result of each, behind its user message in the requests of the turns after it.
func withHistory(turns []Case) []Case {
	type done struct {
		users int // of the turn's request
		calls []json.RawMessage
	}
	var earlier []done
	out := make([]Case, len(turns))
	for i, c := range turns {
		messages := make([]json.RawMessage, 0, len(c.Messages))
		users := 0
		for _, m := range c.Messages {
			messages = append(messages, m)
			if role(m) != "user" {
				continue
			}
			users++
			for _, d := range earlier {
				if d.users == users {
					messages = append(messages, d.calls...)
				}
			}
		}
		earlier = append(earlier, done{users, callsOf(c)})
		c.Messages = messages
		out[i] = c
	}
	return out
}

// callsOf writes a turn's calls as messages.
func callsOf(c Case) []json.RawMessage {
	names := c.Steps
	if len(names) == 0 {
		names = c.Needed
	}
	var messages []json.RawMessage
	for _, name := range names {
		quoted, _ := json.Marshal(name) // a string always can
		messages = append(messages,
			json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":%s,"arguments":{}}}]}`, quoted)),
			json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_name":%s,"content":"done"}`, quoted)))
	}
	return messages
}
