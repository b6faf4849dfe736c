package eval

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

//go:embed ttft_compact.json
var compactFile []byte

//go:embed ttft_demo.json
var demoTurnsFile []byte

// The built-in workloads.
const (
	CompactWorkload = "compact" // 60 tools with short descriptions, CORE 5
	DemoWorkload    = "demo"    // the demo's 38 tools, CORE 5
	GAIAWorkload    = "gaia"    // the set of that name, read from a data folder
)

// workTurns is how many turns a workload has.
const workTurns = 12

// Workload is what the latency of an engine is measured with: an app's tools, and a conversation that needs them.
type Workload struct {
	Name    string            `json:"name"`
	System  string            `json:"system"`
	Core    []string          `json:"core"`
	Turns   []WorkTurn        `json:"turns"` // at least 2, each with a text of its own
	Tools   []json.RawMessage `json:"tools"` // in OpenAI's shape
	Bundles []bundles.Bundle  `json:"bundles"`
}

// WorkTurn is one turn of a workload.
type WorkTurn struct {
	User   string   `json:"user"`
	Needs  []string `json:"needs"` // tools that are called on it, in order; none: it is answered as it is
	Result string   `json:"result"`
	Answer string   `json:"answer"`
}

// BuiltinWorkload returns the built-in workload of that name, CompactWorkload or DemoWorkload; any other is an Invalid error.
func BuiltinWorkload(name string) (*Workload, error) {
	switch name {
	case CompactWorkload:
		w := new(Workload)
		if err := json.Unmarshal(compactFile, w); err != nil {
			return nil, catalog.NewError(catalog.Internal, "reading the compact catalog", err)
		}
		w.Name = name
		return w, w.valid()
	case DemoWorkload:
		c, err := Demo()
		if err != nil {
			return nil, err
		}
		w := &Workload{Name: name, System: c.System, Core: c.Core, Tools: c.Tools}
		if err := json.Unmarshal(demoTurnsFile, w); err != nil {
			return nil, catalog.NewError(catalog.Internal, "reading the demo's turns", err)
		}
		return w, w.valid()
	}
	return nil, invalidf("there is no built-in catalog %q; there are %s and %s, and %s with a data folder", name, CompactWorkload, DemoWorkload, GAIAWorkload)
}

// SetWorkload makes a workload of a labelled set: its tools, CORE and bundles, and whole conversations of it one after the other, in
// the file's order, until there are 12 turns.
func SetWorkload(d *Dataset) (*Workload, error) {
	w := &Workload{Name: d.Name, System: "You help one person on their own computer. Call a function where one fits, and answer briefly.", Bundles: d.Bundles}
	array, spans := toolsArray(d.Tools)
	for _, s := range spans {
		w.Tools = append(w.Tools, json.RawMessage(array[s[0]:s[1]]))
	}
	names, err := toolNames(w.Tools)
	if err != nil {
		return nil, err
	}
	known := func(name string) bool { return slices.Contains(names, name) }
	for _, name := range d.Core {
		if known(name) {
			w.Core = append(w.Core, name)
		}
	}
	said := map[string]bool{}
	for _, turns := range Conversations(d.Cases) {
		for _, c := range turns {
			text := userText(c.Messages[len(c.Messages)-1])
			if text == "" || said[text] || len(w.Turns) == workTurns {
				continue
			}
			said[text] = true
			needs := slices.DeleteFunc(slices.Clone(c.Needed), func(n string) bool { return !known(n) })
			w.Turns = append(w.Turns, WorkTurn{User: text, Needs: needs, Result: "done", Answer: "That is done."})
		}
	}
	return w, w.valid()
}

// ToolsWorkload makes a workload of any tools: each of its turns asks for one of them by name. The first tools are CORE.
func ToolsWorkload(name string, tools []catalog.Tool) (*Workload, error) {
	w := &Workload{Name: name, System: "Call a function where one fits, and answer briefly."}
	array, spans := toolsArray(tools)
	for _, s := range spans {
		w.Tools = append(w.Tools, json.RawMessage(array[s[0]:s[1]]))
	}
	if len(tools) < 2 {
		return nil, invalidf("the catalog %q has %d tools: at least 2 are needed", name, len(tools))
	}
	for _, t := range tools[:min(5, len(tools)/3)] {
		w.Core = append(w.Core, t.Name)
	}
	for i := range workTurns {
		t := tools[i*len(tools)/workTurns]
		w.Turns = append(w.Turns, WorkTurn{User: fmt.Sprintf("Please use %s now, for the %d. time.", t.Name, i+1), Needs: []string{t.Name}, Result: "done", Answer: "That is done."})
	}
	return w, w.valid()
}

func (w *Workload) valid() error {
	names, err := toolNames(w.Tools)
	if err != nil {
		return err
	}
	if len(w.Turns) < 2 {
		return invalidf("the workload %q has %d turns: at least 2 are needed", w.Name, len(w.Turns))
	}
	said := map[string]bool{}
	for i, t := range w.Turns {
		if t.User == "" || said[t.User] {
			return invalidf("turn %d of the workload %q: its user message is empty or was said before", i+1, w.Name)
		}
		said[t.User] = true
		for _, n := range t.Needs {
			if !slices.Contains(names, n) {
				return invalidf("turn %d of the workload %q needs the tool %q, which is not among the tools", i+1, w.Name, n)
			}
		}
	}
	for _, n := range w.Core {
		if !slices.Contains(names, n) {
			return invalidf("CORE of the workload %q names the tool %q, which is not among the tools", w.Name, n)
		}
	}
	return nil
}

// names are the tools' names in the order of the array.
func (w *Workload) names() []string {
	names, _ := toolNames(w.Tools) // valid has read them
	return names
}

// tools are the named tools' bytes, in the order of the names; unknown names are left out.
func (w *Workload) tools(names []string) []json.RawMessage {
	place := map[string]int{}
	for i, n := range w.names() {
		place[n] = i
	}
	var out []json.RawMessage
	for _, n := range names {
		if i, ok := place[n]; ok {
			out = append(out, w.Tools[i])
		}
	}
	return out
}

// talk is a conversation up to a turn: who speaks, and in which protocol's words.
type talk struct {
	api      string
	messages []json.RawMessage
}

func newTalk(api, system string) *talk {
	t := &talk{api: api}
	if system != "" {
		t.messages = append(t.messages, textMessage("system", system))
	}
	return t
}

// say adds a user message and returns the messages until then.
func (t *talk) say(text string) []json.RawMessage {
	t.messages = append(t.messages, textMessage("user", text))
	return slices.Clone(t.messages)
}

// answer adds what follows a turn's user message in the history: its calls, their results, the reply.
func (t *talk) answer(turn WorkTurn) {
	for _, name := range turn.Needs {
		t.messages = append(t.messages, callMessages(t.api, name, turn.Result, len(t.messages))...)
	}
	t.messages = append(t.messages, textMessage("assistant", turn.Answer))
}

// callMessages are a call without arguments and its result. Ollama's protocol has no ids, and arguments that are an object.
func callMessages(api, name, result string, n int) []json.RawMessage {
	type object = map[string]any
	var call, done object
	if api == OpenAIAPI {
		id := "call_" + strconv.Itoa(n)
		call = object{"role": "assistant", "content": "", "tool_calls": []object{{"id": id, "type": "function", "function": object{"name": name, "arguments": "{}"}}}}
		done = object{"role": "tool", "tool_call_id": id, "content": result}
	} else {
		call = object{"role": "assistant", "content": "", "tool_calls": []object{{"function": object{"name": name, "arguments": object{}}}}}
		done = object{"role": "tool", "tool_name": name, "content": result}
	}
	var out []json.RawMessage
	for _, m := range []object{call, done} {
		raw, err := json.Marshal(m)
		if err != nil {
			panic(err) // strings and maps of them always marshal
		}
		out = append(out, raw)
	}
	return out
}

// filler is plain text of about so many tokens, at three characters each: it holds many numbers. No two pieces are alike.
func filler(tokens int) string {
	var b strings.Builder
	for i := 0; b.Len() < 3*tokens; i++ {
		fmt.Fprintf(&b, "Entry %d: the heron on the weir waited for the river to clear, then walked on past post %d. ", i+1, i*7%100)
	}
	return b.String()
}

// userText is the text of a message; "" where its content is no text.
func userText(message json.RawMessage) string {
	var m struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return ""
	}
	return strings.TrimSpace(m.Content)
}
