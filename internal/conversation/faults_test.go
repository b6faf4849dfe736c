package conversation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/enginetest"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// stage is a conversation whose every round is written down.
type stage struct {
	t      *testing.T
	rig    *rig
	app    *app
	script []enginetest.Round

	history []entry
	last    reply
	answer  string // of an engine that keeps its answers: the newest one's id, "" for none
	known   int    // how much of the history it has
}

// onStage starts a rig whose engine says these rounds in turn, and an app of 40 tools.
func onStage(t *testing.T, set setting, rounds ...enginetest.Round) *stage {
	t.Helper()
	k := &stage{t: t, script: rounds}
	set.policy = func(p *turn.Policy) { p.MaxTools, p.Overflow, p.ToolSearch = 8, 12, 1 }
	k.rig = newShelf(t).start(t, set, enginetest.InOrder(rounds...))
	k.app = newApp(rand.New(rand.NewPCG(1, 1)), set.protocol, newCatalogue(rand.New(rand.NewPCG(1, 2)), 40))
	k.app.system, k.app.inText = "", false
	return k
}

func user(text string) entry { return entry{role: "user", text: text} }

// ask sends the history and takes the answer, and results of its calls, into it.
func (k *stage) ask(stream bool, more ...entry) *view {
	k.t.Helper()
	k.history = append(k.history, more...)
	reply, err := k.rig.post(context.Background(), k.app.body(k.history, stream))
	if err != nil {
		k.t.Fatal(err)
	}
	k.last = reply
	v := read(k.rig.protocol, stream, reply)
	if v.failure == "" && v.ended && len(v.blocks) > 0 {
		k.history = append(k.history, v.entry)
		for _, c := range v.entry.calls() {
			k.history = append(k.history, entry{role: "tool", call: c, text: "done"})
		}
	}
	return v
}

// loads is a round that calls load_tools.
func loads(text, name string) enginetest.Round {
	return enginetest.Round{Text: text, Calls: []enginetest.Call{{Name: loadTools, Arguments: fmt.Sprintf(`{"name":%q}`, name)}}}
}

func says(text string) enginetest.Round { return enginetest.Round{Text: text} }

// remembers checks that the newest prompt has so many calls of load_tools, and goes on with the one before; but for what the model said before those calls that
// the app has not kept.
func (k *stage) remembers(n int, unsaid ...string) {
	k.t.Helper()
	all := k.rig.engine.Chats()
	now, before := all[len(all)-1], all[len(all)-2]
	if got := strings.Count(now.Prompt, `"name": "load_tools"`); got != n {
		k.t.Errorf("%d hidden calls are in the prompt, want %d:\n%s", got, n, now.Prompt[strings.Index(now.Prompt, "<|im_end|>"):])
	}
	_, rest := inTwo(now.Prompt)
	_, must := inTwo(before.Prompt)
	for _, text := range unsaid {
		must = strings.ReplaceAll(must, text+"<tool_call>", "<tool_call>")
	}
	if must = strings.TrimSuffix(must, "<|im_start|>assistant\n"); !strings.HasPrefix(rest, must) {
		k.t.Errorf("the conversation does not go on: %s", apart(must, rest))
	}
}

func inEach(t *testing.T, test func(t *testing.T, set setting)) {
	for _, p := range protocols() {
		t.Run(string(p), func(t *testing.T) { test(t, setting{protocol: p, strategy: kvcache.Append}) })
	}
}

func TestWhatWasSaidBeforeSeveralHiddenCallsKeepsThem(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		k := onStage(t, set, loads("First. ", "find_map"), loads("Second. ", "send_note"), says("Third."), says("Good."))
		v := k.ask(true, user("where is it?"))
		if v.said("text") != "First. Second. Third." {
			t.Errorf("the client reads %q", v.said("text"))
		}
		k.ask(true, user("thanks"))
		k.remembers(2)
	})
}

func TestAnAnswerThatIsAskedForAgainKeepsHiddenCalls(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		for _, stream := range []bool{true, false} {
			t.Run(map[bool]string{true: "stream", false: "plain"}[stream], func(t *testing.T) {
				k := onStage(t, set, loads("I look. ", "find_map"), enginetest.Round{Status: 503, Error: "busy"},
					enginetest.Round{Calls: []enginetest.Call{{Name: "find_map", Arguments: `{"q":"x"}`}}}, says("Here."), says("Good."))
				k.ask(stream, user("where is it?"))
				if v := k.ask(stream); len(v.entry.calls()) != 1 {
					t.Fatalf("the client is to call %q", v.entry.calls())
				}
				k.ask(stream)
				k.remembers(1)
				k.ask(stream, user("thanks"))
				k.remembers(1)
			})
		}
	})
}

func TestTextBeforeAHiddenCallComesEvenWhereNothingFollows(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		if set.protocol == enginetest.Responses {
			t.Skip("Ollama's plain responses say nothing beside calls")
		}
		k := onStage(t, set, loads("I look. ", "find_map"), enginetest.Round{Tokens: 5}, enginetest.Round{Tokens: 5})
		if v := k.ask(false, user("where is it?")); v.said("text") != "I look. " {
			t.Errorf("the client reads %q", v.said("text"))
		}
	})
}

func TestAnAnswerThatEndsWithAHiddenCallGoesOn(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		k := onStage(t, set, loads("I look. ", "find_map"), enginetest.Round{Tokens: 5}, enginetest.Round{Tokens: 5}, says("Good."))
		if v := k.ask(true, user("where is it?")); v.said("text") != "I look. " {
			t.Fatalf("the client reads %q", v.said("text"))
		}
		k.ask(true, user("thanks"))
		k.remembers(1)
	})
}

func TestAnEditedAnswerLosesTheHiddenCallsAfterItOnce(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		k := onStage(t, set, says("One."), says("Two."), loads("", "find_map"),
			enginetest.Round{Calls: []enginetest.Call{{Name: "find_map", Arguments: `{"q":"x"}`}}}, says("Three."))
		k.ask(true, user("a"))
		k.ask(true, user("b"))
		k.history[3].blocks = []block{{kind: "text", text: "Another."}}
		k.ask(true, user("c")) // a hidden call, then one of the app's
		k.ask(true)
		k.remembers(1)
	})
}

func TestABridgeCallThatNamesNoToolIsNotTheClients(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		set.strategy = kvcache.Late
		for _, arguments := range []string{`{}`, `{"name":7}`, `{"arguments":{"q":"x"}}`, `{"name":""}`, `{"name":"call_tool","arguments":{}}`} {
			k := onStage(t, set, enginetest.Round{Calls: []enginetest.Call{{Name: callTool, Arguments: arguments}}}, says("Well."), says("Well."))
			v := k.ask(true, user("where is it?"))
			if i := slices.IndexFunc(v.entry.calls(), func(c call) bool { return c.name == callTool || c.name == "" }); i >= 0 {
				t.Errorf("%s: the client is to call %q", arguments, v.entry.calls())
			}
		}
	})
}

func TestHiddenCallsAmongOthers(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		if set.protocol != enginetest.NativeChat {
			set.style = enginetest.LlamaCpp
		}
		set.strategy = kvcache.Late
		k := onStage(t, set, enginetest.Round{Text: "Well. ", Calls: []enginetest.Call{
			{Name: callTool, ID: "c1", Arguments: `{"name":"find_map","arguments":{"q":"1"}}`}, {Name: "send_note", ID: "c2", Arguments: `{"q":"2"}`},
			{Name: loadTools, ID: "c3", Arguments: `{"name":"find_map"}`}, {Name: "send_note", ID: "c4", Arguments: `{"q":"4"}`}, {Name: toolSearch, ID: "c5", Arguments: `{}`},
		}})
		v := k.ask(true, user("where is it?"))
		var names []string
		for _, c := range v.entry.calls() {
			names = append(names, c.name)
		}
		if !slices.Equal(names, []string{"find_map", "send_note", "send_note"}) || len(v.problems)+len(v.numbers) > 0 {
			t.Errorf("the client is to call %q; %q", v.entry.calls(), v.problems)
		}
		for _, name := range []string{loadTools, toolSearch, callTool} {
			if strings.Contains(string(k.last.body), name) {
				t.Errorf("the client is told of %s: %s", name, k.last.body)
			}
		}
	})
}

func TestTheEndOfAHiddenCallStaysHidden(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		if set.protocol != enginetest.NativeChat {
			set.style = enginetest.LlamaCpp
		}
		k := onStage(t, set, enginetest.Round{Calls: []enginetest.Call{
			{Name: "send_note", Arguments: `{"q":"1"}`}, {Name: "send_note", Arguments: `{"q":"2"}`}, {Name: toolSearch, Arguments: `{"query":"map"}`}, {Name: "send_note", Arguments: `{"q":"3"}`},
		}})
		if v := k.ask(true, user("where is it?")); len(v.entry.calls()) != 3 || len(v.problems)+len(v.numbers) > 0 {
			t.Errorf("the client is to call %q; %q", v.entry.calls(), v.problems)
		}
		if strings.Contains(string(k.last.body), toolSearch) {
			t.Errorf("the client is told of tool_search: %s", k.last.body)
		}
	})
}

func TestAnErrorIsTheEnd(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		if set.protocol != enginetest.NativeChat {
			set.style = enginetest.LlamaCpp
		}
		set.strategy = kvcache.Late
		k := onStage(t, set, enginetest.Round{Text: "Well. ", Error: "out of memory", Calls: []enginetest.Call{
			{Name: callTool, Arguments: `{"name":"find_map","arguments":{"q":"1"}}`}, {Name: "send_note", Arguments: `{"q":"2"}`},
		}})
		k.history = []entry{user("where is it?")}
		reply, err := k.rig.post(context.Background(), k.app.body(k.history, true))
		if err != nil {
			t.Fatal(err)
		}
		if _, after, ok := strings.Cut(string(reply.body), "out of memory"); !ok || strings.Contains(after, "find_map") || strings.Contains(after, "send_note") {
			t.Errorf("the client got %s", reply.body)
		}
	})
}

// alike has n conversations that begin with the same words; each loads something, and answers in its own way. more gives the members of the i-th's requests. It
// reports a conversation that sees what another has loaded.
func alike(t *testing.T, set setting, n int, more func(i int) []string) {
	t.Helper()
	var rounds []enginetest.Round
	for i := range n {
		rounds = append(rounds, loads("", fmt.Sprintf("nothing like c%dz", i)), says(fmt.Sprintf("I am c%dz.", i)))
	}
	for i := range n {
		rounds = append(rounds, says(fmt.Sprintf("Still c%dz.", i)))
	}
	k := onStage(t, set, rounds...)
	histories := make([][]entry, n)
	for turn := range 2 {
		for i := range n {
			histories[i] = append(histories[i], user([]string{"hello", "go on"}[turn]))
			reply, err := k.rig.post(context.Background(), k.app.body(histories[i], true, more(i)...))
			if err != nil {
				t.Fatal(err)
			}
			v := read(set.protocol, true, reply)
			histories[i] = append(histories[i], v.entry)
			chats := k.rig.engine.Chats()
			newest := string(chats[len(chats)-1].Body)
			tag := fmt.Sprintf("c%dz", i)
			if other := strangers([]byte(newest), tag); other != "" || !strings.Contains(newest, "nothing like "+tag) {
				t.Errorf("turn %d of %s: sent is %s", turn+1, tag, newest[max(0, strings.Index(newest, "messages")):])
				return
			}
		}
	}
}

func TestConversationsThatBeginAlike(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		alike(t, set, 40, func(i int) []string { return []string{"seed", fmt.Sprint(i)} })
	})
}

func TestConversationsThatBeginWithTheSameBytes(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) { alike(t, set, 3, func(int) []string { return nil }) })
}
