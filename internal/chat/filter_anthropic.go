package chat

// emitAnthropic judges an event. Events of our own are appended to dst.
func (f *Filter) emitAnthropic(dst []byte, u *unit) ([]byte, outcome) {
	b := u.json()
	e := readAnthropic(b, skipSpace(b, 0))
	ed := &editor{b: b}
	switch e.kind {
	case "message_start":
		if e.message.isObject(b) {
			f.round.id = fieldOf(b, e.message, "id").text(b)
		}
		if f.client.rounds > 1 && f.client.announced {
			return dst, outcome{}
		}
		f.client.announced = true
	case "content_block_start":
		return f.startBlock(dst, u, ed, e)
	case "content_block_delta":
		return f.deltaBlock(dst, u, ed, e)
	case "content_block_stop":
		return f.stopBlock(dst, u, ed, e)
	case "message_delta", "message_stop":
		return f.endMessage(dst, u, ed, e)
	case "error":
		return dst, outcome{pass: u.raw, substance: true, finishes: true}
	default:
		if !e.failed.isAbsent(b) {
			return dst, outcome{pass: u.raw, substance: true, finishes: true}
		}
	}
	return dst, outcome{pass: u.raw}
}

func (f *Filter) startBlock(dst []byte, u *unit, ed *editor, e anthropicEvent) ([]byte, outcome) {
	b, r := ed.b, f.round
	own := number(b, e.index, noIndex)
	p := &part{call: noIndex, index: noIndex}
	r.begin(own, p)
	if !e.block.isObject(b) {
		return dst, outcome{pass: u.raw}
	}
	k := readContentBlock(b, e.block)
	p.kind = k.kind
	if k.kind == "tool_use" && len(u.trace) > 0 {
		p.call = u.trace[0]
	}
	kind := f.fateOf(p)
	if kind == bridged {
		f.numbers(0).cut = true
	}
	if f.edited() && kind != held {
		dst = f.closeBlocks(dst)
	}
	if kind != real {
		if hasMembers(b, k.input) {
			f.arguments(p, b, k.input, true)
		}
		p.begins = append([]byte(nil), b...)
		return f.sendWhole(dst, p), outcome{}
	}
	f.place(p, own)
	p.open = true
	f.renumberPart(ed, e.index, p)
	o := outcome{pass: u.with(ed)}
	switch k.kind {
	case "text":
		if k.text.isString(b) {
			r.say(k.text.of(b))
		}
		o.substance = filled(b, k.text)
	case "thinking":
		o.substance = filled(b, k.thinking)
	case "tool_use":
		f.pass()
		o.substance = true
	default:
		o.substance = true
	}
	return dst, o
}

func (f *Filter) deltaBlock(dst []byte, u *unit, ed *editor, e anthropicEvent) ([]byte, outcome) {
	b, r := ed.b, f.round
	p := r.part(number(b, e.index, noIndex), nil)
	if f.fateOf(p) != real {
		f.arguments(p, b, e.partial, false)
		return f.sendWhole(dst, p), outcome{}
	}
	if p != nil {
		f.renumberPart(ed, e.index, p)
	}
	if e.text.isString(b) {
		r.say(e.text.of(b))
	}
	return dst, outcome{pass: u.with(ed), substance: filled(b, e.text) || filled(b, e.thinking)}
}

func (f *Filter) stopBlock(dst []byte, u *unit, ed *editor, e anthropicEvent) ([]byte, outcome) {
	own := number(ed.b, e.index, noIndex)
	p := f.round.part(own, nil)
	if p == nil && f.edited() { // some engines end a block under the number of the next
		for _, other := range f.round.order {
			if other.open {
				p = other
			}
		}
		if p == nil {
			return dst, outcome{}
		}
	}
	switch f.fateOf(p) {
	case bridged:
		dst = f.sendBridged(dst, p)
		fallthrough
	case held:
		if fate := &f.round.fates[p.call]; len(fate.arguments) == 0 && !fate.bridged {
			fate.arguments = []byte("{}")
		}
		if p.open { // a bridged call that has been sent
			dst = append(dst, stopEvent(p.index)...)
			p.open = false
		}
		return dst, outcome{}
	}
	if p != nil {
		if !p.open && f.edited() {
			return dst, outcome{}
		}
		p.open = false
		f.renumberPart(ed, e.index, p)
	}
	return dst, outcome{pass: u.with(ed)}
}

// hasMembers reports whether a value is an object that is not empty.
func hasMembers(b []byte, value span) (has bool) {
	if value.isObject(b) {
		eachField(b, value.start, func([]byte, span) bool {
			has = true
			return false
		})
	}
	return has
}

func stopEvent(index int) []byte {
	return appendEvent(nil, "content_block_stop", append(appendInt([]byte(`{"type":"content_block_stop","index":`), index), '}'))
}

// closeBlocks ends the blocks that the engine left open.
func (f *Filter) closeBlocks(dst []byte) []byte {
	for _, p := range f.round.order {
		if p.open {
			dst = append(dst, stopEvent(p.index)...)
			p.open = false
		}
	}
	return dst
}

func (f *Filter) endMessage(dst []byte, u *unit, ed *editor, e anthropicEvent) ([]byte, outcome) {
	b, r := ed.b, f.round
	dst = f.finishParts(dst)
	if f.edited() {
		dst = f.closeBlocks(dst)
	}
	var o outcome
	f.editMessageUsage(ed, e.usage)
	if !r.holds() {
		o.pass, o.finishes = u.with(ed), true
		return dst, o
	}
	if r.holding && e.stop.text(b) == "tool_use" {
		ed.replace(e.stop, []byte(`"end_turn"`))
	}
	o.end = u.with(ed)
	return dst, o
}

// editMessageUsage adds what earlier rounds came to; the input is that of this round.
func (f *Filter) editMessageUsage(ed *editor, usage span) {
	if f.client.rounds < 2 || !usage.isObject(ed.b) {
		return
	}
	ed.raise(fieldOf(ed.b, usage, "output_tokens"), int64(f.client.spent.output))
	said := f.round.scan.usage
	if said.PromptTokens > 0 && fieldOf(ed.b, usage, "input_tokens").end == 0 {
		ed.insert(usage, "input_tokens", appendInt(nil, said.PromptTokens-said.CachedTokens))
		if f.client.cached && fieldOf(ed.b, usage, "cache_read_input_tokens").end == 0 { // or the first round's is added
			ed.insert(usage, "cache_read_input_tokens", appendInt(nil, said.CachedTokens))
		}
	}
}

func (f *Filter) documentOfAnthropic(u *unit) *editor {
	b, r := u.json(), f.round
	e := readAnthropic(b, skipSpace(b, 0))
	ed := &editor{b: b}
	if e.kind == "error" || !e.failed.isAbsent(b) || !e.message.isObject(b) {
		r.passing = true
		return ed
	}
	r.id = fieldOf(b, e.message, "id").text(b)
	f.editMessageUsage(ed, fieldOf(b, e.message, "usage"))
	content := fieldOf(b, e.message, "content")
	if !content.isArray(b) {
		f.contentOfAnthropic(ed, e.message, content)
		return ed
	}
	out := f.sift(b, content, &u.trace)
	eachElement(b, content.start, func(at span) bool {
		if !at.isObject(b) {
			return true
		}
		k := readContentBlock(b, at)
		if k.kind == "text" && k.text.isString(b) {
			r.say(k.text.of(b))
		}
		r.substance = r.substance || k.kind != "tool_use" && k.kind != "text" && k.kind != "thinking" || filled(b, k.thinking)
		return true
	})
	r.substance = r.substance || out.kept > 0
	r.items = out.list
	if len(f.client.items) > 0 || out.changed {
		ed.replace(content, f.allItems())
	}
	if stop := fieldOf(b, e.message, "stop_reason"); r.holding && out.kept == 0 && stop.text(b) == "tool_use" {
		ed.replace(stop, []byte(`"end_turn"`))
	}
	return ed
}

// contentOfAnthropic puts what earlier rounds said where a message has no blocks, but null, a string or nothing.
func (f *Filter) contentOfAnthropic(ed *editor, message, content span) {
	if filled(ed.b, content) {
		f.round.say(content.of(ed.b))
		f.round.items = append(append([]byte(`{"type":"text","text":`), content.of(ed.b)...), '}')
	}
	f.putItems(ed, message, content, "content")
}
