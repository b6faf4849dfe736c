package proxy

import (
	"context"
	"io"
	"net/http"
	"sync"

	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
)

// stream is the body of an engine's answer. The bytes go through as they come; the scanner of a planned chat
// sees them too. Read and Close are not called at the same time.
type stream struct {
	io.ReadCloser
	x   *exchange
	ctx context.Context

	watched bool          // the planner wants to know how it ends
	scanner *chat.Scanner // nil where nothing is to be seen, or after a panic
	ended   sync.Once
}

// watch begins to look for tool calls, unless the answer is packed in a way that hides them.
func (s *stream) watch(header http.Header) {
	s.watched = true
	if !isPlain(header) {
		return
	}
	defer s.x.h.survive("reading the answer")
	s.scanner = chat.NewScanner(s.x.protocol, header.Get("Content-Type"))
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 && s.scanner != nil {
		s.scan(p[:n])
		if s.scanner != nil && s.scanner.Usage().Done { // the client's next request may follow on these bytes at once
			s.end()
		}
	}
	if err != nil {
		if err != io.EOF && !gone(s.ctx) {
			s.x.h.log.Warn("the engine broke off its answer", "engine", s.x.h.upstream.Host, "why", reason(err))
		}
		s.end()
	}
	return n, err
}

func (s *stream) Close() error {
	s.end()
	return s.ReadCloser.Close()
}

func (s *stream) scan(chunk []byte) {
	scanner := s.scanner
	s.scanner = nil // stays so after a panic
	defer s.x.h.survive("reading the answer")
	scanner.Write(chunk)
	s.scanner = scanner
}

// end tells the planner once what the answer called, however it ended.
func (s *stream) end() {
	if !s.watched {
		return
	}
	s.ended.Do(func() {
		defer s.x.h.survive("noting the tools called")
		o := s.outcome()
		s.x.h.planner.Observe(s.x.plan, o)
		s.x.ended(o)
	})
}

// outcome is what the answer told.
func (s *stream) outcome() (o turn.Outcome) {
	if s.scanner == nil {
		return o
	}
	defer s.x.h.survive("reading the answer")
	s.scanner.Close()
	o.Called, o.Usage, o.ID, o.Silent = s.scanner.Calls(), s.scanner.Usage(), s.scanner.ID(), true
	return o
}
