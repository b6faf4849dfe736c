package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// explain explains one tool; the explanation must be fit for JSON and end in sentences.
func (h *harness) explain(b []byte, tool string) turn.Explanation {
	h.t.Helper()
	e, err := h.planner.Explain(context.Background(), request(h.t, b), tool)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := json.Marshal(e); err != nil {
		h.t.Error(err)
	}
	if !strings.HasSuffix(e.Why, ".") || !strings.HasSuffix(e.Do, ".") || strings.Contains(e.Why+e.Do, "%!") {
		h.t.Errorf("no sentences: %q, %q", e.Why, e.Do)
	}
	return e
}

// numbered are n tools of one kind, in OpenAI's shape.
func numbered(n int, description string) []string {
	var tools []string
	for i := range n {
		tools = append(tools, function(fmt.Sprintf("tool_%d", i), description))
	}
	return tools
}

func function(name, description string) string {
	return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{}}}}`, name, description)
}

// What is explained of every tool is what the plan does, on every turn; and explaining changes no plan, tells nobody and makes no session.
func TestExplainAgreesWithThePlan(t *testing.T) {
	talk := []string{"where is my parcel?", "remind me tomorrow at nine", "what is the weather in Rome", "thanks", "read the file notes.txt", "convert 20 dollars into euros"}
	policy := func(p *turn.Policy) { p.MaxTools, p.Core, p.SmallTokens = 6, []string{"web_search"}, 0 }
	plain, asked := newHarness(t, setup{policy: policy}), newHarness(t, setup{policy: policy})
	tools := demoTools(t)
	names := request(t, body(t, tools, "", user("x"))).Chat.Tools
	var messages []message
	seen := map[turn.Verdict]bool{}
	for _, text := range talk {
		messages = append(messages, user(text))
		b := body(t, tools, "", messages...)
		var before []turn.Explanation
		for _, tool := range names {
			before = append(before, asked.explain(b, tool.Name))
		}
		want, got := plain.plan(b), asked.plan(b)
		if !slices.Equal(want.Order(), got.Order()) {
			t.Fatalf("explained, the plan is %q, else %q", got.Order(), want.Order())
		}
		for _, e := range before {
			seen[e.Verdict] = true
			if e.Visible != slices.Contains(got.Order(), e.Tool) || e.Reason != reason(got, e.Tool) || e.Visible != (e.Verdict == turn.Shown) || e.Turn != got.Turn || e.Embedder != got.Embedder {
				t.Errorf("turn %d: %+v, the plan has %q", got.Turn, e, got.Order())
			}
			if slices.Contains(got.Skipped, e.Tool) && e.Verdict != turn.NoSlot && e.Verdict != turn.NotBetter && e.Verdict != turn.TooWeak {
				t.Errorf("%s was skipped, the verdict is %s", e.Tool, e.Verdict)
			}
			reaches := e.Signals.Match >= e.Floor.Tau || e.Signals.Words >= e.Floor.Words
			if e.Floor.Least == e.Floor.Tau && reaches != e.Floor.Over || e.Floor.Over && !reaches && e.Signals.Match < e.Floor.Least || e.Verdict == turn.BelowFloor && (reaches || e.Floor.Over) || e.Verdict == turn.Outranked && (!reaches || e.Floor.Over) {
				t.Errorf("%s: %+v, floor %+v, signals %+v", e.Tool, e.Verdict, e.Floor, e.Signals)
			}
		}
		over := slices.Collect(overFloor(before))
		if slices.Sort(over); len(over) != before[0].Floor.Tools || !slices.Equal(over, slices.Sorted(slices.Values(got.Matched))) {
			t.Errorf("over the floor are %q, of %d that reach it, the plan's matches %q", over, before[0].Floor.Tools, got.Matched)
		}
		places := map[int]bool{}
		for _, e := range before {
			places[e.Signals.Place] = true
		}
		if len(places) != len(names) || !places[1] || !places[len(names)] {
			t.Errorf("the places are not those of %d tools: %v", len(names), places)
		}
		messages = append(messages, answer("ok"))
	}
	if !seen[turn.Shown] || !seen[turn.BelowFloor] || !seen[turn.Outranked] {
		t.Errorf("verdicts seen: %v", seen)
	}
	if len(asked.planned) != len(talk) || len(asked.sessions.List()) != 1 {
		t.Errorf("told of %d plans, %d sessions", len(asked.planned), len(asked.sessions.List()))
	}
}

func overFloor(all []turn.Explanation) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range all {
			if e.Floor.Over && !yield(e.Tool) {
				return
			}
		}
	}
}

// On a turn that clearly needs a tool rank says which tools match, and the explanation says so of what it lets in and of what it keeps out.
func TestExplainWhereRankDecides(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Core = []string{"web_search"} }})
	said := map[string]bool{}
	for _, text := range []string{"where is my parcel?", "remind me tomorrow at nine", "convert 20 dollars into euros", "send Ann an email about the invoice"} {
		b := body(t, demoTools(t), "", user(text))
		for _, tool := range request(t, b).Chat.Tools {
			e := h.explain(b, tool.Name)
			reaches := e.Signals.Match >= e.Floor.Tau || e.Signals.Words >= e.Floor.Words
			switch {
			case e.Floor.Least == e.Floor.Tau:
			case e.Reason == session.Semantic && !reaches:
				said["let in"] = true
				if !strings.Contains(e.Why, fmt.Sprintf("%.2f is enough", e.Floor.Least)) {
					t.Errorf("%s: %s", e.Tool, e.Why)
				}
			case e.Verdict == turn.Outranked:
				said["kept out"] = true
				if !strings.Contains(e.Why, "rank decides") || !strings.Contains(e.Why, fmt.Sprint(e.Floor.Tools)) || !strings.Contains(e.Do, "in core") {
					t.Errorf("%s: %s %s", e.Tool, e.Why, e.Do)
				}
			case e.Verdict == turn.BelowFloor && e.Signals.Match >= e.Floor.Least:
				said["below"] = true
				if !strings.Contains(e.Why, "best by rank") {
					t.Errorf("%s: %s", e.Tool, e.Why)
				}
			}
		}
	}
	if len(said) != 3 {
		t.Errorf("of three cases only %v came up", said)
	}
}

func TestExplainVerdicts(t *testing.T) {
	three := append(numbered(3, "send an electronic mail"), function("tool_9", "send an electronic mail to one of those people who are not in the address book"), function("far", "boil rice"))
	for name, c := range map[string]struct {
		tools   []string
		text    string
		extra   string
		policy  func(*turn.Policy)
		bundles []bundles.Bundle
		tool    string
		verdict turn.Verdict
		do      string
	}{
		"over the floor, all slots taken": {tools: three, text: "send an electronic mail", policy: func(p *turn.Policy) { p.MaxTools = 1 }, tool: "tool_9", verdict: turn.NoSlot, do: "max_tools from 1 to 4"},
		"under the floor":                 {tools: three, text: "the cook wants rice for ten people soon", policy: func(p *turn.Policy) { p.Threshold, p.Words = 20, 1 }, tool: "far", verdict: turn.BelowFloor, do: "Lower tau from 20.00 to"},
		"nothing in common":               {tools: append(three, function("x", "")), text: "boil rice", tool: "x", verdict: turn.BelowFloor, do: "Describe the tool"},
		"in core":                         {tools: three, text: "hello", policy: func(p *turn.Policy) { p.Core = []string{"far"} }, tool: "far", verdict: turn.Shown, do: "Nothing need be done."},
		"no context left":                 {tools: three, text: "send an electronic mail", extra: `"options":{"num_ctx":540},`, tool: "tool_9", verdict: turn.OverBudget, do: "num_ctx"},
		"a mate without room": {tools: three, text: "send an electronic mail", policy: func(p *turn.Policy) { p.MaxTools = 1 },
			bundles: []bundles.Bundle{{Name: "b", Members: []string{"tool_0", "tool_1", "tool_2", "far"}}}, tool: "far", verdict: turn.NoRoom, do: "max_tools"},
		"selection is off": {tools: three, text: "hello", policy: func(p *turn.Policy) { p.Off = "mode off" }, tool: "far", verdict: turn.AllShown, do: "setting mode"},
		"few tools":        {tools: three, text: "hello", policy: func(p *turn.Policy) { p.SmallTokens = 10_000 }, tool: "far", verdict: turn.AllShown, do: "Nothing need be done"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, setup{bundles: c.bundles, policy: func(p *turn.Policy) {
				p.SmallTokens = 0
				if c.policy != nil {
					c.policy(p)
				}
			}})
			b := body(t, c.tools, c.extra, user(c.text))
			e := h.explain(b, c.tool)
			if e.Verdict != c.verdict || !strings.Contains(e.Do, c.do) {
				t.Errorf("verdict %s: %s %s\nwant %s and %q\nsignals %+v, slots %+v", e.Verdict, e.Why, e.Do, c.verdict, c.do, e.Signals, e.Slots)
			}
			if plan := h.plan(b); e.Visible != slices.Contains(plan.Order(), c.tool) || e.Fallback != plan.Fallback {
				t.Errorf("visible %v, the plan has %q (%s)", e.Visible, plan.Order(), plan.Fallback)
			}
		})
	}
}

// A change of a setting that is advised works.
func TestExplainAdviceHolds(t *testing.T) {
	tools := append(numbered(3, "send an electronic mail"), function("tool_9", "send an electronic mail to one of those people who are not in the address book"))
	b := body(t, tools, "", user("send an electronic mail"))
	at := func(cap int) turn.Explanation {
		return newHarness(t, setup{policy: func(p *turn.Policy) { p.MaxTools, p.SmallTokens = cap, 0 }}).explain(b, "tool_9")
	}
	if e := at(1); e.Visible || !strings.Contains(e.Do, "from 1 to 4") {
		t.Fatal(e.Do)
	}
	if at(3).Visible || !at(4).Visible {
		t.Error("the least cap that shows it is not the one that was named")
	}
}

// Within a turn the list stands, whatever is asked; what was called while hidden is explained as what it is.
func TestExplainLaterInATurn(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.MaxTools = 4 }})
	tools, ask := demoTools(t), user("what is the weather forecast for Rome")
	first := h.plan(body(t, tools, "", ask))
	later := body(t, tools, "", ask, called("get_weather_forecast"), result())
	if e := h.explain(later, "set_volume"); e.Visible || e.Verdict != turn.Settled || e.Turn != 1 || e.Signals == nil || e.Signals.Of != 38 {
		t.Errorf("%+v", e)
	}
	h.planner.Observe(first, calls("set_volume"))
	if e := h.explain(later, "set_volume"); !e.Visible || e.Reason != session.Hatch || !strings.Contains(e.Why, "while it was hidden") {
		t.Errorf("%+v", e)
	}
	if e := h.explain(later, "get_weather_forecast"); !e.Visible || e.Slots.Tools[0].Place == 0 {
		t.Errorf("%+v", e)
	}
}

// What was learned is shown, and no learner is told anything.
func TestExplainShowsWhatWasLearned(t *testing.T) {
	l := &insistent{tool: "set_volume"}
	h := newHarness(t, setup{learner: l, policy: func(p *turn.Policy) { p.MaxTools = 4 }})
	e := h.explain(body(t, demoTools(t), "", user("xyzzy")), "set_volume")
	if e.Signals.Learned == nil || *e.Signals.Learned != (turn.Learned{Near: 1.5, Match: 9, Sure: true}) || !e.Visible || e.Signals.Match != 9 {
		t.Errorf("%+v, %+v", e.Signals, e.Signals.Learned)
	}
	if l.told > 0 {
		t.Errorf("the learner was told something %d times", l.told)
	}
}

func TestExplainNamesWhatIsPrepared(t *testing.T) {
	requiring := func(name, description, parameter string) string {
		return fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","properties":{%[3]q:{"type":"string"}},"required":[%[3]q]}}}`, name, description, parameter)
	}
	tools := append(numbered(20, "renews a pass for another month"), requiring("renew_loan", "Renew a loan of a book for another month.", "loan_id"), requiring("get_reader_details", "Get the address of a reader, and the loans.", "reader_id"))
	b := body(t, tools, "", user("please renew my loan for another month"))
	h := newHarness(t, setup{})
	if p := h.explain(b, "get_reader_details").Signals.Prepares; p == nil || p.Tool != "renew_loan" || !(p.Rise > 0) {
		t.Errorf("get_reader_details prepares %+v", p)
	}
	if p := h.explain(b, "renew_loan").Signals.Prepares; p != nil {
		t.Errorf("renew_loan prepares %+v", p)
	}
}

// insistent is a learner that is sure of one tool.
type insistent struct {
	learn.None
	tool string
	told int
}

func (l *insistent) Recall(a learn.Ask) learn.Recalled {
	id, ok := a.Tools.Lookup(l.tool)
	if !ok {
		return learn.Recalled{}
	}
	near, match := make([]float32, a.Tools.Len()), make([]float32, a.Tools.Len())
	near[id], match[id] = 1.5, 9
	return learn.Recalled{Near: near, Match: match, Sure: []catalog.ID{id}}
}

func (l *insistent) Asked(string, learn.Ask) { l.told++ }
func (l *insistent) Used(string, []string)   { l.told++ }
func (l *insistent) Failed(string, []string) { l.told++ }

func TestExplainUnknownTool(t *testing.T) {
	h := newHarness(t, setup{})
	b := body(t, demoTools(t), "", user("hello"))
	for _, c := range []struct{ tool, text string }{
		{"get_weather", `"get_weather_forecast"`}, {"Web_Search", `"web_search"`}, {"websearch", `"web_search"`}, {"qqqq", `no tool "qqqq" is among the request's`}, {"", `no tool ""`}, {"\xff", "no tool"},
	} {
		_, err := h.planner.Explain(context.Background(), request(t, b), c.tool)
		if catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v", c.tool, err)
		}
	}
	if _, err := h.planner.Explain(context.Background(), request(t, b), "qqqq"); strings.Contains(err.Error(), "near") {
		t.Errorf("near to nothing: %v", err)
	}
}

// An embedder that fails leaves a new conversation with everything, and says so.
func TestExplainWithoutAnEmbedder(t *testing.T) {
	b := body(t, demoTools(t), "", user("hello"))
	fake := embedtest.NewFake("fake", 64)
	h := newHarness(t, setup{builtin: fake})
	fake.Break(embedtest.Failing)
	e := h.explain(b, "web_search")
	if e.Verdict != turn.AllShown || e.Signals != nil || !strings.HasPrefix(e.Fallback, "embedder: ") || !strings.Contains(e.Do, "readyz") {
		t.Errorf("%+v", e)
	}
	if !e.Visible || e.Reason != "" {
		t.Errorf("%+v", e)
	}
}

// A list that has outgrown its cap: what had to go, and what did not beat by δ what would have had to.
func TestExplainWhatGaveWay(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.MaxTools, p.Overflow, p.Delta, p.SmallTokens = 3, 0, 100, 0 }})
	var tools []string
	for _, name := range []string{"mail_a", "mail_b", "mail_c"} {
		tools = append(tools, function(name, "send an electronic mail"))
	}
	for _, name := range []string{"rice_a", "rice_b", "rice_c"} {
		tools = append(tools, function(name, "boil rice in a pot"))
	}
	messages := []message{user("send an electronic mail")}
	h.plan(body(t, tools, "", messages...))
	messages = append(messages, answer("done"), user("hm"))
	h.plan(body(t, tools, "", messages...))
	messages = append(messages, answer("yes?"), user("boil rice in a pot"))
	b := body(t, tools, "", messages...)
	verdicts := map[turn.Verdict]int{}
	said := map[string]turn.Verdict{}
	for _, tool := range request(t, b).Chat.Tools {
		e := h.explain(b, tool.Name)
		verdicts[e.Verdict]++
		said[tool.Name] = e.Verdict
	}
	plan := h.plan(b)
	for _, c := range []struct {
		tools []string
		may   []turn.Verdict
	}{{plan.Evicted, []turn.Verdict{turn.Dropped}}, {plan.Skipped, []turn.Verdict{turn.NotBetter, turn.NoSlot, turn.Dropped}}, {plan.Order(), []turn.Verdict{turn.Shown}}} {
		if len(c.tools) == 0 {
			t.Errorf("the plan has no tool that is %s", c.may)
		}
		for _, tool := range c.tools {
			if !slices.Contains(c.may, said[tool]) {
				t.Errorf("%s: %s, want %s", tool, said[tool], c.may)
			}
		}
	}
	if verdicts[turn.NotBetter] == 0 || verdicts[turn.Dropped] != len(plan.Evicted) {
		t.Errorf("verdicts %v, evicted %q", verdicts, plan.Evicted)
	}
}
