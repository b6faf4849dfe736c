// Package edittest takes the edits of requests back, so that tests can tell whether nothing else was changed. It reads JSON with
// the standard library alone and shares no code with what makes the edits.
package edittest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Ours says what in an edited request is ours.
type Ours struct {
	Tools     []byte         // the client's tools array, brackets included; nil where the array was not edited
	Names     []string       // of our own tools, the bridge included
	Bridge    string         // the bridge's name; "" without one. No hidden turn calls it
	Texts     []string       // what the model said before the calls of hidden turns; for Responses, where it is a message of its own
	Appended  map[int]string // the text at the end of a message, by the message's index in the client's request
	Cut       map[int]string // what stood at the beginning of a message's text, spelt as the client did, by the same index
	CutParts  map[int]string // what stood at the beginning of a message's parts, up to the first that is still there
	TextInput bool           // for Responses: the client's input was a string
}

// Strip returns the request as the client sent it. protocol is the family's name: "ollama", "openai", "responses" or "anthropic". A hidden turn
// is known by its calls, all of our own names. An error says what in edited is neither the client's nor ours; of a tools
// array it is checked that every element is an element of Ours.Tools, byte for byte, or a tool of ours.
func Strip(protocol string, edited []byte, ours Ours) ([]byte, error) {
	root, err := parse(edited)
	if err != nil {
		return nil, err
	}
	s := &stripper{protocol: protocol, body: edited, ours: ours}
	if ours.Tools != nil {
		if err := s.tools(root.get("tools")); err != nil {
			return nil, err
		}
	}
	key := "messages"
	if protocol == "responses" {
		key = "input"
	}
	if err := s.messages(root.get(key)); err != nil {
		return nil, err
	}
	return s.rest(), nil
}

type stripper struct {
	protocol string
	body     []byte
	ours     Ours
	changes  []change
}

type change struct {
	start, end int
	text       []byte
}

func (s *stripper) put(start, end int, text []byte) {
	s.changes = append(s.changes, change{start, end, text})
}

func (s *stripper) rest() []byte {
	slices.SortStableFunc(s.changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, c := range s.changes {
		out = append(append(out, s.body[at:c.start]...), c.text...)
		at = c.end
	}
	return append(out, s.body[at:]...)
}

func (s *stripper) isOwn(name string) bool { return slices.Contains(s.ours.Names, name) }

func (s *stripper) tools(array *node) error {
	before, err := parse(s.ours.Tools)
	if err != nil {
		return err
	}
	var theirs [][]byte
	for _, kid := range before.kids {
		theirs = append(theirs, kid.raw(s.ours.Tools))
	}
	for _, kid := range array.kids {
		raw := kid.raw(s.body)
		if i := slices.IndexFunc(theirs, func(b []byte) bool { return bytes.Equal(b, raw) }); i >= 0 {
			theirs = slices.Delete(theirs, i, i+1)
			continue
		}
		if !s.isOwn(cmp.Or(kid.get("function").get("name").text, kid.get("name").text)) {
			return fmt.Errorf("a tool that is neither the client's nor ours: %s", raw)
		}
	}
	s.put(array.start, array.end, s.ours.Tools)
	return nil
}

func (s *stripper) messages(array *node) error {
	if array.kind == '"' {
		if text, ok := s.ours.Appended[0]; ok {
			return s.shorten(array, text)
		}
		return nil
	}
	hidden, err := s.hidden(array.kids)
	if err != nil {
		return err
	}
	if s.ours.TextInput {
		return s.textInput(array, hidden)
	}
	index, last := 0, (*node)(nil)
	var run []*node
	for i, m := range array.kids {
		if hidden[i] {
			run = append(run, m)
			continue
		}
		s.dropRun(run, last, m)
		run, last = nil, m
		if err := s.message(m, index); err != nil {
			return fmt.Errorf("message %d: %v", index, err)
		}
		index++
	}
	s.dropRun(run, last, nil)
	return nil
}

// dropRun takes messages of ours out from between two of the client's, of which either may be missing.
func (s *stripper) dropRun(run []*node, before, after *node) {
	if len(run) == 0 {
		return
	}
	first, last := run[0], run[len(run)-1]
	switch {
	case before != nil:
		s.put(before.end, last.end, nil)
	case after != nil:
		s.put(first.start, after.start, nil)
	default:
		s.put(first.start, last.end, nil)
	}
}

func (s *stripper) textInput(array *node, hidden []bool) error {
	for i, m := range array.kids {
		if hidden[i] {
			continue
		}
		text := bytes.Clone(m.get("content").raw(s.body))
		if added, ok := s.ours.Appended[0]; ok {
			at := suffixAt(text[1:len(text)-1], added)
			if at < 0 {
				return fmt.Errorf("the input does not end with %q", added)
			}
			text = append(text[:1+at], '"')
		}
		s.put(array.start, array.end, text)
		return nil
	}
	return fmt.Errorf("the client's input is not there")
}

// hidden tells which messages are ours.
func (s *stripper) hidden(messages []*node) ([]bool, error) {
	ours := make([]bool, len(messages))
	if s.protocol == "responses" {
		ids := map[string]bool{}
		for i, m := range messages {
			switch kind := m.get("type").text; {
			case kind == "function_call" && s.isHidden(m.get("name").text):
				ours[i] = true
				ids[m.get("call_id").text] = true
				if i > 0 && messages[i-1].get("role").text == "assistant" && slices.Contains(s.ours.Texts, messages[i-1].get("content").text) {
					ours[i-1] = true
				}
			case kind == "function_call_output" && ids[m.get("call_id").text]:
				ours[i] = true
			}
		}
		return ours, nil
	}
	for i, m := range messages {
		ids := s.hiddenCalls(m)
		if len(ids) == 0 {
			continue
		}
		ours[i] = true
		n := len(ids)
		if s.protocol == "anthropic" {
			n = 1
		}
		if i+n >= len(messages) {
			return nil, fmt.Errorf("hidden calls %q have no answers", ids)
		}
		var answered []string
		for k := i + 1; k <= i+n; k++ {
			ours[k] = true
			answered = append(answered, s.answers(messages[k])...)
		}
		if !slices.Equal(ids, answered) {
			return nil, fmt.Errorf("hidden calls %q have the answers %q", ids, answered)
		}
	}
	return ours, nil
}

func (s *stripper) isHidden(name string) bool { return s.isOwn(name) && name != s.ours.Bridge }

// hiddenCalls returns what tells the calls of a hidden turn apart; nil for a message of the client's.
func (s *stripper) hiddenCalls(m *node) []string {
	var ids []string
	calls := m.get("tool_calls").kids
	if s.protocol == "anthropic" {
		calls = m.get("content").kids
	}
	for _, c := range calls {
		name, id := c.get("function").get("name").text, c.get("id").text
		switch {
		case s.protocol == "ollama":
			id = name
		case s.protocol == "anthropic" && c.get("type").text != "tool_use":
			continue
		case s.protocol == "anthropic":
			name = c.get("name").text
		}
		if !s.isHidden(name) {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// answers returns the ids, or for Ollama the names, of the calls that a message answers.
func (s *stripper) answers(m *node) []string {
	switch s.protocol {
	case "ollama":
		return []string{m.get("tool_name").text}
	case "openai":
		return []string{m.get("tool_call_id").text}
	}
	var ids []string
	for _, b := range m.get("content").kids {
		ids = append(ids, b.get("tool_use_id").text)
	}
	return ids
}
