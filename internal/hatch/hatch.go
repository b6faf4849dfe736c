// Package hatch is the model's way to what it does not see: the definitions of the proxy's own tools (the meta-tools), what a
// call of them asks for, and the text that answers it. All of it is pure: which tools really become visible is the planner's to
// decide, and the answers say what it decided. The texts are for small models: short, plain, imperative.
package hatch

import (
	"encoding/json"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

// The names of the meta-tools.
const (
	LoadTools  = "load_tools"
	ToolSearch = "tool_search"
	CallTool   = "call_tool"
)

// IsMeta reports whether name is a meta-tool's.
func IsMeta(name string) bool { return name == LoadTools || name == ToolSearch || name == CallTool }

// Definition is a meta-tool as the model is told of it, in no protocol's shape. Schema is the JSON Schema of its arguments.
type Definition struct {
	Name        string
	Description string
	Schema      []byte
}

// MaxTokens is what the definitions of all meta-tools together cost at most, by EstimatedTokens.
const MaxTokens = 200

// MenuInput is what the definitions are made of. It names nothing that differs between the conversations of an app, so that the
// definitions are the same bytes in all of them.
type MenuInput struct {
	Tools  *catalog.Catalog // of the app; nil is an empty one
	Groups []bundles.Bundle // resolved: members are names of the catalog's tools
	Core   []string         // always visible, and so not on offer
	Search bool             // tool_search is there
	Bridge bool             // call_tool is there
}

const (
	loadSchema   = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	searchSchema = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
	callSchema   = `{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"]}`

	loadText   = "More tools exist. Call this with the name of a group or tool to get it."
	searchText = "Find more tools by a few words."
	callText   = "Call a tool that a message told you of."
)

// Definitions returns the meta-tools in the order in which they stand in the array: load_tools always, then tool_search and
// call_tool where the menu asks for them. Together they cost at most MaxTokens. Equal menus give equal bytes. Cost: linear in the
// groups' members; without groups, in the catalog's names, of which a few thousand are read at most.
func Definitions(m MenuInput) []Definition {
	list := []Definition{{LoadTools, loadText, []byte(loadSchema)}}
	if m.Search {
		list = append(list, Definition{ToolSearch, searchText, []byte(searchSchema)})
	}
	if m.Bridge {
		list = append(list, Definition{CallTool, callText, []byte(callSchema)})
	}
	room := 4 * MaxTokens
	for _, d := range list {
		room -= len(d.rendered())
	}
	list[0].Description += m.text(room)
	return list
}

// EstimatedTokens is a quarter of the bytes of the definitions in the shape of OpenAI's requests, rounded up.
func EstimatedTokens(list []Definition) int {
	n := 0
	for _, d := range list {
		n += len(d.rendered())
	}
	return (n + 3) / 4
}

// rendered is the definition in the shape of OpenAI's requests, with the comma or bracket that follows it.
func (d Definition) rendered() []byte {
	name, _ := json.Marshal(d.Name) // strings always marshal
	description, _ := json.Marshal(d.Description)
	out := []byte(`{"type":"function","function":{"name":`)
	out = append(append(out, name...), `,"description":`...)
	out = append(append(out, description...), `,"parameters":`...)
	return append(append(out, d.Schema...), "}},"...)
}
