package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

func TestAMessageInALanguageThatNoEmbedderReadsIsNotNoMatch(t *testing.T) {
	tools := demoTools(t)
	german := user("Wie wird das Wetter morgen?")
	h := newHarness(t, setup{})
	if p := h.plan(body(t, tools, "", german)); !strings.Contains(p.Fallback, "language") || len(sent(t, p)) != 38 {
		t.Errorf("a new conversation: fallback %q, %d tools sent", p.Fallback, len(sent(t, p)))
	}
	first := h.plan(body(t, tools, "", user("Turn the heating up, please.")))
	next := h.plan(body(t, tools, "", user("Turn the heating up, please."), answer("Done."), german))
	if next.Fallback != "" || !slices.Equal(sent(t, next), sent(t, first)) {
		t.Errorf("with a list: fallback %q, sent %q, was %q", next.Fallback, sent(t, next), sent(t, first))
	}
	many := embedtest.NewFake("embeddinggemma", 48)
	if p := newHarness(t, setup{neural: direct{many}, views: []embed.Embedder{many}}).plan(body(t, tools, "", german)); p.Fallback != "" {
		t.Errorf("with an embedder for many languages: fallback %q", p.Fallback)
	}
	if p := newHarness(t, setup{}).plan(body(t, tools, "", user("Bitte set_thermostat aufrufen"))); p.Fallback != "" {
		t.Errorf("a message that has a tool's words: fallback %q", p.Fallback)
	}
}

const (
	russian = "Где моя посылка?"
	parcel  = "Where is my parcel? The tracking number is 1Z999."
)

// other is an array of tools that the demonstration does not have.
func other(n int) []string {
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"other_%d","description":"%s"}}`, i, strings.Repeat("counts sheep ", 10)))
	}
	return tools
}

// TestAListOfAnotherArrayIsNotKept: a list that this request's array has not all of would hide almost everything.
func TestAListOfAnotherArrayIsNotKept(t *testing.T) {
	tools := demoTools(t)
	for name, array := range map[string][]string{"none of it": other(20), "some of it": append(other(20), tools[0], tools[27])} {
		for how, extra := range map[string]string{"an unreadable message": "", "tool_choice none": `"tool_choice":"none",`} {
			h := newHarness(t, setup{})
			h.plan(body(t, tools, "", user(parcel)))
			p := h.plan(body(t, array, extra, user(parcel), answer("ok"), user(russian)))
			if p.Fallback == "" || len(sent(t, p)) != len(array) || len(p.Tools) != len(array) {
				t.Errorf("%s, %s: fallback %q, %d of %d tools sent, %d planned", name, how, p.Fallback, len(sent(t, p)), len(array), len(p.Tools))
			}
		}
	}
}

func TestASeedIsNotKeptForAMessageThatNobodyReads(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{})
	if p := h.plan(body(t, tools, "", user("qwzx"))); reason(p, "send_email") != session.Seed {
		t.Fatalf("the first turn is %q", p.Order())
	}
	if p := h.plan(body(t, tools, "", user("qwzx"), answer("ok"), user(russian))); p.Fallback == "" {
		t.Errorf("sent %q", sent(t, p))
	}
}

func TestOutcomesOfToolsThatTheTurnDidNotHaveAreNotEscapes(t *testing.T) {
	h := newHarness(t, setup{})
	p := h.plan(body(t, demoTools(t), "", user(parcel)))
	if err := h.planner.ObserveSession(p.Session, []string{"my_own_tool", "generate_image"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.escaped, []string{"generate_image"}) || slices.Contains(h.sessions.MostUsed(request(t, body(t, demoTools(t), "", user(parcel))).Identity.App(), 9), "my_own_tool") {
		t.Errorf("escaped %q", h.escaped)
	}
}

// TestAnAnswerThatEndsWhileTheNextRequestIsPlanned: what the answer called is not lost when the plan is committed.
func TestAnAnswerThatEndsWhileTheNextRequestIsPlanned(t *testing.T) {
	h := newHarness(t, setup{})
	b := body(t, demoTools(t), "", user(parcel))
	first := h.plan(b)
	second, err := h.planner.Plan(t.Context(), request(t, body(t, demoTools(t), "", user(parcel), called("track_parcel"), result())))
	if err != nil {
		t.Fatal(err)
	}
	h.planner.Observe(first, calls("track_parcel", "generate_image"))
	h.planner.Commit(second)
	s, _ := h.sessions.Get(first.Session)
	used := slices.IndexFunc(s.List, func(v session.Visible) bool { return v.Name == "track_parcel" && v.Used == 1 })
	if s.Escapes != 1 || used < 0 || !slices.Contains(s.Called, "generate_image") {
		t.Errorf("%d escapes, called %q, list %v", s.Escapes, s.Called, s.List)
	}
}

func TestExplainSaysThatAListWasKept(t *testing.T) {
	h := newHarness(t, setup{})
	h.plan(body(t, demoTools(t), "", user(parcel)))
	b := body(t, demoTools(t), "", user(parcel), answer("ok"), user(russian))
	if e, err := h.planner.Explain(t.Context(), request(t, b), "generate_image"); err != nil || e.Verdict != turn.ListKept || e.Visible {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestOtherSettingsMakeOtherLists: whoever puts a tool into CORE and asks the same again gets a list made under the new settings.
func TestOtherSettingsMakeOtherLists(t *testing.T) {
	tools := demoTools(t)
	before := newHarness(t, setup{})
	one, two := body(t, tools, "", user(parcel)), body(t, tools, "", user(parcel), answer("ok"), user("Turn the heating up, please."))
	before.plan(one)
	before.plan(two)
	after := newHarness(t, setup{policy: core("lock_door")})
	after.planner.Sessions = before.sessions
	if p := after.plan(two); reason(p, "lock_door") != session.Core || p.Turn != 2 || reason(p, "track_parcel") == "" {
		t.Errorf("turn %d: %q", p.Turn, p.Order())
	}
	if p := after.plan(one); p.Order()[0] != "lock_door" || p.Turn != 1 {
		t.Errorf("turn %d: %q", p.Turn, p.Order())
	}
	if p := after.plan(one); !p.Repeated {
		t.Error("under the same settings the list is made again")
	}
}

// TestNewCoreSurvivesATurnThatKeptItsList: a turn that nobody could judge must not make the session forget that its CORE was changed.
func TestNewCoreSurvivesATurnThatKeptItsList(t *testing.T) {
	tools := demoTools(t)
	before := newHarness(t, setup{})
	before.plan(body(t, tools, "", user(parcel)))
	after := newHarness(t, setup{policy: core("lock_door")})
	after.planner.Sessions = before.sessions
	if p := after.plan(body(t, tools, "", user(parcel), answer("ok"), user(russian))); p.Kept == "" {
		t.Fatalf("the second turn is %q", p.Order())
	}
	p := after.plan(body(t, tools, "", user(parcel), answer("ok"), user(russian), answer("ok"), user("Turn the heating up, please.")))
	if reason(p, "lock_door") != session.Core {
		t.Errorf("the third turn is %q", p.Order())
	}
}
