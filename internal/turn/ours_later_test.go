package turn_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
)

// ended lets an answer of words alone end.
func (h *harness) ended(p *turn.Plan, text string) {
	o := calls()
	o.Text, o.Usage.Done = text, true
	h.planner.Observe(p, o)
}

// TestAnAppTakesANameOfOurs: from when the app has a tool of that name, it is the app's.
func TestAnAppTakesANameOfOurs(t *testing.T) {
	const mine = `{"type":"function","function":{"name":"load_tools","description":"loads the workshop's tools into the van","parameters":{"type":"object","properties":{"van":{"type":"string"}}}}}`
	h := newHarness(t, setup{})
	p := h.proxied(body(t, demoTools(t), "", user("send an email to Ann that I am late")))
	if !slices.Contains(p.Own, "load_tools") {
		t.Fatalf("ours are %q", p.Own)
	}
	h.ended(p, "Done.")
	p = h.proxied(body(t, append(demoTools(t), mine), "", user("send an email to Ann that I am late"), answer("Done."), user("load the tools into the van with load_tools")))
	if n := strings.Count(array(p), `"load_tools"`); n != 1 || !strings.Contains(array(p), "the van") || slices.Contains(p.Own, "load_tools") {
		t.Fatalf("ours are %q, and the array has %d: %q", p.Own, n, sent(t, p))
	}
	f := chat.NewFilter(chat.Ollama, "application/x-ndjson", p.Filter())
	const call = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"load_tools","arguments":{"van":"x"}}}]},"done":false}` + "\n"
	if out := f.Write(nil, []byte(call)); string(out) != call {
		t.Errorf("of the app's own call comes %q", out)
	}
}

// TestWhatIsHiddenCanAlwaysBeAskedFor, also where nothing was hidden when the list was made, and after an answer in which the model has asked too often.
func TestWhatIsHiddenCanAlwaysBeAskedFor(t *testing.T) {
	tools := demoTools(t)
	ask := []message{user("send an email to Ann that I am late"), answer("Done."), user("what is the weather in Paris")}
	t.Run("more tools", func(t *testing.T) {
		var core []string
		for _, tool := range tools[:10] {
			core = append(core, gjson.Get(tool, "function.name").String())
		}
		h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Core, p.SmallTokens = core, 500 }})
		p := h.proxied(body(t, tools[:10], "", ask[0]))
		if len(p.Own) > 0 {
			t.Fatalf("nothing is hidden, and ours are %q", p.Own)
		}
		h.ended(p, "Done.")
		if p = h.proxied(body(t, tools, "", ask...)); len(sent(t, p)) > len(tools) || !slices.Contains(p.Own, "load_tools") {
			t.Errorf("%d of %d, ours are %q", len(sent(t, p)), len(tools), p.Own)
		}
	})
	for name, policy := range map[string]func(*turn.Policy){"asked too often": nil, "asked too often, late": late} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, setup{policy: policy})
			p := h.proxied(body(t, tools, "", ask[0]))
			bridged := slices.Contains(p.Own, "call_tool")
			for asked := range 4 {
				round := held("load_tools", `{"name":"nothing such"}`)
				round.Asked, round.Last = asked, asked == 3
				p = h.again(p, round)
			}
			if slices.Contains(p.Own, "load_tools") || len(sent(t, p))-len(p.Own) != len(tools) {
				t.Fatalf("at last %d of %d, ours are %q", len(sent(t, p)), len(tools), p.Own)
			}
			h.ended(p, "Done.")
			p = h.proxied(body(t, tools, "", ask...))
			if hidden := len(sent(t, p))-len(p.Own) < len(tools); hidden != slices.Contains(p.Own, "load_tools") || bridged != slices.Contains(p.Own, "call_tool") {
				t.Errorf("%d of %d, ours are %q", len(sent(t, p)), len(tools), p.Own)
			}
		})
	}
}

// TestOurToolsStayWhereTheyWere when a tool of CORE comes later, and go behind nothing where what they stood behind is gone.
func TestOurToolsStayWhereTheyWere(t *testing.T) {
	tools := demoTools(t)
	name := func(i int) string { return gjson.Get(tools[i], "function.name").String() }
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Core = []string{name(0), name(37)} }})
	messages := []message{user("send an email to Ann that I am late")}
	p := h.proxied(body(t, tools[:37], "", messages...))
	before := sent(t, p)
	if before[0] != name(0) || before[1] != "load_tools" {
		t.Fatalf("the array is %q", before)
	}
	h.ended(p, "Done.")
	messages = append(messages, answer("Done."), user("thanks"))
	p = h.proxied(body(t, tools, "", messages...))
	if after := sent(t, p); len(after) <= len(before) || !slices.Equal(before, after[:len(before)]) {
		t.Errorf("the array was %q, and is %q", before, after)
	}
	h.ended(p, "Bye.")
	p = h.proxied(body(t, tools[1:], "", append(messages, answer("Bye."), user("bye"))...))
	if after := sent(t, p); after[0] != "load_tools" {
		t.Errorf("without the first tool the array is %q", after)
	}
}

// TestAMessageThatIsAlwaysTheLast: an app that ends each request with the same words has not said them where the model called.
func TestAMessageThatIsAlwaysTheLast(t *testing.T) {
	last := message{"role": "system", "content": "Stay in character."}
	h := newHarness(t, setup{})
	round := held("load_tools", `{"name":"get_weather"}`)
	round.Text = "Let me see. "
	p := h.again(h.proxied(body(t, demoTools(t), "", user("send an email to Ann that I am late"), last)), round)
	h.ended(p, "Done.")
	p = h.proxied(body(t, demoTools(t), "", user("send an email to Ann that I am late"), answer("Let me see. Done."), user("thanks, bye"), last))
	messages := gjson.GetBytes(p.Body, "messages").Array()
	if end := messages[len(messages)-1]; end.Get("content").String() != "Stay in character." || strings.Count(string(p.Body), "Let me see.") != 1 {
		t.Errorf("the messages are %s", gjson.GetBytes(p.Body, "messages").Raw)
	}
}

// TestShowingEverythingOfALargeArray keeps to the budget, and takes no longer than the array is long.
func TestShowingEverythingOfALargeArray(t *testing.T) {
	var tools []string
	for i := range 5000 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"server%d__do_thing_%d","description":"does thing %d of many","parameters":{"type":"object","properties":{"x":{"type":"string"}}}}}`, i%40, i, i))
	}
	for extra, least := range map[string]int{"": 5000, `"options":{"num_ctx":32768},`: 100} {
		h := newHarness(t, setup{})
		round := held("load_tools", `{"name":"nothing such"}`)
		round.Asked, round.Last = 3, true
		p := h.again(h.proxied(body(t, tools, extra, user("do thing 7"))), round)
		if n := len(sent(t, p)); n < least || extra != "" && n == len(tools) {
			t.Errorf("%q: %d of %d", extra, n, len(tools))
		}
	}
}

// TestTurnsKeepNoArrays: what is remembered of turns for outcomes that are told later is no copy of what apps send.
func TestTurnsKeepNoArrays(t *testing.T) {
	h := newHarness(t, setup{})
	var tools []string
	for i := range 1000 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"do_thing_%d","description":"does thing %d %s","parameters":{}}}`, i, i, strings.Repeat("of the many ", 80)))
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var before int64
	for i := range 51 {
		h.ended(h.plan(body(t, tools, "", user(fmt.Sprintf("do thing %d", i)))), "Done.")
		if h.planned = nil; i == 0 {
			before = heap()
		}
	}
	if grown := heap() - before; grown > 15<<20 {
		t.Errorf("50 turns with an array of a megabyte keep %d MB", grown>>20)
	}
	runtime.KeepAlive(h)
}

// TestAnEngineThatRefusesWhatIsOurs sees nothing more of it in this conversation: neither what was asked for nor tools to ask by.
func TestAnEngineThatRefusesWhatIsOurs(t *testing.T) {
	for name, policy := range map[string]func(*turn.Policy){"append": nil, "late": late} {
		for _, refused := range []bool{false, true} {
			h := newHarness(t, setup{policy: policy})
			messages := []message{user("send an email to Ann that I am late")}
			p := h.again(h.proxied(body(t, demoTools(t), "", messages...)), held("load_tools", `{"name":"generate_image"}`))
			o := calls()
			o.Text, o.Usage.Done, o.Unread, o.Foreign, o.Refused = "Done.", true, true, true, refused
			h.planner.Observe(p, o)
			for range 2 {
				messages = append(messages, answer("Done."), user("draw a cat"))
				p = h.proxied(body(t, demoTools(t), "", messages...))
				h.ended(p, "Done.")
				said := gjson.GetBytes(p.Body, "messages").Raw
				if len(p.Own) > 0 || strings.Contains(array(p), "load_tools") || strings.Contains(said, `"tool`) || len(gjson.Parse(said).Array()) != len(messages) {
					t.Errorf("%s: ours are %q, the messages %s", name, p.Own, said)
				}
				if n := len(sent(t, p)); n == 0 || n >= len(demoTools(t)) || !slices.Contains(sent(t, p), "generate_image") {
					t.Errorf("%s: the array is %q", name, sent(t, p))
				}
			}
		}
	}
}

// TestCoreThatNobodyHas: a name of CORE that no array has had is said, once there was an array.
func TestCoreThatNobodyHas(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Core = []string{"play_music", "send_mial", "other"} }})
	if unmet := h.planner.UnmetCore(); len(unmet) > 0 {
		t.Errorf("before any request: %q", unmet)
	}
	h.plan(body(t, demoTools(t), "", user("hi")))
	if unmet := h.planner.UnmetCore(); !slices.Equal(unmet, []string{"send_mial", "other"}) {
		t.Errorf("after one: %q", unmet)
	}
	h.plan(body(t, append(demoTools(t), `{"type":"function","function":{"name":"other"}}`), "", user("hi there")))
	if unmet := h.planner.UnmetCore(); !slices.Equal(unmet, []string{"send_mial"}) {
		t.Errorf("after another: %q", unmet)
	}
}
