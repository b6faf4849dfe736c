package turn_test

import (
	"testing"

	"toolbelt/internal/turn"
)

// However much of the best match a newcomer must reach, one that is good in itself enters a list that exists.
func TestAMatchThatIsGoodInItselfEntersAListThatExists(t *testing.T) {
	tools := demoTools(t)
	conversation := []message{user("Where is my parcel? The tracking number is 1Z999."), answer("It comes tomorrow."), user("Turn the heating in the living room up to 21 degrees.")}
	admitted := func(threshold float64) int {
		h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Newcomer, p.Threshold = 1, threshold }})
		h.plan(body(t, tools, "", conversation[0]))
		p := h.plan(body(t, tools, "", conversation...))
		wantSent(t, p, "set_thermostat")
		return len(p.Admitted)
	}
	if high := admitted(5); high > 1 {
		t.Errorf("%d tools entered where only the best is let in", high)
	}
	if low := admitted(.5); low < 2 {
		t.Errorf("%d tools entered where 1.25 match units are enough", low)
	}
}
