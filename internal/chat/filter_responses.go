package chat

import (
	"bytes"
	"strings"
)

// emitResponses judges an event. Events of our own are appended to dst.
func (f *Filter) emitResponses(dst []byte, u *unit) ([]byte, outcome) {
	b := u.json()
	e := readResponses(b, skipSpace(b, 0))
	ed := &editor{b: b}
	switch {
	case e.kind == "error" || e.response.end == 0 && !e.failed.isAbsent(b):
		return dst, f.numbered(u, ed, e, outcome{substance: true, finishes: true})
	case e.response.isObject(b):
		return f.emitLifecycle(dst, u, ed, e)
	case e.kind == "response.output_item.added":
		return dst, f.addItem(u, ed, e)
	case e.kind == "response.output_item.done":
		return f.endItem(dst, u, ed, e)
	}
	own := number(b, e.index, noIndex)
	p := f.round.part(own, e.itemID.of(b))
	if f.fateOf(p) != real {
		switch e.kind {
		case "response.function_call_arguments.delta":
			f.arguments(p, b, e.delta, false)
		case "response.function_call_arguments.done":
			f.arguments(p, b, e.full, true)
		}
		return f.sendWhole(dst, p), outcome{}
	}
	if p != nil {
		f.renumberPart(ed, e.index, p)
	}
	var o outcome
	if filled(b, e.delta) {
		switch {
		case e.kind == "response.output_text.delta":
			f.round.say(e.delta.of(b))
			o.substance = true
		case strings.HasPrefix(e.kind, "response.reasoning") || e.kind == "response.refusal.delta":
			o.substance = true
		}
	}
	return dst, f.numbered(u, ed, e, o)
}

// numbered sends an event with the client's sequence number.
func (f *Filter) numbered(u *unit, ed *editor, e responsesEvent, o outcome) outcome {
	f.sequence(ed, e)
	o.pass = u.with(ed)
	return o
}

// sequence gives an event the client's next number.
func (f *Filter) sequence(ed *editor, e responsesEvent) {
	own := number(ed.b, e.sequence, noIndex)
	if f.client.came(own); own < 0 {
		return
	}
	if !f.edited() {
		f.client.sequence = own + 1
		return
	}
	ed.renumberAs(e.sequence, f.client.sequence)
	f.client.sequence++
}

func (f *Filter) addItem(u *unit, ed *editor, e responsesEvent) outcome {
	b, r := ed.b, f.round
	own := number(b, e.index, noIndex)
	p := &part{call: noIndex, index: noIndex, from: len(r.text)}
	var o outcome
	if e.item.isObject(b) {
		i := readItem(b, e.item)
		p.kind, p.id, p.callID = i.kind, bytes.Clone(i.id.of(b)), bytes.Clone(i.callID.of(b))
		if len(u.trace) > 0 {
			p.call = u.trace[0]
		}
		o.substance = i.kind != "message" && i.kind != "reasoning"
	}
	r.begin(own, p)
	switch kind := f.fateOf(p); {
	case kind == bridged:
		f.numbers(0).cut = true
		p.begins = bytes.Clone(b)
		fallthrough
	case kind == held:
		return outcome{}
	}
	if p.kind == "function_call" || actsOnItself(p.kind) {
		f.pass()
	}
	f.place(p, own)
	p.open = true
	f.renumberPart(ed, e.index, p)
	return f.numbered(u, ed, e, o)
}

func (f *Filter) endItem(dst []byte, u *unit, ed *editor, e responsesEvent) ([]byte, outcome) {
	b := ed.b
	if !e.item.isObject(b) {
		return dst, f.numbered(u, ed, e, outcome{})
	}
	i := readItem(b, e.item)
	own := number(b, e.index, noIndex)
	p := f.round.endedPart(own, i.id.of(b), u.trace)
	if p == nil && len(u.trace) > 0 { // it was never begun
		p = &part{kind: i.kind, id: bytes.Clone(i.id.of(b)), callID: bytes.Clone(i.callID.of(b)), call: u.trace[0], index: noIndex}
		f.round.begin(own, p)
	}
	switch f.fateOf(p) {
	case bridged:
		f.arguments(p, b, i.arguments, true)
		dst = f.sendBridgedItem(dst, p, b, e.item)
		fallthrough
	case held:
		f.arguments(p, b, i.arguments, true)
		if p.open { // a bridged call that has been sent
			dst = f.endBridgedItem(dst, p, b, e.item)
		}
		return dst, outcome{}
	}
	var o outcome
	if p != nil {
		if p.kind == "function_call" {
			f.pass()
			o.substance = true
		}
		f.place(p, own)
		p.open = false
		f.renumberPart(ed, e.index, p)
	}
	return dst, f.numbered(u, ed, e, o)
}

// appendItemEvent writes an event about an item: all but those about the item as a whole name its id.
func (f *Filter) appendItemEvent(dst []byte, kind string, p *part, key string, value []byte) []byte {
	data := f.client.appendNumber(append(append([]byte(`{"type":"`), kind...), '"'))
	if !p.unindexed {
		data = appendInt(append(data, `,"output_index":`...), p.index)
	}
	if id := p.name(); key != `"item":` && len(id) > 0 {
		data = append(append(data, `,"item_id":`...), id...)
	}
	data = append(append(append(data, ','), key...), value...)
	return appendEvent(dst, kind, append(data, '}'))
}

// emitLifecycle judges an event that has the response as it stands.
func (f *Filter) emitLifecycle(dst []byte, u *unit, ed *editor, e responsesEvent) ([]byte, outcome) {
	b, r := ed.b, f.round
	o := readResponse(b, e.response)
	switch e.kind {
	case "response.completed", "response.incomplete", "response.failed":
	default:
		if f.client.rounds > 1 && f.client.announced {
			return dst, outcome{}
		}
		f.client.announced = true
		f.editResponse(ed, o)
		return dst, f.numbered(u, ed, e, outcome{})
	}
	dst = f.finishParts(dst)
	f.editOutput(ed, o, u)
	f.editTimings(ed, e.timings)
	out := outcome{}
	f.editResponse(ed, o)
	failed := e.kind == "response.failed"
	if failed || !r.holds() {
		out.substance, out.finishes = failed, true
		return dst, f.numbered(u, ed, e, out)
	}
	dst = f.closeMessages(dst)
	if f.edited() {
		ed.replace(o.output, f.allItems())
	}
	r.mark = f.client.sequence
	f.sequence(ed, e)
	out.end = u.with(ed)
	return dst, out
}

// closeMessages ends the messages that the engine left open because a call followed, and adds them to the output.
func (f *Filter) closeMessages(dst []byte) []byte {
	for _, p := range f.round.order {
		if !p.open || p.kind != "message" || !f.edited() {
			continue
		}
		p.open = false
		text := appendQuoted(nil, f.round.text[min(p.from, len(f.round.text)):])
		content := append(append([]byte(`{"type":"output_text","text":`), text...), `,"annotations":[]}`...)
		item := []byte(`{`)
		if len(p.id) > 0 {
			item = append(append(append(item, `"id":`...), p.id...), ',')
		}
		item = append(append(append(item, `"type":"message","status":"completed","role":"assistant","content":[`...), content...), "]}"...)
		at := ""
		if !p.unindexed {
			at = `"content_index":0,`
		}
		dst = f.appendItemEvent(dst, "response.output_text.done", p, at+`"text":`, text)
		dst = f.appendItemEvent(dst, "response.content_part.done", p, at+`"part":`, content)
		dst = f.appendItemEvent(dst, "response.output_item.done", p, `"item":`, item)
		f.round.items = appendElement(f.round.items, item)
	}
	return dst
}

// editResponse makes a response the client's own: id and time of the first round, tools and choice of the
// request as the client sent it, and usage of all rounds.
func (f *Filter) editResponse(ed *editor, o responsesObject) {
	client := &f.client
	f.round.id = o.id.text(ed.b)
	if f.cfg.Tools != nil {
		ed.swap(o.tools, f.cfg.Tools)
	}
	if f.cfg.Choice != nil {
		ed.swap(o.choice, f.cfg.Choice)
	}
	switch {
	case !client.known:
		client.known = true
		client.id, client.created = bytes.Clone(o.id.of(ed.b)), bytes.Clone(o.created.of(ed.b))
		client.previous = bytes.Clone(o.previous.of(ed.b))
		if f.cfg.Previous != "" && o.previous.isString(ed.b) {
			client.previous = appendQuoted(nil, f.cfg.Previous)
		}
	case client.rounds > 1 && f.mode != plain:
		ed.swap(o.id, client.id)
		ed.swap(o.created, client.created)
	}
	if client.rounds > 1 || f.cfg.Previous != "" {
		ed.swap(o.previous, client.previous)
	}
	if client.rounds > 1 {
		if o.usage.isObject(ed.b) {
			ed.raise(fieldOf(ed.b, o.usage, "output_tokens"), int64(client.spent.output))
			ed.raise(fieldOf(ed.b, o.usage, "total_tokens"), int64(client.spent.output))
		}
	}
}

// editOutput makes the output of a response that has ended that of all rounds.
func (f *Filter) editOutput(ed *editor, o responsesObject, u *unit) elements {
	if !o.output.isArray(ed.b) {
		f.putItems(ed, o.at, o.output, "output")
		return elements{}
	}
	out := f.sift(ed.b, o.output, &u.trace)
	f.round.items = out.list
	if len(f.client.items) > 0 || out.changed {
		ed.replace(o.output, f.allItems())
	}
	return out
}

func (f *Filter) documentOfResponses(u *unit) *editor {
	b, r := u.json(), f.round
	e := readResponses(b, skipSpace(b, 0))
	ed := &editor{b: b}
	if !e.response.isObject(b) || !e.failed.isAbsent(b) {
		r.passing = true
		return ed
	}
	o := readResponse(b, e.response)
	out := f.editOutput(ed, o, u)
	r.substance = out.kept > 0
	f.editResponse(ed, o)
	if o.output.isArray(b) {
		eachElement(b, o.output.start, func(at span) bool {
			if at.isObject(b) {
				r.hearItem(b, readItem(b, at))
			}
			return true
		})
	}
	return ed
}

// hearItem notes what a whole item says.
func (r *round) hearItem(b []byte, i responsesItem) {
	switch {
	case i.kind == "function_call":
	case i.kind != "message":
		r.substance = true
	case i.content.isArray(b):
		eachElement(b, i.content.start, func(at span) bool {
			if text := at; text.isObject(b) {
				if text = fieldOf(b, at, "text"); text.isString(b) {
					r.say(text.of(b))
				}
			}
			return true
		})
	}
}
