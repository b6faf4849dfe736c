package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
)

// view is an answer as a client reads it.
type view struct {
	entry
	ended          bool // the protocol's own end was there
	finish         string
	failure        string // an error, in band or with a status
	prompt, output int    // tokens
	problems       []string
	numbers        []string // items that have a wrong index

	id       string
	parts    int // blocks or items begun
	calls    int // begun
	at       map[int]int
	byItem   map[string]int
	sequence int
	stopped  int
}

func (v *view) wrong(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// read reads a whole answer.
func read(p enginetest.Protocol, stream bool, r reply) *view {
	v := &view{at: map[int]int{}, byItem: map[string]int{}}
	v.role = "assistant"
	if r.status != 200 {
		v.failure = fmt.Sprintf("status %d: %s", r.status, r.body)
		if !r.broken && !gjson.ValidBytes(r.body) {
			v.wrong("an error that is no JSON: %s", r.body)
		}
		return v
	}
	text := string(r.body)
	switch {
	case p == enginetest.NativeChat && !stream:
		if !r.broken {
			v.json(text, v.native)
		}
	case p == enginetest.NativeChat:
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			if line != "" && (strings.HasSuffix(line, "\n") || !r.broken && i == len(lines)-1) {
				v.json(line, v.native)
			}
		}
	case !stream:
		if !r.broken {
			v.json(text, func(j gjson.Result) { v.plain(p, j) })
		}
	default:
		v.events(p, text)
	}
	if r.broken {
		v.ended = false
	}
	return v
}

func (v *view) json(text string, take func(gjson.Result)) {
	if !gjson.Valid(text) {
		v.wrong("no JSON: %s", text)
		return
	}
	take(gjson.Parse(text))
}

// events reads a stream of server-sent events; one that is not whole is left out.
func (v *view) events(p enginetest.Protocol, text string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	blocks := strings.SplitAfter(text, "\n\n")
	for _, b := range blocks {
		if !strings.HasSuffix(b, "\n\n") {
			break
		}
		var name, data string
		for _, line := range strings.Split(b, "\n") {
			if rest, ok := strings.CutPrefix(line, "event:"); ok {
				name = strings.TrimSpace(rest)
			}
			if rest, ok := strings.CutPrefix(line, "data:"); ok {
				data += strings.TrimSpace(rest)
			}
		}
		if data == "" {
			continue
		}
		if v.ended && data != "[DONE]" && p != enginetest.OpenAIChat {
			v.wrong("after the end: %s", b)
		}
		if data == "[DONE]" {
			v.ended = true
			continue
		}
		v.json(data, func(j gjson.Result) {
			if kind := j.Get("type").Str; name != "" && kind != name && name != "error" {
				v.wrong("event %q is of type %q", name, kind)
			}
			switch p {
			case enginetest.OpenAIChat:
				v.chunk(j)
			case enginetest.Responses:
				v.item(j)
			default:
				v.block(j)
			}
		})
	}
}

func (v *view) add(kind, text string) {
	if text == "" {
		return
	}
	if n := len(v.blocks); n > 0 && v.blocks[n-1].kind == kind {
		v.blocks[n-1].text += text
		return
	}
	v.blocks = append(v.blocks, block{kind: kind, text: text})
}

// open begins a call and returns its place.
func (v *view) open(id, name, arguments string) int {
	for _, c := range v.entry.calls() {
		if c.id == id {
			v.wrong("two calls have the id %q", id)
		}
	}
	if name == "" {
		v.wrong("call %q has no name", id)
	}
	v.calls++
	v.blocks = append(v.blocks, block{kind: "call", call: call{id, name, arguments}})
	return len(v.blocks) - 1
}

func (v *view) native(j gjson.Result) {
	if v.ended {
		v.wrong("after the end: %s", j.Raw)
	}
	v.failure += j.Get("error").Str
	m := j.Get("message")
	v.add("thinking", m.Get("thinking").Str)
	v.add("text", m.Get("content").Str)
	for _, c := range m.Get("tool_calls").Array() {
		if index := c.Get("function.index"); index.Exists() && int(index.Int()) != v.calls {
			v.wrong("call %d has the index %s", v.calls, index.Raw)
		}
		v.open(c.Get("id").Str, c.Get("function.name").Str, c.Get("function.arguments").Raw)
	}
	if j.Get("done").Bool() {
		v.ended, v.finish = true, j.Get("done_reason").Str
		v.prompt, v.output = int(j.Get("prompt_eval_count").Int()), int(j.Get("eval_count").Int())
	}
}

func (v *view) one(id string) {
	if v.id == "" {
		v.id = id
	}
	if id != v.id {
		v.wrong("the id was %q and is %q", v.id, id)
	}
}

func (v *view) chunk(j gjson.Result) {
	if e := j.Get("error"); e.Exists() {
		v.failure = e.Raw
		return
	}
	v.one(j.Get("id").Str)
	if u := j.Get("usage"); u.IsObject() {
		v.prompt, v.output = int(u.Get("prompt_tokens").Int()), int(u.Get("completion_tokens").Int())
	}
	for _, c := range j.Get("choices").Array() {
		d := c.Get("delta")
		v.add("thinking", d.Get("reasoning").Str+d.Get("reasoning_content").Str)
		v.add("text", d.Get("content").Str)
		for _, t := range d.Get("tool_calls").Array() {
			index := int(t.Get("index").Int())
			if at, ok := v.at[index]; ok {
				v.blocks[at].call.arguments += t.Get("function.arguments").Str
				continue
			}
			if index != v.calls {
				v.wrong("call %d has the index %d", v.calls, index)
			}
			v.at[index] = v.open(t.Get("id").Str, t.Get("function.name").Str, t.Get("function.arguments").Str)
		}
		if f := c.Get("finish_reason").Str; f != "" {
			if v.finish != "" {
				v.wrong("a second finish_reason %q after %q", f, v.finish)
			}
			v.finish = f
		}
	}
}

func (v *view) plain(p enginetest.Protocol, j gjson.Result) {
	v.ended = true
	v.failure = j.Get("error").String()
	switch p {
	case enginetest.OpenAIChat:
		m := j.Get("choices.0.message")
		v.add("thinking", m.Get("reasoning").Str+m.Get("reasoning_content").Str)
		v.add("text", m.Get("content").Str)
		for _, c := range m.Get("tool_calls").Array() {
			if index := c.Get("index"); index.Exists() && int(index.Int()) != v.calls {
				v.wrong("call %d has the index %s", v.calls, index.Raw)
			}
			v.open(c.Get("id").Str, c.Get("function.name").Str, c.Get("function.arguments").Str)
		}
		v.finish = j.Get("choices.0.finish_reason").Str
		v.prompt, v.output = int(j.Get("usage.prompt_tokens").Int()), int(j.Get("usage.completion_tokens").Int())
	case enginetest.Responses:
		v.one(j.Get("id").Str)
		for _, item := range j.Get("output").Array() {
			v.takeItem(item)
		}
		v.finish = j.Get("status").Str
		v.prompt, v.output = int(j.Get("usage.input_tokens").Int()), int(j.Get("usage.output_tokens").Int())
	case enginetest.Messages:
		for _, b := range j.Get("content").Array() {
			v.add("thinking", b.Get("thinking").Str)
			if b.Get("type").Str == "text" {
				v.add("text", b.Get("text").Str)
			}
			if b.Get("type").Str == "tool_use" {
				v.open(b.Get("id").Str, b.Get("name").Str, b.Get("input").Raw)
			}
		}
		v.finish, v.output = j.Get("stop_reason").Str, int(j.Get("usage.output_tokens").Int())
	}
}

// takeItem takes an item of a whole output.
func (v *view) takeItem(item gjson.Result) {
	switch item.Get("type").Str {
	case "reasoning":
		for _, s := range append(item.Get("summary").Array(), item.Get("content").Array()...) {
			v.add("thinking", s.Get("text").Str)
		}
	case "message":
		text := ""
		for _, c := range item.Get("content").Array() {
			text += c.Get("text").Str
		}
		if text != "" {
			v.blocks = append(v.blocks, block{kind: "text", text: text})
		}
	case "function_call":
		v.open(item.Get("call_id").Str, item.Get("name").Str, item.Get("arguments").Str)
	}
}

func (v *view) item(j gjson.Result) {
	if n := j.Get("sequence_number"); n.Exists() {
		if int(n.Int()) != v.sequence {
			v.wrong("event %d has the number %s", v.sequence, n.Raw)
		}
		v.sequence++
	}
	index := j.Get("output_index")
	item := j.Get("item")
	switch j.Get("type").Str {
	case "response.created":
		v.one(j.Get("response.id").Str)
	case "error":
		v.failure = j.Raw
	case "response.output_item.added":
		if index.Exists() && int(index.Int()) != v.parts {
			v.numbers = append(v.numbers, fmt.Sprintf("item %d has the index %s", v.parts, index.Raw))
		}
		v.parts++
		switch item.Get("type").Str {
		case "function_call":
			at := v.open(item.Get("call_id").Str, item.Get("name").Str, item.Get("arguments").Str)
			v.at[v.parts-1] = at
			v.byItem[item.Get("id").Str], v.byItem[item.Get("call_id").Str] = at, at
		case "message":
			v.blocks = append(v.blocks, block{kind: "text"})
			v.at[v.parts-1] = len(v.blocks) - 1
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		v.add("thinking", j.Get("delta").Str)
	case "response.output_text.delta":
		v.add("text", j.Get("delta").Str)
	case "response.function_call_arguments.delta":
		at, ok := v.byItem[j.Get("item_id").Str]
		if !ok {
			v.wrong("arguments of no item: %s", j.Raw)
			return
		}
		v.blocks[at].call.arguments += j.Get("delta").Str
	case "response.function_call_arguments.done":
		if at, ok := v.byItem[j.Get("item_id").Str]; !ok || v.blocks[at].call.arguments != j.Get("arguments").Str {
			v.wrong("the arguments of an item end as they were not streamed: %s", j.Raw)
		}
	case "response.completed", "response.incomplete":
		v.ended = true
		r := j.Get("response")
		v.one(r.Get("id").Str)
		v.finish = r.Get("status").Str
		v.prompt, v.output = int(r.Get("usage.input_tokens").Int()), int(r.Get("usage.output_tokens").Int())
		whole := &view{}
		for _, item := range r.Get("output").Array() {
			whole.takeItem(item)
		}
		if fmt.Sprint(whole.entry.calls()) != fmt.Sprint(v.entry.calls()) {
			v.wrong("the whole has the calls %q, the stream had %q", whole.entry.calls(), v.entry.calls())
		}
	}
}

func (v *view) block(j gjson.Result) {
	index := int(j.Get("index").Int())
	switch j.Get("type").Str {
	case "message_start":
		if v.id != "" {
			v.wrong("a second message_start")
		}
		v.id = j.Get("message.id").Str
	case "error":
		v.failure = j.Raw
	case "content_block_start":
		if index != v.parts {
			v.wrong("block %d has the index %d", v.parts, index)
		}
		v.parts++
		b := j.Get("content_block")
		if b.Get("type").Str == "tool_use" {
			v.at[index] = v.open(b.Get("id").Str, b.Get("name").Str, "")
			break
		}
		v.blocks = append(v.blocks, block{kind: b.Get("type").Str, text: b.Get("text").Str + b.Get("thinking").Str})
		v.at[index] = len(v.blocks) - 1
	case "content_block_delta":
		at, ok := v.at[index]
		if !ok {
			v.wrong("a delta of no block: %s", j.Raw)
			return
		}
		d := j.Get("delta")
		v.blocks[at].text += d.Get("text").Str + d.Get("thinking").Str
		v.blocks[at].call.arguments += d.Get("partial_json").Str
	case "content_block_stop":
		if _, ok := v.at[index]; !ok {
			v.wrong("the end of no block: %s", j.Raw)
		}
		v.stopped++
	case "message_delta":
		if s := j.Get("delta.stop_reason").Str; s != "" {
			v.finish = s
		}
		v.output = int(j.Get("usage.output_tokens").Int())
	case "message_stop":
		v.ended = true
		if v.stopped != v.parts {
			v.wrong("%d blocks began and %d ended", v.parts, v.stopped)
		}
	}
}

// canonical is JSON in one spelling; what is none stays as it is.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(b)
}
