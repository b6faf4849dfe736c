package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// benchBody is a request with so many tools of about 1 KB and a short history.
func benchBody(tools int) []byte {
	var list []string
	for i := range tools {
		var properties []string
		for k := range 6 {
			properties = append(properties, fmt.Sprintf(`"argument_%d": {"type": ["string", "null"], "description": "What the argument number %d of this tool is for, said at some length."}`, k, k))
		}
		list = append(list, fmt.Sprintf(`{"type": "function", "function": {"name": "server_%d__tool_%d", "description": "Does the job number %d for whoever asks.\nUse it when the user wants that and nothing else; it takes a while.", "parameters": {"type": "object", "properties": {%s}, "required": ["argument_0"]}}}`, i%5, i, i, strings.Join(properties, ", ")))
	}
	messages := `[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"list the servers"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"server_2__tool_2","arguments":{}}}]},{"role":"tool","content":"` + strings.Repeat("one line\\n", 50) + `"},{"role":"user","content":"now play some music"}]`
	return []byte(`{"model":"smollm2","messages":` + messages + `,"tools":[` + strings.Join(list, ", ") + `],"options":{"num_ctx":8192},"stream":true}`)
}

func BenchmarkDecode(b *testing.B) {
	for _, tools := range []int{38, 500} {
		b.Run(fmt.Sprint("tools=", tools), func(b *testing.B) {
			body := benchBody(tools)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if r, err := chat.Decode(chat.Ollama, body); err != nil || len(r.Tools) != tools {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeHistory has no tools and 200 messages: questions, calls, long results with escapes, answers.
func BenchmarkDecodeHistory(b *testing.B) {
	var messages []string
	for i := range 50 {
		messages = append(messages,
			fmt.Sprintf(`{"role":"user","content":"now do the thing number %d, please"}`, i),
			fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"tool_%d","arguments":"{\"path\": \"/tmp/%d\"}"}}]}`, i, i%9, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, strings.Repeat(`one line of a result, \"quoted\"\n`, 60)),
			fmt.Sprintf(`{"role":"assistant","content":"%s"}`, strings.Repeat("It has been done as you wanted. ", 20)))
	}
	body := []byte(`{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := chat.Decode(chat.OpenAI, body); err != nil || len(r.Users) != 50 {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply makes each kind of edit of a request with 38 tools.
func BenchmarkApply(b *testing.B) {
	body := benchBody(38)
	r, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		b.Fatal(err)
	}
	e := chat.Edits{
		Own:    []chat.OwnTool{own(5)},
		Hidden: []chat.HiddenTurn{loaded(2, ""), loaded(5, "")},
		Append: []chat.Appended{{Message: 4, Text: "\n\nOne tool more."}},
		Bridge: []chat.Bridged{{Message: 2, Bridge: "call_tool"}},
	}
	for i := 0; i < len(r.Elements); i += 3 {
		e.Order = append(e.Order, r.Elements[i].Key)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := chat.Apply(body, r, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	body := benchBody(38)
	r, err := chat.Decode(chat.Ollama, body)
	if err != nil {
		b.Fatal(err)
	}
	var order []string
	for i := 0; i < len(r.Elements); i += 3 {
		order = append(order, r.Elements[i].Key)
	}
	b.ReportAllocs()
	for b.Loop() {
		chat.Render(body, r, order)
	}
}

func BenchmarkWindow(b *testing.B) {
	for name, last := range map[string]string{"short": "now play some music", "long": strings.Repeat("Please go through the next line and tell me what is wrong. ", 2500)} {
		b.Run(name, func(b *testing.B) {
			r := &chat.Request{Users: []string{"list the servers", last}}
			b.ReportAllocs()
			for b.Loop() {
				chat.Window(r)
			}
		})
	}
}

func BenchmarkChain(b *testing.B) {
	r := &chat.Request{Users: []string{"list the servers", "now play some music", "and what is\nthe weather  like"}}
	b.ReportAllocs()
	for b.Loop() {
		chat.Chain(r)
	}
}

func BenchmarkScannerChunk(b *testing.B) {
	for name, test := range map[string]struct {
		protocol    chat.Protocol
		contentType string
		chunk       string
	}{
		"ollama":      {chat.Ollama, ndjson, `{"model":"smollm2","created_at":"2026-01-01T00:00:00.000000Z","message":{"role":"assistant","content":" word"},"done":false}` + "\n"},
		"openai":      {chat.OpenAI, events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"role":"assistant","content":" word"},"finish_reason":null}]}` + "\n\n"},
		"openai/call": {chat.OpenAI, events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]},"finish_reason":null}]}` + "\n\n"},
	} {
		b.Run(name, func(b *testing.B) {
			s := chat.NewScanner(test.protocol, test.contentType)
			chunk := []byte(test.chunk)
			b.ReportAllocs()
			for b.Loop() {
				s.Write(chunk)
			}
		})
	}
}
