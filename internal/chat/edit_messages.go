package chat

import (
	"slices"
	"strings"
)

// append adds a text to a user or tool message.
func (p *patch) append(body []byte, r *Request, a Appended) error {
	m, f, err := message(body, r, a.Message)
	if err != nil {
		return err
	}
	if m.Role != RoleUser && m.Role != RoleTool {
		return impossible("message %d is neither of the user nor of a tool", a.Message)
	}
	if a.Text == "" {
		return nil
	}
	content, kind := f.content, "text"
	if r.Protocol == Responses {
		kind = "input_text"
	}
	if r.Protocol == Anthropic && m.Role == RoleTool {
		for _, b := range f.blocks {
			if b.kind == blockResult {
				content = b.content // the last one's
			}
		}
	}
	switch {
	case content.isString(body):
		p.insert(content.end-1, appendEscaped(nil, a.Text))
	case content.isArray(body) && r.Protocol != Ollama:
		last := 0
		eachElement(body, content.start, func(one span) bool {
			last = one.end
			return true
		})
		part := appendQuoted([]byte(`{"type":"`+kind+`","text":`), a.Text)
		part = append(part, '}')
		if last == 0 {
			last = content.start + 1 // an empty array
		}
		if last > content.start+1 || p.inserted(last) {
			part = append([]byte{','}, part...)
		}
		p.insert(last, part)
	default:
		return impossible("message %d has no text to add to", a.Message)
	}
	return nil
}

// bridge makes a call in history one of the bridge.
func (p *patch) bridge(body []byte, r *Request, b Bridged) error {
	_, f, err := message(body, r, b.Message)
	if err != nil {
		return err
	}
	calls := f.calls(body)
	if b.Call < 0 || b.Call >= len(calls) {
		return impossible("message %d has no call %d", b.Message, b.Call)
	}
	call := calls[b.Call]
	if !call.name.isString(body) {
		return impossible("call %d of message %d has no name", b.Call, b.Message)
	}
	name := call.name.of(body)
	inner := append([]byte(`{"name":`), name...)
	bridged := appendQuoted(nil, b.Bridge)
	switch {
	case call.arguments.end == 0:
		key := `,"arguments":`
		if r.Protocol == Anthropic {
			key = `,"input":`
		}
		bridged = append(append(append(bridged, key...), inner...), '}')
	case call.arguments.isString(body):
		p.replace(call.arguments, bridgeString(inner, call.arguments.of(body)))
	default:
		inner = append(append(inner, `,"arguments":`...), call.arguments.of(body)...)
		p.replace(call.arguments, append(inner, '}'))
	}
	p.replace(call.name, bridged)
	return nil
}

// bridgeString writes a bridged call's arguments as a string, where they were the string old: a JSON object goes in as it is
// spelt, another text as a string within the string, and an empty one not at all.
func bridgeString(inner, old []byte) []byte {
	content := old[1 : len(old)-1]
	out := appendNested([]byte{'"'}, inner)
	if len(content) > 0 {
		out = append(out, `,\"arguments\":`...)
		if isObject(appendUnquoted(nil, old)) {
			out = append(out, content...)
		} else {
			out = appendNested(out, old)
		}
	}
	return append(out, `}"`...)
}

// appendNested adds JSON without line breaks as the content of a JSON string.
func appendNested(dst, json []byte) []byte {
	for _, c := range json {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}

// cut takes a text away from the beginning of an assistant message.
func (p *patch) cut(body []byte, r *Request, c Cut) error {
	m, f, err := message(body, r, c.Message)
	if err != nil {
		return err
	}
	if m.Role != RoleAssistant {
		return impossible("message %d is not of the model", c.Message)
	}
	if c.Text == "" {
		return nil
	}
	rest, cuts := c.Text, []span(nil)
	for _, text := range textsOf(body, f.content) {
		content := span{text.start + 1, text.end - 1}
		if n, ok := prefixLength(content.of(body), rest); ok {
			for _, cut := range withParts(body, f.content, append(cuts, span{content.start, content.start + n})) {
				p.replace(cut, nil)
			}
			return nil
		}
		said := string(unquote(text.of(body)))
		if said == "" || !strings.HasPrefix(rest, said) {
			break
		}
		cuts, rest = append(cuts, content), rest[len(said):]
	}
	return impossible("message %d does not begin with the text to cut", c.Message)
}

// withParts returns the cuts of a content's texts, in order, with each that is all the text of a part grown to that part and a comma: the one
// behind it, or before it where a part before it stays. Where no part would stay they are returned as they are.
func withParts(body []byte, content span, cuts []span) []span {
	if !content.isArray(body) {
		return cuts
	}
	var parts []span
	eachElement(body, content.start, func(part span) bool {
		parts = append(parts, part)
		return true
	})
	grown, n, stays := slices.Clone(cuts), 0, false
	for i, part := range parts {
		text := partText(body, part)
		switch {
		case n == len(cuts) || cuts[n] != span{text.start + 1, text.end - 1}:
			stays = true
			continue
		case stays:
			grown[n] = span{parts[i-1].end, part.end}
		case i+1 < len(parts):
			grown[n] = span{part.start, parts[i+1].start}
		default:
			return cuts
		}
		n++
	}
	return grown
}

// textsOf returns the strings of a content that are text, in order: itself, or those of its parts.
func textsOf(body []byte, content span) []span {
	if !content.isArray(body) {
		if !content.isString(body) {
			return nil
		}
		return []span{content}
	}
	var texts []span
	eachElement(body, content.start, func(part span) bool {
		if text := partText(body, part); text.isString(body) {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}
