package engine

import (
	"encoding/json"

	"github.com/ollama/ollama/api"
)

// callID is of a shape that every template takes.
const callID = "a1b2c3d4e"

// conversation is a probe in Ollama's types.
func conversation(endsInResult, system bool) []api.Message {
	var messages []api.Message
	if system {
		messages = append(messages, api.Message{Role: "system", Content: systemMark})
	}
	messages = append(messages,
		api.Message{Role: "user", Content: firstUserMark},
		api.Message{Role: "assistant", Content: answerMark},
		api.Message{Role: "user", Content: lastUserMark})
	if endsInResult {
		arguments := api.NewToolCallFunctionArguments()
		arguments.Set("x", "1")
		messages = append(messages,
			api.Message{Role: "assistant", ToolCalls: []api.ToolCall{{ID: callID, Function: api.ToolCallFunction{Name: "probe", Arguments: arguments}}}},
			api.Message{Role: "tool", Content: resultMark, ToolName: "probe", ToolCallID: callID})
	}
	return messages
}

// probeTool is the definition in the probes.
const probeTool = `{"type":"function","function":{"name":"probe","description":"` + toolMark + `","parameters":{"type":"object","properties":{"x":{"type":"string","description":"x"}},"required":["x"]}}}`

func probeTools() api.Tools {
	var tool api.Tool
	if err := json.Unmarshal([]byte(probeTool), &tool); err != nil {
		panic(err) // a constant
	}
	return api.Tools{tool}
}

// jinjaData is a probe as Jinja templates take it.
func jinjaData(endsInResult, system, argumentsAsText bool) map[string]any {
	message := func(role, content string) map[string]any { return map[string]any{"role": role, "content": content} }
	var messages []any
	if system {
		messages = append(messages, message("system", systemMark))
	}
	messages = append(messages, message("user", firstUserMark), message("assistant", answerMark), message("user", lastUserMark))
	if endsInResult {
		var arguments any = map[string]any{"x": "1"}
		if argumentsAsText {
			arguments = `{"x": "1"}`
		}
		call := message("assistant", "")
		call["tool_calls"] = []any{map[string]any{"id": callID, "type": "function", "function": map[string]any{"name": "probe", "arguments": arguments}}}
		result := message("tool", resultMark)
		result["tool_call_id"], result["name"] = callID, "probe"
		messages = append(messages, call, result)
	}
	var tool map[string]any
	if err := json.Unmarshal([]byte(probeTool), &tool); err != nil {
		panic(err) // a constant
	}
	return map[string]any{"messages": messages, "tools": []any{tool}, "add_generation_prompt": true, "bos_token": "", "eos_token": ""}
}
