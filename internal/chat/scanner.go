package chat

import (
	"bytes"
	"strings"
)

// maxLine is the longest line, event or answer in bytes that is looked into; a longer one is passed over to its end.
const maxLine = 1 << 20

// Scanner observes an engine's answer as it streams by: which tools it calls and what it says about the
// tokens. It reads NDJSON (Ollama), server-sent events (OpenAI) and single JSON answers, told
// apart by what comes; how the bytes are split over writes makes no difference. What it cannot read it passes over.
// It holds at most about 4 MB, usually one unfinished line. It is for one goroutine.
type Scanner struct {
	protocol Protocol
	whole    bool // the content type does not say that the answer comes in lines
	first    bool // the first line is still to come
	document bool // one JSON document over several lines: kept to its end

	line     []byte // of the line (or document) so far
	skipping bool   // the line is too long: nothing of it is kept
	event    []byte // the data lines of an unfinished event, joined by newlines
	broken   bool   // a line of the event was too long
	closed   bool

	calls calls
	usage Usage
	id    string
}

// ID returns the id of an answer in Responses, by which the next request may go on from it; "" while none was seen, and in other protocols.
func (s *Scanner) ID() string { return s.id }

// NewScanner returns a scanner for an answer of this protocol with this Content-Type, which may be empty. For
// an Unknown protocol nothing is ever seen.
func NewScanner(p Protocol, contentType string) *Scanner {
	kind := strings.ToLower(contentType)
	lines := strings.Contains(kind, "event-stream") || strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")
	return &Scanner{protocol: p, whole: !lines, first: true}
}

// Write observes the next bytes, of which it keeps none. It returns len(p) and nil, always. A write after Close is ignored.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.closed || s.protocol == Unknown {
		return len(p), nil
	}
	rest := p
	for len(rest) > 0 {
		if s.document {
			s.keep(rest)
			break
		}
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			s.keep(rest)
			break
		}
		s.endLine(rest[:n])
		rest = rest[n+1:]
	}
	return len(p), nil
}

// Close says that the answer ended, whole or not: what stands unfinished is read as far as it can be.
func (s *Scanner) Close() {
	if s.closed || s.protocol == Unknown {
		return
	}
	if len(s.line) > 0 && !s.skipping {
		s.takeLine(s.line)
	}
	s.endEvent()
	s.closed = true
	s.line, s.event = nil, nil
}

// Calls returns the tool calls so far, in the order of their beginning, the one under way included. A call that has
// no name, or one over 4 KB, is left out. The slice is the caller's.
func (s *Scanner) Calls() []Call { return s.calls.list() }

// Usage returns what the engine has said so far.
func (s *Scanner) Usage() Usage { return s.usage }

// keep adds to the unfinished line.
func (s *Scanner) keep(p []byte) {
	if s.skipping || len(s.line)+len(p) > maxLine {
		s.skipping = true
		s.line = s.line[:0]
		return
	}
	s.line = append(s.line, p...)
}

// endLine takes the line that ends with p, without its newline.
func (s *Scanner) endLine(p []byte) {
	if s.skipping || len(s.line)+len(p) > maxLine {
		s.line, s.skipping, s.first, s.broken = s.line[:0], false, false, true
		return
	}
	line := p
	if len(s.line) > 0 {
		s.line = append(s.line, p...)
		line = s.line
	}
	if s.first && s.whole && startsDocument(line) {
		s.document = true
		if len(s.line) == 0 {
			s.line = append(s.line, line...)
		}
		s.keep([]byte{'\n'})
		return
	}
	s.takeLine(line)
	s.line = s.line[:0]
}

// takeLine reads a whole line of either kind of stream.
func (s *Scanner) takeLine(line []byte) {
	if s.first {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if skipSpace(line, 0) == len(line) {
		s.endEvent()
		return
	}
	s.first = false
	switch c := line[0]; {
	case c == '{' || c == ' ' || c == '\t' || s.document:
		s.observe(line)
	case bytes.HasPrefix(line, []byte("data")):
		if data, ok := field(line, "data"); ok {
			s.addData(data)
		}
	case bytes.HasPrefix(line, []byte("event")):
		if name, ok := field(line, "event"); ok && string(name) == "error" {
			s.usage.Failed = true
		}
	case bytes.HasPrefix(line, []byte("error:")):
		s.usage.Failed = true
	}
}

// field returns the value of a line "name:value" or "name: value" of an event.
func field(line []byte, name string) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line[len(name):], []byte(":"))
	if !ok {
		return nil, len(line) == len(name)
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// addData adds a data line to the event. Engines that leave out the blank line between two events are read too: a
// new object after a whole one begins an event.
func (s *Scanner) addData(data []byte) {
	if n := len(s.event); n > 0 {
		switch {
		case len(data) == 0 || !opens(data[0]) || !closes(s.event[n-1]):
			s.event = append(s.event, '\n')
		case isWhole(s.event):
			s.endEvent()
		default: // no JSON has the one right after the other
			s.broken = true
		}
	}
	if len(s.event)+len(data) > maxLine {
		s.broken = true
	}
	if s.broken {
		s.event = s.event[:0]
		return
	}
	s.event = append(s.event, data...)
}

func opens(c byte) bool  { return c == '{' || c == '[' }
func closes(c byte) bool { return c == '}' || c == ']' }

// endEvent reads the event that is complete.
func (s *Scanner) endEvent() {
	if !s.broken && len(s.event) > 0 {
		if string(bytes.TrimSpace(s.event)) == "[DONE]" {
			s.usage.Done = true
		} else {
			s.observe(s.event)
		}
	}
	s.event, s.broken = s.event[:0], false
}
