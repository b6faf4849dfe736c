package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"

	"toolbelt/internal/enginetest"
)

// talk is a conversation to have: what the user says, and what the tools answer.
type talk struct {
	Base    string            `json:"base"` // base URL, without a path
	Model   string            `json:"model"`
	Stream  bool              `json:"stream"`
	Users   []string          `json:"users"`
	Tools   []json.RawMessage `json:"tools"`
	Results map[string]string `json:"results"` // by tool
}

// step is one answer of the model as the client saw it.
type step struct {
	Text         string `json:"text"`
	Calls        []call `json:"calls"`
	Finish       string `json:"finish"`
	PromptTokens int    `json:"prompt_tokens"` // 0 where the client does not say
	OutputTokens int    `json:"output_tokens"`
}

// said is all that a client saw.
type said struct {
	Steps []step   `json:"steps"`
	IDs   []string `json:"ids"` // of all calls; "" where the client hides them
}

// talker has a conversation with the client library of its name, which runs the tools that the model calls.
type talker struct {
	name     string
	protocol enginetest.Protocol
	talk     func(t *testing.T, j talk) (said, error)
}

// reads reports whether the client is to talk to an engine of this style. A Python client takes seconds to start and reads what its like in Go
// reads; the one for npm wants an id of every item, which llama.cpp does not give its calls.
func (c talker) reads(style enginetest.Style) bool {
	switch {
	case style == enginetest.Ollama:
		return true
	case strings.HasPrefix(c.name, "python"):
		return false
	case strings.HasPrefix(c.name, "node"):
		return c.protocol == enginetest.OpenAIChat
	}
	return c.protocol != enginetest.NativeChat
}

func talkers() []talker {
	return []talker{
		{"go ollama", enginetest.NativeChat, talkGoOllama},
		{"go openai chat", enginetest.OpenAIChat, talkGoOpenAI},
		{"go openai responses", enginetest.Responses, talkGoResponses},
		{"go anthropic", enginetest.Messages, talkGoAnthropic},
		{"python ollama", enginetest.NativeChat, pythonTalk("testdata/talk_ollama.py")},
		{"python openai chat", enginetest.OpenAIChat, pythonTalk("testdata/talk_openai.py")},
		{"python openai responses", enginetest.Responses, pythonTalk("testdata/talk_responses.py")},
		{"python anthropic", enginetest.Messages, pythonTalk("testdata/talk_anthropic.py")},
		{"node ai-sdk chat", enginetest.OpenAIChat, nodeTalk("chat")},
		{"node ai-sdk responses", enginetest.Responses, nodeTalk("responses")},
	}
}

// maxSteps bounds the model's answers to one message of the user.
const maxSteps = 6

// The conversation: two tools, the second of which is hidden until the model asks for it.
const (
	moment  = "One moment, please. "
	outcome = "Take an umbrella: it rains, and the parcel is in Porto. "
	welcome = "You are welcome. "
)

var (
	weatherCall = enginetest.Call{Name: "get_weather", Arguments: `{"city":"Lisbon"}`}
	parcelCall  = enginetest.Call{Name: "track_parcel", Arguments: `{"number":"PT-77"}`}
	loadCall    = enginetest.Call{Name: "load_tools", Arguments: `{"name":"track_parcel"}`}
)

// hiddenRounds is what the model does that does not see track_parcel, and openRounds what one does that sees all tools.
func hiddenRounds() []enginetest.Round {
	return []enginetest.Round{
		{Calls: []enginetest.Call{weatherCall}}, {Text: moment, Calls: []enginetest.Call{loadCall}}, {Calls: []enginetest.Call{parcelCall}}, {Text: outcome}, {Text: welcome},
	}
}

func openRounds() []enginetest.Round {
	return []enginetest.Round{
		{Calls: []enginetest.Call{weatherCall}}, {Text: moment, Calls: []enginetest.Call{parcelCall}}, {Text: outcome}, {Text: welcome},
	}
}

// stage is a scripted engine whose rounds are set for each conversation.
type stage struct {
	mu     sync.Mutex
	script enginetest.Script
	engine *enginetest.Engine
	since  int // requests before the conversation
}

func newStage(t *testing.T, o enginetest.Options) *stage {
	s := &stage{}
	o.Script = func(r *enginetest.Request) enginetest.Round {
		s.mu.Lock()
		script := s.script
		s.mu.Unlock()
		return script(r)
	}
	s.engine = enginetest.Start(t, o)
	return s
}

func (s *stage) set(rounds []enginetest.Round) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.since = enginetest.InOrder(rounds...), len(s.engine.Chats())
}

// heard returns the conversation's chats.
func (s *stage) heard() []*enginetest.Request { return s.engine.Chats()[s.since:] }

// A client that runs the tools it is asked for sees the conversation that it would have with a model that sees all tools, though the
// model had to ask for the second one. Afterwards the model remembers what it asked for, and the engine's prefix is whole.
func TestHiddenTurnInEveryClient(t *testing.T) {
	for _, engine := range []struct {
		name    string
		options enginetest.Options
	}{
		{"ollama", enginetest.Options{Style: enginetest.Ollama, DropUnlisted: true}},
		{"llamacpp", enginetest.Options{Style: enginetest.LlamaCpp}},
	} {
		stage := newStage(t, engine.options)
		daemon := startDaemon(t, stage.engine.URL(), "TOOLBELT_LEARN=off", "TOOLBELT_PREWARM=off")
		for _, c := range talkers() {
			if !c.reads(engine.options.Style) {
				continue
			}
			for _, stream := range []bool{true, false} {
				mode := map[bool]string{true: "stream", false: "plain"}[stream]
				t.Run(engine.name+" "+c.name+" "+mode, func(t *testing.T) {
					j := talk{
						Base: stage.engine.URL(), Model: "m", Stream: stream, Users: []string{question, "Thank you!"}, Tools: catalog(),
						Results: map[string]string{"get_weather": "rain, 14 degrees", "track_parcel": "in Porto"},
					}
					stage.set(openRounds())
					straight, err := c.talk(t, j)
					if err != nil {
						t.Fatalf("straight: %v", err)
					}
					checkStraight(t, c, straight)
					stage.set(hiddenRounds())
					j.Base = daemon
					through, err := c.talk(t, j)
					if err != nil {
						t.Fatalf("through the daemon: %v", err)
					}
					if len(through.Steps) != len(straight.Steps) {
						t.Fatalf("through the daemon the client saw\n%+v\nstraight it saw\n%+v", through, straight)
					}
					moments := 1
					if engine.options.Style == enginetest.Ollama && c.protocol == enginetest.Responses {
						straight.Steps[1].Text = through.Steps[1].Text // Ollama has no text beside calls in the end of these answers
						if !stream {
							moments = 0
						}
					}
					compareTalks(t, straight, through)
					checkEngine(t, stage.heard(), through, moments)
				})
			}
		}
	}
}

// checkStraight makes sure that the client read the script.
func checkStraight(t *testing.T, c talker, s said) {
	t.Helper()
	if len(s.Steps) != 4 || len(s.Steps[0].Calls) != 1 || s.Steps[0].Calls[0].Name != "get_weather" || !strings.Contains(s.Steps[0].Calls[0].Arguments, "Lisbon") ||
		len(s.Steps[1].Calls) != 1 || s.Steps[1].Calls[0].Name != "track_parcel" || s.Steps[2].Text != outcome || s.Steps[3].Text != welcome {
		t.Fatalf("the client did not read the script: %+v", s)
	}
}

func compareTalks(t *testing.T, straight, through said) {
	t.Helper()
	for i, want := range straight.Steps {
		got := through.Steps[i]
		if got.Text != want.Text || got.Finish != want.Finish || !slices.EqualFunc(got.Calls, want.Calls, sameCall) {
			t.Errorf("answer %d: through the daemon the client saw\n%+v\nstraight it saw\n%+v", i+1, got, want)
		}
	}
	seen := map[string]bool{}
	for _, id := range through.IDs {
		if id != "" && seen[id] {
			t.Errorf("the ids of the calls are not distinct: %q", through.IDs)
		}
		seen[id] = true
	}
}

// sameCall compares calls by the meaning of their arguments.
func sameCall(a, b call) bool {
	var x, y any
	return a.Name == b.Name && json.Unmarshal([]byte(a.Arguments), &x) == nil && json.Unmarshal([]byte(b.Arguments), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// checkEngine compares what the engine was asked with what the client saw. moments is how often the text before the hidden call stands in a later request.
func checkEngine(t *testing.T, heard []*enginetest.Request, through said, moments int) {
	t.Helper()
	if len(heard) != 5 {
		t.Fatalf("the engine was asked %d times, want 5", len(heard))
	}
	first, hidden, last := heard[0], heard[2], heard[4]
	if !strings.HasPrefix(joined(first.Tools), "get_time web_search load_tools") || slices.Contains(first.Tools, "track_parcel") || !slices.Contains(first.Tools, "get_weather") {
		t.Errorf("first the engine got the tools %q: want CORE, then load_tools, and no track_parcel", first.Tools)
	}
	if !slices.Contains(hidden.Tools, "track_parcel") || !strings.HasPrefix(joined(hidden.Tools), joined(first.Tools)) {
		t.Errorf("after the hidden turn the engine got the tools %q: want track_parcel behind %q", hidden.Tools, first.Tools)
	}
	for i, r := range []*enginetest.Request{hidden, heard[3], last} {
		at := slices.IndexFunc(r.Messages, func(m api.Message) bool { return calls(m, "load_tools") })
		if at < 0 || at+1 >= len(r.Messages) || r.Messages[at+1].Role != "tool" || !strings.Contains(r.Messages[at+1].Content, "track_parcel") {
			t.Fatalf("request %d has no hidden turn: %+v", i+3, r.Messages)
		}
		if before := r.Messages[at-1]; before.Role != "tool" || !strings.Contains(before.Content, "rain") {
			t.Errorf("request %d: before the hidden turn stands %+v, want the weather", i+3, before)
		}
		if n := strings.Count(r.Prompt, moment); n != moments {
			t.Errorf("request %d holds the text before the call %d times, want %d", i+3, n, moments)
		}
	}
	if c := last.Count; c.Evaluated > c.Prompt/5 {
		t.Errorf("the last request evaluated %d of %d tokens: the prefix is not whole\n%s\nbefore it\n%s", c.Evaluated, c.Prompt, last.Prompt, heard[3].Prompt)
	}
	if s := through.Steps[1]; s.PromptTokens != 0 && (s.PromptTokens != hidden.Count.Prompt || s.OutputTokens != heard[1].Count.Generated+hidden.Count.Generated) {
		t.Errorf("the client counts %d and %d tokens, want the last call's %d and both calls' %d", s.PromptTokens, s.OutputTokens, hidden.Count.Prompt, heard[1].Count.Generated+hidden.Count.Generated)
	}
}

func calls(m api.Message, name string) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c api.ToolCall) bool { return c.Function.Name == name })
}

// pythonTalk returns a conversation that a script has, with the interpreter that TOOLBELT_TEST_PYTHON names.
func pythonTalk(script string) func(t *testing.T, j talk) (said, error) {
	return func(t *testing.T, j talk) (said, error) {
		interpreter := os.Getenv("TOOLBELT_TEST_PYTHON")
		if interpreter == "" {
			t.Skip("TOOLBELT_TEST_PYTHON is not set: it names a Python with the packages of scripts/clients.txt; \"make test\" sets it")
		}
		return runTalk(t, j, interpreter, script)
	}
}

// nodeTalk returns a conversation that a script has through one of the two APIs of @ai-sdk/openai, with the packages in the folder that TOOLBELT_TEST_NODE names.
func nodeTalk(api string) func(t *testing.T, j talk) (said, error) {
	return func(t *testing.T, j talk) (said, error) {
		if os.Getenv("TOOLBELT_TEST_NODE") == "" {
			t.Skip("TOOLBELT_TEST_NODE is not set: it names a folder with the packages of scripts/node; \"make test\" sets it where node is installed")
		}
		return runTalk(t, j, "node", "testdata/talk_ai.mjs", api)
	}
}

// runTalk runs a program that reads a talk from its input and writes what it saw.
func runTalk(t *testing.T, j talk, program string, args ...string) (said, error) {
	var seen said
	input, err := json.Marshal(j)
	if err != nil {
		return seen, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), chatLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return seen, fmt.Errorf("%s: %v\n%s", args[0], err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &seen); err != nil {
		return seen, fmt.Errorf("%s wrote %q: %v", args[0], stdout.String(), err)
	}
	return seen, nil
}
