package turn_test

import (
	"slices"
	"testing"

	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// pushed is an engine from which another conversation has pushed out each prompt before the next comes.
type pushed struct{ alone bool }

func (pushed) Model(string, int) (kvcache.Facts, kvcache.Rates) {
	return kvcache.Facts{}, kvcache.UsualRates()
}
func (p pushed) Expect(kvcache.Prompt) kvcache.Expected {
	return kvcache.Expected{Prompt: 100, Evaluated: 100, Lost: kvcache.OtherRequest, Alone: p.alone}
}
func (pushed) Sent(kvcache.Prompt)                                     {}
func (pushed) Answered(kvcache.Prompt, kvcache.Answer) kvcache.Verdict { return kvcache.Verdict{} }

// Where the engine was seen to hold one conversation alone, one that another has pushed out is read anew whatever its list is: then it is best first, and what has gone stale is not sent again. Otherwise it may
// be held still, and nothing is taken from it.
func TestAListThatWasPushedOutIsMadeAnew(t *testing.T) {
	for _, alone := range []bool{false, true} {
		h := newHarness(t, setup{prefix: pushed{alone}, policy: func(p *turn.Policy) { p.Core, p.MaxTools = []string{"get_current_time"}, 4 }})
		messages := []message{user("Where is my parcel? The tracking number is 1Z999.")}
		first := h.plan(body(t, demoTools(t), "", messages...))
		wantSent(t, first, "track_parcel")
		messages = append(messages, answer("It comes tomorrow."), user("Turn the heating in the living room up to 21 degrees."))
		second := h.plan(body(t, demoTools(t), "", messages...))
		wantSent(t, second, "set_thermostat")
		if kept := slices.Equal(first.Order()[:3], second.Order()[:3]); kept == alone {
			t.Errorf("alone %v: the list went from %q to %q", alone, first.Order(), second.Order())
		}
	}
}
