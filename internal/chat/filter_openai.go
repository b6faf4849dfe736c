package chat

import (
	"bytes"
	"slices"
)

// openAIChunk is where things stand in a chunk or a plain answer of OpenAI's.
type openAIChunk struct {
	id, created, choices, usage, timings, failed span
}

// openAIChoice is one of its choices.
type openAIChoice struct {
	index                                   int
	delta, finish                           span // delta or message
	role, content, calls, legacy, reasoning span
	thinks                                  bool
}

func readOpenAI(b []byte) (c openAIChunk, at int) {
	at = skipSpace(b, 0)
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "id":
			c.id = value
		case "created":
			c.created = value
		case "choices":
			c.choices = value
		case "usage":
			c.usage = value
		case "timings":
			c.timings = value
		case "error":
			c.failed = value
		}
		return true
	})
	return c, at
}

func readOpenAIChoice(b []byte, choice span) (c openAIChoice) {
	var message span
	eachField(b, choice.start, func(key []byte, value span) bool {
		switch string(key) {
		case "index":
			c.index = number(b, value, 0)
		case "delta":
			c.delta = value
		case "message":
			message = value
		case "finish_reason":
			c.finish = value
		}
		return true
	})
	if !c.delta.isObject(b) {
		c.delta = message
	}
	if !c.delta.isObject(b) {
		c.delta = span{}
		return c
	}
	eachField(b, c.delta.start, func(key []byte, value span) bool {
		switch string(key) {
		case "role":
			c.role = value
		case "content":
			c.content = value
		case "tool_calls":
			c.calls = value
		case "function_call":
			c.legacy = value
		case "reasoning_content", "reasoning", "refusal":
			c.thinks = c.thinks || filled(b, value)
			if string(key) != "refusal" {
				c.reasoning = value
			}
		}
		return true
	})
	return c
}

// openAIEdit is the editing of one chunk.
type openAIEdit struct {
	editor
	u       *unit
	choices []openAIChoice
	says    bool // text, thinking or a legacy call
	kept    int  // calls
	bare    bool // something of ours was taken out, or a role: without more the chunk is dropped
	finish  bool
}

// emitOpenAI judges a chunk. Bridged calls that the finish ends are appended to dst.
func (f *Filter) emitOpenAI(dst []byte, u *unit) ([]byte, outcome) {
	b := u.json()
	c, at := readOpenAI(b)
	if !c.failed.isAbsent(b) {
		return dst, outcome{pass: u.raw, substance: true, finishes: true}
	}
	e := &openAIEdit{editor: editor{b: b}, u: u}
	f.editIdentity(&e.editor, c)
	if c.choices.isArray(b) {
		eachElement(b, c.choices.start, func(choice span) bool {
			if choice.isObject(b) {
				dst = f.editChoice(dst, e, readOpenAIChoice(b, choice))
			}
			return true
		})
	}
	r := f.round
	usage := c.usage.isObject(b) && len(e.choices) == 0
	ends := e.finish || usage
	o := outcome{substance: e.says || e.kept > 0}
	r.substance = r.substance || o.substance
	if usage || e.finish || c.usage.isObject(b) {
		f.editUsage(&e.editor, c.usage)
		f.editTimings(&e.editor, c.timings)
	}
	switch {
	case !ends && e.bare && !o.substance:
		return dst, o
	case !ends:
		o.pass = u.with(&e.editor)
		return dst, o
	case !r.holds():
		o.pass, o.finishes = u.with(&e.editor), e.finish
		return dst, o
	}
	if e.says {
		o.pass = append(endLine(bytes.Clone(u.with(e.sayingHalf(at)))), '\n')
		for _, choice := range e.choices {
			e.replace(choice.delta, []byte("{}"))
		}
	}
	for _, choice := range e.choices {
		if r.holding && calling(b, choice.finish) {
			e.replace(choice.finish, []byte(`"stop"`))
		}
	}
	o.end = u.with(&e.editor)
	return dst, o
}

// calling reports whether a finish_reason says that there are calls.
func calling(b []byte, finish span) bool {
	word := finish.text(b)
	return word == "tool_calls" || word == "function_call"
}

// sayingHalf returns the edits that make of a chunk that finishes one that goes on.
func (e *openAIEdit) sayingHalf(at int) *editor {
	half := &editor{b: e.b, list: slices.Clone(e.list)}
	half.cut(at, func(key string) bool { return key == "usage" || key == "timings" })
	for _, choice := range e.choices {
		if choice.finish.isString(e.b) {
			half.replace(choice.finish, []byte("null"))
		}
	}
	return half
}

// editChoice judges one choice of a chunk.
func (f *Filter) editChoice(dst []byte, e *openAIEdit, c openAIChoice) []byte {
	b, r := e.b, f.round
	says := spoken(b, c.content) || c.thinks || c.legacy.isObject(b)
	for _, text := range textsOf(b, c.content) {
		if f.joins(text.of(b)) {
			e.replace(text, broken(text.of(b)))
		}
		r.say(text.of(b))
	}
	var calls rewritten
	drop := map[string]bool{}
	if c.calls.isArray(b) {
		calls = f.editCalls(e.u, &e.editor, c.calls)
		e.bare = e.bare || calls.changed
		drop["tool_calls"] = calls.gone()
	}
	if c.legacy.isObject(b) {
		if len(e.u.trace) > 0 {
			e.u.trace = e.u.trace[1:]
		}
		f.pass()
	}
	if c.role.isString(b) {
		if f.client.rounds > 1 && f.client.announced {
			drop["role"], e.bare = true, true
		}
		if !e.bare || says || calls.kept > 0 {
			f.client.announced = true
		}
	}
	if drop["tool_calls"] || drop["role"] {
		e.cut(c.delta.start, func(key string) bool { return drop[key] })
	}
	e.says = e.says || says
	e.kept += calls.kept
	e.choices = append(e.choices, c)
	if c.finish.isString(b) {
		e.finish = true
		dst = f.finishBridged(dst, e.u, c.index)
		if r.holding && !f.holdsIn(c.index) {
			r.passing = true // the choices differ
		}
	}
	return dst
}

// holdsIn reports whether a call of this choice is held.
func (f *Filter) holdsIn(choice int) bool {
	for i := range f.round.fates {
		if fate := &f.round.fates[i]; fate.kind == held && fate.choice == choice {
			return true
		}
	}
	return false
}

// editIdentity gives a later round's chunks the id and time of the first's, which it notes.
func (f *Filter) editIdentity(ed *editor, c openAIChunk) {
	client := &f.client
	if c.id.isString(ed.b) {
		f.round.id = c.id.text(ed.b)
	}
	if !client.known {
		if c.id.end > 0 || c.choices.end > 0 {
			client.id, client.created = bytes.Clone(c.id.of(ed.b)), bytes.Clone(c.created.of(ed.b))
			client.known = true
		}
		return
	}
	if client.rounds < 2 {
		return
	}
	ed.swap(c.id, client.id)
	ed.swap(c.created, client.created)
}

// swap replaces a value that is there and differs.
func (e *editor) swap(at span, text []byte) {
	if at.end > at.start && len(text) > 0 && !bytes.Equal(at.of(e.b), text) {
		e.replace(at, text)
	}
}

// editUsage adds what earlier rounds came to.
func (f *Filter) editUsage(ed *editor, usage span) {
	if f.client.rounds < 2 || !usage.isObject(ed.b) {
		return
	}
	spent := int64(f.client.spent.output)
	eachField(ed.b, usage.start, func(key []byte, value span) bool {
		switch string(key) {
		case "completion_tokens", "total_tokens", "output_tokens":
			ed.raise(value, spent)
		}
		return true
	})
}

// finishBridged sends the bridged calls of a choice, or of all with noIndex, whose arguments will not become whole. u is the
// unit that ends them, nil at the answer's end.
func (f *Filter) finishBridged(dst []byte, u *unit, choice int) []byte {
	if len(f.round.order) > 0 {
		dst = f.finishParts(dst)
	}
	for i := range f.round.fates {
		fate := &f.round.fates[i]
		if fate.kind != bridged || choice != noIndex && fate.choice != choice {
			continue
		}
		f.cross(fate)
		if fate.kind == held {
			continue
		}
		f.pass()
		f.round.substance = true
		fate.sealed = true
		dst = f.appendChunk(dst, fate.template, fate.choice, f.compose(i))
	}
	if u == nil && f.round.passing {
		dst = f.flush(dst)
	}
	return dst
}

// appendChunk writes an event with one call, after the pattern of another.
func (f *Filter) appendChunk(dst, template []byte, choice int, call []byte) []byte {
	if template == nil {
		return dst
	}
	c, at := readOpenAI(template)
	ed := editor{b: template}
	f.editIdentity(&ed, c)
	delta := appendInt([]byte(`[{"index":`), choice)
	delta = append(append(delta, `,"delta":{"tool_calls":[`...), call...)
	ed.replace(c.choices, append(delta, `]},"finish_reason":null}]`...))
	ed.cut(at, func(key string) bool { return key == "usage" || key == "timings" })
	dst = append(dst, "data: "...)
	return append(ed.apply(dst), "\n\n"...)
}
