package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
)

// The protocols that an engine can be measured by.
const (
	OllamaAPI = "ollama"
	OpenAIAPI = "openai"
)

// Target is the engine under measurement. Not safe for concurrent use: one request at a time is what is measured.
type Target struct {
	API     string // OllamaAPI or OpenAIAPI
	Model   string
	Context int // num_ctx of every request, in tokens; 0: the engine's own. Ollama only
	Log     *EngineLog

	engine *Ollama
	client *http.Client
	base   *url.URL
	pace   pace
	nonces int
}

// NewTarget returns a Target at base. The client must not have a timeout that a minute without a byte would exceed.
func NewTarget(base *url.URL, client *http.Client, protocol, model string) *Target {
	return &Target{API: protocol, Model: model, engine: NewOllama(base, client), client: client, base: base}
}

// Asked is one request to measure.
type Asked struct {
	At       *url.URL // where it is sent: the engine, a recorder or daemon in front of it
	Messages []json.RawMessage
	Tools    []json.RawMessage
	Context  int  // num_ctx of this request; 0: the Target's
	Cut      bool // a prompt that does not fit is cut by the engine, as it does for apps, instead of refused
}

// Reading is what one request cost.
type Reading struct {
	Timing
	Evaluated *int   // tokens; nil where neither the engine nor an estimate tells
	Cached    *int   // tokens; nil likewise
	Estimated bool   // Evaluated and Cached are made of the time of evaluation
	Truncated string // what the engine cut from the request; "" where nothing is known to be
}

// Ask sends one request and reads its answer to the end. The answer is one token long.
func (t *Target) Ask(ctx context.Context, a Asked) (Reading, error) {
	window := a.Context
	if window == 0 {
		window = t.Context
	}
	body, path := t.body(a, window), "/api/chat"
	if t.API == OpenAIAPI {
		path = "/v1/chat/completions"
	}
	return t.Send(ctx, a.At, path, body, window)
}

// Send posts a chat request's bytes as they are; window is its num_ctx, 0 where that is not known.
func (t *Target) Send(ctx context.Context, at *url.URL, path string, body []byte, window int) (Reading, error) {
	if t.Log != nil {
		if err := t.Log.Skip(); err != nil {
			return Reading{}, fmt.Errorf("reading the engine's log: %v", err)
		}
	}
	read := readAnswer
	if path != "/api/chat" {
		read = readEvents
	}
	timing, err := streamed(ctx, t.client, at.JoinPath(path), body, read)
	if err != nil {
		return Reading{}, err
	}
	return t.complete(ctx, timing, window)
}

func (t *Target) body(a Asked, window int) []byte {
	request := map[string]any{"model": t.Model, "messages": a.Messages, "stream": true}
	if len(a.Tools) > 0 {
		request["tools"] = a.Tools
	}
	if t.API == OpenAIAPI {
		request["max_tokens"], request["temperature"] = 1, 0
		request["stream_options"] = map[string]any{"include_usage": true}
	} else {
		options := map[string]any{"num_predict": 1, "temperature": 0, "seed": 1}
		if window > 0 {
			options["num_ctx"] = window
		}
		request["options"] = options
		if !a.Cut {
			request["truncate"] = false
		}
	}
	body, err := json.Marshal(request)
	if err != nil {
		panic(err) // maps of strings, numbers and JSON always marshal
	}
	return body
}

// complete adds to what the answer says what the log, the engine's own counts or the time of evaluation tell.
func (t *Target) complete(ctx context.Context, timing Timing, window int) (Reading, error) {
	r := Reading{Timing: timing}
	if t.Log != nil {
		noted, err := t.Log.After(ctx, timing.PromptTokens)
		if err != nil {
			return r, err
		}
		r.Truncated = noted.Truncated
		if noted.Prompt > 0 {
			r.Evaluated, r.Cached = &noted.Remaining, &noted.Used
		}
	}
	if r.Truncated == "" && window > 0 && timing.PromptTokens >= window {
		r.Truncated = fmt.Sprintf("the prompt fills the context of %d tokens", window)
	}
	prompt := timing.PromptTokens
	switch {
	case r.Evaluated != nil || prompt == 0:
	case timing.Cached != nil:
		evaluated := prompt - *timing.Cached
		r.Evaluated, r.Cached = &evaluated, timing.Cached
	case timing.PromptEval > 0 && t.pace.known():
		evaluated := t.pace.evaluated(prompt, timing.PromptEval)
		cached := prompt - evaluated
		r.Evaluated, r.Cached, r.Estimated = &evaluated, &cached, true
	}
	return r, nil
}

// proven says whether the reading shows that nothing of its prompt but the first few tokens, which all prompts share, was reused; and
// otherwise why not.
func (r Reading) proven() (bool, string) {
	switch {
	case r.PromptTokens == 0:
		return false, "the engine did not say how many tokens the prompt had, so that it cannot be shown to have been cold"
	case r.Evaluated == nil:
		return false, "the engine tells neither reused tokens nor the time of evaluation, so that the prompt cannot be shown to have been cold; --engine-log would"
	case r.Estimated && float64(*r.Evaluated) < .8*float64(r.PromptTokens):
		return false, fmt.Sprintf("by its time of evaluation only about %d of %d tokens were evaluated: the prompt was not cold", *r.Evaluated, r.PromptTokens)
	case !r.Estimated && *r.Cached > max(16, r.PromptTokens/50):
		return false, fmt.Sprintf("%d of %d tokens were reused: the prompt was not cold", *r.Cached, r.PromptTokens)
	}
	return true, ""
}

// Check returns nil where the engine answers and takes tools; the engine's own words otherwise. It costs a short request or two.
func (t *Target) Check(ctx context.Context, tool json.RawMessage) error {
	if t.API == OllamaAPI {
		if err := t.engine.Check(ctx, t.Model); err != nil {
			return err
		}
	}
	hello := Asked{At: t.base, Messages: []json.RawMessage{textMessage("user", "Hello")}, Tools: []json.RawMessage{tool}}
	_, err := t.Ask(ctx, hello)
	return err
}

// awaitEngine waits until the engine answers again, at most as long as given.
func (t *Target) awaitEngine(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		_, err := t.Ask(ctx, Asked{At: t.base, Messages: []json.RawMessage{textMessage("user", "Hello")}})
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// Cold makes the engine forget the model's prompts where its protocol can (Ollama: the model is unloaded and loaded again), and returns a text
// for the beginning of the system prompt, "" or, where the engine cannot forget, one that no prompt had before. Only the next reading proves it.
func (t *Target) Cold(ctx context.Context, window int) (nonce string, err error) {
	if window == 0 {
		window = t.Context
	}
	if t.API == OllamaAPI {
		options := map[string]any{}
		if window > 0 {
			options["num_ctx"] = window
		}
		return "", t.engine.Cold(ctx, t.Model, options)
	}
	t.nonces++
	return "Session " + strconv.FormatInt(time.Now().UnixNano(), 36) + strconv.Itoa(t.nonces) + ". ", nil
}

// refused reports whether an error is the engine's word on the request itself, which it would say again.
func refused(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code >= 400 && status.code < 500
}

// Gauge measures the engine's pace, by which evaluated tokens are estimated where nothing tells them: two cold prompts of different lengths, and one
// of them again. It does nothing where a log tells.
func (t *Target) Gauge(ctx context.Context) error {
	if t.Log != nil || t.API != OllamaAPI {
		return nil
	}
	var taken [3]Timing
	for i, tokens := range []int{1500, 1500, 300} {
		if i != 1 {
			if _, err := t.Cold(ctx, 0); err != nil {
				return err
			}
		}
		r, err := t.Ask(ctx, Asked{At: t.base, Messages: []json.RawMessage{textMessage("user", filler(tokens))}})
		if err != nil {
			return err
		}
		taken[i] = r.Timing
	}
	t.pace = newPace(taken[0], taken[1], taken[2])
	return nil
}

// pace is how long an engine takes to evaluate a prompt: a constant, and for each token a time that grows with its place in the prompt.
type pace struct {
	base, token, place float64 // ms, ms a token, ms a token and place
}

// newPace fits the three from a long cold prompt, the same one repeated, and a short cold one. Unknown where the engine does not tell times.
func newPace(long, again, short Timing) pace {
	n, m := float64(long.PromptTokens), float64(short.PromptTokens)
	if long.PromptEval <= 0 || short.PromptEval <= 0 || n <= m || m < 1 {
		return pace{}
	}
	p := pace{base: math.Min(milliseconds(again.PromptEval), milliseconds(short.PromptEval)/2)}
	if again.PromptEval > long.PromptEval/2 { // it was not reused, and tells nothing of the constant
		p.base = 0
	}
	a, b := (milliseconds(long.PromptEval)-p.base)/n, (milliseconds(short.PromptEval)-p.base)/m
	p.place = math.Max(0, 2*(a-b)/(n-m))
	p.token = math.Max(a-p.place*n/2, a/4)
	return p
}

func (p pace) known() bool { return p.token > 0 }

// evaluated is how many of a prompt's last tokens take that long: the c with token*c + place*(n²-(n-c)²)/2 = took - base.
func (p pace) evaluated(n int, took time.Duration) int {
	rest := milliseconds(took) - p.base
	if rest <= 0 {
		return 1
	}
	low, high := 1, n
	for low < high {
		c := (low + high) / 2
		from := float64(n - c)
		if p.token*float64(c)+p.place*(float64(n)*float64(n)-from*from)/2 < rest {
			low = c + 1
		} else {
			high = c
		}
	}
	return low
}

// digestOf is the digest of the model where an Ollama tells it, else "".
func (t *Target) digestOf(ctx context.Context) string {
	if t.API != OllamaAPI {
		return ""
	}
	list, err := t.engine.api.List(ctx)
	if err != nil {
		return ""
	}
	for _, m := range list.Models {
		if sameModel(m.Name, t.Model) {
			return m.Digest
		}
	}
	return ""
}

// Show is what the engine says of its model: an error where it cannot be asked.
func (t *Target) Show(ctx context.Context) (*api.ShowResponse, error) {
	show, err := t.engine.api.Show(ctx, &api.ShowRequest{Model: t.Model})
	if err != nil {
		return nil, catalog.NewError(catalog.Unavailable, fmt.Sprintf("asking for the model %q", t.Model), err)
	}
	return show, nil
}
