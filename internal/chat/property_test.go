package chat_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"testing"

	"toolbelt/internal/chat"
	"toolbelt/internal/chat/edittest"
)

var protocols = []chat.Protocol{chat.Ollama, chat.OpenAI, chat.Responses, chat.Anthropic}

// orderTools decides over the array: some of the client's tools in any order, and tools of ours between them.
func (t *talk) orderTools(r *chat.Request) {
	if t.ours.Tools == nil {
		return
	}
	t.edits.Order = []string{}
	for _, i := range t.Perm(len(r.Elements))[:t.Intn(len(r.Elements)+1)] {
		t.edits.Order = append(t.edits.Order, r.Elements[i].Key)
	}
	for _, name := range []string{"load_tools", "call_tool"} {
		if t.Intn(2) == 0 {
			t.edits.Own = append(t.edits.Own, chat.OwnTool{Name: name, Description: "Loads\n\"more\"", After: t.Intn(len(t.edits.Order) + 1)})
		}
	}
}

// Whatever is done to any conversation, an inverse that knows nothing of how it was done gives the client's bytes back.
func TestEditsCanBeTakenBack(t *testing.T) {
	o := oddJSON{rand.New(rand.NewSource(11))}
	edited := map[chat.Protocol]int{}
	for i := range 2000 {
		p := protocols[i%len(protocols)]
		talk := newTalk(o, p)
		body := []byte(talk.request())
		r := decode(t, p, string(body))
		if len(r.Messages) != len(talk.messages) {
			t.Fatalf("%d messages of %d in %s", len(r.Messages), len(talk.messages), body)
		}
		talk.orderTools(r)
		got, err := chat.Apply(body, r, talk.edits)
		if err != nil {
			t.Fatalf("%s, %+v: %v\n%s", p.Family(), talk.edits, err, body)
		}
		if !json.Valid(got) {
			t.Fatalf("no JSON: %s", got)
		}
		if again, err := chat.Apply(body, r, talk.edits); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("other bytes the second time: %s", again)
		}
		checkShape(t, p, got, talk.edits, len(r.Messages))
		checkTools(t, body, r, got, talk.edits)
		back, err := edittest.Strip(p.Family(), got, talk.ours)
		if err != nil || !bytes.Equal(back, body) {
			t.Fatalf("%s: %v\nedits    %+v\noriginal %s\nedited   %s\nstripped %s", p.Family(), err, talk.edits, body, got, back)
		}
		if !bytes.Equal(got, body) {
			edited[p]++
		}
	}
	for _, p := range protocols {
		if edited[p] < 300 {
			t.Errorf("%s: only %d requests were edited", p.Family(), edited[p])
		}
	}
}

// checkShape fails unless the edited request reads as what was asked for.
func checkShape(t *testing.T, p chat.Protocol, body []byte, e chat.Edits, messages int) {
	t.Helper()
	r := decode(t, p, string(body))
	var hidden, calls int
	for _, turn := range e.Hidden {
		calls += len(turn.Calls)
		hidden++
		switch {
		case p == chat.Anthropic:
			hidden++
		case p == chat.Responses && turn.Text != "":
			hidden += 2 * len(turn.Calls)
		case p == chat.Responses:
			hidden += 2*len(turn.Calls) - 1
		default:
			hidden += len(turn.Calls)
		}
	}
	if len(r.Messages) != messages+hidden {
		t.Fatalf("%d messages, want %d and %d: %s", len(r.Messages), messages, hidden, body)
	}
	var own, bridged int
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			switch c.Name {
			case "load_tools", "tool_search":
				own++
			case "call_tool":
				bridged++
			}
		}
	}
	if own != calls || bridged != len(e.Bridge) {
		t.Fatalf("%d calls of ours and %d of the bridge, want %d and %d: %s", own, bridged, calls, len(e.Bridge), body)
	}
}

// checkTools fails unless the edited array is the chosen elements in their order, and ours where they belong.
func checkTools(t *testing.T, body []byte, r *chat.Request, edited []byte, e chat.Edits) {
	t.Helper()
	_, _, before, _ := toolsSpan(body)
	_, _, got, _ := toolsSpan(edited)
	var want []string
	done := map[string]bool{}
	for place := 0; place <= len(e.Order); place++ {
		for _, tool := range e.Own {
			if tool.After == place {
				want = append(want, tool.Name)
			}
		}
		if place == len(e.Order) || done[e.Order[place]] {
			continue
		}
		done[e.Order[place]] = true
		for i, element := range r.Elements {
			if element.Key == e.Order[place] {
				want = append(want, string(before[i]))
			}
		}
	}
	if e.Order == nil || len(want) == 0 { // an array is never emptied
		if len(got) != len(before) {
			t.Fatalf("the array was edited: %s", edited)
		}
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%d tools, want %d: %s", len(got), len(want), edited)
	}
	for i := range want {
		if name := nameOf(got[i]); string(got[i]) != want[i] && (name == "" || name != want[i]) {
			t.Fatalf("tool %d is %s, want %s", i, got[i], want[i])
		}
	}
}
