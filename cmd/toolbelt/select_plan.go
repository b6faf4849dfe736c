package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"toolbelt/catalog"
	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// rehearsal is a planner and a conversation's first message to plan for: by the builtin embedder, without a database.
type rehearsal struct {
	planner   *turn.Planner
	request   turn.Request
	snapshots *ingest.Library
}

// rehearse sets a first message up to be planned as the daemon would. The caller closes it.
func rehearse(cfg config.Config, tools []catalog.Tool, message string) (*rehearsal, error) {
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	body, err := firstRequest(tools, message)
	if err != nil {
		return nil, err
	}
	request, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		return nil, fmt.Errorf("planning for the tools: %w", err)
	}
	snapshots, err := ingest.New(ingest.Config{Builtin: builtin, Bundles: cfg.Selection.Bundles, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	policy := policyOf(cfg)
	policy.SmallTokens = 0 // whoever asks for a ranking gets one, of however few tools
	planner := turn.NewPlanner(policy, turn.Parts{Sessions: session.New(time.Now), Snapshots: snapshots, Builtin: builtin})
	id := session.Identity{Family: chat.Ollama.Family(), Chain: chat.Chain(request)}
	return &rehearsal{planner, turn.Request{Body: body, Chat: request, Identity: id}, snapshots}, nil
}

func (r *rehearsal) close() { r.snapshots.Close() }

// selectTools plans a conversation's first message.
func selectTools(ctx context.Context, cfg config.Config, tools []catalog.Tool, message string) (*turn.Plan, error) {
	r, err := rehearse(cfg, tools, message)
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.planner.Plan(ctx, r.request)
}

// explainTool explains a tool in the plan of a conversation's first message.
func explainTool(ctx context.Context, cfg config.Config, tools []catalog.Tool, message, tool string) (turn.Explanation, error) {
	r, err := rehearse(cfg, tools, message)
	if err != nil {
		return turn.Explanation{}, err
	}
	defer r.close()
	return r.planner.Explain(ctx, r.request, tool)
}

// firstRequest writes an Ollama chat request with one user message.
func firstRequest(tools []catalog.Tool, message string) ([]byte, error) {
	array, err := catalog.JSON(tools)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"messages": []map[string]string{{"role": "user", "content": message}},
		"tools":    json.RawMessage(array),
	})
	if err != nil {
		return nil, fmt.Errorf("writing the message as a request: %v", err)
	}
	return body, nil
}
