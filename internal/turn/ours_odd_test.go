package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
)

// TestWhatAnAppKeepsOfWhatWasSaid: each hidden turn is put back on its own, whatever the app has kept of the words before another's calls.
func TestWhatAnAppKeepsOfWhatWasSaid(t *testing.T) {
	const one, two, three = "Let me look for a first tool. ", "Let me look for a second tool. ", "\n\nOne more. "
	for _, c := range []struct {
		name    string
		answers [3]string // as the app has them
		want    []string  // what the model is said to have said, hidden calls' words with a *
	}{
		{"all", [3]string{one + "A.", two + "B.", three + "C."}, []string{one + "*", "A.", two + "*", "B.", three + "*", "C."}},
		{"not the first", [3]string{"A.", two + "B.", three + "C."}, []string{one + "*", "A.", two + "*", "B.", three + "*", "C."}},
		{"none", [3]string{"A.", "B.", "C."}, []string{one + "*", "A.", two + "*", "B.", three + "*", "C."}},
		{"the first in another form", [3]string{"Let me look\nfor a first tool. A.", two + "B.", three + "C."}, []string{"*", "Let me look\nfor a first tool. A.", two + "*", "B.", three + "*", "C."}},
		{"without white space at the ends", [3]string{strings.TrimSpace(one + "A."), two + "B.", strings.TrimSpace(three + "C.")}, []string{one + "*", "A.", two + "*", "B.", three + "*", "C."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, setup{})
			var messages []message
			var before string
			for i, said := range []string{one, two, three} {
				messages = append(messages, user(fmt.Sprintf("where is parcel %d?", i)))
				round := held("load_tools", `{"name":"generate_image"}`)
				round.Text = said
				next := h.again(h.proxied(body(t, demoTools(t), "", messages...)), round)
				before = gjson.GetBytes(next.Body, "messages").Raw
				messages = append(messages, answer(c.answers[i]))
			}
			later := h.proxied(body(t, demoTools(t), "", append(messages, user("thanks"))...))
			var said []string
			for _, m := range gjson.GetBytes(later.Body, "messages").Array() {
				if m.Get("role").String() == "assistant" {
					said = append(said, m.Get("content").String()+strings.Repeat("*", len(m.Get("tool_calls").Array())))
				}
			}
			if !slices.Equal(said, c.want) {
				t.Errorf("the model is said to have said\n%q, want\n%q", said, c.want)
			}
			if got := gjson.GetBytes(later.Body, "messages").Raw; !strings.HasPrefix(got, strings.TrimSuffix(before, "]")) {
				t.Errorf("the messages do not begin as the request before had them:\n%s\n%s", before, got)
			}
		})
	}
}

// TestOddArguments: whatever the model writes is answered shortly, and what it names in any form is visible.
func TestOddArguments(t *testing.T) {
	odd := `{"type":"function","function":{"name":"изображение_创建","description":"draws","parameters":{}}}`
	tools := append(demoTools(t), odd)
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprintf("no such tool %d %s", i, strings.Repeat("é", 50)))
	}
	for _, c := range []struct{ name, arguments, visible string }{
		{"broken", `{"name":"generate_image`, ""},
		{"a number", `7`, ""},
		{"a number for a name", `{"name":7}`, ""},
		{"a list", `["generate_image","translate_text"]`, "generate_image translate_text"},
		{"a bare name", `generate_image`, "generate_image"},
		{"a string", `"generate_image"`, "generate_image"},
		{"a string in a string", `"\"{\\\"name\\\":\\\"generate_image\\\"}\""`, "generate_image"},
		{"an object in a string", `"{\"name\":\"generate_image\"}"`, "generate_image"},
		{"names in an object", `{"names":[{"name":"generate_image"},"translate_text",7,null]}`, "generate_image translate_text"},
		{"200 names of nothing", `{"names":[` + strings.Join(many, ",") + `]}`, ""},
		{"200 times the same", `{"names":[` + strings.TrimSuffix(strings.Repeat(`"generate_image",`, 200), ",") + `]}`, "generate_image"},
		{"a name in other letters", `{"name":"изображение_创建"}`, "изображение_创建"},
		{"escaped", `{"name":"\u0438\u0437\u043e\u0431\u0440\u0430\u0436\u0435\u043d\u0438\u0435_\u521b\u5efa"}`, "изображение_创建"},
		{"deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), ""},
		{"half a character", "{\"name\":\"\xd0\"}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, setup{policy: func(p *turn.Policy) { p.MaxTools, p.Overflow = 4, 0 }})
			first := h.proxied(body(t, tools, "", user("where is my parcel?")))
			next := h.again(first, held("load_tools", c.arguments))
			wantSent(t, next, strings.Fields(c.visible)...)
			told := gjson.GetBytes(next.Body, "messages.2.content").String()
			if told == "" || len(told) > 6<<10 || c.visible == "" && len(sent(t, next)) != len(sent(t, first)) {
				t.Errorf("it is answered %d bytes, %.300q; sent are %q", len(told), told, sent(t, next))
			}
			for _, name := range strings.Fields(c.visible) {
				if !strings.Contains(told, name) {
					t.Errorf("the answer does not tell of %q: %.300q", name, told)
				}
			}
			var arguments map[string]any
			if raw := gjson.GetBytes(next.Body, "messages.1.tool_calls.0.function.arguments").Raw; json.Unmarshal([]byte(raw), &arguments) != nil {
				t.Errorf("the history has the arguments %.300s", raw)
			}
		})
	}
}

// TestAnAnswerInRoundsIsGoneOnFrom: the app names an answer by the id of its first round, the engine's history goes on from the last.
func TestAnAnswerInRoundsIsGoneOnFrom(t *testing.T) {
	h := newHarness(t, setup{})
	first := h.proxied(body(t, demoTools(t), "", user("where is my parcel?")))
	next := h.again(first, held("load_tools", `{"name":"generate_image"}`))
	h.planner.Observe(next, turn.Outcome{ID: "resp_1", Last: "resp_2", Usage: chat.Usage{Done: true}})
	r := request(t, body(t, demoTools(t), "", user("where is my parcel?")))
	if got := h.planner.Kept(r.Identity, "resp_1"); got != "resp_2" {
		t.Errorf("resp_1 is kept as %q", got)
	}
	for _, id := range []string{"resp_1", "resp_2"} {
		r.Identity.Previous, r.Answers = id, true
		p, err := h.planner.Plan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Session != first.Session || p.Turn != 2 {
			t.Errorf("from %s: session %q, turn %d; want %q, 2", id, p.Session, p.Turn, first.Session)
		}
		wantSent(t, p, "generate_image")
		if n := len(gjson.GetBytes(p.Body, "messages").Array()); n != 1 {
			t.Errorf("from %s: %d messages, the hidden turn stands in what the engine keeps", id, n)
		}
	}
}
