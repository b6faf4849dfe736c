package chat_test

import (
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

func TestFilterPlain(t *testing.T) {
	ollama := func(message string) string {
		return `{"model":"m","message":{"role":"assistant",` + message + `},"done":true,"done_reason":"stop","total_duration":100,"load_duration":10,"prompt_eval_count":20,"prompt_eval_duration":30,"eval_count":5,"eval_duration":40}`
	}
	twice := strings.NewReplacer(`"total_duration":100`, `"total_duration":200`, `"load_duration":10`, `"load_duration":20`, `"prompt_eval_duration":30`, `"prompt_eval_duration":60`,
		`"eval_count":5`, `"eval_count":10`, `"eval_duration":40`, `"eval_duration":80`).Replace
	openAI := func(message, finish string) string {
		return "{\n  \"id\": \"x\", \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", " + message + "}, \"finish_reason\": \"" + finish + "\"}],\n" +
			` "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}` + "\n"
	}
	double := strings.NewReplacer(`"completion_tokens": 5`, `"completion_tokens": 10`, `"total_tokens": 25`, `"total_tokens": 30`).Replace
	const (
		load   = `{"id":"h1","type":"function","function":{"name":"load_tools","arguments":"{}"}}`
		read   = `{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}`
		bridge = `{"id":"b1","type":"function","function":{"name":"call_tool","arguments":"{\"name\":\"write\",\"arguments\":{\"a\":1.0}}"}}`
		write  = `{"id":"b1","type":"function","function":{"name":"write","arguments":"{\"a\":1.0}"}}`
		loadO  = `{"function":{"index":0,"name":"load_tools","arguments":{}}}`
	)
	tests := map[string]filterTest{
		"ollama text":                   {rounds: []string{ollama(`"content":"a"`)}, text: "a", ended: true},
		"ollama over lines":             {rounds: []string{strings.ReplaceAll(ollama(`"content":"a"`), ",", ",\n")}, text: "a", ended: true},
		"ollama with a newline":         {rounds: []string{ollama(`"content":"a"`) + "\n"}, text: "a", ended: true},
		"ollama nothing":                {rounds: []string{ollama(`"content":""`)}, empty: true},
		"ollama ours":                   {rounds: []string{ollama(`"content":"a","tool_calls":[` + loadO + `]`)}, want: ollama(`"content":"a"`), text: "a", held: "load_tools"},
		"ollama ours, then text":        {rounds: []string{ollama(`"content":"a\n","thinking":"x","tool_calls":[` + loadO + `]`), ollama(`"content":"b","thinking":"y"`)}, want: twice(ollama(`"content":"a\nb","thinking":"xy"`)), text: "a\n", held: "load_tools", ended: true},
		"ollama ours, then no thinking": {rounds: []string{ollama(`"content":"","thinking":"x","tool_calls":[` + loadO + `]`), ollama(`"content":"b"`)}, want: twice(strings.Replace(ollama(`"content":"b"`), `{"role"`, `{"thinking":"x","role"`, 1)), held: "load_tools", ended: true},
		"ollama thinking and ours, then ours first": {rounds: []string{ollama(`"content":"","thinking":"x","tool_calls":[` + loadO + `]`), `{"message":{"tool_calls":[` + loadO + `],"content":"b"},"done":true}`},
			want: `{"message":{"thinking":"x","content":"b"},"done":true}`, held: "load_tools"},
		"ollama ours beside real": {rounds: []string{ollama(`"content":"","tool_calls":[` + loadO + `,{"function":{"index":1,"name":"read","arguments":{}}}]`)}, want: ollama(`"content":"","tool_calls":[{"function":{"index":0,"name":"read","arguments":{}}}]`), held: "load_tools", passed: "read", ended: true},
		"ollama bridged":          {rounds: []string{ollama(`"content":"","tool_calls":[{"function":{"name":"call_tool","arguments":{"name":"now"}}}]`)}, want: ollama(`"content":"","tool_calls":[{"function":{"name":"now","arguments":{}}}]`), passed: "now*", ended: true},
		"ollama ours, then null": {rounds: []string{ollama(`"content":"a","thinking":"x","tool_calls":[` + loadO + `]`), ollama(`"content":null`)},
			want: twice(strings.Replace(ollama(`"content":"a"`), `{"role"`, `{"thinking":"x","role"`, 1)), text: "a", held: "load_tools"},
		"ollama ours, then no text":    {rounds: []string{ollama(`"content":"a","tool_calls":[` + loadO + `]`), ollama(`"content":""`)}, want: twice(ollama(`"content":"a"`)), text: "a", held: "load_tools"},
		"ollama ours, then no content": {rounds: []string{ollama(`"content":"a","tool_calls":[` + loadO + `]`), ollama(`"x":1`)}, want: twice(strings.Replace(ollama(`"x":1`), `{"role"`, `{"content":"a","role"`, 1)), text: "a", held: "load_tools"},
		"ollama ours, then an empty message": {rounds: []string{ollama(`"content":"a","thinking":"x","tool_calls":[` + loadO + `]`), `{"message":{},"done":true}`},
			want: `{"message":{"content":"a","thinking":"x"},"done":true}`, text: "a", held: "load_tools"},
		"ollama ours, then ours and no content": {rounds: []string{ollama(`"content":"a","thinking":"x","tool_calls":[` + loadO + `]`), `{"message":{ "tool_calls":[` + loadO + `]},"done":true}`},
			want: `{"message":{"content":"a","thinking":"x" },"done":true}`, text: "a", held: "load_tools"},
		"ollama ours, then real and no content": {rounds: []string{ollama(`"content":"a","thinking":"x","tool_calls":[` + loadO + `]`), `{"message":{"tool_calls":[{"function":{"name":"read","arguments":{}}}]},"done":true}`},
			want: `{"message":{"content":"a","thinking":"x","tool_calls":[{"function":{"name":"read","arguments":{}}}]},"done":true}`, text: "a", held: "load_tools", passed: "read", ended: true},
		"openai ours, then parts": {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": [ {"type":"text","text":"b"}]`, "stop")},
			want: double(openAI(`"content": [{"type":"text","text":"a\n\n"}, {"type":"text","text":"b"}]`, "stop")), text: "a", held: "load_tools", ended: true},
		"openai ours, then parts that are no text": {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": [{"type":"image"}]`, "stop")},
			want: double(openAI(`"content": [{"type":"text","text":"a"},{"type":"image"}]`, "stop")), text: "a", held: "load_tools", ended: true},
		"openai parts and ours, then text": {protocol: chat.OpenAI, rounds: []string{openAI(`"content": [{"type":"text","text":"a"},{"type":"text","text":"\n"}], "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": "b"`, "stop")},
			want: double(openAI(`"content": "a\nb"`, "stop")), text: "a\n", held: "load_tools", ended: true},
		"openai ours, then null":                 {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": null`, "stop")}, want: double(openAI(`"content": "a"`, "stop")), text: "a", held: "load_tools"},
		"openai ours, then no content":           {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"x": 1`, "stop")}, want: strings.Replace(double(openAI(`"x": 1`, "stop")), `{"role"`, `{"content":"a","role"`, 1), text: "a", held: "load_tools"},
		"openai ours, then no text":              {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": ""`, "stop")}, want: double(openAI(`"content": "a"`, "stop")), text: "a", held: "load_tools"},
		"openai ours, then no parts":             {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": [ ]`, "stop")}, want: double(openAI(`"content": "a"`, "stop")), text: "a", held: "load_tools"},
		"openai parts":                           {protocol: chat.OpenAI, rounds: []string{openAI(`"content": [{"type":"text","text":"a"},"b",{"type":"image"}]`, "stop")}, text: "ab", ended: true},
		"openai parts that are no text":          {protocol: chat.OpenAI, rounds: []string{openAI(`"content": [{"type":"image"}]`, "stop")}, ended: true},
		"openai no parts":                        {protocol: chat.OpenAI, rounds: []string{openAI(`"content": [ ]`, "stop")}, empty: true},
		"ollama broken off":                      {rounds: []string{`{"message":{"content":"a`}, ended: true},
		"ollama error":                           {rounds: []string{`{"error":"no such model"}`}, ended: true},
		"empty":                                  {rounds: []string{""}, want: "", ended: true},
		"openai text":                            {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a"`, "stop")}, text: "a", ended: true},
		"openai real":                            {protocol: chat.OpenAI, rounds: []string{openAI(`"content": null, "tool_calls": [`+read+`, `+read+`]`, "tool_calls")}, passed: "read read", ended: true},
		"openai nothing":                         {protocol: chat.OpenAI, rounds: []string{openAI(`"content": ""`, "stop")}, empty: true},
		"openai ours":                            {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls")}, want: openAI(`"content": "a"`, "stop"), text: "a", held: "load_tools"},
		"openai ours, then text":                 {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": "b"`, "stop")}, want: double(openAI(`"content": "a\n\nb"`, "stop")), text: "a", held: "load_tools", ended: true},
		"openai ours, then real":                 {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": [`+load+`]`, "tool_calls"), openAI(`"content": null, "tool_calls": [`+read+`]`, "tool_calls")}, want: double(openAI(`"content": "a", "tool_calls": [`+read+`]`, "tool_calls")), text: "a", held: "load_tools", passed: "read", ended: true},
		"openai ours beside real":                {protocol: chat.OpenAI, rounds: []string{openAI(`"content": null, "tool_calls": [`+read+`, `+load+`]`, "tool_calls")}, want: openAI(`"content": null, "tool_calls": [`+read+`]`, "tool_calls"), held: "load_tools", passed: "read", ended: true},
		"openai bridged":                         {protocol: chat.OpenAI, rounds: []string{openAI(`"content": null, "tool_calls": [`+bridge+`]`, "tool_calls")}, want: openAI(`"content": null, "tool_calls": [`+write+`]`, "tool_calls"), passed: "write*", ended: true},
		"openai bridged, malformed":              {protocol: chat.OpenAI, rounds: []string{openAI(`"content": null, "tool_calls": [{"id":"b1","function":{"name":"call_tool","arguments":"{\"name\":"}}]`, "tool_calls")}, want: openAI(`"content": null`, "stop"), held: "call_tool"},
		"openai bridged, malformed, beside real": {protocol: chat.OpenAI, rounds: []string{openAI(`"content": null, "tool_calls": [{"id":"b1","function":{"name":"call_tool","arguments":"{\"name\":"}}, `+read+`]`, "tool_calls")}, want: openAI(`"content": null, "tool_calls": [`+read+`]`, "tool_calls"), held: "call_tool", passed: "read", ended: true},
		"ollama bridged, unnamed":                {rounds: []string{ollama(`"content":"a","tool_calls":[{"function":{"name":"call_tool","arguments":{}}}]`)}, want: ollama(`"content":"a"`), text: "a", held: "call_tool"},
		"openai error":                           {protocol: chat.OpenAI, rounds: []string{`{"error":{"message":"no"}}`}, ended: true},
		"openai not JSON":                        {protocol: chat.OpenAI, rounds: []string{"<html>tool_calls</html>\n"}},
		"openai a number that is none":           {protocol: chat.OpenAI, rounds: []string{strings.Replace(openAI(`"content": "a", "tool_calls": []`, "stop"), `"index": 0`, `"logprobs": NaN`, 1)}, ended: true},
		"openai a tab in a string":               {protocol: chat.OpenAI, rounds: []string{openAI("\"content\": \"a\tb\", \"tool_calls\": []", "stop")}, ended: true},
		"openai a quote in a string":             {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "3" more", "tool_calls": []`, "stop")}, ended: true},
		"openai more behind it":                  {protocol: chat.OpenAI, rounds: []string{openAI(`"content": "a", "tool_calls": []`, "stop") + "}"}, ended: true},
	}
	for name, test := range tests {
		test.contentType = single
		if test.protocol == chat.Unknown {
			test.protocol = chat.Ollama
		}
		tests[name] = test
	}
	runFilterTests(t, tests)
}
