package telemetry

import (
	"time"

	"toolbelt/internal/session"
)

// Saving is what selection saves the engine, or would: an estimate from what it said of the first answer of each turn, less what it said of hidden turns.
type Saving struct {
	Judged   int           // turns that it is of
	Unjudged int           // turns with a list whose answer told too little
	Tokens   int           // not evaluated; below 0 where reading again cost more
	Price    int           // of them, what was lost on turns whose list changed: at most 0
	Hidden   int           // of them, what hidden turns evaluated: at most 0
	Time     time.Duration // by the pace of each model, for the turns whose model's is known; what hidden turns took to read and to generate is taken off
	Timed    bool          // Time is known
}

// savings estimates over turns of one mode, oldest first.
func savings(turns []Turn, paces map[string]pace) Saving {
	var s Saving
	before := map[string]Turn{} // by model: the turn before
	for _, t := range turns {
		last := before[t.Model]
		before[t.Model] = t
		if t.Fallback != "" {
			continue
		}
		tokens, ok := t.saved(last)
		if !ok {
			s.Unjudged++
			continue
		}
		hidden := t.Hidden.Read.EvaluatedTokens
		s.Judged++
		s.Tokens += tokens - hidden
		s.Price += min(0, tokens)
		s.Hidden -= hidden
		if p := paces[t.Model]; p.perSecond() > 0 {
			s.Time += t.timeSaved(tokens, p) - t.Hidden.took(p)
			s.Timed = true
		}
	}
	return s
}

// timeSaved is what so many tokens that are not evaluated save, on a prompt that is shorter by the hidden tools.
func (t Turn) timeSaved(tokens int, p pace) time.Duration {
	prompt, evaluated := t.First.PromptTokens, min(t.First.EvaluatedTokens, t.First.PromptTokens)
	if t.Mode == Shadow {
		return p.time(evaluated, prompt) - p.time(max(1, evaluated-tokens), max(1, prompt-t.hidden()))
	}
	return p.time(max(1, evaluated+tokens), prompt+t.hidden()) - p.time(evaluated, prompt)
}

// saved estimates the tokens that the engine did not have to read for the turn's first answer, or would not have had to. last is the turn before it on the
// same model, zero for none. ok is false where the answer tells too little.
//
// A template puts the tools before the conversation, and an engine reuses what a prompt shares with the one before, from its beginning. So where the engine
// held nothing of the tools, the hidden ones are saved. Where it held all of them, or would have, because the same app's turn came just before, a list that
// is another one is a loss: it is read again, with the conversation behind it. Where it held the list that it got, nothing is saved and nothing lost.
func (t Turn) saved(last Turn) (tokens int, ok bool) {
	prompt, evaluated := t.First.PromptTokens, min(t.First.EvaluatedTokens, t.First.PromptTokens)
	if evaluated <= 0 || t.OfferedTokens <= 0 || t.VisibleTokens <= 0 || t.Truncated {
		return 0, false
	}
	if t.Mode == Shadow {
		return t.wouldSave(last, prompt, evaluated), true
	}
	return t.hasSaved(last, prompt, evaluated)
}

// wouldSave is saved in shadow mode: the engine read a prompt with all tools.
func (t Turn) wouldSave(last Turn, prompt, evaluated int) int {
	here := last.Session == t.Session
	block := min(t.OfferedTokens, prompt)
	if read := block - (prompt - evaluated); 2*read > block {
		return t.hidden() * min(read, block) / t.OfferedTokens
	}
	if here && !t.Changed {
		return 0
	}
	list := t.VisibleTokens
	if here {
		list = max(0, list-t.KeptTokens)
	}
	return min(0, evaluated-list-max(0, prompt-t.OfferedTokens))
}

// hasSaved is saved in mode on: the engine read a prompt with the visible tools.
func (t Turn) hasSaved(last Turn, prompt, evaluated int) (tokens int, ok bool) {
	if t.Hidden.Rounds != t.Hidden.Read.Answers { // what some of them read is not known
		return 0, false
	}
	block := min(t.VisibleTokens, prompt)
	read := block - (prompt - evaluated)
	gap := t.At.Sub(last.At)
	warm := last.App == t.App && last.Offered == t.Offered && gap >= 0 && gap <= session.PrefixIdle
	switch {
	case 2*read <= block && !t.Changed:
		return 0, true
	case !warm && 2*read > block:
		return t.hidden() * min(read, block) / t.VisibleTokens, true
	case !warm:
		return 0, true
	case last.Session != t.Session:
		return min(0, max(0, prompt-t.VisibleTokens)-evaluated), true
	case last.First.PromptTokens == 0:
		return 0, false
	}
	grown := (prompt - t.VisibleTokens) - (last.lastPrompt() - last.VisibleTokens)
	return min(0, max(0, grown)-evaluated), true
}

// took is the time that hidden turns took: as the engine said, of reading else by the pace, which is for one unit of cost. What was generated in a time that nobody knows
// is left out.
func (h Hidden) took(p pace) time.Duration {
	reading := h.Read.PromptDuration
	if n := h.Read.Answers; reading == 0 && n > 0 {
		reading = time.Duration(n) * p.time(h.Read.EvaluatedTokens/n, h.Read.PromptTokens/n)
	}
	return reading + h.GeneratedDuration
}

// hidden is the tokens of the tools that are not visible.
func (t Turn) hidden() int { return max(0, t.OfferedTokens-t.VisibleTokens) }

// lastPrompt is about what the turn's last prompt came to: that of its first answer, or the mean of those after it.
func (t Turn) lastPrompt() int {
	if t.Rest.Answers == 0 {
		return t.First.PromptTokens
	}
	return max(t.First.PromptTokens, t.Rest.PromptTokens/t.Rest.Answers)
}
