package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// statusError is an answer that is no success.
type statusError struct {
	code   int
	status string
	text   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("asking for a chat answer: the engine answered %s: %s", e.status, e.text)
}

// streamed posts a chat request and reads its answer as it comes.
func streamed(ctx context.Context, client *http.Client, at *url.URL, body []byte, read func(io.Reader, time.Time) (Timing, error)) (Timing, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(body))
	if err != nil {
		return Timing{}, fmt.Errorf("writing the chat request: %v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "toolbelt-eval/1")
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return Timing{}, unavailable("asking for a chat answer", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Timing{}, &statusError{code: resp.StatusCode, status: resp.Status, text: errorText(resp.Body)}
	}
	return read(resp.Body, sent)
}

// event is one chunk of an OpenAI-compatible answer, with llama.cpp's timings.
type event struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content   *string           `json:"content"`
			Reasoning string            `json:"reasoning"`
			Thought   string            `json:"reasoning_content"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Details *struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Timings *struct {
		Cached      *int    `json:"cache_n"`
		Evaluated   int     `json:"prompt_n"`
		EvaluatedMS float64 `json:"prompt_ms"`
	} `json:"timings"`
}

// readEvents reads the server-sent events of an OpenAI-compatible chat answer. One that ends neither with a
// reason nor with [DONE] broke off.
func readEvents(r io.Reader, sent time.Time) (Timing, error) {
	var t Timing
	finished := false
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		data, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		data = bytes.TrimSpace(data)
		now := time.Since(sent)
		switch {
		case isData && string(data) == "[DONE]":
			finished = true
		case isData:
			var e event
			if err := json.Unmarshal(data, &e); err != nil {
				return t, fmt.Errorf("reading the chat answer: %v", err)
			}
			if len(e.Error) > 0 && string(e.Error) != "null" {
				return t, fmt.Errorf("reading the chat answer: the engine says: %s", e.Error)
			}
			finished = t.add(e, now) || finished
		}
		if err == nil {
			continue
		}
		if !finished {
			return t, unavailable("reading the chat answer: it broke off before its end", err)
		}
		if t.Total = now; t.FirstToken == 0 {
			t.FirstToken = now
		}
		return t, nil
	}
}

// add takes in one chunk and reports whether it holds the reason of the end.
func (t *Timing) add(e event, now time.Duration) (finished bool) {
	for _, c := range e.Choices {
		d := c.Delta
		if t.FirstToken == 0 && (d.Content != nil && *d.Content != "" || d.Reasoning != "" || d.Thought != "" || len(d.ToolCalls) > 0) {
			t.FirstToken = now
		}
		finished = finished || c.Finish != nil
	}
	if e.Usage != nil && e.Usage.Prompt > 0 {
		t.PromptTokens = e.Usage.Prompt
		if e.Usage.Details != nil && e.Usage.Details.Cached != nil {
			t.Cached = e.Usage.Details.Cached
		}
	}
	if g := e.Timings; g != nil && g.Cached != nil {
		t.Cached, t.PromptEval = g.Cached, time.Duration(g.EvaluatedMS*float64(time.Millisecond))
		t.PromptTokens = *g.Cached + g.Evaluated
	}
	return finished
}
