package conversation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
	"toolbelt/kvcache"
)

// goOn sends what is new behind the newest answer, which the engine has kept, and takes the answer into the history. It reports what the engine knows otherwise
// than the app.
func (k *stage) goOn(stream bool, more ...entry) *view {
	k.t.Helper()
	k.history = append(k.history, more...)
	body, whole := k.app.body(k.history, stream), k.app.body(k.history, stream)
	if k.answer != "" {
		body = k.app.body(k.history[k.known:], stream, "previous_response_id", k.app.str(k.answer))
	}
	before := len(k.rig.engine.Requests())
	reply, err := k.rig.post(context.Background(), body)
	if err != nil {
		k.t.Fatal(err)
	}
	v := read(k.rig.protocol, stream, reply)
	if v.failure != "" {
		k.t.Fatalf("the client gets %s", v.failure)
	}
	asked := k.rig.engine.Requests()[before]
	for _, wrong := range []string{k.app.sameConversation(asked.Body, whole, nil, nil), unanswered(asked.Messages)} {
		if wrong != "" {
			k.t.Error(wrong)
		}
	}
	k.history = append(k.history, v.entry)
	k.answer, k.known = v.id, len(k.history)
	return v
}

func inBothForms(t *testing.T, test func(t *testing.T, stream bool)) {
	t.Run("stream", func(t *testing.T) { test(t, true) })
	t.Run("plain", func(t *testing.T) { test(t, false) })
}

func chaining() setting {
	return setting{protocol: enginetest.Responses, style: enginetest.LlamaCpp, strategy: kvcache.Append, chains: true}
}

// An answer of several rounds has the id of its first in a stream: the engine must go on from its last.
func TestAnEngineThatKeepsAnswersGoesOnFromTheLastRound(t *testing.T) {
	inBothForms(t, func(t *testing.T, stream bool) {
		k := onStage(t, chaining(), loads("I look. ", "find_map"), says("Here."), says("Good."), says("Well."))
		k.goOn(stream, user("where is it?"))
		k.goOn(stream, user("thanks"))
		k.goOn(stream, user("bye"))
	})
}

// The engine has the hidden turn in what it has kept: it is not put in again, whatever the new message says.
func TestAnEngineThatKeepsAnswersHasEachHiddenTurnOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, stream bool) {
		k := onStage(t, chaining(), loads("", "find_map"), says("Here."), says("Good."))
		k.goOn(stream, user("go on"))
		k.goOn(stream, user("go on"))
		all := k.rig.engine.Requests()
		if n := strings.Count(all[len(all)-1].Prompt, `"name": "load_tools"`); n != 1 {
			t.Errorf("%d hidden calls are in the conversation, want 1", n)
		}
	})
}

// A tool that came as text is in the array where the request names it.
func TestANamedToolIsInTheArrayAlsoWhereItCameAsText(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		set.strategy = kvcache.Late
		k := onStage(t, set, loads("", "close_map"), says("Here."), says("Good."))
		k.ask(true, user("where is it?"))
		k.history = append(k.history, user("once more"))
		body := k.app.body(k.history, true, "tool_choice", choices(set.protocol, "close_map")["named"])
		if _, err := k.rig.post(context.Background(), body); err != nil {
			t.Fatal(err)
		}
		all := k.rig.engine.Chats()
		if newest := all[len(all)-1]; !slices.Contains(newest.Tools, "close_map") {
			t.Errorf("close_map is to be called, and is not among %q", newest.Tools)
		}
	})
}

// A conversation whose client names answers is one conversation, also where nothing is edited.
func TestAConversationThatIsOnlyWatchedIsOne(t *testing.T) {
	inBothForms(t, func(t *testing.T, stream bool) {
		set := chaining()
		set.shadow = true
		k := onStage(t, set, says("Here."), says("Good."), says("Well."))
		k.goOn(stream, user("where is it?"))
		k.goOn(stream, user("thanks"))
		k.goOn(stream, user("bye"))
		if list := k.rig.sessions.List(); len(list) != 1 || list[0].Turn != 3 {
			t.Errorf("the sessions are %+v, want one of three turns", list)
		}
	})
}

// The client gives up while the engine reads the request of a hidden round, and asks again: what the engine has read stays true.
func TestAHiddenTurnThatTheEngineHasReadSurvivesTheClientsPatience(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		for _, stallAt := range []int{0, 1} {
			ctx, giveUp := context.WithCancel(context.Background())
			k := onStage(t, set)
			n := 0
			k.rig = k.rig.shelf.start(t, k.rig.setting, func(*enginetest.Request) enginetest.Round {
				switch n++; n {
				case 1:
					return loads("", "find_map")
				case 2:
					giveUp()
					round := says("Here it is.")
					round.Stall, round.StallAt = make(chan struct{}), stallAt
					return round
				}
				return says("Here.")
			})
			k.history = []entry{user("where is it?")}
			body := k.app.body(k.history, true)
			if reply, err := k.rig.post(ctx, body); err == nil && !reply.broken {
				t.Fatalf("the client has an answer: %s", reply.body)
			}
			eventually(t, func() string {
				if list := k.rig.sessions.List(); len(list) != 1 || len(list[0].Hidden) != 1 {
					return "the hidden turn that the engine has is not kept"
				}
				return ""
			})
			if reply, err := k.rig.post(context.Background(), body); err != nil || read(set.protocol, true, reply).said("text") != "Here." {
				t.Fatalf("error %v: %s", err, reply.body)
			}
			k.remembers(1)
		}
	})
}

// unseen is a conversation that the daemon has not seen, with a call of each of the tools: the newest eight stay visible.
func unseen(names []string) []entry {
	history := []entry{user("do all of it")}
	for i, name := range names {
		c := call{id: fmt.Sprint("call_", i), name: name, arguments: `{"q":"x"}`}
		history = append(history, entry{role: "assistant", blocks: []block{{kind: "call", call: c}}}, entry{role: "tool", call: c, text: "done"})
	}
	return append(history, entry{role: "assistant", blocks: []block{{kind: "text", text: "All done."}}})
}

// What the model called by its own name it has called so, also where the tool has come as text since.
func TestACallStaysAsItWasMade(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		set.strategy = kvcache.Late
		k := onStage(t, set)
		names := k.tools()[:10]
		k.rig = k.rig.shelf.start(t, k.rig.setting, enginetest.InOrder(loads("", names[0]), says("Here."), says("Good.")))
		k.history = unseen(names)
		k.ask(true, user("thanks"))
		if first := k.rig.engine.Chats()[0]; slices.Contains(first.Tools, names[0]) {
			t.Fatalf("%s is visible from the beginning, among %q", names[0], first.Tools)
		}
		k.remembers(1)
	})
}

// tools are the names of the app's.
func (k *stage) tools() []string {
	var names []string
	for _, e := range gjson.Parse(k.app.tools).Array() {
		names = append(names, nameOf(e.Raw))
	}
	return names
}

// What the model called through the bridge it has called so, also where it had not been told of the tool.
func TestACallOfTheBridgeStaysAsItWasMade(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		set.strategy = kvcache.Late
		k := onStage(t, set, enginetest.Round{Calls: []enginetest.Call{{Name: callTool, Arguments: `{"name":"close_map","arguments":{"q":"x"}}`}}}, says("Here."), says("Good."))
		if v := k.ask(true, user("do it")); len(v.entry.calls()) != 1 {
			t.Fatalf("the client is to call %q", v.entry.calls())
		}
		k.ask(true)
		all := k.rig.engine.Chats()
		if newest := all[len(all)-1].Prompt; strings.Count(newest, `<tool_call>{"name": "call_tool"`) != 1 {
			t.Errorf("the call through the bridge has become another: %s", newest[strings.Index(newest, "<|im_end|>"):])
		}
	})
}

// What was called by its own name stays so where the model calls the same tool through the bridge later, untold.
func TestACallStaysAsItWasMadeBeforeOneOfTheBridge(t *testing.T) {
	inEach(t, func(t *testing.T, set setting) {
		set.strategy = kvcache.Late
		k := onStage(t, set)
		names := k.tools()[:10]
		k.rig = k.rig.shelf.start(t, k.rig.setting, enginetest.InOrder(
			enginetest.Round{Calls: []enginetest.Call{{Name: callTool, Arguments: fmt.Sprintf(`{"name":%q,"arguments":{"q":"y"}}`, names[0])}}}, says("Here."), says("Good.")))
		k.history = unseen(names)
		if v := k.ask(true, user("thanks")); len(v.entry.calls()) != 1 {
			t.Fatalf("the client is to call %q", v.entry.calls())
		}
		k.ask(true)
		all := k.rig.engine.Chats()
		if newest := all[len(all)-1].Prompt; strings.Count(newest, `<tool_call>{"name": "call_tool"`) != 1 || !strings.Contains(newest, fmt.Sprintf(`{"name": %q, "arguments": {"q":"x"}}`, names[0])) {
			t.Errorf("the calls have become others: %s", newest[strings.Index(newest, "<|im_end|>"):])
		}
	})
}

// The daemon starts anew, with its file: it still knows which answer was the last.
func TestAnEngineThatKeepsAnswersGoesOnAfterARestart(t *testing.T) {
	inBothForms(t, func(t *testing.T, stream bool) {
		set := chaining()
		set.keeps = true
		k := onStage(t, set, loads("I look. ", "close_map"), says("Here."), says("Good."))
		k.goOn(stream, user("where is it?"))
		if wrong := k.rig.restart(true); wrong != "" {
			t.Fatal(wrong)
		}
		k.goOn(stream, user("thanks"))
		if all := k.rig.engine.Requests(); !slices.Contains(all[len(all)-1].Tools, "close_map") {
			t.Errorf("close_map was loaded and is not among %q", all[len(all)-1].Tools)
		}
	})
}

// A call of ours beside the app's is in what the engine has kept: it needs a result there.
func TestAnEngineThatKeepsAnswersGetsResultsOfAllCalls(t *testing.T) {
	inBothForms(t, func(t *testing.T, stream bool) {
		k := onStage(t, chaining(), enginetest.Round{Calls: []enginetest.Call{
			{Name: "send_note", ID: "c1", Arguments: `{"q":"1"}`}, {Name: loadTools, ID: "c2", Arguments: `{"name":"close_map"}`},
		}}, says("Sent."))
		v := k.goOn(stream, user("write it down"))
		if len(v.entry.calls()) != 1 {
			t.Fatalf("the client is to call %q", v.entry.calls())
		}
		k.goOn(stream, entry{role: "tool", call: v.entry.calls()[0], text: "done"})
		all := k.rig.engine.Requests()
		if newest := all[len(all)-1]; !slices.Contains(newest.Tools, "close_map") {
			t.Errorf("close_map was asked for and is not among %q", newest.Tools)
		}
	})
}
