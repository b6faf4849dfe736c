package engine

import (
	"context"
	"net/http"

	"github.com/tidwall/gjson"

	"toolbelt/kvcache"
)

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
