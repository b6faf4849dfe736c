package chat

import "slices"

// tools puts the array in the wanted order, with our own tools among its elements. An array is never emptied.
func (p *patch) tools(body []byte, r *Request, order []string, own []OwnTool) error {
	if order == nil {
		return nil
	}
	if r.ToolsStart >= r.ToolsEnd {
		if len(own) > 0 {
			return impossible("it has no tools array")
		}
		return nil
	}
	kept, after := arrange(r.Elements, order)
	if len(own) == 0 && (len(kept) == 0 || len(kept) == len(r.Elements) && ascending(kept)) {
		return nil
	}
	own = slices.Clone(own)
	slices.SortStableFunc(own, func(a, b OwnTool) int { return max(0, min(a.After, len(after))) - max(0, min(b.After, len(after))) })
	size := len("[]")
	for _, i := range kept {
		size += r.Elements[i].End - r.Elements[i].Start + len(",")
	}
	for _, o := range own {
		size += len(o.Name) + len(o.Description) + len(o.Schema) + ownBytes
	}
	array := append(make([]byte, 0, size), '[')
	put := func(element []byte) {
		if len(array) > 1 {
			array = append(array, ',')
		}
		array = append(array, element...)
	}
	for place := 0; ; place++ {
		for len(own) > 0 && (own[0].After <= place || place == len(after)) {
			element, err := own[0].JSON(r.Protocol)
			if err != nil {
				return err
			}
			put(element)
			own = own[1:]
		}
		if place == len(after) {
			break
		}
		from := 0
		if place > 0 {
			from = after[place-1]
		}
		for _, i := range kept[from:after[place]] {
			put(body[r.Elements[i].Start:r.Elements[i].End])
		}
	}
	p.replace(span{r.ToolsStart, r.ToolsEnd}, append(array, ']'))
	return nil
}

// ownBytes is about what a tool of ours takes in the array beside its texts.
const ownBytes = 128

// JSON is the tool as the protocol wants it. The error is of kind Invalid, for a schema that is no JSON object.
func (t OwnTool) JSON(p Protocol) ([]byte, error) {
	schema, err := object(t.Schema, `{"type":"object","properties":{}}`)
	if err != nil {
		return nil, impossible("the schema of %q is no JSON object", t.Name)
	}
	var b []byte
	switch p {
	case Responses:
		b = append(b, `{"type":"function","name":`...)
	case Anthropic:
		b = append(b, `{"name":`...)
	default:
		b = append(b, `{"type":"function","function":{"name":`...)
	}
	b = appendQuoted(b, t.Name)
	b = append(b, `,"description":`...)
	b = appendQuoted(b, t.Description)
	if p == Anthropic {
		b = append(b, `,"input_schema":`...)
	} else {
		b = append(b, `,"parameters":`...)
	}
	b = append(append(b, schema...), '}')
	if p == Ollama || p == OpenAI {
		b = append(b, '}')
	}
	return b, nil
}

// object returns raw where it is a JSON object, and none where it is empty.
func object(raw []byte, none string) ([]byte, error) {
	if len(raw) == 0 {
		return []byte(none), nil
	}
	if !isObject(raw) {
		return nil, impossible("it is no JSON object")
	}
	return raw, nil
}

// isObject reports whether text is a JSON object and nothing else.
func isObject(text []byte) bool {
	at := skipSpace(text, 0)
	return at < len(text) && text[at] == '{' && isWhole(text)
}
