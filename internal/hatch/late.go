package hatch

import (
	"bytes"
	"encoding/json"
	"strings"

	"toolbelt/catalog"
)

// Unnamed answers a call of call_tool that names no tool.
const Unnamed = `No tool name could be read. Call ` + CallTool + ` like this: {"name": "the tool", "arguments": {…}}.`

// LateText announces tools that are not in the array: how to call them through call_tool, then each as a signature with its description,
// which takes a third fewer tokens than JSON; as one line of compact JSON where its schema has more to it than a signature can say. Nothing of a schema is lost but what cannot be
// read. Without tools it is empty. Equal tools give equal bytes: the text is put back into every later request.
func LateText(tools []catalog.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("You have more tools now. Call them with " + CallTool + `, like this: {"name": `)
	b.WriteString(quoted(tools[0].Name))
	b.WriteString(`, "arguments": {`)
	if parameters := tools[0].Parameters(); len(parameters) > 0 {
		b.WriteString(quoted(parameters[0].Name) + ": ")
	}
	b.WriteString("…}}.")
	for _, t := range tools {
		b.WriteByte('\n')
		if text, ok := signature(t); ok {
			b.WriteString(text)
			continue
		}
		b.Write(definition(t))
	}
	return b.String()
}

// definition is the tool as compact JSON. What JSON in a script would escape (<, >, &) is left as it is: escapes are tokens.
func definition(t catalog.Tool) []byte {
	var schema bytes.Buffer
	if json.Compact(&schema, t.Schema) != nil {
		schema.Reset()
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	field := func(key, value string) {
		out.WriteString(key)
		_ = encoder.Encode(value) // a string always encodes, and a buffer always takes it
		out.Truncate(out.Len() - 1)
	}
	field(`{"name":`, t.Name)
	if t.Description != "" {
		field(`,"description":`, t.Description)
	}
	if schema.Len() > 0 {
		out.WriteString(`,"parameters":`)
		out.Write(schema.Bytes())
	}
	out.WriteByte('}')
	return out.Bytes()
}
