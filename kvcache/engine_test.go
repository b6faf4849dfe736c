package kvcache_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"toolbelt/kvcache"
)

// talk is one conversation with a real engine.
type talk struct {
	session, system string
	tools           []json.RawMessage
	messages        []map[string]any
}

func (c *talk) prompt(b *kvcache.Belief) kvcache.Prompt {
	piece := func(text string, role kvcache.Role) kvcache.Piece { return b.Piece(role, []byte(text)) }
	p := kvcache.Prompt{Session: c.session, Model: "smollm2"}
	if c.system != "" {
		p.System = []kvcache.Piece{piece(c.system, kvcache.System)}
	}
	for _, t := range c.tools {
		p.Tools = append(p.Tools, piece(string(t), 0))
	}
	for _, m := range c.messages {
		role := map[any]kvcache.Role{"user": kvcache.User, "assistant": kvcache.Assistant, "tool": kvcache.Result}[m["role"]]
		p.Messages = append(p.Messages, piece(m["content"].(string), role))
	}
	return p
}

func (c *talk) say(role, text string) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": text})
}

// send asks the engine and returns its answer's text and counts.
func (c *talk) send(t *testing.T, engine string) (string, kvcache.Answer) {
	t.Helper()
	messages := c.messages
	if c.system != "" {
		messages = append([]map[string]any{{"role": "system", "content": c.system}}, messages...)
	}
	body, err := json.Marshal(map[string]any{"model": "smollm2", "messages": messages, "tools": c.tools, "stream": false, "options": map[string]any{"num_predict": 24, "temperature": 0}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(engine+"/api/chat", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Message struct{ Content string }
		Prompt  int   `json:"prompt_eval_count"`
		Took    int64 `json:"prompt_eval_duration"`
		Output  int   `json:"eval_count"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	return answer.Message.Content, kvcache.Answer{PromptTokens: answer.Prompt, OutputTokens: answer.Output, PromptDuration: time.Duration(answer.Took)}
}

// evaluatedTokens reads from a debug-level log how many tokens each prompt left to evaluate, in order.
func evaluatedTokens(t *testing.T, log string) []int {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, m := range regexp.MustCompile(`loading cache slot.*? remaining=(\d+)`).FindAllSubmatch(b, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		all = append(all, n)
	}
	return all
}

func manyTools(from, n int) []json.RawMessage {
	verbs, nouns := []string{"read", "create", "search", "remove", "share", "print"}, []string{"calendar", "invoice", "photo", "note", "contact", "playlist", "route"}
	var tools []json.RawMessage
	for i := from; i < from+n; i++ {
		verb, noun := verbs[i%len(verbs)], nouns[i%len(nouns)]
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"type":"function","function":{"name":"%s_%s_%d","description":"Use this to %s a %s. It answers with the %s's identifier, and with an error where it is not found or may not be used.","parameters":{"type":"object","properties":{"%s":{"type":"string","description":"Which %s, by its name or its number"},"limit":{"type":"integer","description":"How many at most"}},"required":["%s"]}}}`,
			verb, noun, i, verb, noun, noun, noun, noun, noun)))
	}
	return tools
}

// What is believed of a real engine's cache is what its log says. With TOOLBELT_TEST_ENGINE_LOG, the file of a debug-level log, the evaluated tokens are compared,
// otherwise the prompt's.
func TestBeliefMeetsARealEngine(t *testing.T) {
	engine, log := os.Getenv("TOOLBELT_TEST_ENGINE"), os.Getenv("TOOLBELT_TEST_ENGINE_LOG")
	if engine == "" {
		t.Skip("TOOLBELT_TEST_ENGINE is not set: it is the URL of an Ollama that has the model smollm2")
	}
	b := kvcache.NewBelief(time.Now)
	system := fmt.Sprintf("It is %d. Be brief and kind, and say where you know something from.", time.Now().UnixNano())
	one := &talk{session: "one", system: system, tools: manyTools(0, 4)}
	two := &talk{session: "two", system: system, tools: manyTools(0, 4)}
	title := &talk{session: "title"}
	turns, good := 0, 0
	turn := func(what string, c *talk) string {
		p := c.prompt(b)
		expected := b.Expect(p)
		b.Sent(p)
		skip := 0
		if log != "" {
			skip = len(evaluatedTokens(t, log))
		}
		text, answer := c.send(t, engine)
		verdict := b.Answered(p, answer)
		got, want := answer.PromptTokens, expected.Prompt
		if log != "" {
			if fresh := evaluatedTokens(t, log)[skip:]; len(fresh) > 0 {
				got, want = fresh[0], expected.Evaluated
			}
		}
		ok := abs(got-want) <= max(32, got/10)
		t.Logf("%-34s prompt %4d (expected %4d), evaluated %4d expected, measured %4d, lost %q, ok %v; by the time %d, contradicted %v", what, answer.PromptTokens, expected.Prompt, expected.Evaluated, got, expected.Lost, ok,
			verdict.Evaluated, verdict.Contradicted)
		if turns++; ok {
			good++
		}
		if verdict.Truncated {
			t.Errorf("%s: taken for truncated", what)
		}
		return text
	}
	one.say("user", "Which appointments do I have on Tuesday, and with whom?")
	reply := turn("first turn", one)
	turn("the same again", one)
	one.say("assistant", reply)
	one.say("user", "And the day after?")
	reply = turn("goes on", one)
	one.say("assistant", reply)
	one.say("user", "Print the invoice of the carpenter.")
	one.tools = append(one.tools, manyTools(4, 1)...)
	turn("one tool appended", one)
	two.say("user", "Where is my photo of the lake?")
	second := turn("another conversation", two)
	one.say("assistant", "Something that the model did not say, and which is a good deal longer than all that it could have said, so that nobody takes the one for the other: "+
		"first that the invoice was printed, then that it was sent, then that it was paid, and at last that the carpenter was thanked, and that all went well, and that the sun was out.")
	one.say("user", "Thank you.")
	turn("back, with another answer", one)
	one.messages = one.messages[:len(one.messages)-1]
	one.say("user", "Was it dear?")
	reply = turn("the last message edited", one)
	title.say("user", "Make a title of three words for: carpenter, invoice, calendar.")
	turn("a title in between", title)
	one.say("assistant", reply)
	one.say("user", "How much?")
	one.tools = append(one.tools[:1:1], one.tools[2:]...)
	turn("a tool less, after the title", one)
	two.say("assistant", second)
	two.say("user", "And that of the mountain?")
	second = turn("the other conversation again", two)
	two.say("assistant", second)
	two.say("tool", `{"photos": [{"id": 17, "name": "mountain.jpg", "taken": "2024-05-03T12:11:09Z"}, {"id": 18, "name": "valley.jpg", "taken": "2024-05-03T14:40:51Z"}]}`)
	turn("a tool's result", two)
	if good*10 < turns*9 {
		t.Errorf("%d of %d turns were foreseen within a tenth or 32 tokens, want nine tenths", good, turns)
	}
	t.Logf("%d of %d; rates: a definition of 400 bytes %d tokens, a message of 400 bytes %d", good, turns, b.Rates("smollm2").ToolTokens(1, 400), b.Rates("smollm2").TextTokens(1, 400))
}

func abs(n int) int { return max(n, -n) }
