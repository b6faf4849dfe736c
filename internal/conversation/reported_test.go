package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
	"toolbelt/kvcache"
)

// Faults that users of other tool filters and local engines have reported, each through the whole daemon. The inputs are made here.

// plainApp writes requests without any oddity.
func plainApp(p enginetest.Protocol) *app {
	return &app{protocol: p, tools: "[]"}
}

func (a *app) function(name, description, schema string) string {
	c := catalogue{names: []string{name}, descriptions: []string{description}, schemas: []string{schema}}
	return c.elements(a)[0]
}

// services are n tools that have nothing to do with one another.
func (a *app) services(n int) []string {
	var list []string
	for i := range n {
		text := fmt.Sprintf("%s the %s of an account", verbs()[i%len(verbs())], words()[i/4%len(words())])
		list = append(list, a.function(fmt.Sprintf("svc%02d__op%d", i/5, i%5), text, `{"type":"object","properties":{"q":{"type":"string"}}}`))
	}
	return list
}

// sent posts a request whose answer is a word and returns what the engine was sent of it.
func (r *rig) sent(t *testing.T, body []byte) []byte {
	t.Helper()
	before := len(r.engine.Requests())
	reply, err := r.post(context.Background(), body)
	if err != nil || reply.status != 200 {
		t.Fatalf("error %v, status %d: %s", err, reply.status, reply.body)
	}
	all := r.engine.Requests()
	if len(all) != before+1 {
		t.Fatalf("the engine was asked %d times", len(all)-before)
	}
	return all[before].Body
}

// recordOne is sent for what the engine itself may refuse: it posts the request to a daemon before one that takes everything.
func recordOne(t *testing.T, s *shelf, p enginetest.Protocol, body []byte) []byte {
	t.Helper()
	got := make(chan []byte, 1)
	rig := s.startBefore(t, setting{protocol: p}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- body
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	if _, err := rig.post(context.Background(), body); err != nil {
		t.Fatal(err)
	}
	return <-got
}

func word(*enginetest.Request) enginetest.Round { return says("Yes.") }

// elements are the raw elements of a request's tools array.
func elements(body []byte) []string {
	var list []string
	for _, e := range gjson.GetBytes(body, "tools").Array() {
		list = append(list, e.Raw)
	}
	return list
}

// shownOf are those of the elements that were sent, in the order sent, and whether anything else was that is not the daemon's own.
func shownOf(t *testing.T, sent []byte, theirs []string) []string {
	t.Helper()
	var list []string
	for _, e := range elements(sent) {
		switch {
		case slices.Contains(theirs, e):
			list = append(list, e)
		case !isOurs([]string{nameOf(e)}) && nameOf(e) != callTool:
			t.Errorf("neither the app's nor the daemon's: %s", e)
		}
	}
	return list
}

func nameOf(element string) string {
	if name := gjson.Get(element, "function.name"); name.Exists() {
		return name.Str
	}
	return gjson.Get(element, "name").Str
}

// choices are the spellings of tool_choice in a protocol: of a named tool, and of the words.
func choices(p enginetest.Protocol, name string) map[string]string {
	switch p {
	case enginetest.Messages:
		return map[string]string{"auto": `{"type":"auto"}`, "none": `{"type":"none"}`, "required": `{"type":"any"}`, "named": `{"type":"tool","name":"` + name + `"}`, "omitted": ""}
	case enginetest.Responses:
		return map[string]string{"auto": `"auto"`, "none": `"none"`, "required": `"required"`, "named": `{"type":"function","name":"` + name + `"}`, "omitted": ""}
	}
	return map[string]string{"auto": `"auto"`, "none": `"none"`, "required": `"required"`, "named": `{"type":"function","function":{"name":"` + name + `"}}`, "omitted": ""}
}

// TestToolChoice: an omitted one bypassed the selection, none and named were ignored; a named tool that no other had registered was lost.
func TestToolChoice(t *testing.T) {
	s := newShelf(t)
	inEach(t, func(t *testing.T, set setting) {
		for _, strategy := range strategies() {
			set.strategy = strategy
			a := plainApp(set.protocol)
			clock := a.function("clock_now", "Current time in a zone", `{"type":"object","properties":{"zone":{"type":"string"}}}`)
			many := append(a.services(60), clock)
			for kind, choice := range choices(set.protocol, "clock_now") {
				rig := s.start(t, set, word)
				var more []string
				if choice != "" {
					more = []string{"tool_choice", choice}
				}
				a.tools = a.list(clock)
				one := a.body([]entry{user("hello there " + kind)}, true, more...)
				if got := rig.sent(t, one); string(got) != string(one) {
					t.Errorf("%s, one tool: sent %s", kind, got)
				}
				a.tools = a.list(many...)
				first := a.body([]entry{user("delete the invoice " + kind)}, true, more...)
				got := rig.sent(t, first)
				shown := shownOf(t, got, many)
				if whole := string(got) == string(first); whole != (kind == "none") || len(shown) == 0 {
					t.Errorf("%s: %d tools of %d were sent", kind, len(shown), len(many))
				}
				if kind == "named" && !slices.Contains(shown, clock) {
					t.Errorf("the named tool was left out of %d", len(shown))
				}
				if kind == "named" || kind == "none" {
					continue
				}
				// The next turn asks for no tool: the list stays.
				history := []entry{user("delete the invoice " + kind), {role: "assistant", blocks: []block{{kind: "text", text: "Yes."}}}, user("thanks")}
				next := rig.sent(t, a.body(history, true, "tool_choice", choices(set.protocol, "")["none"]))
				if strategy != kvcache.Rebuild && gjson.GetBytes(next, "tools").Raw != gjson.GetBytes(got, "tools").Raw {
					t.Errorf("after %s, none: the list has changed from %q to %q", kind, elements(got), elements(next))
				}
			}
		}
	})
}

// TestOtherToolsStayWhereTheyAre: one of two shapes was not recognised, or other types were dropped.
func TestOtherToolsStayWhereTheyAre(t *testing.T) {
	s := newShelf(t)
	for p, others := range map[enginetest.Protocol][]string{
		enginetest.Responses: {`{"type":"web_search"}`, `{"type":"mcp","server_label":"home","server_url":"http://127.0.0.1:9/mcp"}`, `{"type":"namespace","name":"crm","tools":[]}`},
		enginetest.Messages:  {`{"type":"bash_20250124","name":"bash"}`, `{"type":"web_search_20250305","name":"web_search","max_uses":3}`},
	} {
		for _, tools := range []int{0, 40} {
			a := plainApp(p)
			list := []string{others[0], a.function("clock_now", "Current time in a zone", `{"type":"object"}`)}
			list = append(append(list, others[1:]...), a.services(tools)...)
			a.tools = a.list(list...)
			body := a.body([]entry{user("what time is it in Oslo?")}, true)
			recorded := recordOne(t, s, p, body)
			shown := shownOf(t, recorded, list)
			if !slices.Contains(shown, list[1]) {
				t.Errorf("%s: the function that was asked for is not there", p)
			}
			var kept []string
			for _, e := range shown {
				if slices.Contains(others, e) {
					kept = append(kept, e)
				}
			}
			if !slices.Equal(kept, others) || shown[0] != others[0] {
				t.Errorf("%s with %d tools: sent are %q", p, tools, shown)
			}
		}
	}
	a := plainApp(enginetest.OpenAIChat)
	custom := `{"type":"custom","custom":{"name":"sql","format":{"type":"text"}}}`
	list := append([]string{custom}, a.services(40)...)
	a.tools = a.list(list...)
	if shown := shownOf(t, recordOne(t, s, enginetest.OpenAIChat, a.body([]entry{user("list the mail")}, true)), list); len(shown) < 2 || len(shown) == len(list) || shown[0] != custom {
		t.Errorf("sent are %q", shown)
	}
}

// TestLongTexts: a message over the embedder's window, or a long description, failed the request.
func TestLongTexts(t *testing.T) {
	s := newShelf(t)
	inEach(t, func(t *testing.T, set setting) {
		a := plainApp(set.protocol)
		team := a.function("send_team_message", "Send a message to the team channel. "+strings.Repeat("The message goes to all of the team. ", 200), `{"type":"object"}`)
		list := append(a.services(499), team)
		a.tools = a.list(list...)
		var text strings.Builder
		for i := range 2500 {
			fmt.Fprintf(&text, "Please go through line %d and tell me what is wrong. ", i+1)
		}
		text.WriteString("Now send the summary to the team channel.")
		rig := s.start(t, set, word)
		if shown := shownOf(t, rig.sent(t, a.body([]entry{user(text.String())}, true)), list); !slices.Contains(shown, team) || len(shown) > 40 {
			t.Errorf("%d tools are shown, the one that the last sentence asks for among them: %v", len(shown), slices.Contains(shown, team))
		}
	})
}

// oddSchemas are JSON Schemas that structs lose something of.
func oddSchemas() []string {
	return []string{
		`{"type":"object","properties":{"x":{"type":["string","null"],"default":null}}}`, `{"type":"object","properties":[]}`,
		`{"$defs":{"p":{"type":"object","properties":{"lat":{"type":"number"}}}},"type":"object","properties":{"at":{"$ref":"#/$defs/p"}}}`,
		`{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},"k":{"const":7}},"additionalProperties":false}`,
		`true`, `{"type":"object","properties":{"n":{"type":"number","maximum":12345678901234567890,"minimum":-0.0,"multipleOf":0.1}}}`, `null`, `{ }`,
		`{"type":"object","properties":{"\u0061":{"type":"string","enum":["\ud83d\ude00","\/"]}}}`,
	}
}

// TestOddSchemasKeepTheirBytes: schemas that were decoded and encoded lost or failed something.
func TestOddSchemasKeepTheirBytes(t *testing.T) {
	s := newShelf(t)
	inEach(t, func(t *testing.T, set setting) {
		a := plainApp(set.protocol)
		var list []string
		for i, schema := range oddSchemas() {
			list = append(list, a.function(fmt.Sprintf("odd_%d", i), "use the odd one", schema))
		}
		list = append(list, a.services(40)...)
		a.tools = a.list(list...)
		shown := shownOf(t, recordOne(t, s, set.protocol, a.body([]entry{user("use the odd one please, odd_3")}, true)), list)
		if len(shown) == len(list) || !slices.Contains(shown, list[3]) {
			t.Errorf("%d of %d tools are shown: %q", len(shown), len(list), shown)
		}
	})
}

// TestHistoryNamesToolsThatAreNotSent: calls in the history of tools that were hidden, or that the app no longer has, made the engine refuse.
func TestHistoryNamesToolsThatAreNotSent(t *testing.T) {
	s := newShelf(t)
	inEach(t, func(t *testing.T, set setting) {
		for _, strategy := range strategies() {
			set.strategy = strategy
			a := plainApp(set.protocol)
			list := a.services(60)
			a.tools = a.list(list...)
			gone, there := call{"c2", "gone_tool", "{}"}, call{"c1", "svc02__op0", "{}"}
			history := []entry{
				user("list the servers"), {role: "assistant", blocks: []block{{kind: "call", call: there}, {kind: "call", call: gone}}},
				{role: "tool", call: there, text: "3"}, {role: "tool", call: gone, text: "?"}, user("now play some music"),
			}
			rig := s.start(t, set, word)
			body := a.body(history, true)
			sent := rig.sent(t, body)
			if shown := shownOf(t, sent, list); len(shown) == len(list) || !slices.Contains(shown, list[10]) {
				t.Errorf("%d of %d tools are shown, the one in the history among them: %v", len(shown), len(list), slices.Contains(shown, list[10]))
			}
			if wrong := undo(a, sent, body, nil); wrong != "" {
				t.Error(wrong)
			}
		}
	})
}

// TestOddNames: names were taken for one another, or one failed the request.
func TestOddNames(t *testing.T) {
	s := newShelf(t)
	inEach(t, func(t *testing.T, set setting) {
		a := plainApp(set.protocol)
		names := []string{"files.read", "files/read", "files-read", "files_read", "\u00dcn\u00efcode_werkzeug", "\u691c\u7d22", strings.Repeat("x", 65), strings.Repeat("y", 129), "with space"}
		var list []string
		for i, name := range names {
			list = append(list, a.function(name, []string{"", "Reads files"}[i%2], `{"type":"object","properties":{"q":{"type":"string"}}}`))
		}
		list = append(list, a.function("twin", "first twin", `{"type":"object"}`), a.function("twin", "second twin", `{"type":"object"}`))
		list = append(list, a.services(40)...)
		a.tools = a.list(list...)
		rig := s.start(t, set, word)
		shown := shownOf(t, rig.sent(t, a.body([]entry{user("read the file")}, true)), list)
		if len(shown) == 0 || len(shown) == len(list) {
			t.Errorf("%d of %d tools are shown", len(shown), len(list))
		}
		for _, name := range append(names, "twin") {
			shown := shownOf(t, rig.sent(t, a.body([]entry{user("use the tool " + name + " now")}, true, "tool_choice", choices(set.protocol, name)["named"])), list)
			var got []string
			for _, e := range shown {
				if nameOf(e) == name {
					got = append(got, e)
				}
			}
			var want []string
			for _, e := range list {
				if nameOf(e) == name {
					want = append(want, e)
				}
			}
			if !slices.Equal(got, want) && set.protocol != enginetest.NativeChat {
				t.Errorf("of %q %q are shown, want %q", name, got, want)
			}
		}
	})
}

// TestParallelCalls: calls streamed with the same index, or none, were glued together. Where one of them is the daemon's and is taken out, the others keep their
// ids and arguments, and get dense indexes.
func TestParallelCalls(t *testing.T) {
	a := plainApp(enginetest.OpenAIChat)
	a.tools = a.list(a.services(60)...)
	glued := [][]string{
		{`{"index":0,"id":"call_1","function":{"name":"note_write","arguments":"{\"path\":\"a.txt\""}}`}, {`{"index":0,"function":{"arguments":",\"text\":\"one\"}"}}`},
		{`{"index":0,"id":"call_o","function":{"name":"load_tools","arguments":"{\"name\":"}}`}, {`{"index":0,"function":{"arguments":"\"mail\"}"}}`},
		{`{"index":0,"id":"call_2","function":{"name":"note_write","arguments":"{\"path\":\"b.txt\",\"text\":\"two\"}"}}`},
	}
	for name, pieces := range map[string][][]string{"with ours": glued, "without": slices.Concat(glued[:2], glued[4:])} {
		var stream strings.Builder
		for _, piece := range pieces {
			fmt.Fprintf(&stream, `data: {"id":"r","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[%s]},"finish_reason":null}]}`+"\n\n", piece[0])
		}
		stream.WriteString(`data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
		rig := newShelf(t).startBefore(t, setting{protocol: enginetest.OpenAIChat}, canned("text/event-stream", stream.String()))
		reply, err := rig.post(context.Background(), a.body([]entry{user("list the mail")}, true))
		if err != nil {
			t.Fatal(err)
		}
		if name == "without" {
			if string(reply.body) != stream.String() {
				t.Errorf("the engine's bytes were changed: %s", reply.body)
			}
			continue
		}
		v := read(enginetest.OpenAIChat, true, reply)
		got, err := json.Marshal(v.entry.calls())
		if len(v.problems) > 0 || err != nil || fmt.Sprint(v.entry.calls()) != `[{call_1 note_write {"path":"a.txt","text":"one"}} {call_2 note_write {"path":"b.txt","text":"two"}}]` {
			t.Errorf("the calls are %s, %q", got, v.problems)
		}
	}
}
