package embed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/embed"
)

// TestResidency tells what is loaded before and after the first use, and what comes of it.
func TestResidency(t *testing.T) {
	expired := []api.ProcessModelResponse{{Name: "smollm2:latest", ExpiresAt: time.Now().Add(-time.Minute)}}
	for _, c := range []struct {
		name          string
		before, after []api.ProcessModelResponse
		want          error
		says          string
		unused        bool
	}{
		{name: "already loaded", before: loaded("all-minilm:latest"), after: loaded("all-minilm:latest")},
		{name: "chat model stays", before: loaded("smollm2:latest"), after: loaded("all-minilm:latest", "smollm2:latest")},
		{name: "chat model goes", before: loaded("smollm2:latest"), after: loaded("all-minilm:latest"), want: embed.ErrEvicts, says: "loading all-minilm evicted smollm2"},
		{name: "chat model comes back for it", before: loaded("smollm2:latest"), after: loaded("smollm2:latest"), want: embed.ErrEvicts, says: "did not stay loaded"},
		{name: "chat model changes", before: loaded("smollm2:latest"), after: loaded("all-minilm:latest", "qwen3:latest"), want: embed.ErrNotReady},
		{name: "chat model's time was over", before: expired, after: loaded("all-minilm:latest")},
		{name: "nothing loaded", want: embed.ErrNotReady, unused: true},
		{name: "only another embedder", before: loaded("nomic-embed-text:latest"), want: embed.ErrNotReady, unused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			e.running = c.before
			e.onEmbed = func(e *engine) { e.running = c.after }
			client := e.ollama()
			em, err := embed.OpenAuto(client, "", embed.NewResidency(client))(context.Background())
			if (em == nil) == (c.want == nil) || !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v", em, err)
			}
			if (len(e.inputs) == 0) != c.unused {
				t.Errorf("%q were embedded", e.inputs)
			}
		})
	}
}

func TestResidencyWatch(t *testing.T) {
	chat, both, alone := loaded("smollm2:latest"), loaded("all-minilm:latest", "smollm2:latest"), loaded("all-minilm:latest")
	for _, c := range []struct {
		name          string
		before, after []api.ProcessModelResponse
		want          error
	}{
		{"both stay", both, both, nil},
		{"the user stops the chat model", both, alone, nil},
		{"the user takes another chat model", both, loaded("all-minilm:latest", "qwen3:latest"), nil},
		{"the embedder is loaded again beside the chat model", chat, both, nil},
		{"the embedder is loaded again in place of the chat model", chat, alone, embed.ErrEvicts},
		{"both were unloaded, the embedder comes first", nil, alone, nil},
		{"the engine restarts", both, nil, nil},
		{"they take turns", both, chat, embed.ErrEvicts},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			m := openOllama(t, e, "all-minilm").Model()
			e.looked = make(chan struct{}, 1)
			e.running = c.before
			r := embed.NewResidency(e.ollama())
			check := r.Watch(context.Background(), m)
			<-e.looked
			e.locked(func() { e.running = c.after })
			if err := check(context.Background()); !errors.Is(err, c.want) {
				t.Errorf("err = %v, want %v", err, c.want)
			}
			e.Close()
			check = r.Watch(context.Background(), m)
			if err := check(context.Background()); err == nil || errors.Is(err, embed.ErrEvicts) {
				t.Errorf("engine down: %v", err)
			}
		})
	}
}
