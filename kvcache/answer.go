package kvcache

import (
	"math"
	"slices"
	"time"
)

// Answer is what an engine said of a request when its answer had ended. What it did not say is 0.
type Answer struct {
	PromptTokens    int           // of the whole prompt
	EvaluatedTokens int           // of those, not held before
	CachedTokens    int           // the others; at least one of the two is enough
	OutputTokens    int           //
	PromptDuration  time.Duration // spent on the prompt

	Refused bool // the engine did not take the request: it holds what it held before
	Dropped bool // the request was ended before the first token: how much of it was read nobody knows
}

// Verdict is what an answer says about what was expected of its request.
type Verdict struct {
	Expected     Expected
	Evaluated    int  // tokens; 0 where the engine tells neither that nor how long it took
	Estimated    bool // Evaluated is estimated from the time it took, by the model's usual pace
	Truncated    bool // the engine read only a part of the prompt
	Contradicted bool // far more or less was evaluated than expected: something else uses this engine, or it keeps more than one sequence
}

// Answered notes how a request ended that Sent was told of: its tokens teach the model's rates, and the engine holds the answer, too, from now on. An answer
// that was broken off is told with what is known, at least the zero Answer.
func (b *Belief) Answered(p Prompt, u Answer) Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(p.Model)
	s := sequence(p, m.facts)
	on := b.take(p, s)
	v := Verdict{Expected: on.expected}
	whole := amountsOf(s)
	whole[head] = 1
	context := m.contextOf(p.Context)
	v.Truncated = Truncated(context, 0, v.Expected.Prompt, u.PromptTokens)
	session, known := b.sessions.Get(sessionKey(p))
	if u.PromptTokens > 0 && !v.Truncated && len(s) < maxPieces {
		m.calibrate(session, s, whole, u.PromptTokens)
		if known {
			session.pieces, session.amounts, session.tokens = nil, whole, u.PromptTokens
			if len(s) <= maxCompared {
				session.pieces = s
			}
		}
	}
	m.learnContext(p.Context, u.PromptTokens, v.Truncated)
	v.judge(u, &m.pace)
	if v.Evaluated > 0 && v.Expected.Evaluated > 0 && !v.Truncated {
		b.judged++
		if v.Contradicted {
			b.contradicted++
		}
	}
	held, ok := b.slots.Peek(m.slotKey(p.Model))
	if !ok || held.session != p.Session || held.model != canonical(p.Model) || !slices.Equal(held.pieces, s) {
		return v // another request has come since
	}
	if u.Refused {
		if before := held.before; before != nil {
			b.slots.Add(m.slotKey(p.Model), before)
		} else {
			b.slots.Remove(m.slotKey(p.Model))
		}
		return v
	}
	held.before = nil
	held.rest(b.now())
	if u.Dropped { // what was held of it is held still
		held.pieces = s[:min(on.held, len(s))]
		return v
	}
	switch limit := m.contextOf(p.Context).Context; {
	case v.Truncated, limit > 0 && u.PromptTokens+u.OutputTokens > limit:
		held.lose(Overflowed)
	default:
		held.prompt, held.replied, held.reply = u.PromptTokens, true, u.OutputTokens
	}
	return v
}

// take returns what is known of a request that was sent, and forgets it; nothing of one that was not.
func (b *Belief) take(p Prompt, s []Piece) sent {
	for i, one := range slices.Backward(b.pending) {
		if one.session == p.Session && one.model == canonical(p.Model) && one.count == len(s) && one.last == lastOf(s) {
			b.pending = slices.Delete(b.pending, i, i+1)
			return one
		}
	}
	return sent{}
}

// contextOf returns the facts with the context of a request that asks for so many tokens.
func (m *model) contextOf(asked int) Facts {
	f := m.facts
	f.Context = f.Effective(asked)
	if seen, ok := m.learned[asked]; ok {
		f.Context = seen
	}
	return f
}

// learnContext takes from an answer what context its request got: the engine stands at the limit, or has read more than was thought possible.
func (m *model) learnContext(asked, promptTokens int, truncated bool) {
	known := m.contextOf(asked).Context
	switch {
	case truncated && known == 0:
		m.learn(asked, promptTokens)
	case !truncated && known > 0 && promptTokens > known:
		m.learn(asked, 0)
	}
}

// learn notes which context a request got that asked for so many tokens, 0 for unknown whatever the facts say.
func (m *model) learn(asked, context int) {
	if len(m.learned) >= maxAsked {
		clear(m.learned)
	}
	m.learned[asked] = context
}

// calibrate takes what the engine counted for a prompt, last being what it counted before in this session, if anything.
func (m *model) calibrate(last *answered, s []Piece, whole amounts, tokens int) {
	if last == nil || last.tokens == 0 {
		m.meter.learn(whole, float64(tokens), float64(tokens))
		if len(s) <= maxCompared {
			m.sizes().learn(s, nil, float64(tokens)-m.sizes().head())
		}
		return
	}
	changed := whole.minus(last.amounts)
	moved := 0.0
	for i, x := range changed {
		moved += math.Abs(x * m.meter.weights[i])
	}
	if moved >= 8 {
		m.meter.learn(changed, float64(tokens-last.tokens), moved)
	}
	if last.pieces != nil {
		more, less := difference(s, last.pieces)
		m.sizes().learn(more, less, float64(tokens-last.tokens))
	}
}

// judge compares what was evaluated with what was expected.
func (v *Verdict) judge(u Answer, pace *pace) {
	switch {
	case u.EvaluatedTokens > 0:
		v.Evaluated = u.EvaluatedTokens
	case u.CachedTokens > 0 && u.PromptTokens > u.CachedTokens:
		v.Evaluated = u.PromptTokens - u.CachedTokens
	case u.PromptDuration > 0 && u.PromptTokens > 0:
		v.Evaluated, v.Estimated = pace.evaluated(u.PromptTokens, u.PromptDuration), true
	}
	expected := v.Expected.Evaluated
	if v.Evaluated == 0 {
		v.Estimated = false
	} else if expected > 0 && !v.Truncated {
		less, more := min(expected, v.Evaluated), max(expected, v.Evaluated)
		if v.Estimated { // a pace is not exact
			v.Contradicted = more > 4*less && more-less > 256
		} else {
			v.Contradicted = more-less > 64+less/4
		}
	}
	if u.PromptDuration > 0 && !v.Contradicted && !v.Truncated {
		exact := min(expected, u.PromptTokens) // an estimate may be above what there was
		if !v.Estimated && v.Evaluated > 0 {
			exact = v.Evaluated
		}
		pace.learn(exact, u.PromptTokens, u.PromptDuration)
	}
}

// pace is how fast a model reads a prompt: the time of one token at the beginning. Later ones take longer, since each looks at all before it; by how much
// differs between machines, and twice as long at paceDoubles tokens is near enough for telling "all of it" from "hardly anything".
type pace struct{ perToken float64 } // nanoseconds; 0 before the first

const (
	paceDoubles = 2048
	minPaced    = 32 // evaluated tokens from which a time tells the pace
)

// cost is the time of evaluating the last of so many tokens of a prompt, in tokens at the beginning.
func cost(evaluated, prompt int) float64 {
	e := float64(evaluated)
	return e * (1 + (float64(prompt)-e/2)/paceDoubles)
}

func (p *pace) learn(evaluated, prompt int, took time.Duration) {
	if evaluated < minPaced || prompt < evaluated {
		return
	}
	seen := float64(took) / cost(evaluated, prompt)
	if p.perToken == 0 {
		p.perToken = seen
		return
	}
	p.perToken *= math.Pow(seen/p.perToken, 0.2) // so that one odd time moves it little
}

// evaluated estimates how many tokens of a prompt were evaluated in this time, 0 before the pace is known.
func (p *pace) evaluated(prompt int, took time.Duration) int {
	if p.perToken == 0 {
		return 0
	}
	low, high := 1, prompt
	for low < high { // cost grows with the first argument up to the prompt
		middle := (low + high) / 2
		if cost(middle, prompt)*p.perToken < float64(took) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
