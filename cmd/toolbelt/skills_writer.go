package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/skills"
)

// writerTimeout is how long a model may write at one skill.
const writerTimeout = 5 * time.Minute

// modelWriter has an Ollama's model write the texts of learned skills. It implements synth.Writer.
type modelWriter struct {
	client *api.Client
	model  string
	quiet  func(ctx context.Context) error // returns when the engine has nothing else to do; nil: at once
}

// Write asks the model for a title and steps.
func (m modelWriter) Write(ctx context.Context, p skills.Procedure) (string, error) {
	if m.quiet != nil {
		if err := m.quiet(ctx); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writerTimeout)
	defer cancel()
	stream := false
	var text strings.Builder
	err := m.client.Chat(ctx, &api.ChatRequest{
		Model: m.model, Stream: &stream, Options: map[string]any{"temperature": 0, "num_predict": 400},
		Messages: []api.Message{{Role: "user", Content: writerPrompt(p)}},
	}, func(r api.ChatResponse) error {
		text.WriteString(r.Message.Content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("asking the model %q to write: %v", m.model, err)
	}
	return text.String(), nil
}

func writerPrompt(p skills.Procedure) string {
	return fmt.Sprintf(`Write a short how-to in Markdown: one title line that begins with "# ", then numbered steps, nothing else, at most 1200 characters.
The job, as users ask for it:
- %s

The tools that did it, in this order, each to be named exactly as it is written here:
- %s
`, strings.Join(p.Examples, "\n- "), strings.Join(p.ToolSequence, "\n- "))
}
