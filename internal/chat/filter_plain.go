package chat

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// document is a plain answer.
type document struct {
	whole    []byte // what has come of it, edited by closeDocument
	text     []byte // what earlier rounds said, as the content of a JSON string
	thinking []byte // the same of their thinking
}

// byteOrderMark may stand at the beginning of a text, and is none of it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// collect takes the next bytes of an answer that is, or may turn out, plain.
func (f *Filter) collect(dst, p []byte) []byte {
	f.whole = append(f.whole, p...)
	if f.mode == undecided {
		f.mode = f.tellMode()
	}
	if f.mode == plain && len(f.whole) > maxDocument {
		f.mode = through
		f.round.ended = true
	}
	if f.mode == undecided || f.mode == plain {
		return dst
	}
	whole := f.whole
	f.whole = nil
	if f.mode == through {
		return append(dst, whole...)
	}
	return f.readLines(dst, whole)
}

// tellMode tells from the first line how an answer comes whose content type does not say it: an object is a plain answer,
// unless it is a line of Ollama's that says it is not the last.
func (f *Filter) tellMode() mode {
	line := bytes.TrimPrefix(f.whole, byteOrderMark)
	at := skipSpace(line, 0)
	if at == len(line) || bytes.HasPrefix(byteOrderMark, line) {
		return undecided
	}
	if line[at] != '{' {
		return stream
	}
	if f.protocol != Ollama {
		return plain
	}
	n := bytes.IndexByte(line[at:], '\n')
	if n < 0 && len(line) <= maxHeldLine {
		return undecided
	}
	if n >= 0 && n <= maxHeldLine && isWhole(line[at:at+n]) {
		first := line[at : at+n]
		if l, _ := readOllama(first); l.done.end > 0 && first[l.done.start] == 'f' {
			return stream
		}
	}
	return plain
}

// closeDocument judges a plain answer that has ended. One that cannot be read is the client's as it came, unless it has broken off in what may be ours.
func (f *Filter) closeDocument(brokenOff bool) {
	b := bytes.TrimPrefix(f.whole, byteOrderMark)
	if tooDeep(b, maxDepth) || !gjson.ValidBytes(b) || b[skipSpace(b, 0)] != '{' {
		f.round.ended = true
		if brokenOff && f.mayBeOurs(b) {
			f.whole = nil
		}
		return
	}
	r := f.round
	r.scan.read(b, skipSpace(b, 0))
	u := &unit{raw: f.whole, start: len(f.whole) - len(b), end: len(f.whole), trace: r.scan.calls.trace}
	f.settle(nil, true)
	var ed *editor
	switch f.protocol {
	case Ollama:
		ed = f.documentOfOllama(u)
	case Responses:
		ed = f.documentOfResponses(u)
	case Anthropic:
		ed = f.documentOfAnthropic(u)
	default:
		ed = f.documentOfOpenAI(u)
	}
	r.ended = r.ended || !r.holds()
	f.whole = u.with(ed)
}

func (f *Filter) documentOfOllama(u *unit) *editor {
	b := u.json()
	l, at := readOllama(b)
	ed := &editor{b: b}
	if !l.failed.isAbsent(b) {
		f.round.passing = true
		return ed
	}
	calls := f.editCalls(u, ed, l.calls)
	if calls.gone() {
		ed.cut(l.message.start, isToolCalls)
	}
	f.round.substance = calls.kept > 0 || filled(b, l.content) || filled(b, l.thinking)
	f.join(ed, l.message, l.content, l.thinking)
	f.round.figures = readFigures(b, at)
	f.editFigures(ed, at)
	return ed
}

func (f *Filter) documentOfOpenAI(u *unit) *editor {
	b := u.json()
	c, _ := readOpenAI(b)
	e := &openAIEdit{editor: editor{b: b}, u: u}
	if !c.failed.isAbsent(b) {
		f.round.passing = true
		return &e.editor
	}
	f.editUsage(&e.editor, c.usage)
	f.editTimings(&e.editor, c.timings)
	if !c.choices.isArray(b) {
		return &e.editor
	}
	var all []openAIChoice
	eachElement(b, c.choices.start, func(at span) bool {
		if at.isObject(b) {
			all = append(all, readOpenAIChoice(b, at))
		}
		return true
	})
	for _, choice := range all {
		if choice.calls.isArray(b) {
			calls := f.editCalls(u, &e.editor, choice.calls)
			if e.kept += calls.kept; calls.gone() {
				e.cut(choice.delta.start, isToolCalls)
			}
		}
		if choice.legacy.isObject(b) {
			f.pass()
		}
		e.says = e.says || spoken(b, choice.content) || choice.thinks
	}
	r := f.round
	r.substance = e.says || e.kept > 0 || r.passing
	if len(all) > 0 {
		f.join(&e.editor, all[0].delta, all[0].content, all[0].reasoning)
	}
	for _, choice := range all {
		if r.holding && !f.holdsIn(choice.index) {
			r.passing = true // the choices differ
		}
	}
	for _, choice := range all {
		if r.holding && e.kept == 0 && calling(b, choice.finish) {
			e.replace(choice.finish, []byte(`"stop"`))
		}
	}
	return &e.editor
}

// join puts what earlier rounds said before what this one says.
func (f *Filter) join(ed *editor, message, content, thinking span) {
	for _, text := range textsOf(ed.b, content) {
		if f.joins(text.of(ed.b)) {
			f.text = append(f.text, `\n\n`...)
		}
		f.round.say(text.of(ed.b))
	}
	f.text = joinInto(ed, message, content, "content", f.text)
	key := "thinking"
	if f.protocol != Ollama {
		key = "reasoning_content"
	}
	f.thinking = joinInto(ed, message, thinking, key, f.thinking)
}

// joinInto edits a member of the message to begin with earlier, as a part of its own where it has parts, and returns its new text. Both are the content of JSON strings.
func joinInto(ed *editor, message, value span, key string, earlier []byte) []byte {
	if !message.isObject(ed.b) {
		return earlier
	}
	joined := bytes.Clone(earlier)
	for _, text := range textsOf(ed.b, value) {
		joined = append(joined, ed.b[text.start+1:text.end-1]...)
	}
	switch {
	case len(earlier) == 0:
	case value.isArray(ed.b) && spoken(ed.b, value):
		part := append(append([]byte(`{"type":"text","text":"`), earlier...), `"},`...)
		ed.list = append(ed.list, splice{span{value.start + 1, value.start + 1}, part})
	case value.end > 0:
		ed.replace(value, append(append([]byte{'"'}, joined...), '"'))
	default:
		ed.insert(message, key, append(append([]byte{'"'}, joined...), '"'))
	}
	return joined
}
