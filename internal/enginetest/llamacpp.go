package enginetest

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/ollama/ollama/api"
)

const llamaBuild = "b1-0c1e570"

// llamaID is an id as llama.cpp makes them: 32 letters and digits behind a prefix.
func llamaID(prefix string, n int) string { return fmt.Sprintf("%s%032d", prefix, n) }

// delta is one step of a message as llama.cpp's server knows it: a piece of one kind.
type delta struct {
	first          bool // of the answer
	thinking, text string
	call           int    // index, where callID or arguments are not empty
	callID, name   string // at the beginning of a call
	arguments      string
	last           bool // the answer is complete: so and response are whole
	so             said
	response       api.ChatResponse
}

// said is what a message consists of so far.
type said struct {
	thinking, text string
	calls          []Call
}

// llamaForm writes deltas in one protocol of llama.cpp's server.
type llamaForm interface {
	delta(d delta) []byte
	whole(d delta) []byte
	broken(code int, message string) []byte
}

// llamaWire cuts the engine's pieces further, as llama.cpp streams them: a call in pieces, its name with the first of its arguments.
type llamaWire struct {
	form    llamaForm
	said    []Call      // of the round: arguments as the model wrote them
	metrics api.Metrics // of the whole answer: this server knows of the prompt from the first token on
	begun   bool
	so      said
}

// argumentBytes is the length of a piece of arguments.
const argumentBytes = 8

func (l *llamaWire) chunk(r api.ChatResponse) []byte {
	var out []byte
	send := func(d delta) {
		d.first = !l.begun
		l.begun = true
		d.response, d.so = r, l.so
		d.response.Metrics = l.metrics
		out = append(out, l.form.delta(d)...)
	}
	l.so.thinking += r.Message.Thinking
	l.so.text += r.Message.Content
	if r.Message.Thinking != "" {
		send(delta{thinking: r.Message.Thinking})
	}
	if r.Message.Content != "" {
		send(delta{text: r.Message.Content})
	}
	for _, c := range l.calls(r.Message.ToolCalls) {
		l.so.calls = append(l.so.calls, c)
		at := len(l.so.calls) - 1
		begin := delta{call: at, callID: c.ID, name: c.Name}
		for arguments := c.Arguments; arguments != "" || begin.name != ""; {
			n := min(argumentBytes, len(arguments))
			for n < len(arguments) && arguments[n]&0xc0 == 0x80 { // not within a character
				n++
			}
			begin.arguments = arguments[:n]
			send(begin)
			begin, arguments = delta{call: at}, arguments[n:]
		}
	}
	if r.Done {
		send(delta{last: true})
	}
	return out
}

// calls finds the round's calls again by their ids.
func (l *llamaWire) calls(list []api.ToolCall) []Call {
	var out []Call
	for _, c := range list {
		i := slices.IndexFunc(l.said, func(s Call) bool { return s.ID == c.ID })
		out = append(out, l.said[i])
	}
	return out
}

func (l *llamaWire) whole(r api.ChatResponse) []byte {
	return l.form.whole(delta{last: true, so: said{r.Message.Thinking, r.Message.Content, l.calls(r.Message.ToolCalls)}, response: r})
}

func (l *llamaWire) broken(message string) []byte {
	return l.form.broken(http.StatusInternalServerError, message)
}

func (l *llamaWire) failed(status int, message string) []byte {
	return encoded(object{"error": llamaError(status, message)})
}

func llamaError(code int, message string) object {
	kind := "server_error"
	switch code {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusServiceUnavailable:
		kind = "unavailable_error"
	}
	return object{"code": code, "message": message, "type": kind}
}

// cached is what of the prompt the engine had: the time for evaluating tells, a millisecond each.
func cached(r api.ChatResponse) int {
	return r.PromptEvalCount - int(r.PromptEvalDuration.Milliseconds())
}

// timings is what llama.cpp says of itself at the end of an answer.
func timings(r api.ChatResponse) object {
	evaluated := int(r.PromptEvalDuration.Milliseconds())
	return object{
		"cache_n": cached(r), "prompt_n": evaluated, "prompt_ms": float64(evaluated), "prompt_per_token_ms": 1.0, "prompt_per_second": 1000.0,
		"predicted_n": r.EvalCount, "predicted_ms": float64(r.EvalDuration.Milliseconds()), "predicted_per_token_ms": 2.0, "predicted_per_second": 500.0,
	}
}

func openAIReason(d delta) string {
	switch {
	case d.response.DoneReason == "length":
		return "length"
	case len(d.so.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// llamaChat is /v1/chat/completions.
type llamaChat struct {
	id    string
	usage bool
}

func (l *llamaChat) frame(kind, model string, choices []object) object {
	return object{"choices": choices, "created": began().Unix(), "id": l.id, "model": model, "system_fingerprint": llamaBuild, "object": kind}
}

func (l *llamaChat) chunk(d delta, change object, reason any) object {
	return l.frame("chat.completion.chunk", d.response.Model, []object{{"finish_reason": reason, "index": 0, "delta": change}})
}

func (l *llamaChat) delta(d delta) []byte {
	var out []byte
	if d.first {
		out = data(l.chunk(d, object{"role": "assistant", "content": nil}, nil))
	}
	switch {
	case d.last:
		last := l.chunk(d, object{}, openAIReason(d))
		if l.usage {
			out = append(out, data(last)...)
			last = l.frame("chat.completion.chunk", d.response.Model, []object{})
			last["usage"] = openAIUsage(d.response)
		}
		last["timings"] = timings(d.response)
		return append(append(out, data(last)...), "data: [DONE]\n\n"...)
	case d.thinking != "":
		return append(out, data(l.chunk(d, object{"reasoning_content": d.thinking}, nil))...)
	case d.text != "":
		return append(out, data(l.chunk(d, object{"content": d.text}, nil))...)
	}
	call, function := object{"index": d.call}, object{}
	if d.callID != "" {
		call["id"], call["type"], function["name"] = d.callID, "function", d.name
	}
	if d.arguments != "" {
		function["arguments"] = d.arguments
	}
	call["function"] = function
	return append(out, data(l.chunk(d, object{"tool_calls": []object{call}}, nil))...)
}

func openAIUsage(r api.ChatResponse) object {
	return object{
		"completion_tokens": r.EvalCount, "prompt_tokens": r.PromptEvalCount, "total_tokens": r.PromptEvalCount + r.EvalCount,
		"prompt_tokens_details": object{"cached_tokens": cached(r)},
	}
}

func (l *llamaChat) whole(d delta) []byte {
	message := object{"role": "assistant", "content": d.so.text}
	if d.so.thinking != "" {
		message["reasoning_content"] = d.so.thinking
	}
	if len(d.so.calls) > 0 {
		var calls []object
		for _, c := range d.so.calls {
			calls = append(calls, object{"type": "function", "id": c.ID, "function": object{"name": c.Name, "arguments": c.Arguments}})
		}
		message["tool_calls"] = calls
	}
	answer := l.frame("chat.completion", d.response.Model, []object{{"finish_reason": openAIReason(d), "index": 0, "message": message}})
	answer["usage"], answer["timings"] = openAIUsage(d.response), timings(d.response)
	return encoded(answer)
}

func (l *llamaChat) broken(code int, message string) []byte {
	return data(object{"error": llamaError(code, message)})
}
