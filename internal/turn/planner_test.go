package turn_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/internal/turn"
	"toolbelt/selector"
	"toolbelt/skills"
)

// viewBy is a healthy embedder's view of a catalog.
func viewBy(e embed.Embedder, cat *catalog.Catalog) *selector.View {
	texts := make([][]embed.Vector, 2)
	for i := range cat.Len() {
		t := cat.Tool(catalog.ID(i))
		for j, text := range []string{t.ShortText(), t.LongText()} {
			v, err := e.Embed(context.Background(), embed.Document, []string{text})
			if err != nil {
				panic(err)
			}
			texts[j] = append(texts[j], v[0])
		}
	}
	background, err := e.Embed(context.Background(), embed.Query, selector.Background())
	if err != nil {
		panic(err)
	}
	v, err := selector.NewView(e.Model(), cat.Len(), texts, background)
	if err != nil {
		panic(err)
	}
	return v
}

// direct makes an embedder a turn.Neural that answers at once.
type direct struct{ embed.Embedder }

func (d direct) Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	v, err := d.Embed(ctx, embed.Query, texts)
	return v, d.Model(), err
}

func core(names ...string) func(*turn.Policy) { return func(p *turn.Policy) { p.Core = names } }

func TestAConversation(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{policy: core("get_current_time", "read_file")})
	first := h.plan(body(t, tools, "", user("Where is my parcel? The tracking number is 1Z999.")))
	if got := first.Order(); !slices.Equal(got[:2], []string{"get_current_time", "read_file"}) {
		t.Errorf("CORE does not lead: %q", got)
	}
	wantSent(t, first, "track_parcel")
	if n := len(sent(t, first)); n > 14 || n >= len(tools) {
		t.Errorf("%d tools are sent", n)
	}
	for _, raw := range tools {
		if name := first.Order()[0]; strings.Contains(raw, `"`+name+`"`) && !bytes.Contains(first.Body, []byte(raw)) {
			t.Errorf("a kept tool lost its bytes: %s", raw)
		}
	}

	history := []message{user("Where is my parcel? The tracking number is 1Z999."), called("track_parcel"), result(), answer("It comes tomorrow.")}
	second := h.plan(body(t, tools, "", append(history, user("Thanks, that is good to know."))...))
	if second.Turn != 2 || second.Session != first.Session {
		t.Errorf("turn %d of session %q", second.Turn, second.Session)
	}
	if !slices.Equal(sent(t, second)[:len(sent(t, first))], sent(t, first)) {
		t.Errorf("what was there moved: %q, then %q", sent(t, first), sent(t, second))
	}

	history = append(history, user("Thanks, that is good to know."), answer("You are welcome."), user("Now turn the heating in the living room up to 21 degrees."))
	third := h.plan(body(t, tools, "", history...))
	wantSent(t, third, "set_thermostat", "track_parcel")
	if !slices.Contains(third.Admitted, "set_thermostat") {
		t.Errorf("admitted %q", third.Admitted)
	}
	if !slices.Equal(sent(t, third)[:len(sent(t, second))], sent(t, second)) {
		t.Error("the list was not appended to")
	}
}

func TestRequestsOfOneTurnGetTheSameList(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{})
	first := h.plan(body(t, tools, "", user("Where is my parcel?")))
	again := h.plan(body(t, tools, "", user("Where is my parcel?")))
	if !bytes.Equal(first.Body, again.Body) || again.Turn != 1 || !again.Repeated {
		t.Errorf("a retry got another list: %q then %q", sent(t, first), sent(t, again))
	}
	tool := h.plan(body(t, tools, "", user("Where is my parcel?"), called("track_parcel"), result()))
	if !slices.Equal(sent(t, tool), sent(t, first)) || tool.Turn != 1 {
		t.Errorf("after a tool result the list is %q, was %q", sent(t, tool), sent(t, first))
	}
	if len(h.planned) != 1 {
		t.Errorf("%d plans were recorded, one was made", len(h.planned))
	}
}

func TestARestartInTheMiddleOfATurnKeepsItsList(t *testing.T) {
	tools := demoTools(t)
	store := sessiontest.NewMemory()
	run := func(b []byte) *turn.Plan {
		h := newHarness(t, setup{})
		sessions, err := session.Open(store, func() time.Time { return h.now }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer sessions.Close()
		h.sessions, h.planner.Sessions = sessions, sessions
		return h.plan(b)
	}
	first := run(body(t, tools, "", user("Where is my parcel?")))
	next := run(body(t, tools, "", user("Where is my parcel?"), called("track_parcel"), result()))
	if next.Session != first.Session || !next.Repeated || !slices.Equal(sent(t, next), sent(t, first)) {
		t.Errorf("before the restart %q was sent, after it %q (repeated: %v)", sent(t, first), sent(t, next), next.Repeated)
	}
}

func TestEveryToolIsReachable(t *testing.T) {
	tools := demoTools(t)
	var names []string
	for _, raw := range tools {
		one, _ := catalog.ParseTool([]byte(raw))
		names = append(names, one.Name)
		h := newHarness(t, setup{})
		p := h.plan(body(t, tools, "", user(one.Description)))
		if reason(p, one.Name) == "" {
			t.Errorf("asked for by its own description, %q is not visible; visible are %q", one.Name, p.Order())
		}
	}
	for _, name := range names {
		h := newHarness(t, setup{})
		p := h.plan(body(t, tools, "", user("please use "+name+" now")))
		if reason(p, name) == "" {
			t.Errorf("asked for by its name, %q is not visible; visible are %q", name, p.Order())
		}
	}
}

func TestACoreMatchOpensNoBundle(t *testing.T) {
	tools, ask := demoTools(t), user("Where is my parcel? The tracking number is 1Z999.")
	together := []bundles.Bundle{{Name: "odd", Members: []string{"track_parcel", "generate_image"}}}
	without := newHarness(t, setup{bundles: together}).plan(body(t, tools, "", ask))
	if !slices.Equal(without.BundlePulled, []string{"generate_image"}) {
		t.Fatalf("a match pulled %q of its bundle", without.BundlePulled)
	}
	with := newHarness(t, setup{bundles: together, policy: core("track_parcel")}).plan(body(t, tools, "", ask))
	if len(with.BundlePulled) > 0 || reason(with, "track_parcel") != session.Core {
		t.Errorf("CORE pulled %q", with.BundlePulled)
	}
}

func TestOneEmbedderErrorDoesNotSwitchSelectionOffForTheSession(t *testing.T) {
	tools := demoTools(t)
	fake := embedtest.NewFake("fake", 64)
	h := newHarness(t, setup{builtin: fake})
	first := h.plan(body(t, tools, "", user("send a text message to a person")))
	if first.Fallback != "" {
		t.Fatalf("fallback %q with a healthy embedder", first.Fallback)
	}
	fake.Break(embedtest.Failing)
	messages := []message{user("send a text message to a person"), answer("done"), user("play a song on a loudspeaker")}
	second := h.plan(body(t, tools, "", messages...))
	if second.Fallback != "" || !slices.Equal(sent(t, second), sent(t, first)) {
		t.Errorf("with a list, a failing embedder: fallback %q, sent %q", second.Fallback, sent(t, second))
	}
	fake.Break(embedtest.Healthy)
	messages = append(messages, answer("playing"), user("translate a text between languages"))
	third := h.plan(body(t, tools, "", messages...))
	if third.Fallback != "" {
		t.Errorf("fallback %q after the embedder recovered", third.Fallback)
	}
	wantSent(t, third, "translate_text")
}

func TestWithoutAListAFailingEmbedderShowsEverything(t *testing.T) {
	for _, fault := range embedtest.Faults() {
		t.Run(fault.String(), func(t *testing.T) {
			fake := embedtest.NewFake("fake", 64)
			h := newHarness(t, setup{builtin: fake})
			fake.Break(fault)
			b := body(t, demoTools(t), "", user("send a text message"))
			p := h.plan(b)
			if p.Fallback == "" || &p.Body[0] != &b[0] || len(p.Body) != len(b) {
				t.Errorf("fallback %q; the bytes are the client's own: %v", p.Fallback, bytes.Equal(p.Body, b))
			}
			if len(p.Tools) != 38 {
				t.Errorf("%d tools are visible", len(p.Tools))
			}
			hidden := h.escaped
			h.planner.Observe(p, calls("send_text_message"))
			if len(h.escaped) > len(hidden) {
				t.Error("a call during fallback counts as an escape hatch")
			}
			fake.Break(embedtest.Healthy)
			next := h.plan(body(t, demoTools(t), "", user("send a text message"), answer("done"), user("play a song")))
			if next.Fallback != "" {
				t.Errorf("the next turn is a fallback too: %q", next.Fallback)
			}
		})
	}
}

// TestABadVectorIsAnEmbedderFailure: NaN, zero, short vectors are a failure of the embedder, never "no match".
func TestABadVectorIsAnEmbedderFailure(t *testing.T) {
	for _, fault := range embedtest.Faults() {
		t.Run(fault.String(), func(t *testing.T) {
			neural := embedtest.NewFake("neural", 48)
			h := newHarness(t, setup{neural: direct{neural}, views: []embed.Embedder{neural}})
			both := h.plan(body(t, demoTools(t), "", user("where is my parcel?")))
			if both.Embedder != "builtin+neural" {
				t.Fatalf("embedder %q with both healthy", both.Embedder)
			}
			neural.Break(fault)
			p := h.plan(body(t, demoTools(t), "", user("now: where is my parcel?")))
			if p.Embedder != "builtin" || p.Fallback != "" {
				t.Errorf("embedder %q, fallback %q", p.Embedder, p.Fallback)
			}
			wantSent(t, p, "track_parcel")
		})
	}
}

func TestAnEmbedderOfAnotherDimensionNeitherCrashesNorMixes(t *testing.T) {
	tools := demoTools(t)
	was, is := embedtest.NewFake("neural", 48), embedtest.NewFake("neural", 96)
	h := newHarness(t, setup{neural: direct{is}, views: []embed.Embedder{was}})
	p := h.plan(body(t, tools, "", user("where is my parcel?")))
	if p.Embedder != "builtin" || p.Fallback != "" {
		t.Errorf("embedder %q, fallback %q: vectors of two models were compared", p.Embedder, p.Fallback)
	}
	alone := newHarness(t, setup{}).plan(body(t, tools, "", user("where is my parcel?")))
	if !slices.Equal(sent(t, p), sent(t, alone)) {
		t.Errorf("sent %q, the builtin alone sends %q", sent(t, p), sent(t, alone))
	}
}

func TestAToolGoneFromTheRegistryFreesItsSlot(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{})
	first := h.plan(body(t, tools, "", user("where is my parcel?")))
	wantSent(t, first, "track_parcel")
	fewer := slices.DeleteFunc(slices.Clone(tools), func(raw string) bool { return strings.Contains(raw, `"track_parcel"`) })
	second := h.plan(body(t, fewer, "", user("where is my parcel?"), answer("?"), user("play some music")))
	if reason(second, "track_parcel") != "" || slices.Contains(sent(t, second), "track_parcel") {
		t.Error("a tool that is gone is still visible")
	}
	if s, _ := h.sessions.Get(second.Session); slices.ContainsFunc(s.List, func(v session.Visible) bool { return v.Name == "track_parcel" }) {
		t.Error("a tool that is gone still holds its slot")
	}
	wantSent(t, second, "play_music")
}

func TestUnbundledToolsAndOddSpellingsAreFound(t *testing.T) {
	tools := demoTools(t)
	for _, name := range []string{"clockNow", "clock-now", "clock.now", "CLOCK_NOW", "clockServer__clockNow", "时钟_报时", "clock/now", "HTTPClockNow"} {
		odd := fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":""}}`, name)
		p := newHarness(t, setup{}).plan(body(t, append([]string{odd}, tools...), "", user("use the clock now, 时钟 报时")))
		if reason(p, name) == "" {
			t.Errorf("%q is not visible; visible are %q", name, p.Order())
		}
	}
}

func TestAHiddenCallCountsAndMakesTheToolVisible(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{})
	first := h.plan(body(t, tools, "", user("where is my parcel?")))
	if reason(first, "generate_image") != "" {
		t.Fatalf("generate_image is visible: %q", first.Order())
	}
	h.planner.Observe(first, calls("generate_image", "no_such_tool"))
	if !slices.Equal(h.escaped, []string{"generate_image"}) {
		t.Errorf("escaped %q", h.escaped)
	}
	next := h.plan(body(t, tools, "", user("where is my parcel?"), called("generate_image"), result()))
	if got := sent(t, next); got[len(got)-1] != "generate_image" || !slices.Equal(got[:len(got)-1], sent(t, first)) {
		t.Errorf("after the call %q is sent, before %q", got, sent(t, first))
	}
	if reason(next, "generate_image") != session.Hatch {
		t.Errorf("the reason is %q", reason(next, "generate_image"))
	}
	if s, _ := h.sessions.Get(next.Session); s.Escapes != 1 {
		t.Errorf("%d escapes", s.Escapes)
	}
}

func TestPins(t *testing.T) {
	tools := demoTools(t)
	p := newHarness(t, setup{}).plan(body(t, tools, `"tool_choice":{"type":"function","function":{"name":"generate_image"}},`, user("where is my parcel?")))
	if reason(p, "generate_image") != session.Pin {
		t.Errorf("the named tool is %q", reason(p, "generate_image"))
	}
	history := []message{user("draw a cat"), called("generate_image", "gone_tool"), result(), answer("here"), user("where is my parcel?")}
	p = newHarness(t, setup{}).plan(body(t, tools, "", history...))
	if reason(p, "generate_image") != session.Pin {
		t.Errorf("a tool that the history calls is %q", reason(p, "generate_image"))
	}
}

func TestToolChoice(t *testing.T) {
	tools := demoTools(t)
	none := `"tool_choice":"none",`
	fake := embedtest.NewFake("fake", 64)
	h := newHarness(t, setup{builtin: fake})
	h.plan(body(t, tools, "", user("make the snapshot")))
	calls := fake.Calls()
	b := body(t, tools, none, user("hello"))
	if p := h.plan(b); !bytes.Equal(p.Body, b) || fake.Calls() != calls {
		t.Errorf("none in a new session: untouched %v, %d embeddings", bytes.Equal(p.Body, b), fake.Calls()-calls)
	}
	first := h.plan(body(t, tools, "", user("send an email")))
	calls = fake.Calls()
	second := h.plan(body(t, tools, none, user("send an email"), answer("ok"), user("play a song on a loudspeaker")))
	if !slices.Equal(sent(t, second), sent(t, first)) || fake.Calls() != calls {
		t.Errorf("none in a session with a list: sent %q, was %q, %d embeddings", sent(t, second), sent(t, first), fake.Calls()-calls)
	}
	for _, choice := range []string{"required", "auto"} {
		p := newHarness(t, setup{}).plan(body(t, tools, `"tool_choice":"`+choice+`",`, user("qwertyuiop")))
		if len(sent(t, p)) == 0 || len(sent(t, p)) == 38 {
			t.Errorf("%s: %d tools are sent", choice, len(sent(t, p)))
		}
	}
}

func TestSeedIsShownWhereNothingElseIs(t *testing.T) {
	tools := demoTools(t)
	p := newHarness(t, setup{}).plan(body(t, tools, "", message{"role": "user", "content": "", "images": []string{"aGk="}}))
	if got := p.Order(); !slices.Equal(got, []string{"send_email", "search_email", "read_file"}) || len(p.Admitted) > 0 || reason(p, "read_file") != session.Seed {
		t.Errorf("seed %q, admitted %q", got, p.Admitted)
	}
}

func TestSmallArraysGoAsTheyAre(t *testing.T) {
	b := body(t, demoTools(t)[:5], "", user("where is my parcel?"))
	if p := newHarness(t, setup{}).plan(b); &p.Body[0] != &b[0] || p.Fallback != "small array" {
		t.Errorf("fallback %q, sent %q", p.Fallback, sent(t, p))
	}
}

func TestModeOffSendsEverything(t *testing.T) {
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Off = "memory off" }})
	if p := h.plan(b); &p.Body[0] != &b[0] || p.Fallback != "memory off" {
		t.Errorf("fallback %q, sent %q", p.Fallback, sent(t, p))
	}
}

func TestAFallbackEndsWithTheSettingThatCausedIt(t *testing.T) {
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	off := newHarness(t, setup{policy: func(p *turn.Policy) { p.Off = "mode off" }})
	off.plan(b)
	on := newHarness(t, setup{})
	on.planner.Sessions = off.sessions
	if p := on.plan(b); p.Fallback != "" || len(sent(t, p)) == 38 {
		t.Errorf("with the mode on again: fallback %q, %d tools sent", p.Fallback, len(sent(t, p)))
	}
}

func TestShadowModePlansAndSendsTheClientsBytes(t *testing.T) {
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	p := newHarness(t, setup{policy: func(p *turn.Policy) { p.Shadow = true }}).plan(b)
	if !bytes.Equal(p.Body, b) || len(p.Tools) >= 38 || p.Fallback != "" {
		t.Errorf("untouched %v, %d tools planned, fallback %q", bytes.Equal(p.Body, b), len(p.Tools), p.Fallback)
	}
}

// recalls is a turn.Skills that always recalls one procedure.
type recalls []string

func (r recalls) Recall(skills.QueryVectors, func(string) bool) []skills.Recalled {
	return []skills.Recalled{{Procedure: skills.Procedure{Name: "job", ToolsRequired: r}}}
}

func TestASkillBringsItsTools(t *testing.T) {
	h := newHarness(t, setup{skills: recalls{"generate_image", "gone", "run_unit_tests"}})
	p := h.plan(body(t, demoTools(t), "", user("where is my parcel?")))
	if !slices.Equal(p.Skill, []string{"generate_image", "run_unit_tests"}) {
		t.Errorf("skill tools %q", p.Skill)
	}
}

func TestTwinsStayTogetherAndOtherTypesKeepTheirPlace(t *testing.T) {
	tools := demoTools(t)
	twin := func(d string) string {
		return `{"type":"function","function":{"name":"parcel_twin","description":"track a parcel ` + d + `"}}`
	}
	tools = append([]string{`{"type":"web_search"}`, twin("one")}, append(tools, twin("two"))...)
	h := newHarness(t, setup{})
	p := h.plan(body(t, tools, "", user("track a parcel")))
	got := sent(t, p)
	i := slices.Index(got, "parcel_twin")
	if got[0] != "web_search" || i < 0 || i+1 >= len(got) || got[i+1] != "parcel_twin" {
		t.Errorf("sent %q", got)
	}
	next := h.plan(body(t, tools, "", user("track a parcel"), answer("ok"), user("play music on a loudspeaker")))
	if !slices.Equal(sent(t, next)[:len(got)], got) {
		t.Errorf("the next turn moved something: %q, then %q", got, sent(t, next))
	}
}

func TestABudgetShrinksTheList(t *testing.T) {
	tools := demoTools(t)
	ask := user("Send an email, translate a text, play a song, and find a recipe for dinner.")
	wide := newHarness(t, setup{}).plan(body(t, tools, "", ask))
	narrow := newHarness(t, setup{}).plan(body(t, tools, `"options":{"num_ctx":1024},`, ask))
	if len(narrow.Tools) == 0 || len(narrow.Tools) >= len(wide.Tools) {
		t.Errorf("%d tools in 1,024 tokens, %d without a limit", len(narrow.Tools), len(wide.Tools))
	}
}

func TestFiveHundredToolsAtOnce(t *testing.T) {
	var tools []string
	for i := range 500 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"svc%02d__op%d","description":"Operation %d of service %d for invoices"}}`, i/10, i%10, i%10, i/10))
	}
	tools = append(tools, demoTools(t)...)
	p := newHarness(t, setup{}).plan(body(t, tools, "", user("Turn the heating in the living room up to 21 degrees.")))
	wantSent(t, p, "set_thermostat")
	if len(p.Tools) > 14 {
		t.Errorf("%d tools", len(p.Tools))
	}
}

func TestTheLastSentenceOfAVeryLongMessageDecides(t *testing.T) {
	var long strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&long, "Please go through line %d and tell me what is wrong. ", i)
	}
	long.WriteString("Now turn the heating in the living room up to 21 degrees.")
	p := newHarness(t, setup{}).plan(body(t, demoTools(t), "", user(long.String())))
	wantSent(t, p, "set_thermostat")
}

func TestThreeAlternatingTopicsDoNotChangeTheListOnEveryTurn(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{policy: core("get_current_time", "web_search", "read_file", "save_note", "set_reminder")})
	topics := []string{"Where is my parcel? The tracking number is 1Z999.", "Turn the heating in the living room up to 21 degrees.", "Translate this letter into French."}
	var messages []message
	changes := 0
	for turn := range 24 {
		messages = append(messages, user(topics[turn%3]))
		p := h.plan(body(t, tools, "", messages...))
		if turn >= 3 && len(p.Admitted)+len(p.Evicted) > 0 {
			changes++
		}
		messages = append(messages, answer("Done."))
	}
	if changes > 2 {
		t.Errorf("the list changed on %d of the 21 turns after each topic had come once", changes)
	}
}

func TestAListIsNotChangedForAMatchFarBelowTheBest(t *testing.T) {
	tools := demoTools(t)
	conversation := []message{user("Where is my parcel? The tracking number is 1Z999."), answer("It comes tomorrow."), user("Turn the heating in the living room up to 21 degrees.")}
	loose := newHarness(t, setup{policy: func(p *turn.Policy) { p.Newcomer = 0 }})
	strict := newHarness(t, setup{})
	var admitted [2]int
	for i, h := range []*harness{loose, strict} {
		h.plan(body(t, tools, "", conversation[0]))
		p := h.plan(body(t, tools, "", conversation...))
		wantSent(t, p, "set_thermostat")
		admitted[i] = len(p.Admitted)
	}
	if admitted[1] >= admitted[0] {
		t.Errorf("%d tools entered the list, %d without the rule", admitted[1], admitted[0])
	}
}

func TestConversationsOfOneAppShareTheirCore(t *testing.T) {
	tools := demoTools(t)
	h := newHarness(t, setup{})
	for i := range 3 {
		p := h.plan(body(t, tools, "", user(fmt.Sprintf("conversation %d: where is my parcel?", i))))
		h.planner.Observe(p, calls("track_parcel"))
	}
	h.now = h.now.Add(time.Hour)
	p := h.plan(body(t, tools, "", user("what is on television?")))
	if reason(p, "track_parcel") != session.Core || p.Order()[0] != "track_parcel" {
		t.Errorf("the most used tool is %q in %q", reason(p, "track_parcel"), p.Order())
	}
}
