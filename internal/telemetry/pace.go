package telemetry

import "time"

// pace is how fast a model reads prompts, by the first answers of its turns. The time of a token has two parts: one that is the same for all, and one that
// grows with what stands before it, since it looks at all of that. How much there is of the second differs between engines and machines.
type pace struct {
	tokens int // evaluated
	took   time.Duration

	// Sums for the least squares of the relative error: of same and later, each divided by the time, and of their products.
	same, later                     float64
	sameSame, sameLater, laterLater float64
}

// minPaced is how many evaluated tokens tell a pace: the time of fewer is that of starting.
const minPaced = 100

// parts are what the two parts of the time of evaluating the last of so many tokens of a prompt are proportional to: the tokens, and what stands before each, on the average.
func parts(evaluated, prompt int) (same, later float64) {
	e, p := float64(min(evaluated, prompt)), float64(prompt)
	return e, e * (p - e/2)
}

// add takes in a reading.
func (p *pace) add(evaluated, prompt int, took time.Duration) {
	same, later := parts(evaluated, prompt)
	same, later = same/float64(took), later/float64(took)
	p.tokens += evaluated
	p.took += took
	p.same += same
	p.later += later
	p.sameSame += same * same
	p.sameLater += same * later
	p.laterLater += later * later
}

// perSecond is how many tokens were evaluated in a second, 0 where that is not known.
func (p pace) perSecond() float64 {
	if p.tokens < minPaced || p.took <= 0 {
		return 0
	}
	return float64(p.tokens) / p.took.Seconds()
}

// distinct is the least share of the two parts' variation that they do not have in common, for the second to be told from the first. Where all prompts are of
// about one length they cannot be told apart, and every token counts the same: what is saved is rather estimated too low.
const distinct = 0.02

// time estimates how long the last of so many tokens of a prompt take, 0 where no pace is known.
func (p pace) time(evaluated, prompt int) time.Duration {
	if p.perSecond() == 0 {
		return 0
	}
	perSame, perLater := p.same/p.sameSame, 0.0
	if apart := p.sameSame*p.laterLater - p.sameLater*p.sameLater; apart > distinct*p.sameSame*p.laterLater {
		a, b := (p.same*p.laterLater-p.later*p.sameLater)/apart, (p.later*p.sameSame-p.same*p.sameLater)/apart
		switch {
		case a < 0:
			perSame, perLater = 0, p.later/p.laterLater
		case b > 0:
			perSame, perLater = a, b
		}
	}
	same, later := parts(evaluated, prompt)
	return time.Duration(perSame*same + perLater*later)
}

// paces are those of the models.
func paces(turns []Turn) map[string]pace {
	all := map[string]pace{}
	for _, t := range turns {
		if r := t.First; r.EvaluatedTokens > 0 && r.PromptDuration > 0 && !t.Truncated {
			p := all[t.Model]
			p.add(r.EvaluatedTokens, r.PromptTokens, r.PromptDuration)
			all[t.Model] = p
		}
	}
	return all
}
