package kvcache

import (
	"math"
	"time"
)

// slot is the one sequence that an engine holds for a file of weights.
type slot struct {
	session, app, model, options string
	asked                        int     // for context, 0 nothing
	pieces                       []Piece // of the last prompt; nil where unknown
	prompt                       int     // its tokens by the engine's count, 0 before that
	replied                      bool    // an answer to it has ended, of so many tokens, 0 unknown
	reply                        int
	at                           time.Time // last used
	keeps                        time.Duration
	until                        time.Time // when the model goes; zero: not
	context                      int       // tokens it was loaded with, 0 unknown
	before                       *slot     // what was held before the request that is on its way; nil without one
	lost                         string    // why nothing is held, "" while something is
}

func newSlot(p Prompt, s []Piece, at time.Time, keeps time.Duration) *slot {
	return &slot{session: p.Session, app: p.App, model: canonical(p.Model), options: p.Options, asked: p.Context, pieces: s, keeps: keeps, at: at}
}

// rest notes that the answer has ended: from then on the keep-alive counts.
func (h *slot) rest(at time.Time) {
	h.at = at
	if h.keeps >= 0 {
		h.until = at.Add(h.keeps)
	}
}

// loadedFor reports whether the model need not be loaded anew for a request.
func (h *slot) loadedFor(p Prompt, f Facts) bool {
	had, wants := f.Effective(h.asked), f.Effective(p.Context)
	return h.options == p.Options && (h.asked == p.Context || had > 0 && had == wants)
}

// reloaded notes what the engine says of the model: loaded with another context than before, it was loaded anew by somebody else.
func (h *slot) reloaded(l Loaded) {
	if !l.Until.IsZero() {
		h.until = l.Until
	}
	if l.Context > 0 {
		if h.context > 0 && h.context != l.Context {
			h.lose(OptionsChanged)
		}
		h.context = l.Context
	}
}

// lose notes that nothing is held any more. The first reason stays: what comes after takes nothing away.
func (h *slot) lose(why string) {
	if h.lost == "" {
		h.lost = why
	}
	h.pieces, h.prompt, h.replied, h.reply, h.before = nil, 0, false, 0, nil
}

// holding is what a slot holds of a sequence.
type holding struct {
	pieces int     // leading pieces
	kept   float64 // tokens
	tail   float64 // tokens of what follows, where the sequence goes on exactly where the slot's ends, otherwise below 0
	lost   string
}

// holds compares what the slot holds with what is to be read.
func (h *slot) holds(p Prompt, s []Piece, f Facts, at time.Time, z *sizes) holding {
	switch {
	case h.lost != "":
		return holding{tail: -1, lost: h.lost}
	case !h.loadedFor(p, f):
		return holding{tail: -1, lost: OptionsChanged}
	case !h.until.IsZero() && at.After(h.until):
		return holding{tail: -1, lost: KeepAliveOver}
	case h.model != canonical(p.Model): // another template
		return holding{tail: -1, lost: OtherRequest}
	}
	n := common(s, h.pieces)
	if n == 0 && len(s) > 0 {
		return holding{tail: -1, lost: Changed}
	}
	same, rest := z.sum(s[:n]), z.sum(h.pieces[n:])
	same.tokens += z.head()                       // nearly all of it stands at the beginning: what the template says of tools
	total := math.Max(1, same.tokens+rest.tokens) // as estimated
	if n == len(h.pieces) {
		if h.prompt > 0 {
			total = float64(h.prompt)
		}
		return h.follow(s, n, total, f, z)
	}
	kept := same.tokens
	if h.prompt > 0 { // what the engine counted: the estimate is off by the part that is less sure
		off := math.Max(-total/2, math.Min(total, float64(h.prompt)-total))
		kept += off * same.variance / (same.variance + rest.variance)
		total += off
	}
	if f.Sliding && total+float64(h.reply) > float64(f.Window) {
		return holding{tail: -1, lost: Rewound}
	}
	return holding{pieces: n, kept: kept, tail: -1} // the sequence leaves what is held
}

// follow is holds for a sequence that begins with all of the held prompt, of so many tokens: does it have the answer, too?
func (h *slot) follow(s []Piece, n int, prompt float64, f Facts, z *sizes) holding {
	rest := s[n:]
	switch {
	case len(rest) == 0: // the same prompt once more
		if f.Sliding && h.replied && prompt+float64(h.reply) > float64(f.Window) {
			return holding{tail: -1, lost: Rewound}
		}
		return holding{pieces: n, kept: prompt - 1, tail: 1}
	case h.replied && rest[0].Role == Assistant:
		said := atLeast(0, z.of(&rest[0]).tokens)
		if h.echoes(said) {
			reply := float64(h.reply)
			if h.reply == 0 {
				reply = float64(said)
			}
			return holding{pieces: n + 1, kept: prompt + reply, tail: math.Max(1, z.sum(rest[1:]).tokens)}
		}
	}
	if f.Sliding && h.replied && prompt+float64(h.reply) > float64(f.Window) {
		return holding{tail: -1, lost: Rewound}
	}
	return holding{pieces: n, kept: prompt, tail: math.Max(1, z.sum(rest).tokens)}
}

// echoes reports whether a message of the model, of about so many tokens, is the answer that was given, of which only the length is known: clients leave
// out what a model thought, which makes it much shorter.
func (h *slot) echoes(said int) bool {
	off := math.Abs(float64(said - h.reply))
	return h.reply == 0 || off <= 24 || off <= 0.4*float64(h.reply)
}
