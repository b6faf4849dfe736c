package chat_test

import (
	"strconv"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// endsLast is an engine's answer in which all parts end only at its end: text, then calls.
type endsLast struct {
	text  string
	calls []madeCall
}

// responses is the answer as events that have no sequence number, no index and, of calls, no item id.
func (e endsLast) responses() string {
	var b, ends strings.Builder
	var output []string
	b.WriteString(sse("response.created", `"response":{"id":"a","status":"in_progress"}`))
	if e.text != "" {
		b.WriteString(sse("response.output_item.added", `"item":{"id":"m","type":"message","role":"assistant","status":"in_progress","content":[]}`))
		b.WriteString(sse("response.output_text.delta", `"item_id":"m","delta":"`+e.text+`"`))
		output = append(output, `{"type":"message","status":"completed","id":"m","role":"assistant","content":[`+rPart(e.text)+`]}`)
		ends.WriteString(sse("response.output_text.done", `"item_id":"m","text":"`+e.text+`"`) + sse("response.output_item.done", `"item":`+output[0]))
	}
	for _, c := range e.calls {
		b.WriteString(sse("response.output_item.added", `"item":`+bareItem(c.id, c.name, "", "in_progress")))
		for _, piece := range halves(c.arguments) {
			b.WriteString(sse("response.function_call_arguments.delta", `"delta":`+strconv.Quote(piece)+`,"item_id":"`+c.id+`"`))
		}
		output = append(output, bareItem(c.id, c.name, c.arguments, "completed"))
		ends.WriteString(sse("response.output_item.done", `"item":`+output[len(output)-1]))
	}
	return b.String() + ends.String() + sse("response.completed", `"response":`+rObject("a", "completed", strings.Join(output, ","), 5))
}

func bareItem(id, name, arguments, status string) string {
	return `{"arguments":` + strconv.Quote(arguments) + `,"call_id":"` + id + `","name":"` + name + `","type":"function_call","status":"` + status + `"}`
}

func halves(s string) []string { return []string{s[:len(s)/2], s[len(s)/2:]} }

// messages is the answer as Anthropic's events.
func (e endsLast) messages() string {
	var b, ends strings.Builder
	n := 0
	whole := func(block string) {
		stop := sse("content_block_stop", `"index":`+strconv.Itoa(n))
		b.WriteString(strings.TrimSuffix(block, stop))
		ends.WriteString(stop)
		n++
	}
	b.WriteString(sse("message_start", `"message":{"id":"a","content":[],"usage":{"input_tokens":20,"output_tokens":1}}`))
	if e.text != "" {
		whole(blockText(0, e.text))
	}
	for _, c := range e.calls {
		whole(blockUse(n, c.id, c.name, halves(c.arguments)...))
	}
	return b.String() + ends.String() + sse("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}`) + sse("message_stop", "")
}

// itemsOf lists what the events of a stream tell of the parts: a word for the beginning, the whole arguments and the end of each.
func itemsOf(t *testing.T, out string) string {
	str := func(v any) string { s, _ := v.(string); return s }
	number := func(v any) string { n, _ := v.(float64); return strconv.Itoa(int(n)) }
	arguments, names := map[string]string{}, map[string]string{}
	var words []string
	for _, e := range readEvents(t, out) {
		item, _ := e["item"].(object)
		block, _ := e["content_block"].(object)
		delta, _ := e["delta"].(object)
		switch e["type"] {
		case "response.output_item.added":
			words = append(words, "+"+str(item["name"])+str(item["role"]))
		case "response.function_call_arguments.delta":
			arguments[str(e["item_id"])] += str(e["delta"])
		case "response.output_item.done":
			if item["type"] == "function_call" && arguments[str(item["call_id"])] != item["arguments"] {
				t.Errorf("the arguments of %v were %q", item, arguments[str(item["call_id"])])
			}
			words = append(words, "-"+str(item["name"])+str(item["role"])+str(item["arguments"]))
		case "response.completed":
			for _, item := range e["response"].(object)["output"].([]any) {
				item := item.(object)
				words = append(words, "="+str(item["name"])+str(item["role"])+str(item["arguments"]))
			}
		case "content_block_start":
			at := number(e["index"])
			names[at] = at + str(block["name"])
			words = append(words, "+"+names[at])
		case "content_block_delta":
			arguments[number(e["index"])] += str(delta["partial_json"])
		case "content_block_stop":
			at := number(e["index"])
			words = append(words, "-"+names[at]+arguments[at])
		}
	}
	return strings.Join(words, " ")
}

func TestFilterWhereTheEngineEndsPartsLast(t *testing.T) {
	bridge := func(id, name string) madeCall {
		return madeCall{id, "call_tool", `{"name":"` + name + `","arguments":{"p":1.0}}`}
	}
	text := func(c madeCall) madeCall { c.arguments = strconv.Quote(c.arguments); return c } // whole only with its end
	load, read, search := madeCall{"h1", "load_tools", `{"name":"x"}`}, madeCall{"c1", "read", `{"q":"1"}`}, madeCall{"h2", "tool_search", `{}`}
	for name, test := range map[string]struct {
		endsLast
		responses, messages string
		held, passed        string
	}{
		"real": {endsLast{"a", []madeCall{read}}, `+assistant +read -assistant -read{"q":"1"} =assistant =read{"q":"1"}`, `+0 +1read -0 -1read{"q":"1"}`, "", "read"},
		"bridged, real, ours, real, ours": {endsLast{"a", []madeCall{bridge("b1", "write"), read, load, {"c2", "read", `{}`}, search}},
			`+assistant +write +read +read -assistant -write{"p":1.0} -read{"q":"1"} -read{} =assistant =write{"p":1.0} =read{"q":"1"} =read{}`,
			`+0 -0 +1write -1write{"p":1.0} +2read -2read{"q":"1"} +3read -3read{}`, "load_tools tool_search", "write* read read"},
		"ours, real, bridged": {endsLast{"", []madeCall{load, read, bridge("b1", "write")}},
			`+read +write -read{"q":"1"} -write{"p":1.0} =read{"q":"1"} =write{"p":1.0}`, `+0read -0read{"q":"1"} +1write -1write{"p":1.0}`, "load_tools", "read write*"},
		"bridged twice": {endsLast{"", []madeCall{bridge("b1", "write"), bridge("b2", "find")}},
			`+write +find -write{"p":1.0} -find{"p":1.0} =write{"p":1.0} =find{"p":1.0}`, `+0write -0write{"p":1.0} +1find -1find{"p":1.0}`, "", "write* find*"},
		"bridged to ours, real":       {endsLast{"", []madeCall{bridge("b1", "load_tools"), read}}, `+read -read{"q":"1"} =read{"q":"1"}`, `+0read -0read{"q":"1"}`, "load_tools", "read"},
		"bridged to nothing, real":    {endsLast{"", []madeCall{{"b1", "call_tool", `{}`}, read}}, `+read -read{"q":"1"} =read{"q":"1"}`, `+0read -0read{"q":"1"}`, "call_tool", "read"},
		"bridged to the bridge, real": {endsLast{"", []madeCall{bridge("b1", "call_tool"), read}}, `+read -read{"q":"1"} =read{"q":"1"}`, `+0read -0read{"q":"1"}`, "call_tool", "read"},
		"ours alone":                  {endsLast{"a", []madeCall{load, search}}, `+assistant -assistant =assistant`, `+0 -0`, "load_tools tool_search", ""},
		"bridged, whole with its end": {endsLast{"", []madeCall{text(bridge("b1", "write"))}},
			`+write -write{"p":1.0} =write{"p":1.0}`, `+0write -0write{"p":1.0}`, "", "write*"},
		"bridged, never whole": {endsLast{"a", []madeCall{{"b1", "call_tool", `{"name":"wr`}, read}},
			`+assistant +read -assistant -read{"q":"1"} =assistant =read{"q":"1"}`, `+0 -0 +1read -1read{"q":"1"}`, "call_tool", "read"},
	} {
		for p, both := range map[chat.Protocol][2]string{chat.Responses: {test.endsLast.responses(), test.responses}, chat.Anthropic: {test.endsLast.messages(), test.messages}} {
			t.Run(name+" "+strconv.Itoa(int(p)), func(t *testing.T) {
				for _, size := range []int{1, 50, 1 << 20} {
					got := filter(p, events, ours(), size, both[0])
					if words := itemsOf(t, got.out); words != both[1] {
						t.Errorf("got  %s\nwant %s\n%s", words, both[1], got.out)
					}
					if held, passed := names(got.verdicts[0]); held != test.held || passed != test.passed {
						t.Errorf("held %q, passed %q, want %q, %q", held, passed, test.held, test.passed)
					}
				}
			})
		}
	}
}

func TestFilterSendsABridgedCallWithTheLastOfItsArguments(t *testing.T) {
	e := endsLast{"", []madeCall{{"b1", "call_tool", `{"name":"write","arguments":{"p":1.0}}`}}}
	for p, whole := range map[chat.Protocol]string{chat.Responses: e.responses(), chat.Anthropic: e.messages()} {
		f := chat.NewFilter(p, events, ours())
		at := strings.LastIndex(whole, "delta\n") // of the event with the second half
		if p == chat.Anthropic {
			at = strings.LastIndex(whole, "content_block_delta\n")
		}
		end := at + strings.Index(whole[at:], "\n\n") + 2
		before := string(f.Write(nil, []byte(whole[:at-len("event: ")])))
		with := string(f.Write(nil, []byte(whole[at-len("event: "):end])))
		if strings.Contains(before, "write") || !strings.Contains(with, `"write"`) || !strings.Contains(with, `{\"p\":1.0}`) || strings.Contains(with, "_item.done") || strings.Contains(with, "_stop") {
			t.Errorf("%v: before\n%s\nwith\n%s", p, before, with)
		}
		rest := string(f.Write(nil, []byte(whole[end:])))
		if strings.Count(rest, "response.output_item.done\n")+strings.Count(rest, "content_block_stop\n") != 1 || strings.Contains(rest, "call_tool") {
			t.Errorf("%v: then\n%s", p, rest)
		}
	}
}

// TestFilterEndsWhatWasSentOnce has an engine that ends an item twice, or breaks off before, or fails.
func TestFilterEndsWhatWasSentOnce(t *testing.T) {
	whole := endsLast{"", []madeCall{{"b1", "call_tool", `{"name":"write","arguments":{"p":1.0}}`}}}.responses()
	at := strings.Index(whole, "event: response.output_item.done")
	begun, rest := whole[:at], whole[at:]
	done := rest[:strings.Index(rest, "\n\n")+2]
	failure := sse("error", `"code":"x","message":"no"`)
	for name, test := range map[string]struct{ stream, want string }{
		"twice":      {begun + done + rest, `+write -write{"p":1.0} =write{"p":1.0}`},
		"not at all": {begun + strings.TrimPrefix(rest, done), `+write -write{"p":1.0} =write{"p":1.0}`},
		"broken off": {begun, `+write -write{"p":1.0}`},
		"failed":     {begun + failure, `+write`},
	} {
		if got := filter(chat.Responses, events, ours(), 9, test.stream); itemsOf(t, got.out) != test.want {
			t.Errorf("%s: got %s, want %s\n%s", name, itemsOf(t, got.out), test.want, got.out)
		}
	}
}
