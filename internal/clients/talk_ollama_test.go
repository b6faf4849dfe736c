package clients_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ollama/ollama/api"
)

func talkGoOllama(t *testing.T, j talk) (said, error) {
	var seen said
	var tools api.Tools
	for _, raw := range j.Tools {
		var tool api.Tool
		if err := json.Unmarshal(raw, &tool); err != nil {
			return seen, err
		}
		tools = append(tools, tool)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	client := api.NewClient(mustURL(t, j.Base), http.DefaultClient)
	var messages []api.Message
	for _, text := range j.Users {
		messages = append(messages, api.Message{Role: "user", Content: text})
		for range maxSteps {
			answer := api.Message{Role: "assistant"}
			var s step
			err := client.Chat(ctx, &api.ChatRequest{Model: j.Model, Messages: messages, Tools: tools, Stream: &j.Stream}, func(r api.ChatResponse) error {
				answer.Content += r.Message.Content
				answer.ToolCalls = append(answer.ToolCalls, r.Message.ToolCalls...)
				if r.Done {
					s.Finish, s.PromptTokens, s.OutputTokens = r.DoneReason, r.PromptEvalCount, r.EvalCount
				}
				return nil
			})
			if err != nil {
				return seen, err
			}
			messages = append(messages, answer)
			s.Text = answer.Content
			for _, c := range answer.ToolCalls {
				s.Calls = append(s.Calls, call{c.Function.Name, c.Function.Arguments.String()})
				seen.IDs = append(seen.IDs, c.ID)
				messages = append(messages, api.Message{Role: "tool", Content: j.Results[c.Function.Name], ToolName: c.Function.Name, ToolCallID: c.ID})
			}
			seen.Steps = append(seen.Steps, s)
			if len(s.Calls) == 0 {
				break
			}
		}
	}
	return seen, nil
}
