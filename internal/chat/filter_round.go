package chat

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
)

// round is one answer of the engine's.
type round struct {
	scan  Scanner // reads calls and usage
	fates []fate  // of each of its calls

	holding   bool // a call was held
	substance bool // text, thinking or a call has come
	passing   bool // the client gets the end as it comes
	ended     bool // and has got it, or some of it
	failing   bool // the event under way is an error
	ending    bool // the end is being held back

	end     []byte // held back
	waiting []unit // until a call's name is known
	waits   int    // bytes of them
	sink    sink   // of the last unit: what follows goes there

	kept
	figures figures
	partList
}

// kept is what is remembered of a round's content.
type kept struct {
	id        string // the engine's, of the answer
	text      []byte // what the model said
	limit     int    // of its length in bytes
	truncated bool
	open      bool // what the model said ends in something else than white space
	joined    bool // Break was put before it
	gathered  int  // bytes of arguments
}

// sink is where a unit went.
type sink uint8

const (
	toClient sink = iota
	toEnd
	toWaiting
	nowhere
)

// outcome is what becomes of a unit.
type outcome struct {
	pass      []byte // goes to the client
	end       []byte // belongs to the end that is held back
	substance bool   // it has text, thinking or a call for the client
	finishes  bool   // it is of the end, which is not held back
}

// take judges a unit and appends what of it goes to the client now.
func (f *Filter) take(dst []byte, u unit) []byte {
	r := f.round
	b := u.json()
	if string(bytes.TrimSpace(b)) == "[DONE]" {
		dst = f.unstub(dst)
		u.done = true
		r.scan.usage.Done = true
		return f.takeParsed(dst, u)
	}
	if r.failing {
		r.failing = false
		r.scan.usage.Failed, r.passing, r.ended = true, true, true
	}
	if b == nil || f.lines.closing && !isWhole(b) {
		return f.neutral(dst, u)
	}
	dst = f.unstub(dst)
	if f.plainText(&u, b) {
		f.hear(b)
		r.sink = toClient
		return append(dst, u.raw...)
	}
	if tooDeep(b, maxDepth) || !gjson.ValidBytes(b) || b[skipSpace(b, 0)] != '{' {
		return f.neutral(dst, u)
	}
	r.scan.calls.trace = r.scan.calls.trace[:0]
	r.scan.read(b, skipSpace(b, 0))
	u.trace = r.scan.calls.trace
	return f.takeParsed(dst, u)
}

// plainText reports whether the unit's JSON goes to the client without being read.
func (f *Filter) plainText(u *unit, b []byte) bool {
	r := f.round
	if len(r.waiting) > 0 || r.ending || f.reads(b) {
		return false
	}
	return u.dull || !r.scan.telling(b)
}

// reads reports whether the protocol has a unit read at this point: for ids that have to be noted or replaced, the beginning of a text that may need a break before it, and text in parts.
func (f *Filter) reads(b []byte) bool {
	switch f.protocol {
	case Ollama:
		return f.client.open && len(f.round.text) == 0
	case OpenAI:
		return f.client.rounds > 1 || !f.client.known || valueOf(b, `"content"`, '[') != nil
	case Responses, Anthropic:
		return f.edited()
	}
	return false
}

// takeParsed is take for a unit that could be read.
func (f *Filter) takeParsed(dst []byte, u unit) []byte {
	r := f.round
	if f.settle(u.trace, u.done || r.waits > maxWaiting) {
		dst = f.flushWaiting(dst)
		return f.emit(dst, &u)
	}
	u.raw = bytes.Clone(u.raw)
	u.joined = bytes.Clone(u.joined)
	u.trace = slices.Clone(u.trace)
	r.waiting = append(r.waiting, u)
	r.waits += len(u.raw)
	r.sink = toWaiting
	return dst
}

// neutral takes a unit that has nothing to be read. An answer's last is kept for Release, unless it may be ours.
func (f *Filter) neutral(dst []byte, u unit) []byte {
	if !f.lines.closing {
		return f.sendNeutral(dst, u)
	}
	if !f.mayBeOurs(u.raw) && (u.joined == nil || !f.mayBeOurs(u.joined)) {
		f.stub = append(f.stub, u.raw...)
	}
	return dst
}

// sendNeutral sends such a unit, behind what waits.
func (f *Filter) sendNeutral(dst []byte, u unit) []byte {
	r := f.round
	switch {
	case len(r.waiting) > 0:
		r.waiting = append(r.waiting, unit{raw: bytes.Clone(u.raw)})
		r.waits += len(u.raw)
		r.sink = toWaiting
		return dst
	case r.ending && !r.passing && len(r.end) < maxHeldLine:
		r.end = append(r.end, u.raw...)
		r.sink = toEnd
		return dst
	}
	dst = f.flush(dst)
	r.sink = toClient
	return append(dst, u.raw...)
}

// unstub sends what seemed to be the answer's last line, and was not.
func (f *Filter) unstub(dst []byte) []byte {
	if len(f.stub) == 0 {
		return dst
	}
	stub := f.stub
	f.stub = nil
	return f.sendNeutral(dst, unit{raw: stub})
}

// follow sends a blank line after the unit before it.
func (f *Filter) follow(dst, raw []byte) []byte {
	r := f.round
	switch r.sink {
	case toClient:
		return append(dst, raw...)
	case toEnd:
		r.end = append(r.end, raw...)
	case toWaiting:
		last := &r.waiting[len(r.waiting)-1]
		last.raw = append(last.raw, raw...)
	}
	return dst
}

// flushWaiting sends what waited, now that its calls are settled.
func (f *Filter) flushWaiting(dst []byte) []byte {
	r := f.round
	waiting := r.waiting
	r.waiting, r.waits = nil, 0
	for i := range waiting {
		if waiting[i].json() == nil {
			dst = f.sendNeutral(dst, waiting[i])
			continue
		}
		dst = f.emit(dst, &waiting[i])
	}
	return dst
}

// flush sends the end that was held back.
func (f *Filter) flush(dst []byte) []byte {
	r := f.round
	if len(r.end) == 0 {
		return dst
	}
	dst = append(dst, r.end...)
	r.end, r.ending, r.ended = r.end[:0], false, true
	return dst
}

// holds reports whether an end that comes now is held back: nothing of the round is the client's to act on.
func (r *round) holds() bool { return !r.passing && (r.holding || !r.substance) }

// emit sends a unit whose calls are settled.
func (f *Filter) emit(dst []byte, u *unit) []byte {
	r := f.round
	before := len(dst)
	var o outcome
	switch {
	case u.done:
		o = f.emitDone(u)
	case f.protocol == Ollama:
		o = f.emitOllama(u)
	case f.protocol == Responses:
		dst, o = f.emitResponses(dst, u)
	case f.protocol == Anthropic:
		dst, o = f.emitAnthropic(dst, u)
	default:
		dst, o = f.emitOpenAI(dst, u)
	}
	extra := bytes.Clone(dst[before:])
	dst = dst[:before]
	r.substance = r.substance || o.substance
	if r.ending && !r.passing {
		if !o.substance && len(extra) == 0 && len(r.end) < maxHeldLine {
			r.end = append(append(r.end, o.pass...), o.end...)
			r.sink = toEnd
			return dst
		}
		r.passing = true // more after an end: it was none
	}
	if r.passing {
		dst = f.flush(dst)
	}
	if o.finishes {
		r.passing, r.ended = true, true
	}
	dst = append(append(dst, extra...), o.pass...)
	switch {
	case len(o.end) > 0:
		r.end, r.ending, r.sink = append(r.end, o.end...), true, toEnd
	case len(o.pass) > 0:
		r.sink = toClient
	default:
		r.sink = nowhere
	}
	return dst
}

func (f *Filter) emitDone(u *unit) outcome {
	if f.round.holds() || f.round.ending && !f.round.passing {
		return outcome{end: u.raw}
	}
	return outcome{pass: u.raw, finishes: true}
}

// hear notes what a unit says that was not read.
func (f *Filter) hear(b []byte) {
	r := f.round
	text, thinking := `"content"`, []string{`"thinking"`, `"reasoning_content"`, `"reasoning"`}
	switch f.protocol {
	case Anthropic:
		text, thinking = `"text"`, []string{`"thinking"`}
	case Responses:
		n := intOf(b, `"sequence_number"`)
		if f.client.came(n); n >= 0 {
			f.client.sequence = n + 1
		}
		text = `"delta"`
		if !bytes.Contains(b, []byte("response.output_text.delta")) {
			r.substance = r.substance || len(stringOf(b, text)) > 2
			return
		}
	}
	if raw := stringOf(b, text); len(raw) > 2 {
		r.say(raw)
	}
	for _, key := range thinking {
		if r.substance {
			return
		}
		r.substance = len(stringOf(b, key)) > 2
	}
}

// stringOf returns the first string, quotes included, that is the value of the key, nil where there is none.
func stringOf(b []byte, key string) []byte {
	b = valueOf(b, key, '"')
	if b == nil {
		return nil
	}
	end := skipString(b, 0)
	if b[end-1] != '"' || end < 2 {
		return nil
	}
	return b[:end]
}

// valueOf returns b from the key's first value on that begins with this byte, nil where there is none. An unescaped quote
// begins no key within a string, so that it need not read the JSON around it.
func valueOf(b []byte, key string, first byte) []byte {
	for {
		n := bytes.Index(b, []byte(key))
		if n < 0 {
			return nil
		}
		b = b[n+len(key):]
		i := skipSpace(b, 0)
		if i == len(b) || b[i] != ':' {
			continue
		}
		if i = skipSpace(b, i+1); i < len(b) && b[i] == first {
			return b[i:]
		}
	}
}

// intOf is stringOf for a count, -1 where there is none.
func intOf(b []byte, key string) int {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return noIndex
	}
	if i = skipSpace(b, i+len(key)); i == len(b) || b[i] != ':' {
		return noIndex
	}
	n, from := 0, skipSpace(b, i+1)
	for i = from; i < len(b) && i < from+9 && b[i] >= '0' && b[i] <= '9'; i++ {
		n = 10*n + int(b[i]-'0')
	}
	if i == from {
		return noIndex
	}
	return n
}
