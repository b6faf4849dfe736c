package conversation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"toolbelt/internal/enginetest"
)

// block is a piece of an assistant's message.
type block struct {
	kind string // "text", "thinking" or "call"
	text string
	call call
}

type call struct{ id, name, arguments string }

// entry is one message of a conversation as the app keeps it.
type entry struct {
	role   string // "user", "assistant" or "tool"
	text   string // of a user's and a tool's
	blocks []block
	call   call // that a tool's message answers
}

func (e entry) calls() []call {
	var list []call
	for _, b := range e.blocks {
		if b.kind == "call" {
			list = append(list, b.call)
		}
	}
	return list
}

func (e entry) said(kind string) string {
	var b strings.Builder
	for _, one := range e.blocks {
		if one.kind == kind {
			b.WriteString(one.text)
		}
	}
	return b.String()
}

// app writes requests in its own way, always the same one.
type app struct {
	protocol enginetest.Protocol
	reversed bool // members of objects
	spaced   bool
	escapes  bool // <, > and & too
	null     bool // content where there is none
	parts    bool // content in parts
	ids      bool // for Ollama alone: keeps ids and indexes of calls
	typed    bool // for Responses alone: messages say that they are
	inText   bool // likewise: a lone message is the input
	system   string
	tools    string                 // the array
	deferred func(name string) bool // of a tool: it is sent with defer_loading; nil for none
	search   string                 // Anthropic's tool-search tool, "" for none
}

func newApp(r *rand.Rand, p enginetest.Protocol, c *catalogue) *app {
	coin := func() bool { return r.IntN(2) == 0 }
	a := &app{protocol: p, reversed: coin(), spaced: coin(), escapes: coin(), null: coin(), parts: coin(), ids: coin(), typed: coin(), inText: coin()}
	if coin() {
		a.system = "You help. It is <noon>."
	}
	a.defers(r)
	a.tools = a.list(c.elements(a)...)
	if a.search != "" {
		a.tools = a.list(append(c.elements(a), a.search)...)
	}
	return a
}

// defers has some apps send some tools, or all, to be hidden until they are asked for, and some of those a tool-search tool.
func (a *app) defers(r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	few := r.IntN(2) == 0
	a.deferred = func(name string) bool { return !few || strings.Contains(name, "e") }
	if a.protocol == enginetest.Messages {
		kind := []string{"regex", "bm25"}[r.IntN(2)]
		a.search = a.obj("type", a.str("tool_search_tool_"+kind+"_20251119"), "name", a.str("tool_search_tool_"+kind))
	}
}

func (a *app) str(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(a.escapes)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// obj writes an object of keys and raw values in turn.
func (a *app) obj(pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		colon := ":"
		if a.spaced {
			colon = ": "
		}
		members = append(members, a.str(pairs[i])+colon+pairs[i+1])
	}
	if a.reversed {
		slices.Reverse(members)
	}
	return "{" + strings.Join(members, a.comma()) + "}"
}

func (a *app) list(items ...string) string { return "[" + strings.Join(items, a.comma()) + "]" }

func (a *app) comma() string {
	if a.spaced {
		return ", "
	}
	return ","
}

// body writes a request. more are further members, by pairs.
func (a *app) body(history []entry, stream bool, more ...string) []byte {
	key := "messages"
	if a.protocol == enginetest.Responses {
		key = "input"
	}
	pairs := []string{"model", `"m"`}
	messages := a.messages(history)
	switch a.protocol {
	case enginetest.NativeChat, enginetest.OpenAIChat:
		if a.system != "" {
			messages = append([]string{a.obj("role", `"system"`, "content", a.str(a.system))}, messages...)
		}
	case enginetest.Responses:
		if a.system != "" {
			pairs = append(pairs, "instructions", a.str(a.system))
		}
	case enginetest.Messages:
		pairs = append(pairs, "max_tokens", "1000")
		if a.system != "" {
			pairs = append(pairs, "system", a.str(a.system))
		}
	}
	input := a.list(messages...)
	if a.protocol == enginetest.Responses && a.inText && len(history) == 1 && history[0].role == "user" {
		input = a.str(history[0].text)
	}
	if pairs = append(pairs, key, input); a.tools != "" {
		pairs = append(pairs, "tools", a.tools)
	}
	if stream || a.protocol == enginetest.NativeChat || a.null {
		pairs = append(pairs, "stream", fmt.Sprint(stream))
	}
	if a.protocol == enginetest.OpenAIChat && stream {
		pairs = append(pairs, "stream_options", a.obj("include_usage", "true"))
	}
	return []byte(a.obj(append(pairs, more...)...))
}

func (a *app) messages(history []entry) []string {
	var list []string
	for i := 0; i < len(history); i++ {
		e := history[i]
		switch {
		case a.protocol == enginetest.Responses:
			list = append(list, a.items(e)...)
		case a.protocol == enginetest.Messages && e.role == "tool":
			var results []string
			for ; i < len(history) && history[i].role == "tool"; i++ {
				results = append(results, a.obj("type", `"tool_result"`, "tool_use_id", a.str(history[i].call.id), "content", a.str(history[i].text)))
			}
			i--
			list = append(list, a.obj("role", `"user"`, "content", a.list(results...)))
		case a.protocol == enginetest.Messages && e.role == "assistant":
			list = append(list, a.obj("role", `"assistant"`, "content", a.list(a.uses(e)...)))
		default:
			list = append(list, a.message(e))
		}
	}
	return list
}

func (a *app) content(text, kind string) string {
	if a.parts && a.protocol != enginetest.NativeChat {
		return a.list(a.obj("type", a.str(kind), "text", a.str(text)))
	}
	return a.str(text)
}

// message writes one for Ollama and OpenAI, or a user's for Anthropic.
func (a *app) message(e entry) string {
	switch {
	case e.role == "user":
		return a.obj("role", `"user"`, "content", a.content(e.text, "text"))
	case e.role == "tool" && a.protocol == enginetest.NativeChat && a.ids:
		return a.obj("role", `"tool"`, "tool_name", a.str(e.call.name), "tool_call_id", a.str(e.call.id), "content", a.str(e.text))
	case e.role == "tool" && a.protocol == enginetest.NativeChat:
		return a.obj("role", `"tool"`, "tool_name", a.str(e.call.name), "content", a.str(e.text))
	case e.role == "tool":
		return a.obj("role", `"tool"`, "tool_call_id", a.str(e.call.id), "content", a.str(e.text))
	}
	text := e.said("text")
	content := a.str(text)
	var calls []string
	for i, c := range e.calls() {
		switch {
		case a.protocol == enginetest.NativeChat && a.ids:
			calls = append(calls, a.obj("id", a.str(c.id), "function", a.obj("index", fmt.Sprint(i), "name", a.str(c.name), "arguments", c.arguments)))
		case a.protocol == enginetest.NativeChat:
			calls = append(calls, a.obj("function", a.obj("name", a.str(c.name), "arguments", c.arguments)))
		default:
			calls = append(calls, a.obj("id", a.str(c.id), "type", `"function"`, "function", a.obj("name", a.str(c.name), "arguments", a.str(c.arguments))))
		}
	}
	if text == "" && a.null && len(calls) > 0 && a.protocol == enginetest.OpenAIChat {
		content = "null"
	}
	pairs := []string{"role", `"assistant"`, "content", content}
	if a.protocol == enginetest.NativeChat && e.said("thinking") != "" {
		pairs = append(pairs, "thinking", a.str(e.said("thinking")))
	}
	if len(calls) > 0 {
		pairs = append(pairs, "tool_calls", a.list(calls...))
	}
	return a.obj(pairs...)
}

func (a *app) uses(e entry) []string {
	var blocks []string
	for _, b := range e.blocks {
		switch b.kind {
		case "text":
			blocks = append(blocks, a.obj("type", `"text"`, "text", a.str(b.text)))
		case "thinking":
			blocks = append(blocks, a.obj("type", `"thinking"`, "thinking", a.str(b.text), "signature", `""`))
		case "call":
			blocks = append(blocks, a.obj("type", `"tool_use"`, "id", a.str(b.call.id), "name", a.str(b.call.name), "input", b.call.arguments))
		}
	}
	return blocks
}

func (a *app) items(e entry) []string {
	message := func(pairs ...string) string {
		if a.typed {
			pairs = append([]string{"type", `"message"`}, pairs...)
		}
		return a.obj(pairs...)
	}
	switch e.role {
	case "user":
		return []string{message("role", `"user"`, "content", a.content(e.text, "input_text"))}
	case "tool":
		return []string{a.obj("type", `"function_call_output"`, "call_id", a.str(e.call.id), "output", a.str(e.text))}
	}
	var items []string
	for _, b := range e.blocks {
		switch b.kind {
		case "text":
			items = append(items, message("role", `"assistant"`, "content", a.list(a.obj("type", `"output_text"`, "text", a.str(b.text)))))
		case "call":
			items = append(items, a.obj("type", `"function_call"`, "call_id", a.str(b.call.id), "name", a.str(b.call.name), "arguments", a.str(b.call.arguments)))
		}
	}
	return items
}
