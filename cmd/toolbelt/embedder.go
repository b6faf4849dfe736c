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
func newNeural(cfg config.Config, upstream *url.URL, store embed.Store, log *slog.Logger) *embed.Neural {
	set := embed.NeuralConfig{Deadline: cfg.Embed.Deadline, Store: store, Log: log}
	client := embed.OllamaClient(upstream, http.DefaultClient)
	var open func(context.Context) (embed.Embedder, error)
	switch cfg.Embed.Kind {
	case config.Auto:
		guard := embed.NewResidency(client)
		set.Auto, set.Guard = true, guard
		open = embed.OpenAuto(client, cfg.Embed.Model, guard)
	case config.Ollama:
		open = func(ctx context.Context) (embed.Embedder, error) {
			name, err := cfg.Embed.Model, error(nil)
			if name == "" {
				if name, err = embed.Discover(ctx, client); err != nil {
					return nil, err
				}
			}
			return embed.NewOllama(ctx, client, name)
		}
	case config.Lemonade, config.OpenAI:
		base := cfg.Embed.URL
		if base == "" {
			base = cfg.Serve.Upstream
		}
		open = func(ctx context.Context) (embed.Embedder, error) {
			return embed.NewOpenAI(ctx, embed.OpenAIConfig{BaseURL: base, Key: cfg.Embed.Key.Reveal(), Model: cfg.Embed.Model})
		}
	default:
		return nil
	}
	return embed.NewNeural(context.Background(), set, open)
}
