package turn_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// proxied plans and commits a request of a caller who can answer calls of our tools.
func (h *harness) proxied(b []byte) *turn.Plan {
	h.t.Helper()
	r := request(h.t, b)
	r.Answers = true
	p, err := h.planner.Plan(context.Background(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.planner.Commit(p)
	return p
}

// again plans and commits the next round.
func (h *harness) again(p *turn.Plan, r turn.Round) *turn.Plan {
	h.t.Helper()
	next, err := h.planner.Again(context.Background(), p, r)
	if err != nil {
		h.t.Fatal(err)
	}
	if next != nil {
		h.planner.Commit(next)
	}
	return next
}

// held is a round that called one of our tools.
func held(name, arguments string) turn.Round {
	return turn.Round{Verdict: chat.Verdict{Held: []chat.HiddenCall{{Name: name, Arguments: []byte(arguments)}}}}
}

func array(p *turn.Plan) string { return gjson.GetBytes(p.Body, "tools").Raw }

func TestLoadToolsStandsBehindCore(t *testing.T) {
	h := newHarness(t, setup{policy: core("play_music", "set_volume")})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	got := sent(t, first)
	if len(got) < 3 || got[0] != "play_music" || got[1] != "set_volume" || got[2] != "load_tools" {
		t.Fatalf("sent are %q; want CORE, then load_tools", got)
	}
	second := h.proxied(body(t, demoTools(t), "", user("where is my parcel?"), answer("on its way"), user("thanks")))
	if array(second) != array(first) {
		t.Errorf("the array changed:\n%s\n%s", array(first), array(second))
	}
}

func TestLoadToolsIsLeftOut(t *testing.T) {
	tools := demoTools(t)
	own := append(slices.Clone(tools), `{"type":"function","function":{"name":"load_tools","description":"of the app"}}`)
	for _, c := range []struct {
		name    string
		policy  func(*turn.Policy)
		tools   []string
		answers bool
		count   int // of load_tools in the array
	}{
		{"the caller cannot answer", nil, tools, false, 0},
		{"switched off", func(p *turn.Policy) { p.LoadTools = false }, tools, true, 0},
		{"a fallback", func(p *turn.Policy) { p.Off = "mode off" }, tools, true, 0},
		{"a small array", nil, tools[:3], true, 0},
		{"the app has one", core("load_tools"), own, true, 1},
		{"otherwise", nil, tools, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, setup{policy: c.policy})
			r := request(t, body(t, c.tools, "", user("where is my parcel?")))
			r.Answers = c.answers
			p, err := h.planner.Plan(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(p.Body), `"name":"load_tools"`); n != c.count {
				t.Errorf("load_tools is there %d times, want %d: %q", n, c.count, sent(t, p))
			}
			if (len(p.Own) > 0) != (c.count == 1 && c.name == "otherwise") {
				t.Errorf("the plan says that ours are %q", p.Own)
			}
		})
	}
}

// TestACallerWhoCannotAnswerThisTime: the conversation's next request has ours no more, nor what belongs to them, and the one after it has them again.
func TestACallerWhoCannotAnswerThisTime(t *testing.T) {
	for name, policy := range map[string]func(*turn.Policy){"append": nil, "late": func(p *turn.Policy) { p.Strategy = kvcache.Late }} {
		for _, choice := range []string{"", `"tool_choice":"none",`} {
			t.Run(name+choice, func(t *testing.T) {
				h := newHarness(t, setup{policy: policy})
				messages := []message{user("where is my parcel?")}
				h.again(h.proxied(body(t, demoTools(t), "", messages...)), held("load_tools", `{"name":"generate_image"}`))
				messages = append(messages, answer("on its way"), user("thanks"))
				alone := h.plan(body(t, demoTools(t), choice, messages...))
				if len(alone.Own) > 0 || strings.Contains(string(alone.Body), "load_tools") || strings.Contains(string(alone.Body), "call_tool") {
					t.Errorf("ours are %q in %s", alone.Own, alone.Body)
				}
				wantSent(t, alone, "generate_image")
				messages = append(messages, answer("welcome"), user("what is the weather in Porto?"))
				if p := h.proxied(body(t, demoTools(t), "", messages...)); !slices.Contains(p.Own, "load_tools") {
					t.Errorf("ours are %q later on", p.Own)
				}
			})
		}
	}
}

// TestABreakOfOursIsNotTheModels: the engine reads what the model said, without the empty line that the app was sent between two rounds; one of the model's own stays.
func TestABreakOfOursIsNotTheModels(t *testing.T) {
	for _, c := range []struct {
		kept   string
		joined bool
		want   string // behind the hidden turn
	}{
		{"I look.\n\nHere.", true, "Here."},
		{"I look.\n\nHere.", false, "\n\nHere."},
		{"I look.\n\n\n\nHere.", true, "\n\nHere."},
		{"I look.Here.", true, "Here."},
	} {
		h := newHarness(t, setup{})
		messages := []message{user("where is my parcel?")}
		round := held("load_tools", `{"name":"generate_image"}`)
		round.Text = "I look."
		next := h.again(h.proxied(body(t, demoTools(t), "", messages...)), round)
		h.planner.Observe(next, turn.Outcome{Text: "I look.Here.", Joined: c.joined, Usage: chat.Usage{Done: true}})
		later := h.proxied(body(t, demoTools(t), "", append(messages, answer(c.kept), user("thanks"))...))
		read := gjson.GetBytes(later.Body, "messages.#.content").Array()
		if len(read) != 5 || read[1].Str != "I look." || read[3].Str != c.want {
			t.Errorf("%q, joined %v: the engine reads %v, want %q behind the hidden turn", c.kept, c.joined, read, c.want)
		}
	}
}

func TestToolSearchComesWithLargeCatalogs(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.ToolSearch = 37 }})
	if p := h.proxied(body(t, demoTools(t), "", user("where is my parcel?"))); !slices.Equal(p.Own, []string{"load_tools", "tool_search"}) {
		t.Errorf("ours are %q", p.Own)
	}
}

func TestWhatIsAskedForIsVisible(t *testing.T) {
	for _, c := range []struct{ name, tool, arguments string }{
		{"by name", "load_tools", `{"name":"generate_image"}`},
		{"nearly", "load_tools", `{"name":"Generate Image"}`},
		{"by words", "tool_search", `{"query":"generate image"}`},
		{"by a list", "tool_search", `{"query":"select:generate_image"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, setup{policy: func(p *turn.Policy) { p.ToolSearch = 1; p.MaxTools = 4; p.Overflow = 0 }})
			messages := []message{user("where is my parcel?")}
			first := h.proxied(body(t, demoTools(t), "", messages...))
			if slices.Contains(sent(t, first), "generate_image") {
				t.Fatal("it is visible already")
			}
			next := h.again(first, held(c.tool, c.arguments))
			wantSent(t, next, "generate_image")
			hidden := gjson.GetBytes(next.Body, "messages").Array()
			if len(hidden) != 3 || hidden[1].Get("tool_calls.0.function.name").String() != c.tool || !strings.Contains(hidden[2].Get("content").String(), "generate_image") {
				t.Fatalf("the hidden turn is %s", gjson.GetBytes(next.Body, "messages").Raw)
			}
			if before := sent(t, first); !slices.Equal(sent(t, next)[:len(before)], before) {
				t.Errorf("what was there has moved: %q, then %q", before, sent(t, next))
			}
			h.planner.Observe(next, calls("generate_image"))
			if len(h.escaped) > 0 {
				t.Errorf("a tool that was loaded counts as an escape: %q", h.escaped)
			}

			// The app's next request does not know of the hidden turn, and the engine sees it all the same.
			messages = append(messages, called("generate_image"), result())
			later := h.proxied(body(t, demoTools(t), "", messages...))
			if array(later) != array(next) {
				t.Errorf("the array changed")
			}
			begin := gjson.GetBytes(next.Body, "messages").Raw
			if got := gjson.GetBytes(later.Body, "messages").Raw; !strings.HasPrefix(got, strings.TrimSuffix(begin, "]")) {
				t.Errorf("the messages do not begin as they did:\n%s\n%s", begin, got)
			}
			state, _ := h.sessions.Get(later.Session)
			if state.Loads != 1 {
				t.Errorf("%d loads are counted", state.Loads)
			}
		})
	}
}

func TestWhatWasSaidBeforeAHiddenCallIsSaidOnce(t *testing.T) {
	h := newHarness(t, setup{})
	messages := []message{user("where is my parcel?")}
	first := h.proxied(body(t, demoTools(t), "", messages...))
	round := held("load_tools", `{"name":"generate_image"}`)
	round.Text = "Let me look. "
	next := h.again(first, round)
	if got := gjson.GetBytes(next.Body, "messages.1.content").String(); got != "Let me look. " {
		t.Errorf("the model is said to have said %q before its call", got)
	}
	messages = append(messages, answer("Let me look. It is on its way."), user("thanks"))
	later := h.proxied(body(t, demoTools(t), "", messages...))
	var said []string
	for _, m := range gjson.GetBytes(later.Body, "messages").Array() {
		if m.Get("role").String() == "assistant" {
			said = append(said, m.Get("content").String())
		}
	}
	if !slices.Equal(said, []string{"Let me look. ", "It is on its way."}) {
		t.Errorf("the model is said to have said %q", said)
	}
}

func TestAHiddenTurnWhoseMessageIsGoneIsDropped(t *testing.T) {
	h := newHarness(t, setup{})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?"), answer("a"), user("and my letter?")))
	next := h.again(first, held("load_tools", `{"name":"generate_image"}`))
	h.planner.Observe(next, calls())
	edited := h.proxied(body(t, demoTools(t), "", user("where is my parcel?"), answer("another"), user("and my letter, please?")))
	if strings.Contains(string(edited.Body), `"tool_calls"`) {
		t.Errorf("the hidden turn is put where it does not belong: %s", gjson.GetBytes(edited.Body, "messages").Raw)
	}
}

func TestUnknownNamesAreAnswered(t *testing.T) {
	h := newHarness(t, setup{})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	for _, arguments := range []string{`{"name":"no_such_thing_at_all"}`, `{}`, `broken`, ``, `[1]`} {
		next := h.again(first, held("load_tools", arguments))
		text := gjson.GetBytes(next.Body, "messages.2.content").String()
		if text == "" || strings.Contains(text, "can call these tools now") {
			t.Errorf("%q is answered %q", arguments, text)
		}
	}
}

func TestTheModelAsksTooOften(t *testing.T) {
	h := newHarness(t, setup{})
	p := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	for asked := range 3 {
		r := held("load_tools", fmt.Sprintf(`{"name":"nothing %d"}`, asked))
		r.Asked = asked
		p = h.again(p, r)
	}
	r := held("load_tools", `{"name":"nothing"}`)
	r.Asked, r.Last = 3, true
	p = h.again(p, r)
	if n := len(sent(t, p)); n != 38 || len(p.Own) != 0 {
		t.Errorf("%d tools are sent, ours are %q; want all 38 of the app's", n, p.Own)
	}
}

// TestADroppedCallIsGuessed: an engine that drops calls of names it was not told of answers with nothing.
func TestADroppedCallIsGuessed(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.MaxTools, p.Overflow = 3, 0 }})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	empty := turn.Round{Verdict: chat.Verdict{Empty: true}}
	next := h.again(first, empty)
	before, after := sent(t, first), sent(t, next)
	if len(after)-len(before) != 6 || !slices.Equal(after[:len(before)], before) {
		t.Errorf("after %q come %q", before, after)
	}
	empty.Asked = 1
	if more := h.again(next, empty); more != nil {
		t.Error("it guesses twice")
	}
}

func TestACallWrittenAsTextMakesItsToolVisible(t *testing.T) {
	h := newHarness(t, setup{})
	messages := []message{user("where is my parcel?")}
	first := h.proxied(body(t, demoTools(t), "", messages...))
	h.planner.Observe(first, turn.Outcome{Text: `I will call {"name": "generate_image", "arguments": {}} or {"name":"unknown"}`})
	if !slices.Equal(h.escaped, []string{"generate_image"}) {
		t.Errorf("escaped: %q", h.escaped)
	}
	wantSent(t, h.proxied(body(t, demoTools(t), "", append(messages, answer("hm"), user("and now?"))...)), "generate_image")
}

func TestAskedForBesideRealCalls(t *testing.T) {
	h := newHarness(t, setup{})
	messages := []message{user("where is my parcel?")}
	first := h.proxied(body(t, demoTools(t), "", messages...))
	o := calls("track_parcel")
	o.Held = []chat.HiddenCall{{Name: "load_tools", Arguments: []byte(`{"name":"generate_image"}`)}}
	h.planner.Observe(first, o)
	next := h.proxied(body(t, demoTools(t), "", append(messages, called("track_parcel"), result())...))
	wantSent(t, next, "generate_image")
	if state, _ := h.sessions.Get(next.Session); state.Loads != 1 || state.Escapes != 0 {
		t.Errorf("%d loads, %d escapes", state.Loads, state.Escapes)
	}
}

func late(p *turn.Policy) { p.Strategy, p.Core = kvcache.Late, []string{"play_music"} }

func TestLate(t *testing.T) {
	h := newHarness(t, setup{policy: late})
	tools := demoTools(t)
	messages := []message{user("where is my parcel?")}
	first := h.proxied(body(t, tools, "", messages...))
	if !slices.Contains(sent(t, first), "call_tool") {
		t.Fatalf("sent are %q; there is no bridge", sent(t, first))
	}
	messages = append(messages, answer("on its way"), user("generate an image of a cat"))
	second := h.proxied(body(t, tools, "", messages...))
	if array(second) != array(first) {
		t.Errorf("the array changed:\n%s\n%s", array(first), array(second))
	}
	if reason(second, "generate_image") == "" {
		t.Fatalf("visible are %q", second.Order())
	}
	noted := gjson.GetBytes(second.Body, "messages.2.content").String()
	if !strings.HasPrefix(noted, "generate an image of a cat") || !strings.Contains(noted, "\ngenerate_image(prompt: string") {
		t.Errorf("the newest message is %q", noted)
	}

	// The app calls the tool by its own name; the engine is told of the call that the model made.
	messages = append(messages, called("generate_image"), result())
	third := h.proxied(body(t, tools, "", messages...))
	if array(third) != array(first) || gjson.GetBytes(third.Body, "messages.2.content").String() != noted {
		t.Error("what was there has changed")
	}
	if call := gjson.GetBytes(third.Body, "messages.3.tool_calls.0.function"); call.Get("name").String() != "call_tool" || call.Get("arguments.name").String() != "generate_image" {
		t.Errorf("the call in the history is %s", call.Raw)
	}
	h.planner.Observe(third, turn.Outcome{Called: []chat.Call{{Name: "generate_image", Bridged: true}}})
	if len(h.escaped) > 0 {
		t.Errorf("escaped: %q", h.escaped)
	}

	repeated := h.proxied(body(t, tools, "", messages...))
	if !bytes.Equal(repeated.Body, third.Body) {
		t.Error("a repeated request gets other bytes")
	}

	named := h.proxied(body(t, tools, `"tool_choice":{"type":"function","function":{"name":"compress_folder"}},`, append(messages, answer("there"), user("go on"))...))
	if slices.ContainsFunc(tools, func(s string) bool { return strings.Contains(s, `"compress_folder"`) }) {
		wantSent(t, named, "compress_folder")
	}
}

func TestLateTextWhoseMessageIsGone(t *testing.T) {
	h := newHarness(t, setup{policy: late})
	tools := demoTools(t)
	h.proxied(body(t, tools, "", user("where is my parcel?")))
	h.proxied(body(t, tools, "", user("where is my parcel?"), answer("a"), user("generate an image of a cat")))
	// The app has compacted its history: the message that held the text is another one now.
	r := request(t, body(t, tools, "", message{"role": "user", "content": "where is my parcel?"}, answer("a"),
		message{"role": "user", "content": []any{map[string]any{"type": "text", "text": "generate an image of a cat"}, map[string]any{"type": "text", "text": "!"}}}))
	r.Answers = true
	r.Identity.Chain = request(t, body(t, tools, "", user("where is my parcel?"), answer("a"), user("generate an image of a cat"))).Identity.Chain
	p, err := h.planner.Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	wantSent(t, p, "generate_image")
	if strings.Contains(gjson.GetBytes(p.Body, "messages").Raw, "call_tool") {
		t.Error("the text is still told")
	}
}

func TestALoadedToolComesLateToo(t *testing.T) {
	h := newHarness(t, setup{policy: late})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	next := h.again(first, held("load_tools", `{"name":"generate_image"}`))
	if array(next) != array(first) {
		t.Error("the array changed")
	}
	if text := gjson.GetBytes(next.Body, "messages.2.content").String(); !strings.Contains(text, "\ngenerate_image(prompt: string") {
		t.Errorf("the answer does not define the tool: %q", text)
	}
	if reason(next, "generate_image") != session.Hatch {
		t.Errorf("its reason is %q", reason(next, "generate_image"))
	}
}

func TestAllIsAFallback(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Strategy = kvcache.All }})
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	if p := h.proxied(b); p.Fallback != "strategy all" || &p.Body[0] != &b[0] {
		t.Errorf("fallback %q", p.Fallback)
	}
}

// TestAFrozenListChangesForNothingButNeed: tools that match do not enter it, tools that are called do.
func TestAFrozenListChangesForNothingButNeed(t *testing.T) {
	h := newHarness(t, setup{policy: func(p *turn.Policy) { p.Strategy = kvcache.Frozen }})
	messages := []message{user("where is my parcel?")}
	first := h.proxied(body(t, demoTools(t), "", messages...))
	messages = append(messages, answer("a"), user("generate an image of a cat"))
	second := h.proxied(body(t, demoTools(t), "", messages...))
	if array(second) != array(first) {
		t.Errorf("it changed from %q to %q", sent(t, first), sent(t, second))
	}
	h.planner.Observe(second, calls("generate_image"))
	wantSent(t, h.proxied(body(t, demoTools(t), "", append(messages, called("generate_image"), result())...)), "generate_image")
}

func TestAhead(t *testing.T) {
	tools := demoTools(t)
	system := message{"role": "system", "content": "You help."}
	h := newHarness(t, setup{policy: core("play_music", "set_volume")})
	p := h.proxied(body(t, tools, `"keep_alive":"1h","options":{"num_ctx":8192},`, system, user("where is my parcel?")))
	begin, ok := p.Begin()
	if !ok || begin.Spoken || strings.Contains(string(begin.Body), "parcel?") {
		t.Fatalf("what the next conversation begins with: %v, spoken %v, %s", ok, begin.Spoken, begin.Body)
	}
	var names []string
	for _, tool := range gjson.GetBytes(begin.Body, "tools").Array() {
		names = append(names, tool.Get("function.name").String())
	}
	if !slices.Equal(names, []string{"play_music", "set_volume", "load_tools"}) {
		t.Errorf("tools %q", names)
	}
	if gjson.GetBytes(begin.Body, "options").Raw != `{"num_ctx":8192,"num_predict":1}` || gjson.GetBytes(begin.Body, "keep_alive").Exists() || gjson.GetBytes(begin.Body, "stream").Raw != "false" {
		t.Errorf("the request is %s", begin.Body)
	}
	if !strings.HasPrefix(array(p), strings.TrimSuffix(gjson.GetBytes(begin.Body, "tools").Raw, "]")) {
		t.Error("the array does not begin as the conversation's")
	}
	next, ok := p.Next()
	if !ok || gjson.GetBytes(next.Body, "messages").Raw != gjson.GetBytes(p.Body, "messages").Raw || gjson.GetBytes(next.Body, "tools").Raw != array(p) {
		t.Errorf("the conversation itself: %v, %s", ok, next.Body)
	}
	if again, _ := h.proxied(body(t, tools, `"keep_alive":"1h","options":{"num_ctx":8192},`, system, user("play a song"))).Begin(); again.Key != begin.Key {
		t.Error("another conversation of the app begins otherwise")
	}
	h = newHarness(t, setup{policy: func(p *turn.Policy) { p.Shadow = true }})
	if _, ok := h.proxied(body(t, tools, "", system, user("where is my parcel?"))).Begin(); ok {
		t.Error("in shadow mode something is read ahead")
	}
}

// anthropic is a request in Anthropic's shape whose tools are all deferred; extra stands before them.
func anthropic(t *testing.T, extra, text string) turn.Request {
	t.Helper()
	var tools []string
	for _, tool := range demoTools(t) {
		f := gjson.Get(tool, "function")
		tools = append(tools, fmt.Sprintf(`{"name":%s,"description":%s,"input_schema":%s,"defer_loading":true}`, f.Get("name").Raw, f.Get("description").Raw, f.Get("parameters").Raw))
	}
	b := fmt.Appendf(nil, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":%q}],"tools":[%s%s]}`, text, extra, strings.Join(tools, ","))
	decoded, err := chat.Decode(chat.Anthropic, b)
	if err != nil {
		t.Fatal(err)
	}
	return turn.Request{Body: b, Chat: decoded, Answers: true, Identity: session.Identity{Family: "anthropic", Chain: chat.Chain(decoded)}}
}

func TestDeferredToolsAndTheirSearch(t *testing.T) {
	h := newHarness(t, setup{})
	names := func(r turn.Request) []string {
		p, err := h.planner.Plan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range gjson.GetBytes(p.Body, "tools").Array() {
			names = append(names, tool.Get("name").String())
		}
		return names
	}
	const search = `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"},`
	if got := names(anthropic(t, search, "hi")); !slices.Equal(got, []string{"load_tools", "tool_search"}) {
		t.Errorf("with nothing to go by the array is %q; want our own tools alone", got)
	}
	got := names(anthropic(t, search, "where is my parcel?"))
	if len(got) < 3 || got[1] != "tool_search" || !slices.Contains(got, "track_parcel") || slices.Contains(got, "tool_search_tool_bm25") {
		t.Errorf("the array is %q", got)
	}
}

// TestAnAppThatHasNotWhatWasSaidKeepsTheHiddenTurn: an answer that broke off after the hidden call, and was asked for again.
func TestAnAppThatHasNotWhatWasSaidKeepsTheHiddenTurn(t *testing.T) {
	h := newHarness(t, setup{})
	b := body(t, demoTools(t), "", user("where is my parcel?"))
	round := held("load_tools", `{"name":"generate_image"}`)
	round.Text = "I look. "
	h.planner.Observe(h.again(h.proxied(b), round), turn.Outcome{Text: "I look. "})
	h.planner.Observe(h.proxied(b), turn.Outcome{Text: "Here.", Usage: chat.Usage{Done: true}})
	later := h.proxied(body(t, demoTools(t), "", user("where is my parcel?"), answer("Here."), user("thanks")))
	if n := len(gjson.GetBytes(later.Body, "messages").Array()); n != 5 {
		t.Errorf("the messages are %s", gjson.GetBytes(later.Body, "messages").Raw)
	}
}

// An engine may answer a request without messages, and call whatever it likes.
func TestACallThroughTheBridgeInAnswerToNothing(t *testing.T) {
	h := newHarness(t, setup{})
	plan := h.proxied(body(t, demoTools(t), ""))
	h.planner.Observe(plan, turn.Outcome{Called: []chat.Call{{Name: "generate_image", Bridged: true}}})
	if again := h.proxied(body(t, demoTools(t), "")); len(again.Body) == 0 {
		t.Error("nothing is sent")
	}
}
