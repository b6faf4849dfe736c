package engine

import (
	"context"
	"net/http"

	"github.com/tidwall/gjson"

	"toolbelt/kvcache"
)

// grammarBytes is the tools JSON that a llama.cpp server was seen to make a grammar of; somewhat more was refused.
const grammarBytes = 96_000

// askLlama reads GET /props of llama.cpp's server, which has one model, whatever name a request gives.
func askLlama(ctx context.Context, c Client, _ string) (Known, error) {
	props, _, err := c.ask(ctx, http.MethodGet, "/props", nil)
	if err != nil {
		return Known{}, err
	}
	if !props.Get("default_generation_settings").IsObject() && !props.Get("chat_template").Exists() {
		return Known{}, errNoAPI
	}
	return ofProps(props), nil
}

func ofProps(props gjson.Result) Known {
	text := props.Get("chat_template_tool_use").String()
	if text == "" {
		text = props.Get("chat_template").String()
	}
	f := classifyJinja(text)
	if f.Placement == kvcache.NoTools { // then this server puts them in by itself
		f.Placement = kvcache.PlacementUnknown
	}
	f.Context = natural(props.Get("default_generation_settings.n_ctx"))
	f.GrammarBytes = grammarBytes
	path := props.Get("model_path").String()
	f.Digest = path
	return Known{f, fingerprint("llama.cpp", path, text, props.Get("default_generation_settings.n_ctx").Raw)}
}

// askModels reads GET /v1/models, where some servers tell a model's context.
func askModels(ctx context.Context, c Client, model string) (Known, error) {
	list, _, err := c.ask(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return Known{}, err
	}
	if !list.Get("data").IsArray() {
		return Known{}, errNoAPI
	}
	var f kvcache.Facts
	list.Get("data").ForEach(func(_, m gjson.Result) bool {
		if m.Get("id").String() != model {
			return true
		}
		for _, path := range []string{"max_model_len", "context_length", "context_window", "meta.n_ctx"} {
			if f.Context = natural(m.Get(path)); f.Context > 0 {
				break
			}
		}
		f.MaxContext = natural(m.Get("meta.n_ctx_train"))
		return false
	})
	return Known{f, fingerprint("openai", model)}, nil
}
