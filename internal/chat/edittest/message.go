package edittest

import (
	"fmt"
)

// message takes back what was done to one of the client's messages.
func (s *stripper) message(m *node, index int) error {
	if text, ok := s.ours.Appended[index]; ok {
		if err := s.unappend(m, text); err != nil {
			return err
		}
	}
	if text, ok := s.ours.Cut[index]; ok {
		at := s.firstText(m)
		if at.kind != '"' {
			return fmt.Errorf("there is no text that %q was cut from", text)
		}
		s.put(at.start+1, at.start+1, []byte(text))
	}
	if parts, ok := s.ours.CutParts[index]; ok {
		content := m.get("content")
		if len(content.kids) == 0 {
			return fmt.Errorf("there is no part that %q was cut from", parts)
		}
		s.put(content.kids[0].start, content.kids[0].start, []byte(parts))
	}
	if s.ours.Bridge == "" {
		return nil
	}
	switch s.protocol {
	case "responses":
		return s.unbridge(m, m.get("arguments"))
	case "anthropic":
		for _, b := range m.get("content").kids {
			if err := s.unbridge(b, b.get("input")); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range m.get("tool_calls").kids {
		f := c.get("function")
		if err := s.unbridge(f, f.get("arguments")); err != nil {
			return err
		}
	}
	f := m.get("function_call")
	return s.unbridge(f, f.get("arguments"))
}

func (s *stripper) content(m *node) *node {
	if s.protocol == "responses" && m.get("type").text == "function_call_output" {
		return m.get("output")
	}
	return m.get("content")
}

func (s *stripper) unappend(m *node, text string) error {
	content := s.content(m)
	if s.protocol == "anthropic" && content.kind == '[' && len(content.kids) > 0 {
		results := 0
		for _, b := range content.kids {
			if b.get("type").text == "tool_result" {
				results++
			}
		}
		if results == len(content.kids) {
			content = content.kids[results-1].get("content")
		}
	}
	if content.kind == '"' {
		return s.shorten(content, text)
	}
	if len(content.kids) == 0 {
		return fmt.Errorf("there is no text that %q is a part of", text)
	}
	last := len(content.kids) - 1
	part, from := content.kids[last], content.start+1
	if last > 0 {
		from = content.kids[last-1].end
	}
	if part.get("text").text != text || len(part.kids) != 2 {
		return fmt.Errorf("the last part is not %q", text)
	}
	end := part.end
	s.put(from, end, nil)
	return nil
}

// shorten takes text away from the end of a string.
func (s *stripper) shorten(content *node, text string) error {
	at := suffixAt(s.body[content.start+1:content.end-1], text)
	if at < 0 {
		return fmt.Errorf("the text does not end with %q", text)
	}
	s.put(content.start+1+at, content.end-1, nil)
	return nil
}

// firstText is the string of a message's text, or of its first part that has text.
func (s *stripper) firstText(m *node) *node {
	content := m.get("content")
	for _, part := range content.kids {
		kind := part.get("type").text
		switch {
		case part.kind == '"':
			return part
		case kind == "text" || kind == "input_text" || kind == "output_text" || kind == "":
			if text := part.get("text"); text.kind == '"' {
				return text
			}
		}
	}
	return content
}

// unbridge gives a call of the bridge the name and the arguments back that it is about.
func (s *stripper) unbridge(call, arguments *node) error {
	name := call.get("name")
	if name.text != s.ours.Bridge || name.kind != '"' {
		return nil
	}
	raw := s.body
	inner := arguments
	content := arguments.raw(s.body)
	var at []int
	if arguments.kind == '"' {
		content = content[1 : len(content)-1]
		var said [][]byte
		at, said = letters(content)
		raw = nil
		starts := []int{}
		for i, letter := range said {
			for range letter {
				starts = append(starts, at[i])
			}
			raw = append(raw, letter...)
		}
		at = append(starts, len(content))
		var err error
		if inner, err = parse(raw); err != nil {
			return fmt.Errorf("the arguments of the bridge: %v", err)
		}
	}
	its, theirs := inner.get("name"), inner.get("arguments")
	if its.kind != '"' {
		return fmt.Errorf("the bridge's arguments have no name: %s", content)
	}
	s.put(name.start, name.end, raw[its.start:its.end])
	switch {
	case arguments.kind == '"' && theirs.end == 0:
		s.put(arguments.start, arguments.end, []byte(`""`))
	case theirs.end == 0: // there were none; they stand behind the name
		s.put(name.end, arguments.end, nil)
	case arguments.kind == '"' && theirs.kind == '"':
		s.put(arguments.start, arguments.end, raw[theirs.start:theirs.end])
	case arguments.kind == '"':
		from := its.end + len(`,"arguments":`)
		old := append([]byte{'"'}, content[at[from]:at[inner.end-1]]...)
		s.put(arguments.start, arguments.end, append(old, '"'))
	default:
		s.put(arguments.start, arguments.end, raw[theirs.start:theirs.end])
	}
	return nil
}
