package chat

import "slices"

// hidden puts our messages between the app's.
func (p *patch) hidden(body []byte, r *Request, turns []HiddenTurn) error {
	if len(turns) == 0 {
		return nil
	}
	if r.MessagesStart >= r.MessagesEnd {
		return impossible("it has no messages")
	}
	turns = slices.Clone(turns)
	slices.SortStableFunc(turns, func(a, b HiddenTurn) int { return a.At - b.At })
	w := inserter{patch: p, request: r, isText: body[r.MessagesStart] == '"'}
	for len(turns) > 0 {
		at := turns[0].At
		if at < 0 || at > len(r.Messages) {
			return impossible("there is no place %d between %d messages", at, len(r.Messages))
		}
		var text []byte
		for len(turns) > 0 && turns[0].At == at {
			var err error
			if text, err = turns[0].appendMessages(text, r.Protocol); err != nil {
				return err
			}
			turns = turns[1:]
		}
		if len(text) > 0 {
			w.put(at, text)
		}
	}
	w.close()
	return nil
}

// inserter puts messages between those of the array. An input that is a string becomes an array of one message and what is put in.
type inserter struct {
	*patch
	request        *Request
	isText, opened bool
}

func (w *inserter) put(at int, text []byte) {
	r := w.request
	switch {
	case w.isText:
		w.open(at, text)
	case len(r.Messages) == 0:
		w.insert(r.MessagesStart+1, text)
	case at == 0:
		w.insert(r.Messages[0].Start, append(text, ','))
	default:
		w.insert(r.Messages[at-1].End, append([]byte{','}, text...))
	}
}

// The message that a string becomes.
const (
	textBefore = `{"type":"message","role":"user","content":`
	textAfter  = `}`
)

func (w *inserter) open(at int, text []byte) {
	start, end := w.request.MessagesStart, w.request.MessagesEnd
	if at == 0 {
		text = append(append([]byte{'['}, text...), ',')
		w.insert(start, append(text, textBefore...))
		w.insert(end, []byte(textAfter))
		w.opened = true
		return
	}
	if !w.opened {
		w.insert(start, []byte("["+textBefore))
		w.insert(end, []byte(textAfter))
		w.opened = true
	}
	w.insert(end, append([]byte{','}, text...))
}

func (w *inserter) close() {
	if w.opened {
		w.insert(w.request.MessagesEnd, []byte{']'})
	}
}

// appendMessages adds the turn's messages to dst, with "," between them and after what is there.
func (t HiddenTurn) appendMessages(dst []byte, p Protocol) ([]byte, error) {
	if t.Text == "" && len(t.Calls) == 0 {
		return dst, nil
	}
	arguments := make([][]byte, len(t.Calls))
	for i, c := range t.Calls {
		var err error
		if arguments[i], err = object(c.Arguments, "{}"); err != nil {
			return nil, impossible("the arguments of a hidden call of %q are no JSON object", c.Name)
		}
	}
	switch p {
	case Responses:
		return t.appendItems(dst, arguments), nil
	case Anthropic:
		return t.appendBlocks(dst, arguments), nil
	}
	dst = append(comma(dst), `{"role":"assistant","content":`...)
	dst = appendQuoted(dst, t.Text)
	for i, c := range t.Calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		if c.ID != "" || p == OpenAI {
			dst = append(appendQuoted(append(dst, `"id":`...), c.ID), ',')
		}
		if p == OpenAI {
			dst = append(dst, `"type":"function",`...)
		}
		dst = append(dst, `"function":{"name":`...)
		dst = appendQuoted(dst, c.Name)
		dst = append(dst, `,"arguments":`...)
		if p == OpenAI {
			dst = appendQuoted(dst, arguments[i])
		} else {
			dst = append(dst, arguments[i]...)
		}
		dst = append(dst, "}}"...)
	}
	if len(t.Calls) > 0 {
		dst = append(dst, ']')
	}
	dst = append(dst, '}')
	for _, c := range t.Calls {
		dst = append(comma(dst), `{"role":"tool","content":`...)
		dst = appendQuoted(dst, c.Result)
		if p == Ollama {
			dst = appendQuoted(append(dst, `,"tool_name":`...), c.Name)
		}
		if c.ID != "" || p == OpenAI {
			dst = appendQuoted(append(dst, `,"tool_call_id":`...), c.ID)
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

func (t HiddenTurn) appendItems(dst []byte, arguments [][]byte) []byte {
	if t.Text != "" {
		dst = append(comma(dst), `{"type":"message","role":"assistant","content":`...)
		dst = append(appendQuoted(dst, t.Text), '}')
	}
	for i, c := range t.Calls {
		if t.Kept {
			break
		}
		dst = append(comma(dst), `{"type":"function_call","call_id":`...)
		dst = appendQuoted(dst, c.ID)
		dst = appendQuoted(append(dst, `,"name":`...), c.Name)
		dst = append(appendQuoted(append(dst, `,"arguments":`...), arguments[i]), '}')
	}
	for _, c := range t.Calls {
		dst = append(comma(dst), `{"type":"function_call_output","call_id":`...)
		dst = appendQuoted(dst, c.ID)
		dst = append(appendQuoted(append(dst, `,"output":`...), c.Result), '}')
	}
	return dst
}

func (t HiddenTurn) appendBlocks(dst []byte, arguments [][]byte) []byte {
	dst = append(comma(dst), `{"role":"assistant","content":[`...)
	if t.Text != "" {
		dst = append(appendQuoted(append(dst, `{"type":"text","text":`...), t.Text), '}')
	}
	for i, c := range t.Calls {
		if i > 0 || t.Text != "" {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"type":"tool_use","id":`...), c.ID)
		dst = appendQuoted(append(dst, `,"name":`...), c.Name)
		dst = append(append(append(dst, `,"input":`...), arguments[i]...), '}')
	}
	dst = append(dst, "]}"...)
	for i, c := range t.Calls {
		if i == 0 {
			dst = append(dst, `,{"role":"user","content":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"type":"tool_result","tool_use_id":`...), c.ID)
		dst = append(appendQuoted(append(dst, `,"content":`...), c.Result), '}')
	}
	if len(t.Calls) > 0 {
		dst = append(dst, "]}"...)
	}
	return dst
}

// comma adds one after what is there.
func comma(dst []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return dst
}
