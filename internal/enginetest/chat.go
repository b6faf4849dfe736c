package enginetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/anthropic"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"
)

// wire writes one answer in a protocol and style. A chunk is what the model said since the last one.
type wire interface {
	// chunk returns the bytes for a piece of a streamed answer, the last one (Done) with all that ends the stream.
	chunk(r api.ChatResponse) []byte
	// whole returns a plain answer.
	whole(r api.ChatResponse) []byte
	// broken returns what is written when generation fails in the middle of a stream.
	broken(message string) []byte
	// failed returns the body of an answer with an error status.
	failed(status int, message string) []byte
}

// began is when all answers are made: they are the same from run to run.
func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) }

// serveChat reads a chat request, asks the script and writes its answer.
func (e *Engine) serveChat(w http.ResponseWriter, r *http.Request, protocol Protocol, body []byte) {
	chat, answer, err := e.read(protocol, body)
	if err != nil {
		e.fail(w, answer, http.StatusBadRequest, err.Error())
		return
	}
	if protocol == NativeChat && len(chat.Messages) == 0 { // only loads the model
		w.Header().Set("Content-Type", e.contentType(protocol, false))
		w.Write(encoded(api.ChatResponse{Model: chat.Model, CreatedAt: began(), Message: api.Message{Role: "assistant"}, Done: true, DoneReason: "load"}))
		return
	}
	request := &Request{
		Protocol: protocol, Header: r.Header.Clone(), Body: body, Model: chat.Model, Stream: chat.Stream == nil || *chat.Stream,
		Messages: chat.Messages, Prompt: e.render(chat.Messages, chat.Tools), Limit: limit(chat.Options), done: make(chan struct{}),
	}
	for _, t := range chat.Tools {
		request.Tools = append(request.Tools, t.Function.Name)
	}
	defer close(request.done)
	round, whole := e.play(request)
	if l, ok := answer.(*llamaWire); ok {
		l.said, l.metrics = round.Calls, whole.Metrics
	}
	out := &output{w: w, gone: r.Context().Done(), round: round, split: e.options.Split, streams: request.Stream}
	switch {
	case round.Status != 0 && round.Status != http.StatusOK:
		e.fail(w, answer, round.Status, round.Error)
	case !request.Stream && round.Error != "":
		e.fail(w, answer, http.StatusInternalServerError, round.Error)
	case !request.Stream:
		w.Header().Set("Content-Type", e.contentType(protocol, false))
		out.write(answer.whole(whole))
	default:
		w.Header().Set("Content-Type", e.contentType(protocol, true))
		for _, c := range pieces(whole) {
			if c.Done && round.Error != "" {
				out.write(answer.broken(round.Error))
				break
			}
			out.write(answer.chunk(c))
		}
	}
	out.finish()
}

// play asks the script, one request at a time, and makes the whole answer of what it says.
func (e *Engine) play(r *Request) (Round, api.ChatResponse) {
	e.script.Lock()
	defer e.script.Unlock()
	var round Round
	if e.options.Script != nil {
		round = e.options.Script(r)
	}
	round.Calls = slices.Clone(round.Calls)
	message := api.Message{Role: "assistant", Content: round.Text, Thinking: round.Thinking}
	for i := range round.Calls {
		c := &round.Calls[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%08d", e.id())
			if e.options.Style == LlamaCpp {
				c.ID = llamaID("", e.id())
			}
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		call := api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Index: len(message.ToolCalls), Name: c.Name, Arguments: api.NewToolCallFunctionArguments()}}
		if json.Unmarshal([]byte(c.Arguments), &call.Function.Arguments) != nil {
			call.Function.Arguments = api.NewToolCallFunctionArguments() // Ollama gives objects only
		}
		if !e.options.DropUnlisted || slices.Contains(r.Tools, c.Name) {
			message.ToolCalls = append(message.ToolCalls, call)
		}
	}
	generated := round.Tokens
	if generated == 0 {
		generated = generatedTokens(round)
	}
	count := e.count(r, message, generated)
	r.Answer, r.Count = round, count
	e.mu.Lock()
	e.requests = append(e.requests, r)
	e.mu.Unlock()
	reason := round.Reason
	if reason == "" {
		reason = "stop"
	}
	return round, api.ChatResponse{Model: r.Model, CreatedAt: began(), Message: message, Done: true, DoneReason: reason, Metrics: metrics(count)}
}

// generatedTokens counts what a round says, 1 at least.
func generatedTokens(round Round) int {
	n := len(round.Text) + len(round.Thinking)
	for _, c := range round.Calls {
		n += len(c.Name) + len(c.Arguments) + 40
	}
	return max(1, (n+bytesPerToken-1)/bytesPerToken)
}

// metrics gives a token of the prompt one millisecond where it is evaluated and a generated one two.
func metrics(c Count) api.Metrics {
	m := api.Metrics{
		LoadDuration: time.Millisecond, PromptEvalCount: c.Prompt, PromptEvalDuration: time.Duration(c.Evaluated) * time.Millisecond,
		EvalCount: c.Generated, EvalDuration: time.Duration(c.Generated) * 2 * time.Millisecond,
	}
	m.TotalDuration = m.LoadDuration + m.PromptEvalDuration + m.EvalDuration
	return m
}

// pieces cuts a whole answer into what an engine streams: words of the thinking, words of the text, each call, and the end.
func pieces(whole api.ChatResponse) []api.ChatResponse {
	var list []api.ChatResponse
	add := func(m api.Message) {
		m.Role = "assistant"
		list = append(list, api.ChatResponse{Model: whole.Model, CreatedAt: whole.CreatedAt, Message: m})
	}
	for word := range strings.SplitAfterSeq(whole.Message.Thinking, " ") {
		if word != "" {
			add(api.Message{Thinking: word})
		}
	}
	for word := range strings.SplitAfterSeq(whole.Message.Content, " ") {
		if word != "" {
			add(api.Message{Content: word})
		}
	}
	for _, c := range whole.Message.ToolCalls {
		add(api.Message{ToolCalls: []api.ToolCall{c}})
	}
	last := whole
	last.Message = api.Message{Role: "assistant"}
	return append(list, last)
}

// read decodes a request by Ollama's own converters and returns the chat it stands for, and the wire for its answer, which is never nil.
func (e *Engine) read(protocol Protocol, body []byte) (*api.ChatRequest, wire, error) {
	switch protocol {
	case NativeChat:
		var chat api.ChatRequest
		return &chat, nativeWire{}, json.Unmarshal(body, &chat)
	case OpenAIChat:
		var request openai.ChatCompletionRequest
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, &openaiWire{}, err
		}
		id := e.id()
		var answer wire = &openaiWire{id: fmt.Sprintf("chatcmpl-%d", id), usage: request.StreamOptions != nil && request.StreamOptions.IncludeUsage}
		if e.options.Style == LlamaCpp {
			answer = &llamaWire{form: &llamaChat{id: llamaID("chatcmpl-", id), usage: request.StreamOptions != nil && request.StreamOptions.IncludeUsage}}
		}
		if len(request.Messages) == 0 {
			return nil, answer, fmt.Errorf("[] is too short - 'messages'")
		}
		chat, err := openai.FromChatRequest(request)
		return chat, answer, err
	case Responses:
		return e.readResponses(body)
	default:
		return e.readMessages(body)
	}
}

func (e *Engine) readResponses(body []byte) (*api.ChatRequest, wire, error) {
	var request openai.ResponsesRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, &openaiWire{}, err
	}
	id := e.id()
	var answer wire = newResponsesWire(id, request)
	if e.options.Style == LlamaCpp {
		answer = &llamaWire{form: &llamaResponses{id: llamaID("resp_", id), n: id}}
	}
	chat, err := openai.FromResponsesRequest(request)
	if err == nil {
		chat.Stream = new(bool)
		*chat.Stream = request.Stream != nil && *request.Stream
	}
	return chat, answer, err
}

func (e *Engine) readMessages(body []byte) (*api.ChatRequest, wire, error) {
	var request anthropic.MessagesRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, &messagesWire{}, err
	}
	id := fmt.Sprintf("msg_%024d", e.id())
	var answer wire = &messagesWire{id: id, converter: anthropic.NewStreamConverter(id, request.Model, anthropic.EstimateInputTokens(request))}
	if e.options.Style == LlamaCpp {
		answer = &llamaWire{form: &llamaMessages{id: llamaID("chatcmpl-", e.id())}}
	}
	switch {
	case request.Model == "":
		return nil, answer, fmt.Errorf("model is required")
	case request.MaxTokens <= 0:
		return nil, answer, fmt.Errorf("max_tokens is required and must be positive")
	case len(request.Messages) == 0:
		return nil, answer, fmt.Errorf("messages is required")
	}
	chat, err := anthropic.FromMessagesRequest(request)
	return chat, answer, err
}

// id returns the next number for an id.
func (e *Engine) id() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ids++
	return e.ids
}

// limit is the num_predict among a request's options.
func limit(options map[string]any) int {
	switch n := options["num_predict"].(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}

func (e *Engine) contentType(protocol Protocol, stream bool) string {
	switch {
	case stream && protocol == NativeChat:
		return "application/x-ndjson"
	case stream:
		return "text/event-stream"
	case protocol == NativeChat || e.options.Style == LlamaCpp:
		return "application/json; charset=utf-8"
	}
	return "application/json"
}

func (e *Engine) fail(w http.ResponseWriter, answer wire, status int, message string) {
	w.Header().Set("Content-Type", e.contentType("", false))
	w.WriteHeader(status)
	text := answer.failed(status, message)
	if e.options.Style == LlamaCpp {
		text = encoded(object{"error": llamaError(status, message)})
	}
	w.Write(text) // the client may be gone
}
