package turn_test

import (
	"fmt"
	"slices"
	"testing"

	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
	"toolbelt/skills/runs"
)

// narrated notes what runs are told.
type narrated struct{ lines []string }

func (n *narrated) Began(_ string, b runs.Began) { n.lines = append(n.lines, "began "+b.Goal) }
func (n *narrated) Called(_ string, calls []runs.Call) {
	for _, c := range calls {
		n.lines = append(n.lines, fmt.Sprint("called ", c.Name, c.Arguments))
	}
}
func (n *narrated) Failed(_ string, tools []string) {
	n.lines = append(n.lines, fmt.Sprint("failed ", tools))
}
func (n *narrated) Ended(_ string, success bool, _ string) {
	n.lines = append(n.lines, fmt.Sprint("ended ", success))
}

func TestRunsAreTold(t *testing.T) {
	n := &narrated{}
	h := newHarness(t, setup{runs: n})
	tools := demoTools(t)
	messages := []message{user("where is my parcel?")}
	first := h.plan(body(t, tools, "", messages...))
	h.planner.Observe(first, turn.Outcome{Called: []chat.Call{{Name: "track_parcel", Arguments: []string{"number"}}, {Name: "track_parcel"}}})
	messages = append(messages, called("track_parcel"), message{"role": "tool", "content": "Error: no such parcel"})
	second := h.plan(body(t, tools, "", messages...))
	h.planner.Observe(second, calls("find_contact"))
	messages = append(messages, called("find_contact"), result())
	h.plan(body(t, tools, "", messages...))
	if err := h.planner.SettleSession(second.Session, []string{"find_contact"}, true, ""); err != nil {
		t.Fatal(err)
	}
	h.plan(body(t, tools, "", append(messages, answer("there"), user("thanks"))...))
	want := []string{"began where is my parcel?", "called track_parcel[number]", "called track_parcel[]", "failed [track_parcel]", "called find_contact[]", "failed [track_parcel]", "ended true", "began thanks"}
	if !slices.Equal(n.lines, want) {
		t.Errorf("told\n%q, want\n%q", n.lines, want)
	}
}
