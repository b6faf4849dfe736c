package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
)

// Timing is what one streamed chat request cost.
type Timing struct {
	FirstToken   time.Duration // from sending the request to the first text, thought or tool call; to the end of an empty answer
	Total        time.Duration // from sending the request to the end of the answer
	PromptTokens int           // the whole prompt, reused tokens included
	PromptEval   time.Duration // the engine's own figure for evaluating what it could not reuse
	Cached       *int          // tokens reused, where the answer says; Ollama's does not
}

// ChatRequest is one streamed request to Ollama's chat API. Messages and tools are sent byte for byte.
type ChatRequest struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []json.RawMessage `json:"tools,omitempty"`
	Stream   bool              `json:"stream"`
	Truncate bool              `json:"truncate"` // false: a prompt that does not fit is an error, not cut in silence
	Options  map[string]any    `json:"options"`
}

// Ollama measures an engine that speaks Ollama's protocol, or the daemon in front of one.
type Ollama struct {
	base   *url.URL
	client *http.Client
	api    *api.Client
}

// NewOllama returns an Ollama that sends its requests to base, which may have a path. The client must not have a
// timeout that a minute without a byte would exceed.
func NewOllama(base *url.URL, client *http.Client) *Ollama {
	return &Ollama{base: base, client: client, api: api.NewClient(base, client)}
}

// Chat sends one request and reads its answer to the end. An answer that breaks off before its end is an error.
func (o *Ollama) Chat(ctx context.Context, request ChatRequest) (Timing, error) {
	request.Stream = true
	body, err := json.Marshal(request)
	if err != nil {
		return Timing{}, fmt.Errorf("writing the chat request: %v", err)
	}
	return streamed(ctx, o.client, o.base.JoinPath("/api/chat"), body, readAnswer)
}

// readAnswer reads one chat answer, a JSON object a line.
func readAnswer(r io.Reader, sent time.Time) (Timing, error) {
	var t Timing
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 && err != nil {
			return t, unavailable("reading the chat answer: it broke off before its end", err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var chunk struct {
			api.ChatResponse
			Error string `json:"error"`
		}
		if err := json.Unmarshal(line, &chunk); err != nil {
			return t, fmt.Errorf("reading the chat answer: %v", err)
		}
		if chunk.Error != "" {
			return t, fmt.Errorf("reading the chat answer: the engine says: %s", chunk.Error)
		}
		m, now := chunk.Message, time.Since(sent)
		if t.FirstToken == 0 && (m.Content != "" || m.Thinking != "" || len(m.ToolCalls) > 0 || chunk.Done) {
			t.FirstToken = now
		}
		if chunk.Done {
			t.Total, t.PromptTokens, t.PromptEval = now, chunk.PromptEvalCount, chunk.PromptEvalDuration
			return t, nil
		}
	}
}

// Check returns nil where the engine answers and has the model, and otherwise an error that says what to do.
func (o *Ollama) Check(ctx context.Context, model string) error {
	if _, err := o.api.Version(ctx); err != nil {
		return unavailable(fmt.Sprintf("no Ollama answers at %s", o.base), err)
	}
	if _, err := o.api.Show(ctx, &api.ShowRequest{Model: model}); err != nil {
		var status api.StatusError
		if !errors.As(err, &status) || status.StatusCode != http.StatusNotFound {
			return unavailable(fmt.Sprintf("asking for the model %q", model), err)
		}
		var have []string
		if list, err := o.api.List(ctx); err == nil {
			for _, m := range list.Models {
				have = append(have, m.Name)
			}
		}
		return catalog.NewError(catalog.NotFound,
			fmt.Sprintf("the engine at %s has no model %q; it has: %s", o.base, model, strings.Join(have, ", ")), nil)
	}
	return nil
}

// Cold makes the engine forget every prompt of the model: it unloads the model, waits until it is gone, and loads it again with
// the same options and a short prompt that has nothing in common with a chat's. The next request pays for its whole prompt, but not for loading.
func (o *Ollama) Cold(ctx context.Context, model string, options map[string]any) error {
	if err := o.generate(ctx, &api.GenerateRequest{Model: model, KeepAlive: &api.Duration{}}); err != nil {
		return unavailable(fmt.Sprintf("unloading the model %q", model), err)
	}
	if err := o.awaitUnloaded(ctx, model); err != nil {
		return err
	}
	short := make(map[string]any, len(options)+1)
	for name, value := range options {
		short[name] = value
	}
	short["num_predict"] = 1
	if err := o.generate(ctx, &api.GenerateRequest{Model: model, Prompt: "Seven", Raw: true, Options: short}); err != nil {
		return unavailable(fmt.Sprintf("loading the model %q", model), err)
	}
	return nil
}

func (o *Ollama) generate(ctx context.Context, request *api.GenerateRequest) error {
	return o.api.Generate(ctx, request, func(api.GenerateResponse) error { return nil })
}

// awaitUnloaded waits until the engine no longer lists the model as running, at most half a minute.
func (o *Ollama) awaitUnloaded(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		running, err := o.api.ListRunning(ctx)
		if err != nil {
			return unavailable(fmt.Sprintf("waiting until the model %q is unloaded", model), err)
		}
		if !slices.ContainsFunc(running.Models, func(m api.ProcessModelResponse) bool { return sameModel(m.Name, model) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return unavailable(fmt.Sprintf("waiting until the model %q is unloaded", model), ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sameModel compares two model names as Ollama does: a name without a tag has the tag "latest".
func sameModel(a, b string) bool {
	full := func(name string) string {
		if !strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
			name += ":latest"
		}
		return strings.ToLower(name)
	}
	return full(a) == full(b)
}

// errorText is the sentence of an error body, at most 64 KiB of it.
func errorText(body io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // what was read before a failure is still the best text there is
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(data, &e) == nil && e.Error != "" {
		return e.Error
	}
	return strings.TrimSpace(string(data))
}

func unavailable(doing string, err error) error {
	return catalog.NewError(catalog.Unavailable, doing, err)
}
