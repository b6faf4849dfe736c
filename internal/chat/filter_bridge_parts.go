package chat

// sendWhole sends a part's bridged call, but for its end, once its arguments are whole: the engine may tell the end of a part only
// after others.
func (f *Filter) sendWhole(dst []byte, p *part) []byte {
	if f.fateOf(p) != bridged || f.round.fates[p.call].args.state != argsWhole {
		return dst
	}
	return f.sendBegun(dst, p)
}

// sendBegun sends a part's bridged call, but for its end, after the event that began it.
func (f *Filter) sendBegun(dst []byte, p *part) []byte {
	switch {
	case p.begins == nil:
		return dst
	case f.protocol == Anthropic:
		return f.sendBridged(dst, p)
	}
	return f.sendBridgedItem(dst, p, p.begins, readResponses(p.begins, skipSpace(p.begins, 0)).item)
}

// finishParts sends the bridged calls of parts that the engine has not ended, and ends the items among them.
func (f *Filter) finishParts(dst []byte) []byte {
	for _, p := range f.round.order {
		if f.fateOf(p) == bridged {
			dst = f.sendBegun(dst, p)
		}
		if f.protocol == Responses && p.open && p.begins != nil {
			dst = f.endBridgedItem(dst, p, p.begins, readResponses(p.begins, skipSpace(p.begins, 0)).item)
		}
	}
	return dst
}

// openBridged gives a bridged call its place among the client's parts, and reports whether it is the client's.
func (f *Filter) openBridged(p *part, fate *fate) bool {
	f.cross(fate)
	if fate.kind == held {
		return false
	}
	f.pass()
	f.round.substance, fate.sealed = true, true
	f.place(p, noIndex)
	p.open = true
	return true
}

// sendBridged sends a bridged call as one, but for its end, if it is the client's.
func (f *Filter) sendBridged(dst []byte, p *part) []byte {
	fate := &f.round.fates[p.call]
	if !f.openBridged(p, fate) {
		return dst
	}
	e := readAnthropic(p.begins, skipSpace(p.begins, 0))
	ed := editor{b: p.begins}
	ed.renumberAs(e.index, p.index)
	ed.replace(fieldOf(p.begins, e.block, "name"), appendQuoted(nil, fate.name))
	if input := fieldOf(p.begins, e.block, "input"); input.isObject(p.begins) {
		ed.replace(input, []byte("{}"))
	}
	dst = appendEvent(dst, "content_block_start", ed.apply(nil))
	data := appendInt([]byte(`{"type":"content_block_delta","index":`), p.index)
	data = appendQuoted(append(data, `,"delta":{"type":"input_json_delta","partial_json":`...), fate.arguments)
	return appendEvent(dst, "content_block_delta", append(data, "}}"...))
}

// sendBridgedItem is sendBridged for an item. item, in b, is the whole one, or the one that began it.
func (f *Filter) sendBridgedItem(dst []byte, p *part, b []byte, item span) []byte {
	fate := &f.round.fates[p.call]
	if !f.openBridged(p, fate) {
		return dst
	}
	arguments := appendQuoted(nil, fate.arguments)
	dst = f.appendItemEvent(dst, "response.output_item.added", p, `"item":`, fate.item(b, item, nil, "in_progress"))
	dst = f.appendItemEvent(dst, "response.function_call_arguments.delta", p, `"delta":`, arguments)
	return f.appendItemEvent(dst, "response.function_call_arguments.done", p, `"arguments":`, arguments)
}

// endBridgedItem ends the item of a bridged call that was sent.
func (f *Filter) endBridgedItem(dst []byte, p *part, b []byte, item span) []byte {
	fate := &f.round.fates[p.call]
	p.open = false
	return f.appendItemEvent(dst, "response.output_item.done", p, `"item":`, fate.item(b, item, fate.arguments, "completed"))
}

// item returns an item of a bridged call's with the true name and these arguments.
func (fate *fate) item(b []byte, item span, arguments []byte, status string) []byte {
	i := readItem(b, item)
	text := editor{b: item.of(b)}
	at := func(s span) span { return span{s.start - item.start, s.end - item.start} }
	text.replace(at(i.name), appendQuoted(nil, fate.name))
	text.replace(at(i.arguments), appendQuoted(nil, arguments))
	text.replace(at(i.status), appendQuoted(nil, status))
	return text.apply(nil)
}
