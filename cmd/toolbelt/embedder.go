package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"toolbelt/config"
	"toolbelt/embed"
)

// newNeural begins to open the engine's embedder that is configured; nil where none is. It goes on until it is closed.
// Its work in the background waits for quiet.
func newNeural(cfg config.Config, upstream *url.URL, store embed.Store, quiet func(context.Context) error, log *slog.Logger) *embed.Neural {
	open, guard := engineEmbedder(cfg, upstream)
	if open == nil {
		return nil
	}
	set := embed.NeuralConfig{Deadline: cfg.Embed.Deadline, Quiet: quiet, Store: store, Log: log}
	if guard != nil {
		set.Auto, set.Guard = true, guard
	}
	return embed.NewNeural(context.Background(), set, open)
}

// engineEmbedder returns what opens the engine's embedder that is configured, nil where none is; and the guard of one that nobody asked for
// by name, else nil.
func engineEmbedder(cfg config.Config, upstream *url.URL) (open func(context.Context) (embed.Embedder, error), guard *embed.Residency) {
	client := embed.OllamaClient(upstream, http.DefaultClient)
	switch cfg.Embed.Kind {
	case config.Auto:
		guard = embed.NewResidency(client)
		return embed.OpenAuto(client, cfg.Embed.Model, guard), guard
	case config.Ollama:
		return func(ctx context.Context) (embed.Embedder, error) {
			name, err := cfg.Embed.Model, error(nil)
			if name == "" {
				if name, err = embed.Discover(ctx, client); err != nil {
					return nil, err
				}
			}
			return embed.NewOllama(ctx, client, name)
		}, nil
	case config.Lemonade, config.OpenAI:
		base := cfg.Embed.URL
		if base == "" {
			base = cfg.Serve.Upstream
		}
		return func(ctx context.Context) (embed.Embedder, error) {
			return embed.NewOpenAI(ctx, embed.OpenAIConfig{BaseURL: base, Key: cfg.Embed.Key.Reveal(), Model: cfg.Embed.Model})
		}, nil
	}
	return nil, nil
}
