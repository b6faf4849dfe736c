package chat_test

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// shuffledEvents has, for each protocol, events that a test puts in any order.
func shuffledEvents() map[chat.Protocol][]string {
	bridge := `{"name":"write","arguments":{"p":1}}`
	openAI := []string{role, says("a"), says(""), ": ping\n\n", chunk("x", "", "stop"), chunk("x", "", "tool_calls"), chunk("x", `"content":"z"`, "stop"), usageChunk("x", "1", "2", "3"), doneLine,
		chunk("x", `"reasoning_content":"hm"`, "null"), strings.ReplaceAll(says("b"), "\n", "\r\n"), strings.TrimSuffix(says("c"), "\n"), "event: x\n" + says("d"),
		calls(`{"index":0,"id":"h1","function":{"name":"load_tools","arguments":""}}`), calls(`{"index":0,"function":{"arguments":"{"}}`), calls(`{"index":0,"function":{"arguments":"}"}}`),
		calls(`{"index":1,"id":"b1","function":{"name":"call_tool","arguments":"{"}}`), calls(`{"index":1,"function":{"arguments":"}"}}`), calls(`{"id":"b2","function":{"name":"call_tool","arguments":` + quoted(bridge) + `}}`),
		calls(`{"index":2,"id":"c1","function":{"name":"read"}}`, `{"index":2,"id":"h2","function":{"name":"load_tools","arguments":"{}"}}`), calls(`null`, `7`, `{"index":0}`),
		strings.Replace(says("e"), `"index":0`, `"index":1`, 1), strings.Replace(calls(`{"index":0,"id":"h3","function":{"name":"tool_search","arguments":{}}}`), `"choices":[{"index":0`, `"choices":[{"index":1`, 1)}
	ollama := []string{ollamaSays("a"), ollamaSays(""), "\n", ollamaDone, strings.Replace(ollamaDone, `"content":""`, `"content":"z"`, 1),
		ollamaCalls(`{"function":{"index":0,"name":"load_tools","arguments":{}}}`), ollamaCalls(`{"function":{"index":1,"name":"call_tool","arguments":` + bridge + `}}`), ollamaCalls(`{"function":{"name":"call_tool"}}`, `null`),
		ollamaCalls(`{"function":{"index":0,"name":"read","arguments":{}}}`, `{"function":{"index":1,"name":"tool_search","arguments":"{}"}}`), strings.Replace(ollamaCalls(`{"function":{"name":"tool_search"}}`), `false`, `true`, 1)}
	responses := []string{rStart("a"), rEnd("a", rDone("h1", "load_tools", "{}")+","+rMessage("m", "a"), 5), rEnd("a", "", 0), rEvent("incomplete", `"response":`+rObject("a", "incomplete", "", 1)), doneLine, ": ping\n\n"}
	anthropic := []string{sse("message_start", `"message":{"id":"a","content":[],"usage":{"input_tokens":1}}`), sse("ping", ""), sse("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}`), sse("message_delta", `"delta":{},"usage":{}`), sse("message_stop", "")}
	for _, whole := range []string{rText("0", "m", "a"), rCall("0", "h1", "load_tools", "{}"), rCall("1", "b1", "call_tool", bridge), rCall("1", "c1", "read", "{}")} {
		responses = append(responses, strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")...)
	}
	for _, whole := range []string{blockText(0, "a"), blockUse(0, "h1", "load_tools", "{}"), blockUse(1, "b1", "call_tool", bridge[:9], bridge[9:]), blockUse(2, "c1", "read", "{}")} {
		anthropic = append(anthropic, strings.SplitAfter(strings.TrimSuffix(whole, "\n\n"), "\n\n")...)
	}
	return map[chat.Protocol][]string{chat.Ollama: ollama, chat.OpenAI: openAI, chat.Responses: responses, chat.Anthropic: anthropic}
}

func TestFilterOnEventsInAnyOrder(t *testing.T) {
	for p, pool := range shuffledEvents() {
		contentType := events
		if p == chat.Ollama {
			contentType = ndjson
		}
		r := rand.New(rand.NewSource(int64(p)))
		for range 300 {
			var rounds []string
			for range 1 + r.Intn(2) {
				var b strings.Builder
				for range r.Intn(12) {
					event := pool[r.Intn(len(pool))]
					if p != chat.Ollama && !strings.HasSuffix(event, "\n") {
						event += "\n\n"
					}
					b.WriteString(event)
				}
				rounds = append(rounds, b.String())
				if p == chat.Responses {
					rounds[len(rounds)-1] = numberedEvents(b.String())
				}
			}
			got := filter(p, contentType, ours(), 1<<20, rounds...)
			if again := filter(p, contentType, ours(), 1+r.Intn(60), rounds...); !reflect.DeepEqual(again, got) {
				t.Fatalf("in pieces:\n%+v\nat once:\n%+v", again, got)
			}
			if none := filter(p, contentType, chat.FilterConfig{}, 1+r.Intn(60), rounds[0]); none.out != rounds[0] {
				t.Fatalf("with nothing to hold:\n%s\nwant:\n%s", none.out, rounds[0])
			}
			for _, name := range []string{`"name":"load_tools"`, `"name":"tool_search"`, `"name":"call_tool"`} {
				if strings.Contains(got.out, name) {
					t.Fatalf("%s shown:\n%s\nof\n%s", name, got.out, strings.Join(rounds, "---\n"))
				}
			}
			for _, line := range strings.Split(got.out, "\n") {
				line = strings.TrimSuffix(strings.TrimPrefix(line, "data: "), "\r")
				if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
					t.Fatalf("no JSON: %s\nof\n%s", line, strings.Join(rounds, "---\n"))
				}
			}
		}
	}
}
