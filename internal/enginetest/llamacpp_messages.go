package enginetest

import (
	"encoding/json"
	"slices"
)

// llamaMessages is llama.cpp's /v1/messages: the blocks of thinking, text and calls are all closed at the end.
type llamaMessages struct {
	id   string
	open []string // kinds of the blocks so far, by index
}

func (l *llamaMessages) event(kind string, fields object) []byte {
	fields["type"] = kind
	return event(kind, fields)
}

// block returns the index of the block of this kind, and its beginning where it is new.
func (l *llamaMessages) block(kind string, content object) (int, []byte) {
	if i := slices.Index(l.open, kind); i >= 0 && kind != "tool_use" {
		return i, nil
	}
	l.open = append(l.open, kind)
	content["type"] = kind
	return len(l.open) - 1, l.event("content_block_start", object{"index": len(l.open) - 1, "content_block": content})
}

func (l *llamaMessages) delta(d delta) []byte {
	var out []byte
	if d.first {
		have := cached(d.response)
		out = l.event("message_start", object{"message": object{
			"id": l.id, "type": "message", "role": "assistant", "content": []object{}, "model": d.response.Model, "stop_reason": nil, "stop_sequence": nil,
			"usage": object{"cache_read_input_tokens": have, "input_tokens": d.response.PromptEvalCount - have, "output_tokens": 0},
		}})
	}
	change := func(i int, start []byte, fields object) []byte {
		return append(append(out, start...), l.event("content_block_delta", object{"index": i, "delta": fields})...)
	}
	switch {
	case d.last:
		return append(out, l.end(d)...)
	case d.thinking != "":
		i, start := l.block("thinking", object{"thinking": ""})
		return change(i, start, object{"type": "thinking_delta", "thinking": d.thinking})
	case d.text != "":
		i, start := l.block("text", object{"text": ""})
		return change(i, start, object{"type": "text_delta", "text": d.text})
	case d.callID != "":
		i, start := l.block("tool_use", object{"id": d.callID, "name": d.name})
		if d.arguments == "" {
			return append(out, start...)
		}
		return change(i, start, object{"type": "input_json_delta", "partial_json": d.arguments})
	}
	return change(len(l.open)-1, nil, object{"type": "input_json_delta", "partial_json": d.arguments})
}

func (l *llamaMessages) end(d delta) []byte {
	var out []byte
	for i, kind := range l.open {
		if kind == "thinking" {
			out = append(out, l.event("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": ""}})...)
		}
		out = append(out, l.event("content_block_stop", object{"index": i})...)
	}
	out = append(out, l.event("message_delta", object{
		"delta": object{"stop_reason": messagesReason(d), "stop_sequence": nil}, "usage": object{"output_tokens": d.response.EvalCount},
	})...)
	return append(out, l.event("message_stop", object{})...)
}

func messagesReason(d delta) string {
	switch openAIReason(d) {
	case "length":
		return "max_tokens"
	case "tool_calls":
		return "tool_use"
	}
	return "end_turn"
}

func (l *llamaMessages) whole(d delta) []byte {
	blocks := []object{}
	if d.so.thinking != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": d.so.thinking, "signature": ""})
	}
	if d.so.text != "" {
		blocks = append(blocks, object{"type": "text", "text": d.so.text})
	}
	for _, c := range d.so.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input(c.Arguments)})
	}
	have := cached(d.response)
	return encoded(object{
		"id": l.id, "type": "message", "role": "assistant", "content": blocks, "model": d.response.Model, "stop_reason": messagesReason(d), "stop_sequence": nil,
		"usage": object{"cache_read_input_tokens": have, "input_tokens": d.response.PromptEvalCount - have, "output_tokens": d.response.EvalCount},
	})
}

// input is a call's arguments as an object: what is no JSON is an empty one.
func input(arguments string) json.RawMessage {
	if !json.Valid([]byte(arguments)) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

// broken is an error event whose data is the error itself: its type is the error's, not "error".
func (l *llamaMessages) broken(code int, message string) []byte {
	return event("error", llamaError(code, message))
}
