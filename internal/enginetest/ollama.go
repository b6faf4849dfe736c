package enginetest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ollama/ollama/anthropic"
	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/openai"
)

// encoded is v as JSON. All that is written here can be encoded.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("enginetest: encoding an answer: %v", err))
	}
	return text
}

func line(v any) []byte { return append(encoded(v), '\n') }

func data(v any) []byte { return fmt.Appendf(nil, "data: %s\n\n", encoded(v)) }

func event(name string, v any) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encoded(v))
}

// nativeWire is Ollama's own API.
type nativeWire struct{}

func (nativeWire) chunk(r api.ChatResponse) []byte { return line(r) }
func (nativeWire) whole(r api.ChatResponse) []byte { return encoded(r) }
func (nativeWire) broken(message string) []byte    { return line(map[string]string{"error": message}) }
func (nativeWire) failed(_ int, message string) []byte {
	return encoded(map[string]string{"error": message})
}

// openaiWire is Ollama's /v1/chat/completions.
type openaiWire struct {
	id     string
	usage  bool
	called bool
}

func (o *openaiWire) chunk(r api.ChatResponse) []byte {
	c := openai.ToChunk(o.id, r, o.called)
	c.Created = began().Unix()
	o.called = o.called || len(r.Message.ToolCalls) > 0
	out := data(c)
	if !r.Done {
		return out
	}
	if o.usage {
		u := openai.ToUsage(r)
		c.Usage, c.Choices = &u, []openai.ChunkChoice{}
		out = append(out, data(c)...)
	}
	return append(out, "data: [DONE]\n\n"...)
}

func (o *openaiWire) whole(r api.ChatResponse) []byte { return line(openai.ToChatCompletion(o.id, r)) }

// broken: Ollama reads its own error line as a chunk of an answer, so that what the client gets is an empty one, and the end of the stream.
func (o *openaiWire) broken(string) []byte { return o.chunk(api.ChatResponse{}) }

// failed: Ollama calls every error of the engine behind this API an api_error, but those of reading the request.
func (o *openaiWire) failed(status int, message string) []byte {
	if status != http.StatusBadRequest {
		status = http.StatusInternalServerError
	}
	return line(openai.NewError(status, message))
}

// responsesWire is Ollama's /v1/responses.
type responsesWire struct {
	openaiWire
	item      string
	request   openai.ResponsesRequest
	converter *openai.ResponsesStreamConverter
}

func newResponsesWire(n int, request openai.ResponsesRequest) *responsesWire {
	id, item := fmt.Sprintf("resp_%d", n), fmt.Sprintf("msg_%d", n)
	return &responsesWire{openaiWire{id: id}, item, request, openai.NewResponsesStreamConverter(id, item, request.Model, request)}
}

func (o *responsesWire) chunk(r api.ChatResponse) []byte {
	var out []byte
	for _, e := range o.converter.Process(r) {
		if fields, ok := e.Data.(map[string]any); ok {
			steadyTimes(fields)
		}
		out = append(out, event(e.Event, e.Data)...)
	}
	return out
}

// steadyTimes sets the times of a response object to when all answers are made.
func steadyTimes(fields map[string]any) {
	response, ok := fields["response"].(map[string]any)
	if !ok {
		return
	}
	for _, key := range []string{"created_at", "completed_at"} {
		if response[key] != nil {
			response[key] = began().Unix()
		}
	}
}

func (o *responsesWire) whole(r api.ChatResponse) []byte {
	response := openai.ToResponse(r.Model, o.id, o.item, r, o.request)
	completed := began().Unix()
	response.CompletedAt = &completed
	return line(response)
}

func (o *responsesWire) broken(string) []byte { return o.chunk(api.ChatResponse{}) }

// messagesWire is Ollama's /v1/messages.
type messagesWire struct {
	id        string
	converter *anthropic.StreamConverter
}

func (m *messagesWire) chunk(r api.ChatResponse) []byte {
	var out []byte
	for _, e := range m.converter.Process(r) {
		out = append(out, event(e.Event, e.Data)...)
	}
	return out
}

func (m *messagesWire) whole(r api.ChatResponse) []byte {
	return line(anthropic.ToMessagesResponse(m.id, r))
}

func (m *messagesWire) broken(string) []byte { return m.chunk(api.ChatResponse{}) }

func (m *messagesWire) failed(status int, message string) []byte {
	return line(anthropic.NewError(status, message))
}
