package enginetest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
)

// heard is what a client makes of an answer.
type heard struct {
	Thinking, Text string
	Calls          []string // "name arguments"
	Finish         string
	Prompt, Output int
	Ended          bool // the protocol's own end was there
	Error          string
}

// request is a body that asks for an answer in a protocol.
func request(p enginetest.Protocol, stream bool, text string, tools ...string) string {
	var list []string
	for _, name := range tools {
		switch p {
		case enginetest.Responses:
			list = append(list, fmt.Sprintf(`{"type":"function","name":%q,"description":"d","parameters":{"type":"object","properties":{}}}`, name))
		case enginetest.Messages:
			list = append(list, fmt.Sprintf(`{"name":%q,"description":"d","input_schema":{"type":"object","properties":{}}}`, name))
		default:
			list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"d","parameters":{"type":"object","properties":{}}}}`, name))
		}
	}
	field := "messages"
	if p == enginetest.Responses {
		field = "input"
	}
	return fmt.Sprintf(`{"model":"m","stream":%v,"max_tokens":100,"stream_options":{"include_usage":true},%q:[{"role":"user","content":%q}],"tools":[%s]}`,
		stream, field, text, strings.Join(list, ","))
}

// ask sends a request and returns status, content type and body. A body that breaks off is returned as far as it came, with broken true.
func ask(t *testing.T, e *enginetest.Engine, p enginetest.Protocol, body string) (status int, kind, answer string, broken bool) {
	t.Helper()
	res, err := http.Post(e.URL()+string(p), "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", "", true
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Content-Type"), string(text), err != nil
}

// hear reads an answer.
func hear(p enginetest.Protocol, stream bool, answer string) heard {
	var h heard
	switch {
	case p == enginetest.NativeChat:
		for _, line := range strings.Split(strings.TrimSpace(answer), "\n") {
			h.native(gjson.Parse(line))
		}
	case !stream:
		h.plain(p, gjson.Parse(answer))
	default:
		for _, block := range strings.Split(answer, "\n\n") {
			_, data, ok := strings.Cut(block, "data: ")
			if ok {
				h.event(p, data)
			}
		}
	}
	return h
}

func (h *heard) native(v gjson.Result) {
	h.Thinking += v.Get("message.thinking").Str
	h.Text += v.Get("message.content").Str
	for _, c := range v.Get("message.tool_calls").Array() {
		h.Calls = append(h.Calls, c.Get("function.name").Str+" "+c.Get("function.arguments").Raw)
	}
	h.Error += v.Get("error").Str
	if v.Get("done").Bool() {
		h.Ended, h.Finish, h.Prompt, h.Output = true, v.Get("done_reason").Str, int(v.Get("prompt_eval_count").Int()), int(v.Get("eval_count").Int())
	}
}

func (h *heard) plain(p enginetest.Protocol, v gjson.Result) {
	h.Ended = true
	switch p {
	case enginetest.OpenAIChat:
		m := v.Get("choices.0.message")
		h.Text, h.Thinking, h.Finish = m.Get("content").Str, m.Get("reasoning").Str+m.Get("reasoning_content").Str, v.Get("choices.0.finish_reason").Str
		for _, c := range m.Get("tool_calls").Array() {
			h.Calls = append(h.Calls, c.Get("function.name").Str+" "+c.Get("function.arguments").Str)
		}
		h.usage(v, "usage.prompt_tokens", "usage.completion_tokens")
	case enginetest.Responses:
		h.output(v)
	case enginetest.Messages:
		for _, b := range v.Get("content").Array() {
			h.Text += b.Get("text").Str
			h.Thinking += b.Get("thinking").Str
			if b.Get("type").Str == "tool_use" {
				h.Calls = append(h.Calls, b.Get("name").Str+" "+b.Get("input").Raw)
			}
		}
		h.Finish = v.Get("stop_reason").Str
		h.usage(v, "usage.input_tokens", "usage.output_tokens")
		h.Prompt += int(v.Get("usage.cache_read_input_tokens").Int())
	}
}

func (h *heard) usage(v gjson.Result, prompt, output string) {
	h.Prompt, h.Output = int(v.Get(prompt).Int()), int(v.Get(output).Int())
}

// output reads a response object.
func (h *heard) output(v gjson.Result) {
	h.Text, h.Thinking, h.Calls = "", "", nil
	for _, item := range v.Get("output").Array() {
		switch item.Get("type").Str {
		case "message":
			h.Text += item.Get("content.0.text").Str
		case "reasoning":
			h.Thinking += item.Get("summary.0.text").Str + item.Get("content.0.text").Str
		case "function_call":
			h.Calls = append(h.Calls, item.Get("name").Str+" "+item.Get("arguments").Str)
		}
	}
	h.Finish = v.Get("status").Str
	h.usage(v, "usage.input_tokens", "usage.output_tokens")
}

func (h *heard) event(p enginetest.Protocol, data string) {
	v := gjson.Parse(data)
	h.Error += v.Get("error.message").Str
	if v.Get("code").Exists() { // llama.cpp's error event is the error itself
		h.Error += v.Get("message").Str
	}
	switch {
	case data == "[DONE]":
		h.Ended = true
	case p == enginetest.OpenAIChat:
		d := v.Get("choices.0.delta")
		h.Text += d.Get("content").Str
		h.Thinking += d.Get("reasoning").Str + d.Get("reasoning_content").Str
		for _, c := range d.Get("tool_calls").Array() {
			h.piece(c.Get("function.name").Str, c.Get("function.arguments").Str)
		}
		h.Finish += v.Get("choices.0.finish_reason").Str
		if v.Get("usage").Exists() {
			h.usage(v, "usage.prompt_tokens", "usage.completion_tokens")
		}
	case p == enginetest.Responses:
		switch v.Get("type").Str {
		case "response.output_text.delta":
			h.Text += v.Get("delta").Str
		case "response.output_item.added":
			if v.Get("item.type").Str == "function_call" {
				h.piece(v.Get("item.name").Str, "")
			}
		case "response.function_call_arguments.delta":
			h.piece("", v.Get("delta").Str)
		case "response.completed":
			before := heard{Text: h.Text, Calls: h.Calls}
			if h.output(v.Get("response")); len(before.Calls) == 0 && before.Text != h.Text || fmt.Sprint(before.Calls) != fmt.Sprint(h.Calls) {
				h.Error = fmt.Sprintf("the events say %q %q, the end %q %q", before.Text, before.Calls, h.Text, h.Calls)
			}
			h.Ended = true
		}
	case p == enginetest.Messages:
		h.Text += v.Get("delta.text").Str
		h.Thinking += v.Get("delta.thinking").Str
		if v.Get("content_block.type").Str == "tool_use" {
			h.piece(v.Get("content_block.name").Str, "")
		}
		if v.Get("delta.type").Str == "input_json_delta" {
			h.piece("", v.Get("delta.partial_json").Str)
		}
		switch v.Get("type").Str {
		case "message_start":
			h.Prompt = int(v.Get("message.usage.input_tokens").Int() + v.Get("message.usage.cache_read_input_tokens").Int())
		case "message_delta":
			h.Finish, h.Output = v.Get("delta.stop_reason").Str, int(v.Get("usage.output_tokens").Int())
			if n := v.Get("usage.input_tokens"); n.Exists() {
				h.Prompt = int(n.Int())
			}
		case "message_stop":
			h.Ended = true
		}
	}
}

// piece goes on with the newest call, or begins one where there is a name.
func (h *heard) piece(name, arguments string) {
	if name != "" {
		h.Calls = append(h.Calls, name+" ")
	}
	if n := len(h.Calls); n > 0 {
		h.Calls[n-1] += arguments
	}
}

func readAll(t *testing.T, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
