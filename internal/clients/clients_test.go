// Package clients_test drives the daemon, as a program of its own, with the clients that people use: Ollama's, OpenAI's
// and Anthropic's, for Go and for Python, and npm's @ai-sdk/openai.
package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// job is one streamed chat to have.
type job struct {
	Base  string            `json:"base"` // base URL, without a path
	Model string            `json:"model"`
	User  string            `json:"user"`
	Tools []json.RawMessage `json:"tools"`
}

// transcript is what a client saw of the answer.
type transcript struct {
	Chunks       []string `json:"chunks"` // each as the client decoded it
	Text         string   `json:"text"`
	Calls        []call   `json:"calls"`
	Finish       string   `json:"finish"` // why the answer ended
	PromptTokens int      `json:"prompt_tokens"`
}

type call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// client has one streamed chat with the client library of its name.
type client struct {
	name string
	chat func(t *testing.T, j job) (transcript, error)
}

func clients() []client {
	return []client{
		{"go ollama", goOllama},
		{"go openai", goOpenAI},
		{"python ollama", python("testdata/ollama_chat.py")},
		{"python openai", python("testdata/openai_chat.py")},
	}
}

func goOllama(t *testing.T, j job) (transcript, error) {
	var seen transcript
	var tools api.Tools
	for _, raw := range j.Tools {
		var tool api.Tool
		if err := json.Unmarshal(raw, &tool); err != nil {
			return seen, err
		}
		tools = append(tools, tool)
	}
	request := &api.ChatRequest{
		Model:    j.Model,
		Messages: []api.Message{{Role: "user", Content: j.User}},
		Tools:    tools,
		Options:  map[string]any{"num_predict": 8, "temperature": 0},
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	err := api.NewClient(mustURL(t, j.Base), http.DefaultClient).Chat(ctx, request, func(r api.ChatResponse) error {
		chunk, err := json.Marshal(r)
		if err != nil {
			return err
		}
		seen.Chunks = append(seen.Chunks, string(chunk))
		seen.Text += r.Message.Content
		for _, c := range r.Message.ToolCalls {
			seen.Calls = append(seen.Calls, call{c.Function.Name, c.Function.Arguments.String()})
		}
		if r.Done {
			seen.Finish, seen.PromptTokens = r.DoneReason, r.PromptEvalCount
		}
		return nil
	})
	return seen, err
}

func goOpenAI(t *testing.T, j job) (transcript, error) {
	var seen transcript
	var tools []openai.ChatCompletionToolUnionParam
	for _, raw := range j.Tools {
		var tool struct {
			Function struct {
				Name, Description string
				Parameters        map[string]any
			}
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			return seen, err
		}
		tools = append(tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        tool.Function.Name,
			Description: openai.String(tool.Function.Description),
			Parameters:  tool.Function.Parameters,
		}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	c := openai.NewClient(option.WithBaseURL(j.Base+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	stream := c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:         j.Model,
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage(j.User)},
		Tools:         tools,
		MaxTokens:     openai.Int(8),
		Temperature:   openai.Float(0),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			return seen, fmt.Errorf("a chunk that does not belong to the answer: %s", chunk.RawJSON())
		}
		seen.Chunks = append(seen.Chunks, chunk.RawJSON())
	}
	if err := stream.Err(); err != nil {
		return seen, err
	}
	if len(all.Choices) != 1 {
		return seen, fmt.Errorf("%d choices, want 1", len(all.Choices))
	}
	choice := all.Choices[0]
	seen.Text, seen.Finish, seen.PromptTokens = choice.Message.Content, choice.FinishReason, int(all.Usage.PromptTokens)
	for _, c := range choice.Message.ToolCalls {
		seen.Calls = append(seen.Calls, call{c.Function.Name, c.Function.Arguments})
	}
	return seen, nil
}

// python returns a chat that a script has, with the interpreter that TOOLBELT_TEST_PYTHON names.
func python(script string) func(t *testing.T, j job) (transcript, error) {
	return func(t *testing.T, j job) (transcript, error) {
		var seen transcript
		interpreter := os.Getenv("TOOLBELT_TEST_PYTHON")
		if interpreter == "" {
			t.Skip("TOOLBELT_TEST_PYTHON is not set: it names a Python with the packages of scripts/clients.txt; \"make test\" sets it")
		}
		input, err := json.Marshal(j)
		if err != nil {
			return seen, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, interpreter, script)
		cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
		cmd.Stdin = bytes.NewReader(input)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			return seen, fmt.Errorf("%s: %v\n%s", script, err, stderr.String())
		}
		return seen, json.Unmarshal(stdout.Bytes(), &seen)
	}
}

// chatLimit bounds one chat, the engine's loading of the model on a busy machine included.
const chatLimit = 5 * time.Minute

// catalog is an app's tools: more than are ever shown at once, each short.
func catalog() []json.RawMessage {
	var tools []json.RawMessage
	for _, t := range []struct{ name, description, parameter string }{
		{"get_time", "The present date and time", "timezone"},
		{"web_search", "Search the web", "query"},
		{"get_weather", "Weather forecast: rain, wind and temperature", "city"},
		{"send_email", "Send an email", "recipient"},
		{"play_music", "Play a song", "title"},
		{"track_parcel", "Find out where a parcel is", "number"},
		{"convert_currency", "Convert an amount of money", "amount"},
		{"lock_door", "Lock an outside door", "door"},
		{"run_tests", "Run a project's unit tests", "project"},
		{"query_database", "Run an SQL query", "sql"},
		{"draw_picture", "Draw a picture from a description", "prompt"},
		{"translate", "Translate a text", "text"},
		{"find_recipe", "Find a recipe", "ingredient"},
		{"book_table", "Reserve a table at a restaurant", "restaurant"},
		{"log_workout", "Enter a workout into the diary", "sport"},
		{"read_pdf", "Read a PDF document", "path"},
	} {
		tools = append(tools, json.RawMessage(fmt.Sprintf(
			`{"type":"function","function":{"name":%q,"description":%q,"parameters":{"type":"object","required":[%q],"properties":{%q:{"type":"string","description":%q}}}}}`,
			t.name, t.description, t.parameter, t.parameter, "The "+t.parameter)))
	}
	return tools
}

const question = "Will it rain in Lisbon tomorrow?"

func toolNames(t *testing.T, body []byte) []string {
	var request struct {
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatalf("the engine got a body that is not JSON: %v", err)
	}
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}

func joined(names []string) string { return strings.Join(names, " ") }
