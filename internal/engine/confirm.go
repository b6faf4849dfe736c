package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// Confirm measures where a loaded model has its tools, with two requests of a few hundred tokens and one token of answer each. The second has one more tool, and what the
// engine had to read again for it tells what stands behind the tools: the conversation, or next to nothing. It cannot tell LastUser from AfterHistory and returns the former. context is
// what the model is loaded with, so that it is not loaded anew; 0 says nothing of it. What the model's slot held is gone afterwards. An engine that tells neither counts nor
// times is an error of kind NotFound.
func Confirm(ctx context.Context, c Client, model string, context int) (kvcache.Placement, error) {
	mark := strings.ToLower(rand.Text()[:10])
	var seen [2]reading
	for i := range seen {
		var err error
		if seen[i], err = c.read(ctx, model, mark, i+1, context); err != nil {
			return kvcache.PlacementUnknown, err
		}
	}
	return judge(seen[0], seen[1])
}

// reading is what an engine says of reading a prompt; 0 for what it does not.
type reading struct{ prompt, evaluated, nanos float64 }

// judge tells the placement from two readings.
func judge(one, two reading) (kvcache.Placement, error) {
	if one.prompt == 0 || two.prompt == 0 {
		return kvcache.PlacementUnknown, catalog.NewError(catalog.NotFound, "measuring where tools stand: the engine does not count tokens", nil)
	}
	if two.prompt-one.prompt < 8 { // a definition has more
		return kvcache.NoTools, nil
	}
	share := 0.0
	switch {
	case two.evaluated > 0:
		share = two.evaluated / two.prompt
	case one.nanos > 0 && two.nanos > 0:
		share = two.nanos / one.nanos
	default:
		return kvcache.PlacementUnknown, catalog.NewError(catalog.NotFound, "measuring where tools stand: the engine tells neither reused tokens nor times", nil)
	}
	switch {
	case share < 0.35:
		return kvcache.LastUser, nil
	case share > 0.6:
		return kvcache.BeforeConversation, nil
	}
	return kvcache.PlacementUnknown, nil
}

// read has the engine read a conversation of about 300 tokens with so many tools of about 60.
func (c Client) read(ctx context.Context, model, mark string, tools, context int) (reading, error) {
	body := map[string]any{
		"model": model, "stream": false, "tools": probesNamed(mark, tools),
		"messages": []map[string]string{
			{"role": "user", "content": mark + ". " + strings.Repeat("The quick brown fox jumps over the lazy dog and runs into the wood. ", 18)},
			{"role": "assistant", "content": "Yes."},
			{"role": "user", "content": "Why?"},
		},
	}
	openAI := map[string]any{}
	for k, v := range body {
		openAI[k] = v
	}
	openAI["max_tokens"] = 1
	options := map[string]any{"num_predict": 1}
	if context > 0 {
		options["num_ctx"] = context
	}
	body["options"] = options
	answer, _, err := c.ask(ctx, http.MethodPost, "/api/chat", body)
	if errors.Is(err, errNoAPI) || err == nil && !answer.Get("prompt_eval_count").Exists() {
		answer, _, err = c.ask(ctx, http.MethodPost, "/v1/chat/completions", openAI)
	}
	if err != nil {
		return reading{}, err
	}
	return readingOf(answer), nil
}

func readingOf(answer gjson.Result) reading {
	r := reading{prompt: answer.Get("prompt_eval_count").Num, nanos: answer.Get("prompt_eval_duration").Num}
	if usage := answer.Get("usage"); usage.IsObject() {
		r.prompt = usage.Get("prompt_tokens").Num
		if cached := usage.Get("prompt_tokens_details.cached_tokens"); cached.Num > 0 {
			r.evaluated = r.prompt - cached.Num
		}
	}
	if timings := answer.Get("timings"); timings.IsObject() {
		r.evaluated, r.nanos = timings.Get("prompt_n").Num, timings.Get("prompt_ms").Num*1e6
		if r.prompt == 0 {
			r.prompt = r.evaluated + timings.Get("cache_n").Num
		}
	}
	return r
}

// probesNamed are definitions that nothing else has.
func probesNamed(mark string, n int) []json.RawMessage {
	var list []json.RawMessage
	for i := range n {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"type":"function","function":{"name":"probe_%s_%d","description":"Looks something up by its name and says what is known of it.",`+
			`"parameters":{"type":"object","properties":{"name":{"type":"string","description":"What to look up"}},"required":["name"]}}}`, mark, i)))
	}
	return list
}
