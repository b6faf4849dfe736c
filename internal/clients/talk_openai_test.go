package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// toolOf is a tool of the catalog.
type toolOf struct {
	Function struct {
		Name, Description string
		Parameters        map[string]any
	}
}

func toolsOf(j talk) ([]toolOf, error) {
	tools := make([]toolOf, len(j.Tools))
	for i, raw := range j.Tools {
		if err := json.Unmarshal(raw, &tools[i]); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func openAIClient(j talk) openai.Client {
	return openai.NewClient(option.WithBaseURL(j.Base+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func talkGoOpenAI(t *testing.T, j talk) (said, error) {
	var seen said
	list, err := toolsOf(j)
	if err != nil {
		return seen, err
	}
	var tools []openai.ChatCompletionToolUnionParam
	for _, tool := range list {
		tools = append(tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: tool.Function.Name, Description: openai.String(tool.Function.Description), Parameters: tool.Function.Parameters,
		}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	client := openAIClient(j)
	var messages []openai.ChatCompletionMessageParamUnion
	for _, text := range j.Users {
		messages = append(messages, openai.UserMessage(text))
		for range maxSteps {
			answer, err := completion(ctx, client, j.Stream, openai.ChatCompletionNewParams{Model: j.Model, Messages: messages, Tools: tools})
			if err != nil {
				return seen, err
			}
			if len(answer.Choices) != 1 {
				return seen, fmt.Errorf("%d choices, want 1", len(answer.Choices))
			}
			message := answer.Choices[0].Message
			messages = append(messages, message.ToParam())
			s := step{Text: message.Content, Finish: answer.Choices[0].FinishReason, PromptTokens: int(answer.Usage.PromptTokens), OutputTokens: int(answer.Usage.CompletionTokens)}
			for _, c := range message.ToolCalls {
				s.Calls = append(s.Calls, call{c.Function.Name, c.Function.Arguments})
				seen.IDs = append(seen.IDs, c.ID)
				messages = append(messages, openai.ToolMessage(j.Results[c.Function.Name], c.ID))
			}
			seen.Steps = append(seen.Steps, s)
			if len(s.Calls) == 0 {
				break
			}
		}
	}
	return seen, nil
}

// completion gets one answer, streamed or not.
func completion(ctx context.Context, client openai.Client, streamed bool, params openai.ChatCompletionNewParams) (openai.ChatCompletion, error) {
	if !streamed {
		answer, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return openai.ChatCompletion{}, err
		}
		return *answer, nil
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if chunk := stream.Current(); !all.AddChunk(chunk) {
			return all.ChatCompletion, fmt.Errorf("a chunk that does not belong to the answer: %s", chunk.RawJSON())
		}
	}
	return all.ChatCompletion, stream.Err()
}

func talkGoResponses(t *testing.T, j talk) (said, error) {
	var seen said
	list, err := toolsOf(j)
	if err != nil {
		return seen, err
	}
	var tools []responses.ToolUnionParam
	for _, tool := range list {
		p := responses.ToolParamOfFunction(tool.Function.Name, tool.Function.Parameters, false)
		p.OfFunction.Description = openai.String(tool.Function.Description)
		tools = append(tools, p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	client := openAIClient(j)
	var input responses.ResponseInputParam
	for _, text := range j.Users {
		input = append(input, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
		for range maxSteps {
			answer, err := response(ctx, client, j.Stream, responses.ResponseNewParams{
				Model: j.Model, Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input}, Tools: tools,
			})
			if err != nil {
				return seen, err
			}
			s := step{Text: answer.OutputText(), Finish: string(answer.Status), PromptTokens: int(answer.Usage.InputTokens), OutputTokens: int(answer.Usage.OutputTokens)}
			var results responses.ResponseInputParam
			for _, item := range answer.Output {
				switch item := item.AsAny().(type) {
				case responses.ResponseOutputMessage:
					p := item.ToParam()
					input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &p})
				case responses.ResponseFunctionToolCall:
					p := item.ToParam()
					input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
					s.Calls = append(s.Calls, call{item.Name, item.Arguments})
					seen.IDs = append(seen.IDs, item.CallID)
					result := responses.ResponseInputItemParamOfFunctionCallOutput(j.Results[item.Name])
					result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
					results = append(results, result)
				}
			}
			input = append(input, results...)
			seen.Steps = append(seen.Steps, s)
			if len(s.Calls) == 0 {
				break
			}
		}
	}
	return seen, nil
}

// response gets one answer, streamed or not; of a stream, the one in its last event, which must say what the events before it said.
func response(ctx context.Context, client openai.Client, streamed bool, params responses.ResponseNewParams) (responses.Response, error) {
	if !streamed {
		answer, err := client.Responses.New(ctx, params)
		if err != nil {
			return responses.Response{}, err
		}
		return *answer, nil
	}
	stream := client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	var last responses.Response
	ended := false
	var added, done, finished []string
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseOutputItemAddedEvent:
			added = append(added, event.Item.Name)
		case responses.ResponseOutputItemDoneEvent:
			done = append(done, event.Item.Name)
		case responses.ResponseCompletedEvent:
			last, ended = event.Response, true
		}
	}
	if err := stream.Err(); err != nil {
		return last, err
	}
	if !ended {
		return last, fmt.Errorf("the stream ended without response.completed")
	}
	for _, item := range last.Output {
		finished = append(finished, item.Name)
	}
	for _, name := range finished {
		if name != "" && (count(added, name) != count(finished, name) || count(done, name) != count(finished, name)) {
			return last, fmt.Errorf("items %q were added, %q done, %q are in the end", added, done, finished)
		}
	}
	return last, nil
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}
