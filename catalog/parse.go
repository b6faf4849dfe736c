package catalog

import (
	"bytes"
	"fmt"

	"github.com/tidwall/gjson"
)

// Parse reads a list of tools in any of the shapes that files of tools come in: a JSON array of
// tools, an object with a "tools" array (an MCP tools/list result, bare or within "result"), or JSON lines. A tool is
// {"type":"function","function":{name, description, parameters}} (OpenAI, Ollama) or flat {name, description} with its schema under
// "parameters", "inputSchema" (MCP) or "input_schema". An element that is no tool is an Invalid
// error that names its place, counted from 1. Tools keep the order of the file; twins are both returned.
func Parse(data []byte) ([]Tool, error) {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf"))
	if len(data) == 0 {
		return nil, NewError(Invalid, "the list of tools is empty: expected a JSON array, an object with \"tools\", or JSON lines", nil)
	}
	if !gjson.ValidBytes(data) {
		return parseLines(data)
	}
	doc := gjson.ParseBytes(data)
	list := doc
	if doc.IsObject() {
		list = doc.Get("tools")
		if !list.Exists() {
			list = doc.Get("result.tools")
		}
		if !list.Exists() {
			if t, ok := ParseTool(data); ok {
				return []Tool{t}, nil
			}
		}
	}
	if !list.IsArray() {
		return nil, NewError(Invalid, "no list of tools: expected a JSON array, an object with \"tools\", or JSON lines", nil)
	}
	var tools []Tool
	for i, element := range list.Array() {
		t, ok := ParseTool([]byte(element.Raw))
		if !ok {
			return nil, NewError(Invalid, fmt.Sprintf("tool %d has no name: %s", i+1, clip(element.Raw, 80)), nil)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func parseLines(data []byte) ([]Tool, error) {
	var tools []Tool
	for i, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if !gjson.ValidBytes(line) {
			return nil, NewError(Invalid, fmt.Sprintf("line %d is not JSON: %s", i+1, clip(string(line), 80)), nil)
		}
		t, ok := ParseTool(line)
		if !ok {
			return nil, NewError(Invalid, fmt.Sprintf("line %d is not a tool with a name: %s", i+1, clip(string(line), 80)), nil)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// ParseTool reads one tool from its JSON, which must be valid. It reports false where raw is not a
// function tool with a non-empty string for its name: other types ("web_search", "custom") are not ours to choose.
func ParseTool(raw []byte) (Tool, bool) {
	doc := gjson.ParseBytes(raw)
	if !doc.IsObject() {
		return Tool{}, false
	}
	if kind := doc.Get("type"); kind.Exists() && kind.Type != gjson.Null && kind.String() != "function" {
		return Tool{}, false
	}
	body := doc
	if f := doc.Get("function"); f.IsObject() {
		body = f
	}
	name := body.Get("name")
	if name.Type != gjson.String || name.Str == "" {
		return Tool{}, false
	}
	t := Tool{Name: name.Str, Bytes: len(raw)}
	if d := body.Get("description"); d.Type == gjson.String {
		t.Description = d.Str
	}
	for _, key := range []string{"parameters", "inputSchema", "input_schema"} {
		if s := body.Get(key); s.Exists() {
			t.Schema = Schema(s.Raw)
			break
		}
	}
	return t, true
}

// clip quotes the beginning of s for a message: odd bytes must not reach a terminal.
func clip(s string, n int) string {
	if len(s) <= n {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:n])
}
