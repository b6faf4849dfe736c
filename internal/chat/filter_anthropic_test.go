package chat_test

import (
	"strconv"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// sse is one named event whose data names its type first.
func sse(kind, members string) string {
	if members != "" {
		members = "," + members
	}
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + members + "}\n\n"
}

func blockText(index int, text ...string) string {
	n := strconv.Itoa(index)
	s := sse("content_block_start", `"index":`+n+`,"content_block":{"type":"text","text":""}`)
	for _, t := range text {
		s += sse("content_block_delta", `"index":`+n+`,"delta":{"type":"text_delta","text":"`+t+`"}`)
	}
	return s + sse("content_block_stop", `"index":`+n)
}

func blockUse(index int, id, name string, arguments ...string) string {
	n := strconv.Itoa(index)
	s := sse("content_block_start", `"index":`+n+`,"content_block":{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`)
	for _, a := range arguments {
		s += sse("content_block_delta", `"index":`+n+`,"delta":{"type":"input_json_delta","partial_json":`+strconv.Quote(a)+`}`)
	}
	return s + sse("content_block_stop", `"index":`+n)
}

func TestFilterAnthropicStream(t *testing.T) {
	start := func(id string) string {
		return sse("message_start", `"message":{"id":"`+id+`","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":20,"output_tokens":1}}`)
	}
	end := func(reason string, output int) string {
		return sse("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":`+strconv.Itoa(output)+`}`) + sse("message_stop", "")
	}
	later := func(reason string, output int) string {
		return strings.Replace(end(reason, output), `"usage":{`, `"usage":{"input_tokens":20,`, 1)
	}
	a, b := start("a"), start("b")
	load := blockUse(1, "h1", "load_tools", "", `{"name":`, `"files"}`)
	one := func(want string, rounds ...string) filterTest {
		return filterTest{protocol: chat.Anthropic, contentType: events, rounds: rounds, want: want, ended: true}
	}
	held := func(test filterTest) filterTest { test.held = "load_tools"; return test }
	passed := func(test filterTest, names string) filterTest { test.passed = names; return test }
	text := func(test filterTest, text string) filterTest { test.text = text; return test }
	unnamed := func(test filterTest) filterTest { test.held = "call_tool"; return test }
	open := func(test filterTest) filterTest { test.ended = false; return test }
	bridge := `{"name":"write","arguments":{"p":1.0}}`
	nothing := open(one("", a+end("end_turn", 5)))
	nothing.empty = true
	runFilterTests(t, map[string]filterTest{
		"text":            text(one("", a+sse("ping", "")+blockText(0, "a", "b\\n")+end("end_turn", 5)), "ab\n"),
		"real":            passed(text(one("", a+blockText(0, "a")+blockUse(1, "c1", "read", "", "{}")+blockUse(2, "c2", "read")+end("tool_use", 5)), "a"), "read read"),
		"no blanks, CRLF": passed(one("", strings.ReplaceAll(strings.ReplaceAll(a+blockUse(0, "c1", "read", "{}")+end("tool_use", 5), "\n\n", "\n"), "\n", "\r\n")), "read"),
		"ours, released":  open(held(text(one(a+blockText(0, "a")+end("end_turn", 5), a+blockText(0, "a")+load+end("tool_use", 5)), "a"))),
		"ours, then text": held(text(one(a+blockText(0, "a")+sse("ping", "")+blockText(1, "b")+later("end_turn", 11),
			a+blockText(0, "a")+load+end("tool_use", 5), b+sse("ping", "")+blockText(0, "b")+end("end_turn", 6)), "a")),
		"ours, then real": passed(held(one(a+blockUse(0, "c1", "read", "{", "}")+later("tool_use", 11),
			a+load+end("tool_use", 5), b+blockUse(0, "c1", "read", "{", "}")+end("tool_use", 6))), "read"),
		"ours beside real": passed(held(text(one(a+blockText(0, "a")+blockUse(1, "c1", "read", "{}")+end("tool_use", 5), a+blockText(0, "a")+load+blockUse(2, "c1", "read", "{}")+end("tool_use", 5)), "a")), "read"),
		"bridged": passed(one(a+blockUse(0, "b1", "write", `{"p":1.0}`)+blockUse(1, "c1", "read", "{}")+end("tool_use", 5),
			a+blockUse(0, "b1", "call_tool", "", bridge[:12], bridge[12:])+blockUse(1, "c1", "read", "{}")+end("tool_use", 5)), "write* read"),
		"bridged, malformed":                  unnamed(open(one(a+end("end_turn", 5), a+blockUse(0, "b1", "call_tool", `{"na`, `me":7}`)+end("tool_use", 5)))),
		"bridged, no arguments, ended twice":  unnamed(open(one(a+end("end_turn", 5), a+blockUse(0, "b1", "call_tool")+sse("content_block_stop", `"index":0`)+end("tool_use", 5)))),
		"bridged without a name, beside real": unnamed(passed(one(a+blockUse(0, "c1", "read", "{}")+end("tool_use", 5), a+blockUse(0, "b1", "call_tool", `{}`)+blockUse(1, "c1", "read", "{}")+end("tool_use", 5)), "read")),
		"bridged to the bridge, then text": unnamed(one(a+blockText(0, "b")+later("end_turn", 11),
			a+blockUse(0, "b1", "call_tool", `{"name":"call_tool","arguments":{}}`)+end("tool_use", 5), b+blockText(0, "b")+end("end_turn", 6))),
		"bridged to ours":     open(held(one(a+end("end_turn", 5), a+blockUse(0, "b1", "call_tool", strings.Replace(bridge, "write", "load_tools", 1))+end("tool_use", 5)))),
		"bridged, broken off": unnamed(open(one(a, a+strings.TrimSuffix(blockUse(0, "b1", "call_tool", bridge[:12]), sse("content_block_stop", `"index":0`))))),
		"nothing at all":      nothing,
		"thinking alone": one("", a+sse("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)+
			sse("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`)+sse("content_block_stop", `"index":0`)+end("end_turn", 5)),
		"thinking left open under the number of ours": held(one(a+sse("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)+
			sse("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`)+sse("content_block_stop", `"index":0`)+blockText(1, "b")+later("end_turn", 11),
			a+sse("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)+
				sse("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`)+strings.ReplaceAll(load, `"index":1`, `"index":0`)+sse("content_block_stop", `"index":1`)+end("tool_use", 5),
			b+blockText(0, "b")+end("end_turn", 6))),
		"thinking left open before a bridged call": passed(one(a+sse("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)+sse("content_block_stop", `"index":0`)+blockUse(1, "b1", "write", `{"p":1.0}`)+end("tool_use", 5),
			a+sse("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`)+blockUse(0, "b1", "call_tool", bridge)+sse("content_block_stop", `"index":1`)+end("tool_use", 5)), "write*"),
		"broken off":       open(text(one("", a+blockText(0, "a")+"event: content_bl"), "a")),
		"ours, broken off": open(held(one(a, a+load[:len(load)-len(sse("content_block_stop", `"index":1`))]))),
		"error in band":    text(one("", a+blockText(0, "a")+sse("error", `"error":{"type":"overloaded_error","message":"no"}`)), "a"),
		"bridged, then error": passed(one(a+strings.TrimSuffix(blockUse(0, "b1", "write", `{"p":1.0}`), sse("content_block_stop", `"index":0`))+sse("error", `"error":{"type":"overloaded_error","message":"no"}`),
			a+strings.TrimSuffix(blockUse(0, "b1", "call_tool", bridge), sse("content_block_stop", `"index":0`))+sse("error", `"error":{"type":"overloaded_error","message":"no"}`)), "write*"),
		"bridged, half, then error": one(a+sse("error", `"error":{"type":"overloaded_error","message":"no"}`),
			a+strings.TrimSuffix(blockUse(0, "b1", "call_tool", bridge[:12]), sse("content_block_stop", `"index":0`))+sse("error", `"error":{"type":"overloaded_error","message":"no"}`)),
		"ours, then error": held(one(a+sse("error", `"error":{"type":"overloaded_error","message":"no"}`), a+load+sse("error", `"error":{"type":"overloaded_error","message":"no"}`))),
	})
}

func TestFilterAnthropicPlain(t *testing.T) {
	message := func(content, stop string, output int) string {
		return `{"id":"a","type":"message","role":"assistant","model":"m","content":[` + content + `],"stop_reason":"` + stop + `","usage":{"input_tokens":20,"output_tokens":` + strconv.Itoa(output) + `}}`
	}
	const (
		a      = `{"type":"text","text":"a"}`
		b      = `{"type":"text","text":"b"}`
		load   = `{"type":"tool_use","id":"h1","name":"load_tools","input":{"name":"files"}}`
		read   = `{"type":"tool_use","id":"c1","name":"read","input":{}}`
		bridge = `{"type":"tool_use","id":"b1","name":"call_tool","input":{"name":"write","arguments":{"p":1.0}}}`
		write  = `{"type":"tool_use","id":"b1","name":"write","input":{"p":1.0}}`
	)
	one := func(rounds ...string) filterTest {
		return filterTest{protocol: chat.Anthropic, contentType: single, rounds: rounds, ended: true}
	}
	with := func(test filterTest, change func(*filterTest)) filterTest { change(&test); return test }
	nothing := func(last, want string) filterTest {
		return with(one(message(a+","+load, "tool_use", 5), last), func(t *filterTest) { t.text, t.held, t.want, t.ended = "a", "load_tools", want, false })
	}
	runFilterTests(t, map[string]filterTest{
		"text": with(one(message(a, "end_turn", 5)), func(t *filterTest) { t.text = "a" }),
		"real": with(one(message(a+","+read, "tool_use", 5)), func(t *filterTest) { t.text, t.passed = "a", "read" }),
		"ours, released": with(one(message(a+","+load, "tool_use", 5)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "load_tools", message(a, "end_turn", 5), false
		}),
		"ours, then text":  with(one(message(a+","+load, "tool_use", 5), message(b, "end_turn", 6)), func(t *filterTest) { t.text, t.held, t.want = "a", "load_tools", message(a+","+b, "end_turn", 11) }),
		"ours beside real": with(one(message(load+","+read, "tool_use", 5)), func(t *filterTest) { t.held, t.passed, t.want = "load_tools", "read", message(read, "tool_use", 5) }),
		"bridged":          with(one(message(bridge, "tool_use", 5)), func(t *filterTest) { t.passed, t.want = "write*", message(write, "tool_use", 5) }),
		"bridged, malformed": with(one(message(a+","+strings.Replace(bridge, `"write"`, `7`, 1), "tool_use", 5)), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "call_tool", message(a, "end_turn", 5), false
		}),
		"bridged, malformed, beside real": with(one(message(strings.Replace(bridge, `"write"`, `7`, 1)+","+read, "tool_use", 5)), func(t *filterTest) {
			t.held, t.passed, t.want = "call_tool", "read", message(read, "tool_use", 5)
		}),
		"ours, then null":    nothing(strings.Replace(message("", "end_turn", 6), `[]`, `null`, 1), message(a, "end_turn", 11)),
		"ours, then nothing": nothing(message("", "end_turn", 6), message(a, "end_turn", 11)),
		"ours, then no text": nothing(strings.Replace(message("", "end_turn", 6), `[]`, `""`, 1), message(a, "end_turn", 11)),
		"ours, then no content": nothing(strings.Replace(message("", "end_turn", 6), `"content":[],`, ``, 1),
			`{"content":[`+a+`],`+strings.Replace(message("", "end_turn", 11), `"content":[],`, ``, 1)[1:]),
		"ours, then a text": with(nothing(strings.Replace(message("", "end_turn", 6), `[]`, `"b"`, 1), message(a+","+b, "end_turn", 11)), func(t *filterTest) { t.ended = true }),
		"nothing":           with(one(message("", "end_turn", 5)), func(t *filterTest) { t.empty, t.ended = true, false }),
		"error":             one(`{"type":"error","error":{"type":"x","message":"load_tools"}}`),
	})
}
