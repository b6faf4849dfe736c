package conversation_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"toolbelt/internal/enginetest"
)

// choice is what a request says of the tools that are to be called.
type choice struct {
	members []string // of the request, by pairs
	kind    string   // "none", "required", "named" or ""
	name    string   // where named
}

// forces reports whether tools have to be in the array for it.
func (c choice) forces() bool { return c.kind == "required" || c.kind == "named" }

// unheeded says what a request lacks that its choice needs, "" for nothing.
func (c choice) unheeded(r *enginetest.Request) string {
	switch {
	case c.kind == "required" && !slices.ContainsFunc(r.Tools, func(name string) bool { return !isOurs([]string{name}) && name != callTool }):
		return fmt.Sprintf("a call is required, and there is no tool of the app's among %q", r.Tools)
	case c.kind == "named" && !slices.Contains(r.Tools, c.name):
		return fmt.Sprintf("%s is to be called, and is not among %q", c.name, r.Tools)
	}
	return ""
}

// choose makes a choice now and then, in one of its protocol's spellings.
func (k *talk) choose() choice {
	if !k.chooses || k.r.IntN(100) >= 30 {
		return choice{}
	}
	name := k.mind.pick(k.mind.tools)
	c := choice{kind: []string{"none", "required", "named", ""}[k.r.IntN(4)], name: name}
	spelling := choices(k.app.protocol, name)[c.kind]
	switch {
	case c.kind == "":
		spelling = choices(k.app.protocol, name)["auto"]
	case c.kind == "named" && k.coin():
		if list := allowed(k.app.protocol, name, k.coin()); list != "" {
			spelling = list
		}
	case c.kind == "required" && k.app.protocol == enginetest.Messages && k.coin():
		spelling = `{"type":"any","disable_parallel_tool_use":true}`
	}
	c.members = []string{"tool_choice", spelling}
	return c
}

// allowed is OpenAI's choice of a list of tools, "" in other protocols.
func allowed(p enginetest.Protocol, name string, required bool) string {
	mode := map[bool]string{true: "required", false: "auto"}[required]
	switch p {
	case enginetest.OpenAIChat:
		return fmt.Sprintf(`{"type":"allowed_tools","allowed_tools":{"mode":%q,"tools":[{"type":"function","function":{"name":%q}}]}}`, mode, name)
	case enginetest.Responses:
		return fmt.Sprintf(`{"type":"allowed_tools","mode":%q,"tools":[{"type":"function","name":%q}]}`, mode, name)
	}
	return ""
}

// between is what the app asks the engine now and then before it goes on.
func (k *talk) between() string {
	if !k.wanders || k.r.IntN(100) >= 20 {
		return ""
	}
	k.asides++
	tag := fmt.Sprintf("%st%dt", k.mind.tag, k.asides)
	soFar := slices.Clone(k.history)
	if n := len(soFar); soFar[n-1].role == "user" { // not sent yet
		soFar = soFar[:n-1]
	}
	title := entry{role: "user", text: "a title in three words, please <" + tag + ">"}
	switch k.r.IntN(5) {
	case 0: // the whole conversation and one message more, its tools as always
		return k.aside(tag, append(soFar, title))
	case 1: // a conversation of its own, with the same tools
		return k.aside(tag, []entry{title})
	case 2:
		return k.plainly(tag, string(k.rig.protocol), k.app.bare().body(append(soFar, title), k.coin()))
	case 3:
		return k.plainly(tag, string(k.rig.protocol), k.app.bare().body([]entry{title}, k.coin()))
	}
	path := []string{"/api/generate", "/v1/completions", "/api/embed", "/v1/embeddings"}[k.r.IntN(4)]
	return k.plainly(tag, path, []byte(`{"model":"m", "prompt":"<`+tag+`> def add(", "input":["<`+tag+`>"], "suffix":"return c"}`))
}

// bare is the app where it sends no tools.
func (a *app) bare() *app {
	b := *a
	b.tools = ""
	return &b
}

// speaker is a mind for what is asked beside the conversation.
func (k *talk) speaker(tag string) *mind {
	m := &mind{name: tag, tag: tag, tools: k.mind.tools, llama: k.mind.llama, calm: true, apart: k.mind.apart, r: rand.New(rand.NewPCG(k.r.Uint64(), 1))}
	k.rig.add(m)
	return m
}

// aside has one answer in a conversation beside this one, which may have all its history.
func (k *talk) aside(tag string, history []entry) string {
	b := &talk{rig: k.rig, app: k.app, mind: k.speaker(tag), r: k.r, more: k.more, history: history, fresh: true, newTurn: true, changed: true}
	b.header = slices.Clone(k.header)
	b.header[1] = tag
	b.texts, b.points = slices.Clone(k.texts), slices.Clone(k.points)
	if len(history) == 1 {
		b.points = nil
	}
	fmt.Fprintf(&k.trace, "aside %s of %d messages\n", tag, len(history))
	_, wrong := b.request(true)
	k.asked, k.hidden = k.asked+b.asked, k.hidden+b.hidden
	if wrong != "" {
		return fmt.Sprintf("aside %s: %s\nof:\n%s", tag, wrong, k.trace.String())
	}
	return ""
}

// plainly asks what is none of the daemon's business: every byte has to pass, both ways.
func (k *talk) plainly(tag, path string, body []byte) string {
	k.speaker(tag)
	header := slices.Clone(k.header)
	header[1] = tag
	fmt.Fprintf(&k.trace, "aside %s to %s\n", tag, path)
	reply, err := k.rig.postTo(context.Background(), path, body, header...)
	wire := k.rig.wire(tag)
	switch {
	case err != nil:
		return fmt.Sprintf("aside %s to %s: %v; %d bytes of an answer %q\nthe daemon's log:\n%s\nbefore:\n%s", tag, path, err, len(wire.request), wire.answer.String(), k.rig.log.String(), k.trace.String())
	case !bytes.Equal(wire.request, body) || wire.answer.String() != string(reply.body):
		return fmt.Sprintf("aside %s: the client sent\n%s\nthe engine was sent\n%s\nit said\n%s\nthe client got\n%s", tag, body, wire.request, wire.answer.String(), reply.body)
	}
	return ""
}
