package clients_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func talkGoAnthropic(t *testing.T, j talk) (said, error) {
	var seen said
	list, err := toolsOf(j)
	if err != nil {
		return seen, err
	}
	var tools []anthropic.ToolUnionParam
	for _, tool := range list {
		p := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: tool.Function.Parameters["properties"]}, tool.Function.Name)
		p.OfTool.Description = anthropic.String(tool.Function.Description)
		tools = append(tools, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	client := anthropic.NewClient(option.WithBaseURL(j.Base), option.WithAPIKey("none"), option.WithMaxRetries(0))
	var messages []anthropic.MessageParam
	for _, text := range j.Users {
		messages = append(messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
		for range maxSteps {
			answer, err := message(ctx, client, j.Stream, anthropic.MessageNewParams{Model: anthropic.Model(j.Model), MaxTokens: 500, Messages: messages, Tools: tools})
			if err != nil {
				return seen, err
			}
			messages = append(messages, answer.ToParam())
			s := step{Finish: string(answer.StopReason), OutputTokens: int(answer.Usage.OutputTokens)}
			s.PromptTokens = int(answer.Usage.InputTokens + answer.Usage.CacheReadInputTokens)
			var results []anthropic.ContentBlockParamUnion
			for _, block := range answer.Content {
				switch block := block.AsAny().(type) {
				case anthropic.TextBlock:
					s.Text += block.Text
				case anthropic.ToolUseBlock:
					s.Calls = append(s.Calls, call{block.Name, string(block.Input)})
					seen.IDs = append(seen.IDs, block.ID)
					results = append(results, anthropic.NewToolResultBlock(block.ID, j.Results[block.Name], false))
				}
			}
			seen.Steps = append(seen.Steps, s)
			if len(s.Calls) == 0 {
				break
			}
			messages = append(messages, anthropic.NewUserMessage(results...))
		}
	}
	return seen, nil
}

// message gets one answer, streamed or not.
func message(ctx context.Context, client anthropic.Client, streamed bool, params anthropic.MessageNewParams) (anthropic.Message, error) {
	var all anthropic.Message
	if !streamed {
		answer, err := client.Messages.New(ctx, params)
		if err != nil {
			return all, err
		}
		return *answer, nil
	}
	stream := client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	ended := false
	for stream.Next() {
		event := stream.Current()
		if err := all.Accumulate(event); err != nil {
			return all, err
		}
		ended = ended || event.Type == "message_stop"
	}
	if err := stream.Err(); err != nil {
		return all, err
	}
	if !ended {
		return all, fmt.Errorf("the stream ended without message_stop")
	}
	return all, nil
}
