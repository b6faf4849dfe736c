package chat_test

import (
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// chunk is an event of OpenAI's chat stream.
func chunk(id, delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"id":"` + id + `","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]}` + "\n\n"
}

func usageChunk(id string, prompt, output, total string) string {
	return `data: {"id":"` + id + `","created":1,"choices":[],"usage":{"prompt_tokens":` + prompt + `,"completion_tokens":` + output + `,"total_tokens":` + total + `}}` + "\n\n"
}

func says(text string) string { return chunk("x", `"content":"`+text+`"`, "null") }

func calls(entries ...string) string {
	return chunk("x", `"tool_calls":[`+strings.Join(entries, ",")+`]`, "null")
}

const (
	role     = `data: {"id":"x","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}` + "\n\n"
	doneLine = "data: [DONE]\n\n"
)

func TestFilterOpenAIStream(t *testing.T) {
	stop, toolEnd := chunk("x", "", "stop"), chunk("x", "", "tool_calls")
	usage := usageChunk("x", "20", "5", "25")
	load := []string{`{"index":0,"id":"h1","type":"function","function":{"name":"load_tools","arguments":""}}`,
		`{"index":0,"function":{"arguments":"{\"name\":"}}`, `{"index":0,"function":{"arguments":"\"files\"}"}}`}
	loads := calls(load[0]) + calls(load[1]) + calls(load[2])
	read := func(index, id string) string {
		return calls(`{"index":`+index+`,"id":"`+id+`","type":"function","function":{"name":"read","arguments":""}}`) +
			calls(`{"index":`+index+`,"function":{"arguments":"{\"a\":"}}`) + calls(`{"index":`+index+`,"function":{"arguments":"1}"}}`)
	}
	bridge := calls(`{"index":0,"id":"b1","type":"function","function":{"name":"call_tool","arguments":""}}`) +
		calls(`{"index":0,"function":{"arguments":"{\"name\":\"write\",\"arg"}}`) + calls(`{"index":0,"function":{"arguments":"uments\":{\"p\":\"é\",\"n\":1.0}}"}}`)
	written := calls(`{"index":0,"id":"b1","type":"function","function":{"name":"write","arguments":"{\"p\":\"é\",\"n\":1.0}"}}`)
	second := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, `"id":"x"`, `"id":"y"`), `"created":1`, `"created":2`)
	}
	one := func(want string, rounds ...string) filterTest {
		return filterTest{protocol: chat.OpenAI, contentType: events, rounds: rounds, want: want, ended: true}
	}
	with := func(test filterTest, change func(*filterTest)) filterTest { change(&test); return test }
	held := func(test filterTest) filterTest { test.held = "load_tools"; return test }
	passed := func(test filterTest, names string) filterTest { test.passed = names; return test }
	text := func(test filterTest, text string) filterTest { test.text = text; return test }
	unnamed := func(test filterTest) filterTest { test.held = "call_tool"; return test }
	open := func(test filterTest) filterTest { test.ended = false; return test }
	runFilterTests(t, map[string]filterTest{
		"text":      text(one("", role+says("a")+says("b\\u00e9\\n")+stop+usage+doneLine), "abé\n"),
		"real":      passed(text(one("", role+says("a")+read("0", "c1")+read("1", "c2")+toolEnd+usage+doneLine), "a"), "read read"),
		"comments":  text(one("", ": ping\r\n\r\nevent: message\r\nid: 7\r\n"+strings.ReplaceAll(role+says("a")+stop+doneLine, "\n", "\r\n")), "a"),
		"no blanks": passed(one("", strings.ReplaceAll(role+read("0", "c1")+toolEnd+doneLine, "\n\n", "\n")), "read"),
		"ours, released": open(held(text(one(role+says("a")+stop+usage+doneLine,
			role+says("a")+loads+toolEnd+usage+doneLine), "a"))),
		"ours, then text": held(text(one(role+says("a")+says(`\n\nb`)+stop+usageChunk("x", "20", "10", "30")+doneLine,
			role+says("a")+loads+toolEnd+usage+doneLine, second(role+says("b")+stop+usage+doneLine)), "a")),
		"ours, then ours, then real": passed(held(one(role+read("0", "c1")+toolEnd+usageChunk("x", "20", "15", "35")+doneLine,
			role+loads+toolEnd+usage+doneLine, second(role+loads+toolEnd+usage+doneLine), second(role+read("0", "c1")+toolEnd+usage+doneLine))), "read"),
		"ours, CRLF, then text": held(one(strings.ReplaceAll(role+says("b")+stop+doneLine, "\n", "\r\n"),
			strings.ReplaceAll(role+loads+toolEnd+doneLine, "\n", "\r\n"), strings.ReplaceAll(second(role+says("b")+stop+doneLine), "\n", "\r\n"))),
		"ours in one piece, with the role": held(one(chunk("x", `"role":"assistant","content":"b"`, "null")+stop+doneLine,
			chunk("x", `"role":"assistant","content":"","tool_calls":[{"id":"h1","index":0,"type":"function","function":{"name":"load_tools","arguments":"{}"}}]`, "tool_calls")+doneLine,
			second(chunk("x", `"role":"assistant","content":"b"`, "null")+stop+doneLine))),
		"ours before real": passed(held(one(role+read("0", "c2")+toolEnd+usage+doneLine, role+loads+read("1", "c2")+toolEnd+usage+doneLine)), "read"),
		"ours between real, all numbered 0": passed(held(one(role+calls(`{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}`)+calls(`{"index":1,"id":"c2","function":{"name":"b","arguments":"{"}}`)+calls(`{"index":1,"function":{"arguments":"}"}}`)+toolEnd+doneLine,
			role+calls(`{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"}}`)+calls(`{"index":0,"id":"h1","function":{"name":"load_tools","arguments":"{}"}}`)+
				calls(`{"index":0,"id":"c2","function":{"name":"b","arguments":"{"}}`)+calls(`{"index":0,"function":{"arguments":"}"}}`)+toolEnd+doneLine)), "a b"),
		"ours and real in one piece": passed(held(one(calls(`{"index":0,"id":"c2","function":{"name":"b","arguments":"{}"}}`)+toolEnd+doneLine,
			calls(`{"index":0,"id":"h1","function":{"name":"load_tools","arguments":"{}"}}`, `{"index":1,"id":"c2","function":{"name":"b","arguments":"{}"}}`)+toolEnd+doneLine)), "b"),
		"ours, the name in pieces": open(held(one(role+stop+doneLine, role+calls(`{"index":0,"id":"h1","function":{"name":"load_"}}`)+calls(`{"index":0,"function":{"name":"tools"}}`)+calls(`{"index":0,"function":{"arguments":"{}"}}`)+toolEnd+doneLine))),
		"real, the name in pieces": passed(one("", role+calls(`{"index":0,"id":"h1","function":{"name":"load_"}}`)+calls(`{"index":0,"function":{"name":"toolsets"}}`)+": ping\n\n"+calls(`{"index":0,"function":{"arguments":"{}"}}`)+toolEnd+doneLine), "load_toolsets"),
		"real without arguments":   passed(one("", role+calls(`{"index":0,"id":"h1","function":{"name":"load_"}}`)+toolEnd+doneLine), "load_"),
		"real, junk behind it":     passed(one("", role+calls(`{"index":0,"id":"c1","function":{"name":"read"}}`)+"data: oops\n\n"+strings.TrimSpace(toolEnd)), "read"),
		"a call without a name":    one("", role+calls(`{"index":0,"id":"h1","function":{"arguments":"{}"}}`)+toolEnd+doneLine),
		"bridged":                  passed(one(role+written+toolEnd+doneLine, role+bridge+toolEnd+doneLine), "write*"),
		"bridged, then real":       passed(one(role+written+read("1", "c2")+toolEnd+doneLine, role+bridge+read("1", "c2")+toolEnd+doneLine), "write* read"),
		"bridged in one piece, after ours": passed(held(one(role+calls(`{"index":0,"id":"b1","x":1,"function":{"name":"write","arguments":"{\"p\":1}"}}`)+toolEnd+doneLine,
			role+loads+calls(`{"index":1,"id":"b1","x":1,"function":{"name":"call_tool","arguments":"{\"arguments\":\"{\\\"p\\\":1}\",\"name\":\"write\"}"}}`)+toolEnd+doneLine)), "write*"),
		"bridged, cut off by the finish": unnamed(open(one(role+stop+doneLine,
			role+calls(`{"index":0,"id":"b1","type":"function","function":{"name":"call_tool","arguments":"{\"name\":"}}`)+calls(`{"index":0,"function":{"arguments":"\"wr"}}`)+toolEnd+doneLine))),
		"bridged, cut off by the next": unnamed(passed(one(role+read("0", "c2")+toolEnd+doneLine,
			role+calls(`{"index":0,"id":"b1","type":"function","function":{"name":"call_tool","arguments":"{\"name\":"}}`)+read("1", "c2")+toolEnd+doneLine), "read")),
		"bridged, whole after the next": passed(one(role+read("0", "c2")+strings.Replace(written, `"index":0,"id"`, `"index":1,"id"`, 1)+toolEnd+doneLine,
			role+strings.TrimSuffix(bridge, calls(`{"index":0,"function":{"arguments":"uments\":{\"p\":\"é\",\"n\":1.0}}"}}`))+read("1", "c2")+calls(`{"index":0,"function":{"arguments":"uments\":{\"p\":\"é\",\"n\":1.0}}"}}`)+toolEnd+doneLine), "write* read"),
		"bridged without a name, more pieces, then real": unnamed(passed(one(role+read("0", "c2")+toolEnd+doneLine,
			role+calls(`{"index":0,"id":"b1","function":{"name":"call_tool","arguments":"{}"}}`)+calls(`{"index":0,"function":{"arguments":""}}`)+calls(`{"index":0,"function":{"arguments":" "}}`)+read("1", "c2")+toolEnd+doneLine), "read")),
		"bridged to the bridge, then text": unnamed(one(role+says("b")+stop+usageChunk("x", "20", "10", "30")+doneLine,
			role+strings.ReplaceAll(bridge, "write", "call_tool")+toolEnd+usage+doneLine, second(role+says("b")+stop+usage+doneLine))),
		"bridged, broken off":    unnamed(open(one(role, role+calls(`{"index":0,"id":"b1","function":{"name":"call_tool","arguments":"{"}}`)))),
		"bridged to ours":        open(held(one(role+stop+doneLine, role+strings.ReplaceAll(bridge, "write", "load_tools")+toolEnd+doneLine))),
		"nothing at all":         with(open(one("", role+stop+usage+doneLine)), func(t *filterTest) { t.empty = true }),
		"nothing, then text":     with(one(role+says("b")+stop+usageChunk("x", "20", "10", "30")+doneLine, role+stop+usage+doneLine, second(role+says("b")+stop+usage+doneLine)), func(t *filterTest) { t.empty = true }),
		"thinking alone":         one("", role+chunk("x", `"reasoning_content":"hm"`, "null")+stop+usage+doneLine),
		"parts":                  text(one("", role+chunk("x", `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "null")+stop+usage+doneLine), "ab"),
		"parts that are no text": one("", role+chunk("x", `"content": [{"type":"image"}]`, "null")+stop+usage+doneLine),
		"no parts":               with(open(one("", role+chunk("x", `"content":[]`, "null")+stop+usage+doneLine)), func(t *filterTest) { t.empty = true }),
		"ours, then parts": held(text(one(role+chunk("x", `"content":[{"type":"text","text":"a"}]`, "null")+chunk("x", `"content":[{"type":"image"},{"type":"text","text":"\n\nb"},{"type":"text","text":"c"}]`, "null")+stop+doneLine,
			role+chunk("x", `"content":[{"type":"text","text":"a"}]`, "null")+loads+toolEnd+doneLine, second(role+chunk("x", `"content":[{"type":"image"},{"type":"text","text":"b"},{"type":"text","text":"c"}]`, "null")+stop+doneLine)), "a")),
		"broken off":             open(text(one("", role+says("a")+`data: {"choices":[{"delta":{"con`), "a")),
		"ours, broken off":       open(held(one(role, role+calls(load[0])+calls(load[1])))),
		"error in band":          text(one("", role+says("a")+"data: {\"error\":{\"message\":\"gone\"}}\n\n"), "a"),
		"error event":            text(one("", role+says("a")+"event: error\ndata: {\"message\":\"gone\"}\n\n"), "a"),
		"bridged, then an error": one(role+"data: {\"error\":{\"message\":\"gone\"}}\n\n", role+calls(`{"index":0,"id":"b1","function":{"name":"call_tool","arguments":"{"}}`)+"data: {\"error\":{\"message\":\"gone\"}}\n\n"),
		"ours, then an error":    held(one(role+"data: {\"error\":{\"message\":\"gone\"}}\n\n", role+loads+"data: {\"error\":{\"message\":\"gone\"}}\n\n")),
		"data in several lines":  text(open(held(one("id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\", \"content\":\"a\"}}]}\n\n"+stop, "id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\ndata: \"tool_calls\":[{\"function\":{\"name\":\"load_tools\",\"arguments\":\"{}\"}}],\ndata: \"content\":\"a\"}}]}\n\n"+toolEnd))), "a"),
		"data in several lines, the first without what tells": open(held(one(stop,
			"data: {\"a\":{}\ndata: ,\"choices\":[{\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"load_tools\",\"arguments\":\"{}\"}}]}}]}\n\n"+toolEnd))),
		"data in very many lines":             text(open(held(one("id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\", \"content\":\"a\"}}]}\n\n"+stop, "id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\ndata: \"tool_calls\":[{\"function\":{\"name\":\"load_tools\",\"arguments\":\"{}\"}}],\n"+strings.Repeat("data:\n", 70)+"data: \"content\":\"a\"}}]}\n\n"+toolEnd))), "a"),
		"data in lines, a space behind them":  text(open(held(one("id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\", \"content\":\"a\"}}]} \n\r\n"+stop, "id: 7\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\ndata: \"tool_calls\":[{\"function\":{\"name\":\"load_tools\",\"arguments\":\"{}\"}}],\ndata: \"content\":\"a\"}}]} \n\r\n"+toolEnd))), "a"),
		"half an event, then a whole one":     passed(one("", "data: {\"a\":{}\n"+read("0", "c1")+toolEnd), "read"),
		"half an event, then ours":            open(held(one("data: {\"a\":{}\n"+stop, "data: {\"a\":{}\n"+loads+toolEnd))),
		"ours, no last blank line, then text": text(held(one(role+says("a")+says(`\n\nb`)+stop, role+loads+strings.TrimSpace(says("a")), role+says("b")+stop)), "a"),
		"two choices that differ": with(held(text(one(
			`data: {"choices":[{"index":1,"delta":{"content":"a"}}]}`+"\n\n"+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+`data: {"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+doneLine,
			`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"load_tools","arguments":"{}"}}]}},{"index":1,"delta":{"content":"a"}}]}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n"+`data: {"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+doneLine), "a")),
			func(t *filterTest) {
				t.want = strings.Replace(t.want, `{"index":1,"delta":{"content":"a"}}`, `{"index":0,"delta":{}},{"index":1,"delta":{"content":"a"}}`, 1)
			}),
		"legacy call":     passed(one("", event(`"function_call":{"name":"load_tools","arguments":"{}"}`)+stop+doneLine), "load_tools"),
		"what is no JSON": text(one("", "tool_calls\ndata: {\"tool_calls\n\ndata: oops\r\n\r\ndata: {\"a\":\ndata: {}\n\n"+says("a")+stop+doneLine), "a"),
	})
}

// TestFilterOpenAINamesInPieces: a call's beginning waits as long as its name may become one of ours, and nothing else does.
func TestFilterOpenAINamesInPieces(t *testing.T) {
	cfg := prefixed()
	first := func(name string) string {
		return calls(`{"index":0,"id":"h1","type":"function","function":{"name":"` + name + `","arguments":""}}`)
	}
	piece := func(name, arguments string) string {
		return calls(`{"index":0,"function":{"name":"` + name + `","arguments":"` + arguments + `"}}`)
	}
	const nothing = "nothing"
	const whole = `{\"name\":\"x\"}`
	arguments := calls(`{"index":0,"function":{"arguments":"` + whole + `"}}`)
	second := calls(`{"index":1,"id":"c2","type":"function","function":{"name":"read","arguments":"{}"}}`)
	toolEnd, cut := chunk("x", "", "tool_calls")+doneLine, chunk("x", "", "length")+doneLine
	for name, test := range map[string]struct{ stream, held, passed, want string }{ // want: behind the role; "": the stream as it came
		"ours":                                   {first("load_") + piece("tools", "") + arguments + toolEnd, "load_tools", "", chunk("x", "", "stop") + doneLine},
		"ours, in three":                         {first("lo") + piece("ad_to", "") + piece("ols", "") + arguments + toolEnd, "load_tools", "", chunk("x", "", "stop") + doneLine},
		"ours, with whole arguments":             {first("load_") + piece("tools", whole) + toolEnd, "load_tools", "", chunk("x", "", "stop") + doneLine},
		"ours, something empty between":          {first("load_") + chunk("x", "", "null") + piece("tools", "") + arguments + toolEnd, "load_tools", "", chunk("x", "", "null") + chunk("x", "", "stop") + doneLine},
		"ours, text between":                     {first("load_") + says("a") + piece("tools", whole) + toolEnd, "load_tools", "", says("a") + chunk("x", "", "stop") + doneLine},
		"the bridge":                             {first("call_") + piece("tool", `{\"name\":\"write\"}`) + toolEnd, "", "write*", calls(`{"index":0,"id":"h1","type":"function","function":{"name":"write","arguments":"{}"}}`) + toolEnd},
		"the client's":                           {first("load_") + piece("file", "") + arguments + toolEnd, "", "load_file", ""},
		"the client's, a beginning of ours":      {first("load") + chunk("x", "", "null") + arguments + toolEnd, "", "load", ""},
		"the client's, without arguments":        {first("load") + toolEnd, "", "load", ""},
		"the client's, before another":           {first("load") + second + toolEnd, "", "load read", ""},
		"a name that is cut at the limit":        {first("load_") + cut, "", "", cut},
		"a name that the stream breaks off in":   {first("load_"), "", "", nothing},
		"cut at the limit behind the client's":   {strings.ReplaceAll(second, `"index":1`, `"index":0`) + strings.Replace(first("load_"), `{"index":0,"id"`, `{"index":1,"id"`, 1) + cut, "", "read", strings.ReplaceAll(second, `"index":1`, `"index":0`) + cut},
		"the client's, two calls numbered alike": {calls(`{"index":0,"id":"c1","function":{"name":"now"}}`) + piece("read", "{}") + toolEnd, "", "now read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			want := role + test.want
			switch test.want {
			case "":
				want = role + test.stream
			case nothing:
				want = role
			}
			for _, size := range []int{1, 50, 1 << 20} {
				got := filter(chat.OpenAI, events, cfg, size, role+test.stream)
				if held, passed := names(got.verdicts[0]); held != test.held || passed != test.passed || got.out != want {
					t.Fatalf("held %q, passed %q, got\n%s\nwant\n%s", held, passed, got.out, want)
				}
			}
		})
	}
	f := chat.NewFilter(chat.OpenAI, events, cfg)
	if out := string(f.Write(nil, []byte(role+first("get_weather")))); out != role+first("get_weather") {
		t.Errorf("what cannot be ours waits: %s", out)
	}
}
