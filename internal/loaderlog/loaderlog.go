// Package loaderlog writes the lines that say what was decided: one a plan, one an escape hatch, one a session's end. They
// are a superset of the lines of GAIA's tool loader, so that whatever reads those reads ours. No line holds what a user said.
package loaderlog

import (
	"io"
	"sync"
	"time"

	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// Logger writes lines to w. Safe for concurrent use; a line is one write. The nil Logger writes nothing.
type Logger struct {
	mu     sync.Mutex
	w      io.Writer
	now    func() time.Time
	escape string // the note of an escape's line
}

// New returns a Logger. now is the clock of the lines' time stamps.
func New(w io.Writer, now func() time.Time) *Logger {
	return &Logger{w: w, now: now, escape: "called while hidden; visible from the next request on"}
}

// NewShadow is New for shadow mode, where nothing was hidden: an escape's line says that the tool would have been.
func NewShadow(w io.Writer, now func() time.Time) *Logger {
	return &Logger{w: w, now: now, escape: "shadow: the plan would have hidden this tool; the engine had it, and nothing was changed"}
}

// Planned writes a plan: TOOL_LOADER {json}.
func (l *Logger) Planned(p *turn.Plan) {
	if l == nil {
		return
	}
	var o object
	o.integer("turn", p.Turn)
	o.text("query_sha", p.QuerySHA)
	o.number("threshold", p.Threshold())
	o.integer("max_tools", p.MaxTools())
	o.numbers("scores", p.Scores)
	o.sorted("matched", p.Matched)
	o.sorted("bundle_pulled", p.BundlePulled)
	o.sorted("admitted", p.Admitted)
	o.sorted("evicted", p.Evicted)
	o.sorted("skipped_at_cap", p.Skipped)
	o.sorted("loaded", p.Order())
	if len(p.Skill) > 0 {
		o.sorted("skill", p.Skill)
	}
	o.list("order", p.Order())
	o.list("pinned", p.Pinned)
	o.textOrNull("fallback", p.Fallback)
	if p.Kept != "" {
		o.text("kept", p.Kept)
	}
	o.text("embedder", p.Embedder)
	o.integer("plan_us", int(p.Elapsed.Microseconds()))
	o.integer("prefix_kept", p.PrefixKept)
	o.text("session", p.Session)
	l.stamped("TOOL_LOADER ", o.end())
}

// Escaped writes that a hidden tool was called: a bare JSON line.
func (l *Logger) Escaped(s session.State, tool string) {
	if l == nil {
		return
	}
	var o object
	o.text("event", "TOOL_LOADER_ESCAPE_HATCH")
	o.text("tool", tool)
	o.integer("turn", s.Turn)
	o.text("note", l.escape)
	o.text("session", s.Session)
	l.write(append(o.end(), '\n'))
}

// Answered writes what an answer said of its prompt, beside what was expected: TOOL_LOADER_PREFIX {json}. Token counts; evaluated is null where
// the engine tells nothing that it follows from.
func (l *Logger) Answered(p *turn.Plan, v kvcache.Verdict) {
	if l == nil {
		return
	}
	var o object
	o.integer("turn", p.Turn)
	o.integer("prompt_expected", v.Expected.Prompt)
	o.integer("evaluated_expected", v.Expected.Evaluated)
	if v.Evaluated > 0 {
		o.integer("evaluated", v.Evaluated)
	} else {
		o.textOrNull("evaluated", "")
	}
	o.boolean("estimated", v.Estimated)
	o.text("lost", v.Expected.Lost)
	o.boolean("truncated", v.Truncated)
	o.boolean("contradicted", v.Contradicted)
	o.text("session", p.Session)
	l.stamped("TOOL_LOADER_PREFIX ", o.end())
}

// Ended writes a session's end: TOOL_LOADER_SESSION {json}. The rate is (escapes + loads) / max(turns, 1).
func (l *Logger) Ended(s session.State) {
	if l == nil {
		return
	}
	var o object
	o.integer("turns", s.Turn)
	o.integer("escape_hatch_count", s.Escapes)
	o.integer("load_tools_count", s.Loads)
	o.number("escape_hatch_rate", float64(s.Escapes+s.Loads)/float64(max(s.Turn, 1)))
	o.text("session", s.Session)
	l.stamped("TOOL_LOADER_SESSION ", o.end())
}

func (l *Logger) stamped(what string, json []byte) {
	line := l.now().UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z INFO ")
	line = append(append(append(line, what...), json...), '\n')
	l.write(line)
}

func (l *Logger) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.Write(line) // a log that cannot be written must not fail a request
}
