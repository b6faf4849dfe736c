package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// grammarBytes is the tools JSON that a llama.cpp server was seen to make a grammar of; somewhat more was refused. Version 0.5.0 takes more (1.6 MB of
// plain schemas), but does not say so.
const grammarBytes = 96_000

// askLlama reads GET /props of llama.cpp's server, which has one model, whatever name a request gives. A server that hands requests on to one process a
// model (a router) is asked for the model's own, of which it says nothing, an error of kind Unavailable, while the model is not loaded: the question must not load it.
func askLlama(ctx context.Context, c Client, model string) (Known, error) {
	props, err := c.props(ctx, "")
	if err != nil {
		return Known{}, err
	}
	if isRouter(props) {
		if props, err = c.props(ctx, "?autoload=false&model="+url.QueryEscape(model)); err != nil {
			return Known{}, catalog.NewError(catalog.Unavailable, fmt.Sprintf("asking llama.cpp's router about the model %q, which may not be loaded", model), err)
		}
	}
	return ofProps(props), nil
}

// props asks a llama.cpp server about itself, errNoAPI where it is none. query is "", or begins with a question mark.
func (c Client) props(ctx context.Context, query string) (gjson.Result, error) {
	props, _, err := c.ask(ctx, http.MethodGet, "/props"+query, nil)
	if err != nil {
		return gjson.Result{}, err
	}
	if !props.Get("default_generation_settings").IsObject() && !props.Get("chat_template").Exists() {
		return gjson.Result{}, errNoAPI
	}
	return props, nil
}

func isRouter(props gjson.Result) bool { return props.Get("role").String() == "router" }

func ofProps(props gjson.Result) Known {
	text := props.Get("chat_template_tool_use").String()
	if text == "" {
		text = props.Get("chat_template").String()
	}
	f := classifyJinja(text)
	if takes := props.Get("chat_template_caps.supports_tools"); takes.IsBool() {
		f.Tools, f.ToolsKnown = takes.Bool(), true
	}
	if f.Placement == kvcache.NoTools && (f.Tools || !f.ToolsKnown) { // older servers put them in by themselves, newer ones leave them out
		f.Placement = kvcache.PlacementUnknown
	}
	f.Context = natural(props.Get("default_generation_settings.n_ctx"))
	f.GrammarBytes = grammarBytes
	path := props.Get("model_path").String()
	f.Digest = path
	return Known{f, fingerprint("llama.cpp", path, text, props.Get("default_generation_settings.n_ctx").Raw)}
}

// runningLlama asks llama.cpp's server which models are loaded. A router lists them. A server with one model holds it under any name until
// it falls asleep, when it holds nothing: awake, it tells no names (errNoAPI).
func (c Client) runningLlama(ctx context.Context) (map[string]kvcache.Loaded, error) {
	props, err := c.props(ctx, "")
	switch {
	case err != nil:
		return nil, err
	case props.Get("is_sleeping").Bool():
		return map[string]kvcache.Loaded{}, nil
	case !isRouter(props):
		return nil, errNoAPI
	}
	list, _, err := c.ask(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	loaded := map[string]kvcache.Loaded{}
	list.Get("data").ForEach(func(_, m gjson.Result) bool {
		if m.Get("status.value").String() != "loaded" {
			return true
		}
		l := kvcache.Loaded{Context: natural(m.Get("meta.n_ctx"))}
		loaded[m.Get("id").String()] = l
		m.Get("aliases").ForEach(func(_, alias gjson.Result) bool {
			loaded[alias.String()] = l
			return true
		})
		return true
	})
	return loaded, nil
}
