package turn_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// meter is a recorder that keeps what a Meter is told.
type meter struct {
	told []string
}

func (m *meter) Planned(*turn.Plan)                   {}
func (m *meter) Escaped(session.State, string)        {}
func (m *meter) Loaded(*turn.Plan, string)            {}
func (m *meter) Answered(*turn.Plan, kvcache.Verdict) {}
func (m *meter) Spent(p *turn.Plan, s turn.Spent) {
	said := fmt.Sprintf("spent turn %d: %d tokens, %d expected", p.Turn, s.Usage.PromptTokens, s.Verdict.Expected.Prompt)
	for word, is := range map[string]bool{", later": s.Later && !s.Hidden, ", hidden": s.Hidden && !s.Later, ", later, hidden": s.Later && s.Hidden} {
		if is {
			said += word
		}
	}
	m.told = append(m.told, said)
}
func (m *meter) Again(p *turn.Plan, guess bool) {
	m.told = append(m.told, fmt.Sprintf("again in turn %d, a guess: %v", p.Turn, guess))
}
func (m *meter) Written(s session.State, tools []string) {
	m.told = append(m.told, fmt.Sprintf("written in %d: %q", s.Turn, tools))
}
func (m *meter) Called(s session.State, called, hidden []string) {
	m.told = append(m.told, fmt.Sprintf("called in %d: %q, hidden %q", s.Turn, called, hidden))
}

// watched is a harness whose planner tells a meter, and knows what an engine holds.
func watched(t *testing.T, shadow bool) (*harness, *meter, *kvcache.Belief) {
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	library, err := ingest.New(ingest.Config{Builtin: builtin, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(library.Close)
	h, m, belief := &harness{t: t}, &meter{}, kvcache.NewBelief(time.Now)
	policy := turn.DefaultPolicy()
	policy.Shadow = shadow
	h.sessions = session.New(time.Now)
	h.planner = turn.NewPlanner(policy, turn.Parts{Sessions: h.sessions, Snapshots: library, Builtin: builtin, Prefix: belief, Recorder: m, QueryKey: []byte("k")})
	return h, m, belief
}

func TestAMeterIsToldOfCallsAndTokens(t *testing.T) {
	for _, shadow := range []bool{false, true} {
		h, m, _ := watched(t, shadow)
		tools := demoTools(t)
		p := h.plan(body(t, tools, "", user("what is the weather in Lisbon?")))
		o := calls(p.Tools[0].Name, "generate_image", "no_such_tool", "generate_image")
		o.Usage = chat.Usage{PromptTokens: 5000, Done: true}
		h.planner.Observe(p, o)
		h.planner.Observe(p, turn.Outcome{Usage: chat.Usage{Done: true}}) // nothing called, nothing said
		want := []string{fmt.Sprintf("spent turn 1: 5000 tokens, %d expected", p.Expected.Prompt), fmt.Sprintf("called in 1: %q, hidden %q", []string{p.Tools[0].Name, "generate_image"}, []string{"generate_image"})}
		if !slices.Equal(m.told, want) {
			t.Errorf("shadow %v: told %q, want %q", shadow, m.told, want)
		}
	}
}

// TestAMeterIsToldOfEachRound: what each of the engine's answers cost is told once, beside what was expected of its own prompt.
func TestAMeterIsToldOfEachRound(t *testing.T) {
	h, m, _ := watched(t, false)
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	round := held("load_tools", `{"name":"generate_image"}`)
	round.Usage = chat.Usage{PromptTokens: 1000, OutputTokens: 20, Done: true}
	second := h.again(first, round)
	empty := turn.Round{Verdict: chat.Verdict{Empty: true, Usage: chat.Usage{PromptTokens: 1400, OutputTokens: 3, Done: true}}, Asked: 1}
	third := h.again(second, empty)
	text := `I call {"name": "` + hiddenFrom(t, third) + `"}`
	h.planner.Observe(third, turn.Outcome{Text: text, Usage: chat.Usage{PromptTokens: 2000, OutputTokens: 7, Done: true}})
	missed := hiddenFrom(t, third)
	want := []string{
		fmt.Sprintf("spent turn 1: 1000 tokens, %d expected, hidden", first.Expected.Prompt), "again in turn 1, a guess: false",
		fmt.Sprintf("spent turn 1: 1400 tokens, %d expected, later, hidden", second.Expected.Prompt), "again in turn 1, a guess: true",
		fmt.Sprintf("spent turn 1: 2000 tokens, %d expected, later", third.Expected.Prompt),
		fmt.Sprintf("written in 1: %q", []string{missed}), fmt.Sprintf("called in 1: %q, hidden %q", []string{missed}, []string{missed}),
	}
	if !slices.Equal(m.told, want) {
		t.Errorf("told\n%q, want\n%q", m.told, want)
	}
}

// TestARoundThatTheEngineDoesNotTakeIsNotHeld: what an earlier round said does not tell that the last one was read.
func TestARoundThatTheEngineDoesNotTakeIsNotHeld(t *testing.T) {
	for _, unread := range []bool{true, false} {
		h, _, _ := watched(t, false)
		request := body(t, demoTools(t), "", user("where is my parcel?"))
		first := h.proxied(request)
		round := held("load_tools", `{"name":"generate_image"}`)
		round.Text, round.Usage = "I look. ", chat.Usage{PromptTokens: first.Expected.Prompt, OutputTokens: 20, Done: true}
		h.planner.Observe(h.again(first, round), turn.Outcome{Text: "I look. ", Unread: unread})
		if retried := h.proxied(request); (retried.Expected.Evaluated < 50) == unread {
			t.Errorf("unread %v: of a retry %d of %d tokens are expected to be read", unread, retried.Expected.Evaluated, retried.Expected.Prompt)
		}
	}
}

// hiddenFrom is a tool of the client's that the plan does not show.
func hiddenFrom(t *testing.T, p *turn.Plan) string {
	t.Helper()
	shown := sent(t, p)
	for _, raw := range demoTools(t) {
		if name := gjson.Get(raw, "function.name").String(); !slices.Contains(shown, name) {
			return name
		}
	}
	t.Fatal("every tool is shown")
	return ""
}

func TestAccount(t *testing.T) {
	h, _, _ := watched(t, false)
	tools := demoTools(t)
	first := h.plan(body(t, tools, "", user("what is the weather in Lisbon?")))
	a := first.Account()
	if a.App == "" || a.Model != "m" || a.Offered != len(tools) || first.Offered() != a.Offered || a.VisibleTokens <= 0 || 2*a.VisibleTokens > a.OfferedTokens || a.KeptTokens != 0 || !a.Changed {
		t.Errorf("a new conversation: %+v", a)
	}
	same := h.plan(body(t, tools, "", user("what is the weather in Lisbon?"), answer("fine"), user("and the weather in Porto?"))).Account()
	if same.Changed || same.KeptTokens != same.VisibleTokens {
		t.Errorf("the same list: %+v", same)
	}
	more := h.plan(body(t, tools, "", user("what is the weather in Lisbon?"), answer("fine"), user("and the weather in Porto?"), answer("too"), user("generate an image of a parcel"))).Account()
	if !more.Changed || more.KeptTokens <= 0 || more.KeptTokens >= more.VisibleTokens {
		t.Errorf("a list that grew: %+v", more)
	}
	off := h.plan(body(t, tools[:2], "", user("what is the weather in Lisbon?")))
	if a := off.Account(); off.Fallback == "" || a.Offered != 2 || a.VisibleTokens != a.OfferedTokens || a.Changed {
		t.Errorf("every tool: %+v", a)
	}
	if a := (&turn.Plan{}).Account(); a != (turn.Account{}) || (&turn.Plan{}).Offered() != 0 {
		t.Errorf("no plan at all: %+v", a)
	}
}

// TestShadowExpectsTheClientsOwnPrompt has the engine be believed to hold what it was sent, not what was planned.
func TestShadowExpectsTheClientsOwnPrompt(t *testing.T) {
	h, _, belief := watched(t, true)
	request := body(t, demoTools(t), "", user("what is the weather in Lisbon?"))
	p := h.plan(request)
	if tokens := p.Account().OfferedTokens; p.Expected.Prompt < tokens/2 {
		t.Errorf("a prompt of %d tokens is expected, the tools sent are about %d", p.Expected.Prompt, tokens)
	}
	if held := belief.Held(); len(held) != 1 || held[0].Session != p.Session {
		t.Errorf("held is %+v", held)
	}
	next := h.plan(body(t, demoTools(t), "", user("what is the weather in Lisbon?"), answer("fine"), user("generate an image of a parcel")))
	if next.Expected.Evaluated > next.Expected.Prompt/4 {
		t.Errorf("%d of %d tokens are expected to be read, though nothing of what was sent has changed", next.Expected.Evaluated, next.Expected.Prompt)
	}
}
