package chat_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// madeCall is a call of a made-up answer.
type madeCall struct{ id, name, arguments string }

// madeRound is what a made-up engine says in one round.
type madeRound struct {
	texts []string
	calls []madeCall
}

// seen is an answer as a client reads it.
type seen struct {
	text   string
	calls  []madeCall
	ended  bool
	output int // tokens
}

// makeRounds makes an answer of 1 to 4 rounds, and what the client is to see of it.
func makeRounds(r *rand.Rand) (rounds []madeRound, want seen) {
	id := 0
	call := func(name, arguments string) madeCall {
		id++
		return madeCall{fmt.Sprint("c", id), name, arguments}
	}
	for n := r.Intn(4); n >= 0; n-- {
		var round madeRound
		for range r.Intn(3) {
			text := []string{"a", "tool_calls ", "é\"{", "\n", "load_tools"}[r.Intn(5)]
			round.texts = append(round.texts, text)
			want.text += text
		}
		for range r.Intn(3) {
			round.calls = append(round.calls, call("load_tools", `{"name":"x"}`))
		}
		if n > 0 && len(round.calls) == 0 {
			round.calls = append(round.calls, call("call_tool", `{"name":"tool_search","arguments":{}}`))
		}
		if n == 0 {
			for range r.Intn(4) {
				arguments := []string{`{}`, `{"a":"é\"}"}`, `{"n":1.0,"deep":[{}]}`}[r.Intn(3)]
				c := call([]string{"read", "load_tools_2"}[r.Intn(2)], arguments)
				want.calls = append(want.calls, c)
				if r.Intn(2) == 0 {
					c.arguments = `{"name":"` + c.name + `","arguments":` + c.arguments + `}`
					c.name = "call_tool"
				}
				round.calls = append(round.calls, c)
			}
			r.Shuffle(len(round.calls), func(i, j int) { round.calls[i], round.calls[j] = round.calls[j], round.calls[i] })
			want.calls = inOrder(round.calls, want.calls)
		}
		rounds = append(rounds, round)
		want.output += 5
	}
	want.ended = true
	return rounds, want
}

// joined is the text of all rounds: with a break where two would run into one another.
func joined(rounds []madeRound) (all string) {
	for _, round := range rounds {
		text := strings.Join(round.texts, "")
		if all != "" && text != "" && strings.TrimRight(all, " \n") == all && strings.TrimLeft(text, " \n") == text {
			all += chat.Break
		}
		all += text
	}
	return all
}

// inOrder returns those calls in the order of the others, by id.
func inOrder(order, calls []madeCall) (sorted []madeCall) {
	for _, o := range order {
		for _, c := range calls {
			if c.id == o.id {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// inPieces cuts text in pieces.
func inPieces(r *rand.Rand, s string) (pieces []string) {
	for len(s) > 0 {
		n := 1 + r.Intn(len(s))
		for n < len(s) && s[n]&0xc0 == 0x80 {
			n++
		}
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// writeRound says a round as an engine of this protocol does.
func writeRound(r *rand.Rand, p chat.Protocol, round madeRound, id string, last bool) string {
	var b strings.Builder
	text := strings.Join(round.texts, "")
	switch p {
	case chat.Ollama:
		for _, t := range round.texts {
			b.WriteString(ollamaSays(strings.Trim(quoted(t), `"`)[:len(quoted(t))-2]))
		}
		var entries []string
		for i, c := range round.calls {
			entries = append(entries, fmt.Sprintf(`{"id":%q,"function":{"index":%d,"name":%q,"arguments":%s}}`, c.id, i, c.name, c.arguments))
			if i == len(round.calls)-1 || r.Intn(2) == 0 {
				b.WriteString(ollamaCalls(entries...))
				entries = nil
			}
		}
		b.WriteString(ollamaDone)
	case chat.OpenAI:
		if r.Intn(2) == 0 {
			b.WriteString(chunk(id, `"role":"assistant","content":""`, "null"))
		}
		for _, t := range round.texts {
			b.WriteString(chunk(id, `"content":`+quoted(t), "null"))
		}
		for i, c := range round.calls {
			b.WriteString(chunk(id, fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]`, i, c.id, c.name), "null"))
			for _, piece := range inPieces(r, c.arguments) {
				b.WriteString(chunk(id, fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quoted(piece)), "null"))
			}
		}
		finish := "stop"
		if len(round.calls) > 0 {
			finish = "tool_calls"
		}
		b.WriteString(chunk(id, "", finish) + usageChunk(id, "20", "5", "25") + doneLine)
	case chat.Responses:
		b.WriteString(rStart(id))
		at, output := 0, []string{}
		if text != "" {
			content := strings.TrimSuffix(strings.TrimPrefix(quoted(text), `"`), `"`)
			b.WriteString(rOpen("0", "m"+id, content))
			if last || r.Intn(2) == 0 || len(round.calls) == 0 { // an engine may leave a message open when a call follows
				b.WriteString(rClose("0", "m"+id, content))
				output = append(output, rMessage("m"+id, content))
				at++
			}
		}
		for i, c := range round.calls {
			b.WriteString(rCall(strconv.Itoa(at+i), c.id, c.name, c.arguments))
			output = append(output, rDone(c.id, c.name, c.arguments))
		}
		b.WriteString(rEnd(id, strings.Join(output, ","), 5))
		return numberedEvents(b.String())
	case chat.Anthropic:
		b.WriteString(sse("message_start", `"message":{"id":"`+id+`","role":"assistant","content":[],"usage":{"input_tokens":20,"output_tokens":1}}`))
		at := 0
		if text != "" {
			var texts []string
			for _, t := range round.texts {
				texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(quoted(t), `"`), `"`))
			}
			b.WriteString(blockText(0, texts...))
			at++
		}
		for i, c := range round.calls {
			b.WriteString(blockUse(at+i, c.id, c.name, inPieces(r, c.arguments)...))
		}
		b.WriteString(sse("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}`) + sse("message_stop", ""))
	}
	return b.String()
}

// object is JSON as the standard library reads it.
type object = map[string]any

// readEvents reads the JSON of every line or event.
func readEvents(t *testing.T, out string) (all []object) {
	for _, line := range strings.Split(out, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		if line == "" || line == "[DONE]" || strings.HasPrefix(line, "event: ") {
			continue
		}
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, o)
	}
	return all
}

// readClient reads a stream as a client does; it fails where numbers are not dense.
func readClient(t *testing.T, p chat.Protocol, out string) (s seen) {
	ids := map[string]bool{}
	calls := map[int]*madeCall{}
	add := func(index int, id, name, arguments string) {
		if index != len(calls) || ids[id] {
			t.Fatalf("call %q has the index %d, the number of calls is %d:\n%s", id, index, len(calls), out)
		}
		ids[id] = true
		calls[index] = &madeCall{id, name, arguments}
	}
	integer := func(v any) int { n, _ := v.(float64); return int(n) }
	str := func(v any) string { s, _ := v.(string); return s }
	parts, sequence := 0, 0
	byPart := map[int]int{}
	for _, e := range readEvents(t, out) {
		switch p {
		case chat.Ollama:
			m := e["message"].(object)
			s.text += str(m["content"])
			list, _ := m["tool_calls"].([]any)
			for _, c := range list {
				f := c.(object)["function"].(object)
				arguments, _ := json.Marshal(f["arguments"])
				add(integer(f["index"]), str(c.(object)["id"]), str(f["name"]), string(arguments))
			}
			if e["done"] == true {
				s.ended, s.output = true, integer(e["eval_count"])
			}
		case chat.OpenAI:
			if e["id"] != "r0" {
				t.Fatalf("another id: %v", e)
			}
			if u, ok := e["usage"].(object); ok {
				s.output = integer(u["completion_tokens"])
			}
			for _, c := range e["choices"].([]any) {
				delta := c.(object)["delta"].(object)
				s.text += str(delta["content"])
				s.ended = s.ended || c.(object)["finish_reason"] != nil
				list, _ := delta["tool_calls"].([]any)
				for _, c := range list {
					f, at := c.(object)["function"].(object), integer(c.(object)["index"])
					if name := str(f["name"]); name != "" {
						add(at, str(c.(object)["id"]), name, "")
					}
					calls[at].arguments += str(f["arguments"])
				}
			}
		case chat.Responses:
			if integer(e["sequence_number"]) != sequence {
				t.Fatalf("event %d: %v", sequence, e)
			}
			sequence++
			item, _ := e["item"].(object)
			switch at := integer(e["output_index"]); e["type"] {
			case "response.output_item.added":
				if at != parts {
					t.Fatalf("item %d has the index %d:\n%s", parts, at, out)
				}
				if parts++; item["type"] == "function_call" {
					byPart[at] = len(calls)
					add(len(calls), str(item["call_id"]), str(item["name"]), "")
				}
			case "response.output_text.delta":
				s.text += str(e["delta"])
			case "response.function_call_arguments.delta":
				calls[byPart[at]].arguments += str(e["delta"])
			case "response.completed":
				response := e["response"].(object)
				s.ended, s.output = response["id"] == "r0", integer(response["usage"].(object)["output_tokens"])
			}
		case chat.Anthropic:
			block, _ := e["content_block"].(object)
			delta, _ := e["delta"].(object)
			switch at := integer(e["index"]); e["type"] {
			case "content_block_start":
				if at != parts {
					t.Fatalf("block %d has the index %d:\n%s", parts, at, out)
				}
				if parts++; block["type"] == "tool_use" {
					byPart[at] = len(calls)
					add(len(calls), str(block["id"]), str(block["name"]), "")
				}
			case "content_block_delta":
				s.text += str(delta["text"])
				if delta["type"] == "input_json_delta" {
					calls[byPart[at]].arguments += str(delta["partial_json"])
				}
			case "message_delta":
				s.output = integer(e["usage"].(object)["output_tokens"])
			case "message_stop":
				s.ended = true
			}
		}
	}
	for i := range len(calls) {
		s.calls = append(s.calls, *calls[i])
	}
	return s
}

func TestFilterShowsWhatAnEngineWithAllToolsWould(t *testing.T) {
	types := map[chat.Protocol]string{chat.Ollama: ndjson, chat.OpenAI: events, chat.Responses: events, chat.Anthropic: events}
	for p, contentType := range types {
		r := rand.New(rand.NewSource(int64(p)))
		for n := range 200 {
			rounds, want := makeRounds(r)
			var written []string
			for i, round := range rounds {
				written = append(written, writeRound(r, p, round, fmt.Sprint("r", i), i == len(rounds)-1))
			}
			if p == chat.Ollama || p == chat.OpenAI { // one text for all rounds
				want.text = joined(rounds)
			}
			got := filter(p, contentType, ours(), 1+r.Intn(200), written...)
			client := readClient(t, p, got.out)
			for _, calls := range [][]madeCall{client.calls, want.calls} {
				for i := range calls { // the same arguments, however spelt
					var v any
					if err := json.Unmarshal([]byte(calls[i].arguments), &v); err != nil {
						t.Fatalf("%s: %v", calls[i].arguments, err)
					}
					b, _ := json.Marshal(v)
					calls[i].arguments = string(b)
				}
			}
			if !reflect.DeepEqual(client, want) {
				t.Fatalf("protocol %v, %d:\n%+v\nwant\n%+v\nof\n%s\ngot\n%s", p, n, client, want, strings.Join(written, "---\n"), got.out)
			}
		}
	}
}
