package turn_test

import (
	"context"
	"testing"

	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
)

// A conversation that a process meets in the middle of a turn, after a restart say, is known by the turn's first answer as the app has it, and not by the
// answer that this process saw: another conversation with the same words is not taken for it.
func TestATurnMetInItsMiddleIsKnownByItsFirstAnswer(t *testing.T) {
	h := newHarness(t, setup{})
	tools := demoTools(t)
	begun := []message{user("generate an image of a cat"), called("generate_image"), result()}
	met := h.plan(body(t, tools, "", begun...))

	// A retry whose answer was never seen begins a conversation of its own, beside the first.
	other, err := h.planner.Plan(context.Background(), request(t, body(t, tools, `"options":{"seed":2},`, user("generate an image of a cat"))))
	if err != nil {
		t.Fatal(err)
	}
	h.planner.Commit(other)

	h.planner.Observe(met, turn.Outcome{Called: []chat.Call{{Name: "send_email"}}, Usage: chat.Usage{Done: true}})
	next := h.plan(body(t, tools, "", append(begun, called("send_email"), result())...))
	if next.Session != met.Session {
		t.Errorf("it goes on as session %s, want %s (the other is %s)", next.Session, met.Session, other.Session)
	}
}
