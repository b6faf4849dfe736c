package eval

import (
	"math"
	"testing"
	"time"
)

// A pace that was fitted to an engine finds again how many tokens it evaluated, wherever in the prompt they stood.
func TestPaceFindsEvaluatedTokens(t *testing.T) {
	took := func(from, to int) time.Duration { // 20 ms, 4 ms a token, and attention that grows with the place
		ms := 20 + 4*float64(to-from) + .002*(float64(to)*float64(to)-float64(from)*float64(from))/2
		return time.Duration(ms * float64(time.Millisecond))
	}
	timing := func(from, to int) Timing { return Timing{PromptTokens: to, PromptEval: took(from, to)} }
	p := newPace(timing(0, 1500), timing(1499, 1500), timing(0, 300))
	for _, c := range []struct{ prompt, evaluated int }{{6000, 6000}, {6000, 40}, {6000, 1}, {900, 450}, {300, 300}} {
		got := p.evaluated(c.prompt, took(c.prompt-c.evaluated, c.prompt))
		if off := math.Abs(float64(got - c.evaluated)); off > 2+.05*float64(c.evaluated) {
			t.Errorf("%d of %d tokens: estimated %d", c.evaluated, c.prompt, got)
		}
	}
	forgetful := newPace(timing(0, 1500), timing(0, 1500), timing(0, 300))
	if got := forgetful.evaluated(1500, took(0, 1500)); got < 1400 {
		t.Errorf("an engine that reuses nothing: %d of 1500 tokens estimated", got)
	}
	for name, p := range map[string]pace{
		"no times":    newPace(Timing{PromptTokens: 1500}, Timing{}, Timing{PromptTokens: 300}),
		"no counts":   newPace(Timing{PromptEval: time.Second}, Timing{}, Timing{PromptEval: time.Second}),
		"same length": newPace(timing(0, 300), timing(0, 300), timing(0, 300)),
	} {
		if p.known() {
			t.Errorf("%s: the pace %+v counts as known", name, p)
		}
	}
	if got := (pace{base: 20, token: 4}).evaluated(100, time.Millisecond); got != 1 {
		t.Errorf("less than nothing: %d tokens, want 1", got)
	}
	if got := (pace{base: 20, token: 4}).evaluated(100, time.Hour); got != 100 {
		t.Errorf("an hour: %d tokens, want all 100", got)
	}
}
