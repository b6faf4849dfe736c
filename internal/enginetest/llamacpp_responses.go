package enginetest

// llamaResponses is llama.cpp's /v1/responses: its events have no sequence numbers and no output indices.
type llamaResponses struct {
	id         string
	n          int // makes the items' ids
	said, held bool
	newest     string // id of the call whose arguments come
}

func (l *llamaResponses) event(kind string, fields object) []byte {
	fields["type"] = kind
	return event(kind, fields)
}

func (l *llamaResponses) message() string   { return llamaID("msg_", l.n) }
func (l *llamaResponses) reasoning() string { return llamaID("rs_", l.n) }

func (l *llamaResponses) delta(d delta) []byte {
	var out []byte
	if d.first {
		for _, kind := range []string{"response.created", "response.in_progress"} {
			out = append(out, l.event(kind, object{"response": object{"id": l.id, "object": "response", "status": "in_progress"}})...)
		}
	}
	switch {
	case d.last:
		return append(out, l.end(d)...)
	case d.thinking != "":
		if !l.held {
			l.held = true
			out = append(out, l.event("response.output_item.added", object{"item": object{
				"id": l.reasoning(), "summary": []object{}, "type": "reasoning", "content": []object{}, "encrypted_content": "", "status": "in_progress",
			}})...)
		}
		return append(out, l.event("response.reasoning_text.delta", object{"delta": d.thinking, "item_id": l.reasoning()})...)
	case d.text != "":
		if !l.said {
			l.said = true
			out = append(out, l.event("response.output_item.added", object{"item": object{
				"content": []object{}, "id": l.message(), "role": "assistant", "status": "in_progress", "type": "message",
			}})...)
			out = append(out, l.event("response.content_part.added", object{"item_id": l.message(), "part": object{"type": "output_text", "text": ""}})...)
		}
		return append(out, l.event("response.output_text.delta", object{"item_id": l.message(), "delta": d.text})...)
	case d.callID != "":
		l.newest = d.callID
		out = append(out, l.event("response.output_item.added", object{"item": object{
			"id": "fc_" + d.callID, "arguments": "", "call_id": "call_" + d.callID, "name": d.name, "type": "function_call", "status": "in_progress",
		}})...)
	}
	if d.arguments == "" {
		return out
	}
	return append(out, l.event("response.function_call_arguments.delta", object{"delta": d.arguments, "item_id": "fc_" + l.newest})...)
}

// items are the output of a whole answer.
func (l *llamaResponses) items(d delta) []object {
	list := []object{}
	if d.so.thinking != "" {
		list = append(list, object{
			"id": l.reasoning(), "summary": []object{}, "type": "reasoning", "encrypted_content": "", "status": "completed",
			"content": []object{{"text": d.so.thinking, "type": "reasoning_text"}},
		})
	}
	if d.so.text != "" {
		list = append(list, object{"type": "message", "status": "completed", "id": l.message(), "role": "assistant", "content": []object{part(d.so.text)}})
	}
	for _, c := range d.so.calls {
		list = append(list, object{
			"id": "fc_" + c.ID, "type": "function_call", "status": "completed", "arguments": c.Arguments, "call_id": "call_" + c.ID, "name": c.Name,
		})
	}
	return list
}

func part(text string) object {
	return object{"type": "output_text", "annotations": []object{}, "logprobs": []object{}, "text": text}
}

func (l *llamaResponses) end(d delta) []byte {
	var out []byte
	items := l.items(d)
	for _, item := range items {
		if item["type"] == "message" {
			out = append(out, l.event("response.output_text.done", object{"item_id": l.message(), "text": d.so.text})...)
			out = append(out, l.event("response.content_part.done", object{"item_id": l.message(), "part": part(d.so.text)})...)
		}
		out = append(out, l.event("response.output_item.done", object{"item": item})...)
	}
	return append(out, l.event("response.completed", object{"response": l.response(d, items), "timings": timings(d.response)})...)
}

func (l *llamaResponses) response(d delta, items []object) object {
	return object{
		"id": l.id, "object": "response", "created_at": began().Unix(), "status": "completed", "model": d.response.Model, "output": items,
		"usage": object{
			"input_tokens": d.response.PromptEvalCount, "output_tokens": d.response.EvalCount, "total_tokens": d.response.PromptEvalCount + d.response.EvalCount,
			"input_tokens_details": object{"cached_tokens": cached(d.response)},
		},
	}
}

func (l *llamaResponses) whole(d delta) []byte {
	answer := l.response(d, l.items(d))
	answer["completed_at"] = answer["created_at"]
	return encoded(answer)
}

func (l *llamaResponses) broken(code int, message string) []byte {
	return data(object{"error": llamaError(code, message)})
}
