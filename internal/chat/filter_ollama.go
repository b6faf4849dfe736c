package chat

// ollamaLine is where things stand in a line of Ollama's, or in a plain answer.
type ollamaLine struct {
	message, content, thinking, calls span
	done, failed                      span
}

func readOllama(b []byte) (l ollamaLine, at int) {
	at = skipSpace(b, 0)
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "message":
			l.message = value
		case "done":
			l.done = value
		case "error":
			l.failed = value
		}
		return true
	})
	if l.message.isObject(b) {
		eachField(b, l.message.start, func(key []byte, value span) bool {
			switch string(key) {
			case "content":
				l.content = value
			case "thinking":
				l.thinking = value
			case "tool_calls":
				l.calls = value
			}
			return true
		})
	}
	return l, at
}

// finished reports whether the line is the answer's last.
func (l *ollamaLine) finished(b []byte) bool { return l.done.end > 0 && b[l.done.start] == 't' }

// emitOllama judges a line. One that is left without content, thinking and calls is dropped unless it is the last.
func (f *Filter) emitOllama(u *unit) outcome {
	b := u.json()
	l, at := readOllama(b)
	r := f.round
	if !l.failed.isAbsent(b) {
		return outcome{pass: u.raw, substance: true, finishes: true}
	}
	says := filled(b, l.content) || filled(b, l.thinking)
	ed := editor{b: b}
	content := l.content.of(b)
	if l.content.isString(b) {
		if f.joins(content) {
			content = broken(content)
			ed.replace(l.content, content)
		}
		r.say(l.content.of(b))
	}
	calls := f.editCalls(u, &ed, l.calls)
	drop := func(key string) bool { return key == "tool_calls" && calls.gone() }
	o := outcome{substance: says || calls.kept > 0}
	r.substance = r.substance || o.substance
	finished := l.finished(b)
	if finished {
		r.figures = readFigures(b, at)
		f.editFigures(&ed, at)
	}
	switch {
	case !finished && calls.changed && !o.substance:
		return o
	case !finished || !r.holds():
		if calls.gone() {
			ed.cut(l.message.start, drop)
		}
		o.pass, o.finishes = u.with(&ed), finished
		return o
	}
	if says {
		half := sayingHalf(b, l, at)
		half.swap(l.content, content)
		o.pass = endLine(u.with(half))
		ed.replace(l.content, []byte(`""`))
		drop = func(key string) bool { return key == "thinking" || key == "tool_calls" && calls.gone() }
	}
	if l.message.isObject(b) {
		ed.cut(l.message.start, drop)
	}
	o.end = u.with(&ed)
	return o
}

// sayingHalf returns the edits that make of a last line one that goes on.
func sayingHalf(b []byte, l ollamaLine, at int) *editor {
	ed := &editor{b: b}
	ed.replace(l.done, []byte("false"))
	ed.cut(at, func(key string) bool { return key == "done_reason" || ollamaFigure(key) })
	ed.cut(l.message.start, isToolCalls)
	return ed
}

// endLine ends a line that may be the last of an answer.
func endLine(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] != '\n' {
		line = append(line, '\n')
	}
	return line
}

func isToolCalls(key string) bool { return key == "tool_calls" }

// gone reports whether an array of calls lost all of them: it goes as a whole.
func (r *rewritten) gone() bool { return r.changed && r.kept == 0 }

// editCalls edits an array of calls, but for one that is to go as a whole.
func (f *Filter) editCalls(u *unit, ed *editor, array span) rewritten {
	if !array.isArray(u.json()) {
		return rewritten{}
	}
	calls := f.rewrite(u, array, &u.trace)
	if calls.changed && calls.kept > 0 {
		ed.replace(array, calls.array)
	}
	return calls
}

// with returns the unit with its JSON edited.
func (u *unit) with(ed *editor) []byte {
	if len(ed.list) == 0 {
		return u.raw
	}
	lead, tail := u.around()
	out := append(make([]byte, 0, len(u.raw)+32), lead...)
	return append(ed.apply(out), tail...)
}

// filled reports whether a value is a string that is not empty.
func filled(b []byte, value span) bool { return value.isString(b) && value.end-value.start > 2 }

// spoken reports whether a content says something: it is text, or has parts of whatever kind.
func spoken(b []byte, content span) bool {
	return filled(b, content) || content.isArray(b) && b[skipSpace(b, content.start+1)] != ']'
}

func ollamaFigure(key string) bool {
	switch key {
	case "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration":
		return true
	}
	return false
}

func readFigures(b []byte, at int) (s figures) {
	eachField(b, at, func(key []byte, value span) bool {
		n := max(wholeNumber(b, value), 0)
		switch string(key) {
		case "total_duration":
			s.total = n
		case "load_duration":
			s.load = n
		case "prompt_eval_duration":
			s.promptEval = n
		case "eval_duration":
			s.eval = n
		}
		return true
	})
	return s
}

// editFigures adds what earlier rounds came to.
func (f *Filter) editFigures(ed *editor, at int) {
	if f.client.rounds < 2 {
		return
	}
	spent := &f.client.spent
	eachField(ed.b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "total_duration":
			ed.raise(value, spent.total)
		case "load_duration":
			ed.raise(value, spent.load)
		case "prompt_eval_duration":
			ed.raise(value, spent.promptEval)
		case "eval_duration":
			ed.raise(value, spent.eval)
		case "eval_count":
			ed.raise(value, int64(spent.output))
		}
		return true
	})
}
