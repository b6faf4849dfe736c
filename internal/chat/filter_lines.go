package chat

import "bytes"

// unit is what is judged at once: a line, or an event.
type unit struct {
	raw        []byte // as it came
	start, end int    // raw[start:end] is its JSON; both 0 where it has none
	joined     []byte // the JSON, where it came in several lines
	done       bool   // [DONE]
	dull       bool   // it is known to tell nothing
	trace      []int  // for each call or piece in it, the call that it belongs to
}

// json returns the unit's JSON, nil where it has none.
func (u *unit) json() []byte {
	if u.joined != nil {
		return u.joined
	}
	if u.end == 0 {
		return nil
	}
	return u.raw[u.start:u.end]
}

// around returns what stands before the unit's JSON when that is written anew, and what stands after it.
func (u *unit) around() (lead, tail []byte) {
	if u.joined != nil {
		lead, blank := dataLess(u.raw)
		return append(lead, "data: "...), append([]byte("\n"), blank...)
	}
	return u.raw[:u.start], u.raw[u.end:]
}

// dataLess returns the lines of an event that are not data, and the blank one that ends it, where it is there.
func dataLess(raw []byte) (kept, blank []byte) {
	for line := range bytes.Lines(raw) {
		switch {
		case skipSpace(line, 0) == len(line):
			blank = line
		case !bytes.HasPrefix(line, []byte("data")):
			kept = append(kept, line...)
		}
	}
	return kept, blank
}

// lineReader cuts a stream into units, as a Scanner reads it.
type lineReader struct {
	partial []byte // an unfinished line
	long    bool   // the line is too long: it passes
	begun   bool   // a line that is not blank has come
	closing bool   // nothing follows

	event  []byte // the lines of an unfinished event
	data   []byte // of its data lines, joined by newlines
	pieces int    // data lines of it
	from   int    // event[from:] is the only one's value
}

const maxPieces = 64 // data lines of an event after which it is no longer looked at whether it is whole

// readLines takes the next bytes of a stream.
func (f *Filter) readLines(dst, p []byte) []byte {
	l := &f.lines
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n')
		if n < 0 {
			if !l.long && len(l.partial)+len(p) > maxHeldLine {
				dst = f.passLong(dst)
			}
			if l.long {
				return append(dst, p...)
			}
			l.partial = append(l.partial, p...)
			return dst
		}
		line := p[:n+1]
		p = p[n+1:]
		if !l.long && len(l.partial)+len(line) > maxHeldLine {
			dst = f.passLong(dst)
		}
		if l.long {
			dst = append(dst, line...)
			l.long = false
			continue
		}
		if len(l.partial) > 0 {
			l.partial = append(l.partial, line...)
			line = l.partial
		}
		dst = f.takeLine(dst, line)
		l.partial = l.partial[:0]
	}
	return dst
}

// passLong sends what there is of a line that is too long. Whatever it was, the client now has part of this answer, and gets the rest.
func (f *Filter) passLong(dst []byte) []byte {
	dst = f.flushEvent(dst)
	f.round.passing, f.round.ended, f.round.substance = true, true, true
	dst = f.flushWaiting(dst)
	dst = f.flush(dst)
	f.round.sink = toClient
	dst = append(dst, f.lines.partial...)
	f.lines.partial, f.lines.long = f.lines.partial[:0], true
	return dst
}

// takeLine reads a whole line, its newline included where it has one.
func (f *Filter) takeLine(dst, raw []byte) []byte {
	l := &f.lines
	line := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	if !l.begun {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	at := skipSpace(line, 0)
	if at == len(line) {
		if len(l.event) == 0 {
			return f.follow(dst, raw)
		}
		l.event = append(l.event, raw...)
		return f.flushEvent(dst)
	}
	l.begun = true
	switch c := line[0]; {
	case c == '{' || c == ' ' || c == '\t':
		dst = f.flushEvent(dst)
		start := bytes.Index(raw, line) + at
		return f.take(dst, unit{raw: raw, start: start, end: start + len(line) - at})
	case bytes.HasPrefix(line, []byte("data")):
		if data, ok := field(line, "data"); ok {
			return f.takeData(dst, raw, data)
		}
	case bytes.HasPrefix(line, []byte("event")):
		if name, ok := field(line, "event"); ok && string(name) == "error" {
			f.round.failing = true
		}
	case bytes.HasPrefix(line, []byte("error:")):
		f.round.failing = true
	}
	return f.keepLine(dst, raw)
}

// keepLine adds a line to the event that is under way.
func (f *Filter) keepLine(dst, raw []byte) []byte {
	l := &f.lines
	if len(l.event)+len(raw) > maxHeldLine {
		dst = f.flushEvent(dst)
	}
	l.event = append(l.event, raw...)
	return dst
}

// takeData reads a data line. An event whose data is whole is judged without its blank line, which some engines leave out.
func (f *Filter) takeData(dst, raw, data []byte) []byte {
	l := &f.lines
	if len(l.data) > 0 && len(data) > 0 && opens(data[0]) && closes(l.data[len(l.data)-1]) {
		dst = f.flushEvent(dst) // no JSON has the one right after the other
	}
	after := len(raw) - bytes.Index(raw, data) // by the end: data is a suffix but for its newline
	if len(l.event) == 0 {
		if whole, dull := f.isEvent(data); whole {
			return f.take(dst, unit{raw: raw, start: len(raw) - after, end: len(raw) - after + len(data), dull: dull})
		}
	}
	if len(l.event)+len(raw) > maxHeldLine {
		dst = f.flushEvent(dst)
	}
	l.event = append(l.event, raw...)
	if l.pieces++; l.pieces == 1 {
		l.from = len(l.event) - after
	} else {
		l.data = append(l.data, '\n')
	}
	l.data = append(l.data, data...)
	if l.pieces > maxPieces {
		return dst
	}
	if whole, _ := f.isEvent(l.data); whole {
		return f.flushEvent(dst)
	}
	return dst
}

// isEvent reports whether the data is that of a whole event. Data that tells nothing, which is dull, is not read for
// that, only its brackets are counted.
func (f *Filter) isEvent(data []byte) (whole, dull bool) {
	if len(data) == 0 || !opens(data[0]) || !closes(data[len(data)-1]) {
		return string(data) == "[DONE]", false
	}
	if !f.round.scan.telling(data) && bytes.Count(data, []byte("{")) == bytes.Count(data, []byte("}")) {
		return true, true
	}
	return isWhole(data), false
}

// flushEvent judges the event that is under way as it is.
func (f *Filter) flushEvent(dst []byte) []byte {
	l := &f.lines
	if len(l.event) == 0 {
		return dst
	}
	u := unit{raw: l.event}
	switch {
	case l.pieces == 1:
		u.start, u.end = l.from, l.from+len(l.data)
	case l.pieces > 1:
		u.joined = bytes.ReplaceAll(l.data, []byte("\n"), []byte(" "))
	}
	dst = f.take(dst, u)
	l.event, l.data, l.pieces = l.event[:0], l.data[:0], 0
	return dst
}

// finishLines judges what stands unfinished when the answer has ended.
func (f *Filter) finishLines(dst []byte) []byte {
	l := &f.lines
	l.closing = true
	if len(l.partial) > 0 {
		line := l.partial
		l.partial = nil
		dst = f.takeLine(dst, line)
	}
	dst = f.flushEvent(dst)
	l.closing = false
	f.settle(nil, true)
	dst = f.flushWaiting(dst)
	if f.round.scan.usage.Failed {
		f.dropBridged()
	}
	return f.finishBridged(dst, nil, noIndex)
}
