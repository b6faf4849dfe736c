package chat_test

import (
	"strconv"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// numberedEvents gives each event the next sequence number.
func numberedEvents(parts ...string) string {
	var b strings.Builder
	n := 0
	for _, part := range strings.SplitAfter(strings.Join(parts, ""), "\n\n") {
		if strings.Contains(part, `"N"`) {
			part = strings.Replace(part, `"N"`, strconv.Itoa(n), 1)
			n++
		}
		b.WriteString(part)
	}
	return b.String()
}

func rEvent(kind, members string) string {
	return sse("response."+kind, `"sequence_number":"N",`+members)
}

func rObject(id, status, output string, tokens int) string {
	usage := "null"
	if tokens > 0 {
		usage = `{"input_tokens":20,"output_tokens":` + strconv.Itoa(tokens) + `,"total_tokens":` + strconv.Itoa(20+tokens) + `}`
	}
	return `{"id":"` + id + `","object":"response","created_at":1,"status":"` + status + `","output":[` + output + `],"usage":` + usage + `,"tools":[1],"tool_choice":"auto"}`
}

func rStart(id string) string {
	return rEvent("created", `"response":`+rObject(id, "in_progress", "", 0)) + rEvent("in_progress", `"response":`+rObject(id, "in_progress", "", 0))
}

func rEnd(id, output string, tokens int) string {
	return rEvent("completed", `"response":`+rObject(id, "completed", output, tokens))
}

func rPart(text string) string {
	return `{"type":"output_text","text":"` + text + `","annotations":[]}`
}

func rMessage(id, text string) string {
	return `{"id":"` + id + `","type":"message","status":"completed","role":"assistant","content":[` + rPart(text) + `]}`
}

// rOpen is the beginning of a message and its text; rText all of it.
func rOpen(index, id, text string) string {
	at := `"output_index":` + index
	return rEvent("output_item.added", at+`,"item":{"id":"`+id+`","type":"message","status":"in_progress","role":"assistant","content":[]}`) +
		rEvent("content_part.added", at+`,"item_id":"`+id+`","content_index":0,"part":`+rPart("")) +
		rEvent("output_text.delta", at+`,"item_id":"`+id+`","content_index":0,"delta":"`+text+`"`)
}

func rClose(index, id, text string) string {
	at := `"output_index":` + index
	return rEvent("output_text.done", at+`,"item_id":"`+id+`","content_index":0,"text":"`+text+`"`) +
		rEvent("content_part.done", at+`,"item_id":"`+id+`","content_index":0,"part":`+rPart(text)) +
		rEvent("output_item.done", at+`,"item":`+rMessage(id, text))
}

func rText(index, id, text string) string { return rOpen(index, id, text) + rClose(index, id, text) }

func rItem(id, name, arguments, status string) string {
	return `{"id":"f` + id + `","type":"function_call","status":"` + status + `","call_id":"` + id + `","name":"` + name + `","arguments":` + strconv.Quote(arguments) + `}`
}

func rCall(index, id, name, arguments string) string {
	at := `"output_index":` + index
	return rEvent("output_item.added", at+`,"item":`+rItem(id, name, "", "in_progress")) +
		rEvent("function_call_arguments.delta", at+`,"item_id":"f`+id+`","delta":`+strconv.Quote(arguments)) +
		rEvent("function_call_arguments.done", at+`,"item_id":"f`+id+`","arguments":`+strconv.Quote(arguments)) +
		rEvent("output_item.done", at+`,"item":`+rItem(id, name, arguments, "completed"))
}

func rDone(id, name, arguments string) string { return rItem(id, name, arguments, "completed") }

func TestFilterResponsesStream(t *testing.T) {
	one := func(want string, rounds ...string) filterTest {
		for i := range rounds {
			rounds[i] = numberedEvents(rounds[i])
		}
		if want != "" {
			want = numberedEvents(want)
		}
		return filterTest{protocol: chat.Responses, contentType: events, rounds: rounds, want: want, ended: true}
	}
	held := func(test filterTest) filterTest { test.held = "load_tools"; return test }
	passed := func(test filterTest, names string) filterTest { test.passed = names; return test }
	text := func(test filterTest, text string) filterTest { test.text = text; return test }
	unnamed := func(test filterTest) filterTest { test.held = "call_tool"; return test }
	open := func(test filterTest) filterTest { test.ended = false; return test }
	bridge := `{"name":"write","arguments":{"p":1.0}}`
	load := rDone("h1", "load_tools", "{}")
	read := rDone("c1", "read", "{}")
	nothing := open(one("", rStart("a")+rEnd("a", "", 5)))
	nothing.empty = true
	runFilterTests(t, map[string]filterTest{
		"text": text(one("", rStart("a")+rText("0", "m", "ab\\n")+rEnd("a", rMessage("m", "ab\\n"), 5)), "ab\n"),
		"real": passed(text(one("", rStart("a")+rText("0", "m", "a")+rCall("1", "c1", "read", "{}")+rEnd("a", rMessage("m", "a")+","+read, 5)), "a"), "read"),
		"ours, released": open(held(text(one(rStart("a")+rText("0", "m", "a")+rEnd("a", rMessage("m", "a"), 5),
			rStart("a")+rText("0", "m", "a")+rCall("1", "h1", "load_tools", "{}")+rEnd("a", rMessage("m", "a")+","+load, 5)), "a"))),
		"ours, then text": held(text(one(rStart("a")+rText("0", "m", "a")+rText("1", "n", "b")+rEnd("a", rMessage("m", "a")+","+rMessage("n", "b"), 11)+"data: [DONE]\n\n",
			rStart("a")+rText("0", "m", "a")+rCall("1", "h1", "load_tools", "{}")+rEnd("a", rMessage("m", "a")+","+load, 5)+"data: [DONE]\n\n",
			strings.ReplaceAll(rStart("b")+rText("0", "n", "b")+rEnd("b", rMessage("n", "b"), 6)+"data: [DONE]\n\n", `"created_at":1`, `"created_at":2`)), "a")),
		"a message left open, ours, then real": passed(held(text(one(rStart("a")+rOpen("0", "m", "a")+rClose("0", "m", "a")+rCall("1", "c1", "read", "{}")+rEnd("a", rMessage("m", "a")+","+read, 11),
			rStart("a")+rOpen("0", "m", "a")+rCall("0", "h1", "load_tools", "{}")+rEnd("a", load, 5),
			rStart("b")+rCall("0", "c1", "read", "{}")+rEnd("b", read, 6)), "a")), "read"),
		"a message left open, ours, released": open(held(text(one(rStart("a")+rOpen("0", "m", "a")+rClose("0", "m", "a")+rEnd("a", rMessage("m", "a"), 5),
			rStart("a")+rOpen("0", "m", "a")+rCall("0", "h1", "load_tools", "{}")+rEnd("a", load, 5)), "a"))),
		"ours beside real": passed(held(one(rStart("a")+rCall("0", "c1", "read", "{}")+rEnd("a", read, 5),
			rStart("a")+rCall("0", "h1", "load_tools", "{}")+rCall("1", "c1", "read", "{}")+rEnd("a", load+","+read, 5))), "read"),
		"bridged": passed(one(rStart("a")+rCall("0", "b1", "write", `{"p":1.0}`)+rCall("1", "c1", "read", "{}")+rEnd("a", rDone("b1", "write", `{"p":1.0}`)+","+read, 5),
			rStart("a")+rCall("0", "b1", "call_tool", bridge)+rCall("1", "c1", "read", "{}")+rEnd("a", rDone("b1", "call_tool", bridge)+","+read, 5)), "write* read"),
		"bridged, malformed": unnamed(open(one(rStart("a")+rEnd("a", "", 5), rStart("a")+rCall("0", "b1", "call_tool", "{")+rEnd("a", rDone("b1", "call_tool", "{"), 5)))),
		"bridged without a name, beside real": unnamed(passed(one(rStart("a")+rCall("0", "c1", "read", "{}")+rEnd("a", read, 5),
			rStart("a")+rCall("0", "b1", "call_tool", "{}")+rCall("1", "c1", "read", "{}")+rEnd("a", rDone("b1", "call_tool", "{}")+","+read, 5)), "read")),
		"bridged to the bridge, then text": unnamed(one(rStart("a")+rText("0", "n", "b")+rEnd("a", rMessage("n", "b"), 11),
			rStart("a")+rCall("0", "b1", "call_tool", `{"name":"call_tool"}`)+rEnd("a", rDone("b1", "call_tool", `{"name":"call_tool"}`), 5), rStart("b")+rText("0", "n", "b")+rEnd("b", rMessage("n", "b"), 6))),
		"bridged, never ended": unnamed(open(one(rStart("a")+rEnd("a", "", 5),
			rStart("a")+rEvent("output_item.added", `"output_index":0,"item":`+rItem("b1", "call_tool", "", "in_progress"))+rEnd("a", rDone("b1", "call_tool", "{}"), 5)))),
		"ours and text, then no output": open(held(text(one(rStart("a")+rText("0", "m", "a")+rEnd("a", rMessage("m", "a"), 11),
			rStart("a")+rText("0", "m", "a")+rCall("1", "h1", "load_tools", "{}")+rEnd("a", rMessage("m", "a")+","+load, 5),
			rStart("b")+strings.Replace(rEnd("b", "", 6), `"output":[]`, `"output":null`, 1)), "a"))),
		"bridged to ours": open(held(one(rStart("a")+rEnd("a", "", 5),
			rStart("a")+rCall("0", "b1", "call_tool", strings.Replace(bridge, "write", "load_tools", 1))+rEnd("a", rDone("b1", "call_tool", strings.Replace(bridge, "write", "load_tools", 1)), 5)))),
		"nothing at all":         nothing,
		"reasoning alone":        one("", rStart("a")+rEvent("output_item.added", `"output_index":0,"item":{"id":"r","type":"reasoning"}`)+rEvent("reasoning_summary_text.delta", `"output_index":0,"item_id":"r","delta":"hm"`)+rEnd("a", `{"id":"r","type":"reasoning"}`, 5)),
		"a tool of the engine's": one("", rStart("a")+rEvent("output_item.added", `"output_index":0,"item":{"id":"w","type":"web_search_call"}`)+rEnd("a", `{"id":"w","type":"web_search_call"}`, 5)),
		"broken off":             open(text(one("", rStart("a")+rText("0", "m", "a")+"event: respon"), "a")),
		"ours, broken off":       open(held(one(rStart("a"), rStart("a")+rEvent("output_item.added", `"output_index":0,"item":`+rItem("h1", "load_tools", "", "in_progress"))))),
		"error in band":          text(one("", rStart("a")+rText("0", "m", "a")+sse("error", `"sequence_number":"N","code":"x","message":"no"`)), "a"),
		"failed":                 text(one("", rStart("a")+rText("0", "m", "a")+rEvent("failed", `"response":`+rObject("a", "failed", "", 0))), "a"),
		"ours, then error":       held(one(rStart("a")+sse("error", `"sequence_number":"N","code":"x","message":"no"`), rStart("a")+rCall("0", "h1", "load_tools", "{}")+sse("error", `"sequence_number":"N","code":"x","message":"no"`))),
	})
}

func TestFilterResponsesPlain(t *testing.T) {
	load, read := rDone("h1", "load_tools", "{}"), rDone("c1", "read", "{}")
	bridge := `{"name":"write","arguments":"{\"p\":1.0}"}`
	whole := func(output string, tokens int) string { return rObject("a", "completed", output, tokens) }
	one := func(rounds ...string) filterTest {
		return filterTest{protocol: chat.Responses, contentType: single, rounds: rounds, ended: true}
	}
	with := func(test filterTest, change func(*filterTest)) filterTest { change(&test); return test }
	runFilterTests(t, map[string]filterTest{
		"text": with(one(whole(rMessage("m", "a"), 5)), func(t *filterTest) { t.text = "a" }),
		"real": with(one(whole(rMessage("m", "a")+", "+read, 5)), func(t *filterTest) { t.text, t.passed = "a", "read" }),
		"ours, released": with(one(whole(rMessage("m", "a")+","+load, 5)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "load_tools", whole(rMessage("m", "a"), 5), false
		}),
		"ours, then text": with(one(whole(rMessage("m", "a")+","+load, 5), whole(rMessage("n", "b"), 6)), func(t *filterTest) {
			t.text, t.held, t.want = "a", "load_tools", whole(rMessage("m", "a")+","+rMessage("n", "b"), 11)
		}),
		"ours, then nothing": with(one(whole(rMessage("m", "a")+","+load, 5), whole("", 6)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "load_tools", whole(rMessage("m", "a"), 11), false
		}),
		"ours, then null": with(one(whole(rMessage("m", "a")+","+load, 5), strings.Replace(whole("", 6), `"output":[]`, `"output":null`, 1)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "load_tools", whole(rMessage("m", "a"), 11), false
		}),
		"ours, then no output": with(one(whole(rMessage("m", "a")+","+load, 5), strings.Replace(whole("", 6), `"output":[],`, ``, 1)), func(t *filterTest) {
			t.text, t.held, t.ended = "a", "load_tools", false
			t.want = strings.Replace(whole("", 11), `"output":[],`, ``, 1)
			t.want = `{"output":[` + rMessage("m", "a") + `],` + t.want[1:]
		}),
		"bridged, unnamed": with(one(whole(rMessage("m", "a")+","+rDone("b1", "call_tool", "{}"), 5)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "call_tool", whole(rMessage("m", "a"), 5), false
		}),
		"ours beside real": with(one(whole(load+","+read, 5)), func(t *filterTest) { t.held, t.passed, t.want = "load_tools", "read", whole(read, 5) }),
		"bridged":          with(one(whole(rDone("b1", "call_tool", bridge), 5)), func(t *filterTest) { t.passed, t.want = "write*", whole(rDone("b1", "write", `{"p":1.0}`), 5) }),
		"nothing":          with(one(whole("", 5)), func(t *filterTest) { t.empty, t.ended = true, false }),
		"error":            one(`{"error":{"message":"load_tools"}}`),
	})
}

func TestFilterEchoesTheClientsTools(t *testing.T) {
	cfg := ours()
	cfg.Tools, cfg.Choice = []byte(`[1,2,3]`), []byte(`{"type":"function","name":"x"}`)
	change := strings.NewReplacer(`"tools":[1]`, `"tools":[1,2,3]`, `"tool_choice":"auto"`, `"tool_choice":{"type":"function","name":"x"}`)
	stream := numberedEvents(rStart("a"), rText("0", "m", "a"), rEnd("a", rMessage("m", "a"), 5))
	if got := filter(chat.Responses, events, cfg, 7, stream); got.out != change.Replace(stream) {
		t.Errorf("stream:\n%s", got.out)
	}
	plain := rObject("a", "completed", rMessage("m", "a"), 5)
	if got := filter(chat.Responses, single, cfg, 7, plain); got.out != change.Replace(plain) {
		t.Errorf("plain:\n%s", got.out)
	}
}

func TestFilterKeepsTheFirstRoundsIdentity(t *testing.T) {
	first := strings.NewReplacer(`"object"`, `"previous_response_id":"p","object"`).Replace
	later := strings.NewReplacer(`"object"`, `"previous_response_id":null,"object"`, `"created_at":1`, `"created_at":2`).Replace
	got := filter(chat.Responses, events, ours(), 9, first(numberedEvents(rStart("a"), rCall("0", "h1", "load_tools", "{}"), rEnd("a", rDone("h1", "load_tools", "{}"), 5))),
		later(numberedEvents(rStart("b"), rText("0", "n", "b"), rEnd("b", rMessage("n", "b"), 6))))
	if want := first(numberedEvents(rStart("a"), rText("0", "n", "b"), rEnd("a", rMessage("n", "b"), 11))); got.out != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.out, want)
	}
	if got.verdicts[0].ID != "a" || got.verdicts[1].ID != "b" {
		t.Errorf("the rounds' ids are %q and %q", got.verdicts[0].ID, got.verdicts[1].ID)
	}
}
