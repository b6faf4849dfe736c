package eval

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

// traffic makes a set of recorded requests. Requests of one conversation tell the same turns again and again, the later ones with what was
// called meanwhile: a turn is known by what users said up to it, and is needed what was called before the next one.
type traffic struct {
	turns    []heard
	place    map[catalog.Hash]int // of turns
	tools    []catalog.Tool
	tool     map[string]int // place of tools
	requests int            // read so far
}

// heard is a turn as far as requests tell of it.
type heard struct {
	Case
	answered bool // a message of the model follows in some request
	goesOn   bool // a turn of the same conversation follows
}

func newTraffic() *traffic {
	return &traffic{place: map[catalog.Hash]int{}, tool: map[string]int{}}
}

// tell gives the set the tools and the turns that the model has answered, as far as the requests tell.
func (t *traffic) tell(d *Dataset) {
	d.Tools = t.tools
	for _, h := range t.turns {
		if h.answered {
			d.Cases = append(d.Cases, h.Case)
		} else {
			d.Open++
		}
	}
}

// request takes one request in.
func (t *traffic) request(body []byte) error {
	r, err := chat.Decode(protocolOf(body), body)
	if err != nil {
		return err
	}
	if len(r.Users) == 0 {
		return errors.New("a request without a user's message")
	}
	t.requests++
	for _, tool := range r.Tools {
		if i, ok := t.tool[tool.Name]; ok {
			t.tools[i] = tool
			continue
		}
		t.tool[tool.Name] = len(t.tools)
		t.tools = append(t.tools, tool)
	}
	var key catalog.Hash
	var now *heard
	var said []json.RawMessage
	var steps []string
	for _, m := range r.Messages {
		if m.Role == chat.RoleUser {
			key = sha256.Sum256(slices.Concat(key[:], m.Hash[:]))
			said = append(said, textMessage("user", r.Users[len(said)]))
			now, steps = t.turn(key, now, said), nil
			continue
		}
		if now == nil || m.Role == chat.RoleSystem {
			continue
		}
		now.answered = true
		for _, c := range m.Calls {
			steps = append(steps, c.Name)
		}
		if len(steps) > len(now.Steps) {
			now.Steps = steps
			now.Needed = distinct(steps)
		}
	}
	return nil
}

// turn returns the turn of this key, which follows another, or is the first of a conversation. Where the other one has a successor already, a conversation
// of its own goes on from there.
func (t *traffic) turn(key catalog.Hash, before *heard, said []json.RawMessage) *heard {
	if i, ok := t.place[key]; ok {
		return &t.turns[i]
	}
	h := heard{Case: Case{ID: fmt.Sprintf("%d.%d", t.requests, len(said)), Messages: slices.Clone(said), Turn: len(said)}}
	h.Conversation, h.Group = h.ID, h.ID
	if before != nil {
		h.Group = before.Group
		if !before.goesOn {
			h.Conversation, before.goesOn = before.Conversation, true
		}
	}
	t.place[key] = len(t.turns)
	t.turns = append(t.turns, h)
	return &t.turns[len(t.turns)-1]
}

// protocolOf tells by its shape what protocol a request is of. Ollama's is read like OpenAI's.
func protocolOf(body []byte) chat.Protocol {
	top := gjson.ParseBytes(body)
	switch {
	case top.Get("input").Exists() && !top.Get("messages").Exists():
		return chat.Responses
	case top.Get("system").Exists(), top.Get("tools.#.input_schema|0").Exists(), top.Get(`messages.#.content.#(type=="tool_use")|0`).Exists():
		return chat.Anthropic
	}
	return chat.OpenAI
}

func distinct(names []string) []string {
	var list []string
	for _, n := range names {
		if n != "" && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
