package eval

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"toolbelt/catalog"
)

//go:embed demotools.json
var demoFile []byte

// Conversation is a scripted chat: what the user says on each turn, the replies that stand in the
// history after it, and the tools that the app offers with every request.
type Conversation struct {
	System string            `json:"system"`
	Core   []string          `json:"core"`  // names of the tools that are always visible
	Turns  []ScriptedTurn    `json:"turns"` // at least one
	Tools  []json.RawMessage `json:"tools"` // in OpenAI's shape, sent as they are
}

// ScriptedTurn is one user message of a Conversation.
type ScriptedTurn struct {
	User    string            `json:"user"`    // differs from turn to turn
	Needs   string            `json:"needs"`   // the tool that answers it
	Replies []json.RawMessage `json:"replies"` // messages that follow it in the history of later turns
}

// Demo returns the demo's conversation: three turns over 38 tools, of which 5 are CORE. Turn 1 needs a tool that is
// not CORE, turn 2 one that is, turn 3 another that is not.
func Demo() (*Conversation, error) { return ParseConversation(demoFile) }

// ParseConversation reads a Conversation from JSON. What cannot be played is an Invalid error: no turns, a turn without
// text, two turns with the same text, a tool without a name or a name given twice, a CORE or needed tool that is not among the tools.
func ParseConversation(data []byte) (*Conversation, error) {
	c := new(Conversation)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, catalog.NewError(catalog.Invalid, "reading the conversation", err)
	}
	names, err := toolNames(c.Tools)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Core {
		if !slices.Contains(names, name) {
			return nil, invalidf("CORE names the tool %q, which is not among the tools", name)
		}
	}
	if len(c.Turns) == 0 {
		return nil, invalidf("the conversation has no turns")
	}
	said := map[string]bool{}
	for i, t := range c.Turns {
		if t.User == "" || said[t.User] {
			return nil, invalidf("turn %d: its user message is empty or was said before", i+1)
		}
		said[t.User] = true
		if !slices.Contains(names, t.Needs) {
			return nil, invalidf("turn %d needs the tool %q, which is not among the tools", i+1, t.Needs)
		}
	}
	return c, nil
}

// Messages returns the messages of the request that begins this turn, counted from 0: the system prompt, all earlier turns with
// their replies, and the turn's user message.
func (c *Conversation) Messages(turn int) []json.RawMessage {
	var out []json.RawMessage
	if c.System != "" {
		out = append(out, textMessage("system", c.System))
	}
	for _, t := range c.Turns[:turn] {
		out = append(out, textMessage("user", t.User))
		out = append(out, t.Replies...)
	}
	return append(out, textMessage("user", c.Turns[turn].User))
}

func textMessage(role, content string) json.RawMessage {
	raw, err := json.Marshal(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{role, content})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return raw
}

// toolNames returns the name of each tool, in order; an Invalid error where one has none or two have the same.
func toolNames(tools []json.RawMessage) ([]string, error) {
	var names []string
	for i, raw := range tools {
		t, ok := catalog.ParseTool(raw)
		if !ok {
			return nil, invalidf("tool %d has no name", i+1)
		}
		if slices.Contains(names, t.Name) {
			return nil, invalidf("tool %d: the name %q is taken", i+1, t.Name)
		}
		names = append(names, t.Name)
	}
	return names, nil
}

func invalidf(format string, args ...any) error {
	return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
}
