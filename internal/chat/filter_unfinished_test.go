package chat_test

import (
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// prefixed is ours with the beginnings of its names.
func prefixed() chat.FilterConfig {
	cfg := ours()
	cfg.Prefix = func(begun string) bool {
		for _, name := range []string{"load_tools", "tool_search", "call_tool"} {
			if strings.HasPrefix(name, begun) {
				return true
			}
		}
		return false
	}
	return cfg
}

// brokenOff is what a client gets of an answer that comes in pieces of the given size and breaks off.
func brokenOff(p chat.Protocol, contentType string, cfg chat.FilterConfig, size int, answer string) string {
	f := chat.NewFilter(p, contentType, cfg)
	var out []byte
	for piece := range slices.Chunk([]byte(answer), size) {
		out = f.Write(out, piece)
	}
	f.End(true)
	return string(f.Release(out))
}

func TestFilterOnWhatAnAnswerBreaksOffIn(t *testing.T) {
	const ollamaCall = `{"message":{"content":"","tool_calls":[{"function":{"name":"`
	const openAICall = `data: {"choices":[{"index":0,"delta":{"tool_calls":[`
	for name, test := range map[string]struct {
		protocol    chat.Protocol
		contentType string
		before      string // what goes in any case
		rest        string
		drops       bool
	}{
		"ollama text":                       {chat.Ollama, ndjson, ollamaSays("a"), `{"message":{"content":"load_tools \"name\":\"load_tools\" \"tool_calls\"`, false},
		"ollama before it is known":         {chat.Ollama, ndjson, ollamaSays("a"), `{"message":{"con`, false},
		"ollama ours":                       {chat.Ollama, ndjson, ollamaSays("a"), ollamaCall + `load_tools","argu`, true},
		"ollama ours, escaped":              {chat.Ollama, ndjson, ollamaSays("a"), ollamaCall + `load\u005ftools","argu`, true},
		"ollama ours, no more than the end": {chat.Ollama, ndjson, ollamaSays("a"), strings.TrimSuffix(ollamaCalls(`{"function":{"name":"load_tools","arguments":{}}}`), "}\n"), true},
		"ollama the bridge":                 {chat.Ollama, ndjson, "", ollamaCall + `call_tool","arguments":{"name":"read`, true},
		"ollama ours, the name cut":         {chat.Ollama, ndjson, "", ollamaCall + `load_`, true},
		"ollama ours, cut in an escape":     {chat.Ollama, ndjson, "", ollamaCall + `load\u00`, true},
		"ollama ours, before its name":      {chat.Ollama, ndjson, "", `{"message":{"content":"","tool_calls":[{"function":{"name":`, true},
		"ollama ours, before the key":       {chat.Ollama, ndjson, "", `{"message":{"content":"","tool_calls":[{"function":{"na`, true},
		"ollama real":                       {chat.Ollama, ndjson, ollamaSays("a"), ollamaCall + `read","argu`, false},
		"ollama real, the name cut":         {chat.Ollama, ndjson, ollamaSays("a"), ollamaCall + `rea`, false},
		"ollama real, then ours":            {chat.Ollama, ndjson, "", ollamaCall + `read","arguments":{}}},{"function":{"name": "tool_search"`, true},
		"ollama ours in a line that ends":   {chat.Ollama, ndjson, ollamaSays("a"), ollamaCall + `load_tools"` + "\r", true},
		"openai text":                       {chat.OpenAI, events, role, `data: {"choices":[{"delta":{"content":"tool_calls \"tool_calls\"`, false},
		"openai ours":                       {chat.OpenAI, events, role, openAICall + `{"index":0,"id":"h1","function":{"name":"load_tools"`, true},
		"openai ours, a later piece":        {chat.OpenAI, events, role, openAICall + `{"index":0,"function":{"arguments":"{\"x`, true},
		"openai ours, over lines":           {chat.OpenAI, events, role, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[\ndata: {\"function\":{\"name\":\ndata: \"load_tools\"", true},
		"openai ours, the event unended":    {chat.OpenAI, events, role, openAICall + `{"index":0,"id":"h1","function":{"name":"load_tools"` + "\n", true},
		"openai real":                       {chat.OpenAI, events, role, openAICall + `{"index":0,"id":"c1","function":{"name":"read"`, false},
		"openai an event's name":            {chat.OpenAI, events, role, "event: mess", false},
		"responses text":                    {chat.Responses, events, "", "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"function_call", false},
		"responses ours":                    {chat.Responses, events, "", "event: response.output_item.added\ndata: {\"item\":{\"arguments\":\"\",\"call_id\":\"h1\",\"name\":\"load_to", true},
		"responses ours, a later piece":     {chat.Responses, events, "", "event: response.function_call_arguments.delta\ndata: {\"delta\":\"{", true},
		"responses ours, before its kind":   {chat.Responses, events, "", `data: {"type":"response.output_item.done","item":{"id":"x`, true},
		"responses a message":               {chat.Responses, events, "", `data: {"type":"response.output_item.done","item":{"type":"message","id":"x`, false},
		"responses our tools told":          {chat.Responses, events, "", `data: {"type":"response.created","response":{"tools":[{"type":"function","name":"call_tool","des`, true},
		"anthropic text":                    {chat.Anthropic, events, "", "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"tool_use \\\"input\\\"", false},
		"anthropic a text begins":           {chat.Anthropic, events, "", `data: {"type":"content_block_start","content_block":{"type":"text","te`, false},
		"anthropic ours":                    {chat.Anthropic, events, "", `data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"h1","name":"tool_search","inp`, true},
		"anthropic ours, before its kind":   {chat.Anthropic, events, "", "event: content_block_start\ndata: {\"content_block\":{\"id\":\"h1\"", true},
		"anthropic ours, a later piece":     {chat.Anthropic, events, "", `data: {"type":"content_block_delta","delta":{"partial_json":"{`, true},
		"anthropic real":                    {chat.Anthropic, events, "", `data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"h1","name":"read","inp`, false},
		"plain ollama ours":                 {chat.Ollama, single, "", ollamaCall + `load_tools","arguments":{}`, true},
		"plain ollama real":                 {chat.Ollama, single, "", ollamaCall + `read","arguments":{}`, false},
		"plain ollama text":                 {chat.Ollama, single, "", `{"message":{"content":"a`, false},
		"plain openai ours":                 {chat.OpenAI, single, "", `{"choices":[{"message":{"content":"a","tool_calls":[{"function":{"arguments":"{}","na`, true},
		"plain responses ours":              {chat.Responses, single, "", `{"object":"response","output":[{"arguments":"{\"name\":\"x\"}"`, true},
		"plain responses text":              {chat.Responses, single, "", `{"object":"response","output":[{"type":"message","content":[{"type":"output_text","text":"call_tool`, false},
		"plain anthropic ours":              {chat.Anthropic, single, "", `{"content":[{"id":"h1","input":{"name`, true},
		"plain anthropic text":              {chat.Anthropic, single, "", `{"content":[{"type":"text","text":"tool_use`, false},
	} {
		t.Run(name, func(t *testing.T) {
			whole := test.before + test.rest
			want := whole
			if test.drops {
				want = test.before
			}
			none := func(string) bool { return false }
			for _, size := range []int{1 << 20, 1, 7} {
				for _, cfg := range []chat.FilterConfig{{}, {Held: none, Prefix: none}} {
					if got := brokenOff(test.protocol, test.contentType, cfg, size, whole); got != whole {
						t.Errorf("with nothing to hold, in pieces of %d: %q", size, got)
					}
				}
				if got := brokenOff(test.protocol, test.contentType, prefixed(), size, whole); got != want {
					t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
				}
				if got := filter(test.protocol, test.contentType, prefixed(), size, whole).out; test.contentType == single && got != whole {
					t.Errorf("a document that ends so, in pieces of %d: %q", size, got)
				}
			}
		})
	}
}

// Wherever an answer with a call of ours breaks off, the client reads nothing of it.
func TestFilterShowsNothingOfOursWhereverAnAnswerBreaksOff(t *testing.T) {
	bridge := `{"name":"load_tools","arguments":{"name":"secret"}}`
	for name, test := range map[string]struct {
		protocol    chat.Protocol
		contentType string
		answer      string
	}{
		"ollama":       {chat.Ollama, ndjson, ollamaSays("a") + ollamaCalls(`{"id":"h1","function":{"name":"load_tools","arguments":{"name":"secret"}}}`) + ollamaCalls(`{"function":{"name":"call_tool","arguments":`+bridge+`}}`) + ollamaDone},
		"ollama plain": {chat.Ollama, single, strings.Replace(ollamaCalls(`{"function":{"name":"call_tool","arguments":`+bridge+`}}`), "false", "true", 1)},
		"openai": {chat.OpenAI, events, role + says("a") + calls(`{"index":0,"id":"h1","function":{"name":"load_tools","arguments":""}}`) + calls(`{"index":0,"function":{"arguments":"{\"name\":\"secret\"}"}}`) +
			calls(`{"index":1,"id":"b1","function":{"name":"call_tool","arguments":`+quoted(bridge[:9])+`}}`) + calls(`{"index":1,"function":{"arguments":`+quoted(bridge[9:])+`}}`) + chunk("x", "", "tool_calls") + doneLine},
		"openai plain": {chat.OpenAI, single, `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"arguments":` + quoted(bridge) + `,"name":"call_tool"}}]}}]}`},
		"responses": {chat.Responses, events, numberedEvents(rStart("a"), rText("0", "m", "a"), rCall("1", "h1", "load_tools", `{"name":"secret"}`), rCall("2", "b1", "call_tool", bridge),
			rEnd("a", rMessage("m", "a")+","+rDone("h1", "load_tools", `{"name":"secret"}`)+","+rDone("b1", "call_tool", bridge), 5))},
		"responses plain": {chat.Responses, single, rObject("a", "completed", rDone("b1", "call_tool", bridge), 5)},
		"anthropic": {chat.Anthropic, events, sse("message_start", `"message":{"id":"a","content":[]}`) + blockText(0, "a") + blockUse(1, "h1", "load_tools", `{"name":`, `"secret"}`) +
			blockUse(2, "b1", "call_tool", bridge[:9], bridge[9:]) + sse("message_delta", `"delta":{"stop_reason":"tool_use"}`) + sse("message_stop", "")},
		"anthropic plain": {chat.Anthropic, single, `{"type":"message","content":[{"type":"tool_use","id":"b1","input":` + bridge + `,"name":"call_tool"}]}`},
	} {
		for cut := range len(test.answer) {
			got := brokenOff(test.protocol, test.contentType, prefixed(), len(test.answer), test.answer[:cut])
			for _, word := range []string{"load_t", "call_t", "secr"} {
				if strings.Contains(got, word) {
					t.Fatalf("%s, broken off at %d: %q", name, cut, got)
				}
			}
		}
	}
}
