package chat_test

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/chat"
)

func TestFilterSendsAtOnce(t *testing.T) {
	prefix := ours()
	prefix.Prefix = func(s string) bool {
		return strings.HasPrefix("load_tools", s) || strings.HasPrefix("tool_search", s) || strings.HasPrefix("call_tool", s)
	}
	name := calls(`{"index":0,"id":"c1","function":{"name":"read","arguments":""}}`)
	arguments := calls(`{"index":0,"function":{"arguments":"{"}}`)
	for _, test := range []struct {
		name          string
		protocol      chat.Protocol
		contentType   string
		cfg           chat.FilterConfig
		pieces, wants []string
	}{
		{"ollama", chat.Ollama, ndjson, ours(), []string{ollamaSays("a"), ollamaSays("b"), ollamaCalls(`{"function":{"name":"x","arguments":{}}}`), ollamaDone}, nil},
		{"ollama text", chat.Ollama, ndjson, ours(), []string{ollamaSays("a"), ollamaDone}, nil},
		{"ollama half lines", chat.Ollama, ndjson, ours(), []string{ollamaSays("a")[:9], ollamaSays("a")[9:]}, []string{"", ollamaSays("a")}},
		{"openai", chat.OpenAI, events, prefix, []string{role, says("a"), name, arguments, chunk("x", "", "tool_calls"), doneLine}, nil},
		{"openai, the name may be ours", chat.OpenAI, events, ours(), []string{role, name, arguments}, []string{role, "", name + arguments}},
		{"openai, the name was whole", chat.OpenAI, events, ours(), []string{role, name, says("a")}, []string{role, "", name + says("a")}},
		{"openai, without blank lines", chat.OpenAI, events, prefix, []string{strings.TrimSuffix(role, "\n"), strings.TrimSuffix(says("a"), "\n"), strings.TrimSuffix(name, "\n")}, nil},
		{"openai, blank lines apart", chat.OpenAI, events, ours(), []string{strings.TrimSuffix(role, "\n"), "\n", strings.TrimSuffix(says("a"), "\n"), "\n"}, nil},
		{"openai, text then the end", chat.OpenAI, events, ours(), []string{says("a"), chunk("x", "", "stop"), usageChunk("x", "1", "2", "3"), doneLine}, nil},
		{"responses", chat.Responses, events, ours(), strings.SplitAfter(numberedEvents(rStart("a"), rText("0", "m", "a"), rCall("1", "c1", "read", "{}"), rEnd("a", "", 5)), "\n\n"), nil},
		{"anthropic", chat.Anthropic, events, ours(), strings.SplitAfter(sse("message_start", `"message":{}`)+blockText(0, "a")+blockUse(1, "c1", "read", "{}")+sse("message_delta", `"delta":{"stop_reason":"tool_use"}`)+sse("message_stop", ""), "\n\n"), nil},
	} {
		f := chat.NewFilter(test.protocol, test.contentType, test.cfg)
		if test.wants == nil {
			test.wants = test.pieces
		}
		for i, piece := range test.pieces {
			if got := string(f.Write(nil, []byte(piece))); got != test.wants[i] {
				t.Errorf("%s: piece %d: got %q, want %q", test.name, i, got, test.wants[i])
			}
		}
		f.End(false)
		if got := f.Release(nil); len(got) != 0 {
			t.Errorf("%s: released %q", test.name, got)
		}
	}
}

func TestFilterVerdict(t *testing.T) {
	want := []chat.HiddenCall{{ID: "h1", Name: "load_tools", Arguments: []byte(`{"name":"é"}`)}}
	stream := filter(chat.OpenAI, events, ours(), 5, calls(`{"index":0,"id":"h1","function":{"name":"load_tools"}}`)+calls(`{"index":0,"function":{"arguments":"{\"name\":"}}`)+
		calls(`{"index":0,"function":{"arguments":"\"\u00e9\"}"}}`)+calls(`{"index":1,"id":"c1","function":{"name":"read","arguments":"{}"}}`)+chunk("x", "", "tool_calls")+usageChunk("x", "7", "2", "9")+doneLine)
	ollama := filter(chat.Ollama, ndjson, ours(), 5, ollamaCalls(`{"id":"h1","function":{"name":"load_tools","arguments":{"name":"é"}}}`, `{"id":"c1","function":{"index":1,"name":"read","arguments":{}}}`)+ollamaDone)
	anthropic := filter(chat.Anthropic, events, ours(), 5, sse("message_start", `"message":{"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}`)+
		blockUse(0, "h1", "load_tools", `{"name":`, `"é"}`)+blockUse(1, "c1", "read", "{}")+sse("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}`)+sse("message_stop", ""))
	responses := filter(chat.Responses, events, ours(), 5, numberedEvents(rStart("a"), rCall("0", "h1", "load_tools", `{"name":"é"}`), rCall("1", "c1", "read", "{}"), rEnd("a", rDone("h1", "load_tools", `{"name":"é"}`)+","+rDone("c1", "read", "{}"), 2)))
	for name, test := range map[string]struct {
		got   filtered
		usage chat.Usage
	}{
		"openai":    {stream, chat.Usage{PromptTokens: 7, OutputTokens: 2, Done: true}},
		"ollama":    {ollama, chat.Usage{PromptTokens: 20, OutputTokens: 5, PromptDuration: 30, OutputDuration: 40, Done: true}},
		"anthropic": {anthropic, chat.Usage{PromptTokens: 7, CachedTokens: 4, OutputTokens: 2, Done: true}},
		"responses": {responses, chat.Usage{PromptTokens: 20, OutputTokens: 2, Done: true}},
	} {
		v := test.got.verdicts[0]
		if !reflect.DeepEqual(v.Held, want) || v.Usage != test.usage || !reflect.DeepEqual(v.Passed, []chat.Call{{Index: 1, ID: "c1", Name: "read"}}) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	long := filter(chat.Ollama, ndjson, ours(), 1<<20, strings.Repeat(ollamaSays(strings.Repeat("é", 1000)), 40)).verdicts[0]
	if !long.Truncated || long.Text != strings.Repeat("é", 32<<10) {
		t.Errorf("truncated %v, %d bytes", long.Truncated, len(long.Text))
	}
	if odd := filter(chat.Ollama, ndjson, ours(), 1<<20, strings.Repeat(ollamaSays("a"+strings.Repeat("é", 1000)), 40)).verdicts[0]; len(odd.Text) > 64<<10 || !strings.HasSuffix(odd.Text, "é") {
		t.Errorf("%d bytes, ending in %q", len(odd.Text), odd.Text[len(odd.Text)-4:])
	}
}

// TestHeldArgumentsAreAsTheModelWroteThem: what is no object may be read all the same.
func TestHeldArgumentsAreAsTheModelWroteThem(t *testing.T) {
	for arguments, want := range map[string]string{
		`"{\"name\":\"x\"}"`: `{"name":"x"}`, `"\"{\\\"name\\\":1}\""`: `{"name":1}`, `"[\"x\",\"y\"]"`: `["x","y"]`, `"\"x\""`: `"x"`, `"x"`: "x", `"{\"name\":"`: `{"name":`, `"7"`: "7", `""`: "",
		`{"name":"x"}`: `{"name":"x"}`, `["x"]`: `["x"]`, `7`: "", `null`: "", `true`: "",
	} {
		call := `{"index":0,"id":"h1","type":"function","function":{"name":"load_tools","arguments":` + arguments + `}}`
		for name, got := range map[string]filtered{
			"stream": filter(chat.OpenAI, events, ours(), 3, calls(call)+chunk("x", "", "tool_calls")+doneLine),
			"plain":  filter(chat.OpenAI, single, ours(), 3, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`+call+`]},"finish_reason":"tool_calls"}]}`),
			"ollama": filter(chat.Ollama, ndjson, ours(), 3, ollamaCalls(call)+ollamaDone),
		} {
			if held := got.verdicts[0].Held; len(held) != 1 || string(held[0].Arguments) != want {
				t.Errorf("%s of %s: %q, want %q", name, arguments, held, want)
			}
			if strings.Contains(got.out, "load_tools") {
				t.Errorf("%s of %s: the client got %s", name, arguments, got.out)
			}
		}
	}
}

func TestFilterFails(t *testing.T) {
	for name, test := range map[string]struct {
		protocol    chat.Protocol
		contentType string
		before      string
		sent, want  string
	}{
		"ollama":           {chat.Ollama, ndjson, ollamaSays("a") + `{"mess`, ollamaSays("a"), `{"error":"no \"luck\""}` + "\n"},
		"ollama, ours":     {chat.Ollama, ndjson, ollamaCalls(`{"function":{"name":"load_tools"}}`) + ollamaDone, "", `{"error":"no \"luck\""}` + "\n"},
		"ollama plain":     {chat.Ollama, single, `{"message":{}}`, "", ""},
		"openai":           {chat.OpenAI, events, says("a") + "data: {", says("a"), `data: {"error":{"message":"no \"luck\"","type":"server_error","param":null,"code":null}}` + "\n\n"},
		"openai, no blank": {chat.OpenAI, events, strings.TrimSuffix(says("a"), "\n"), strings.TrimSuffix(says("a"), "\n"), "\n" + `data: {"error":{"message":"no \"luck\"","type":"server_error","param":null,"code":null}}` + "\n\n"},
		"openai plain":     {chat.OpenAI, single, `{"choices":[]}`, "", ""},
		"responses":        {chat.Responses, events, numberedEvents(rStart("a"), rCall("0", "h1", "load_tools", "{}"), rEnd("a", "", 5)), numberedEvents(rStart("a")), "event: error\n" + `data: {"type":"error","sequence_number":2,"code":"server_error","message":"no \"luck\"","param":null}` + "\n\n"},
		"anthropic":        {chat.Anthropic, events, sse("ping", ""), sse("ping", ""), "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"no \"luck\""}}` + "\n\n"},
	} {
		f := chat.NewFilter(test.protocol, test.contentType, ours())
		if got := string(f.Write(nil, []byte(test.before))); got != test.sent {
			t.Errorf("%s: sent %q", name, got)
		}
		f.End(false)
		if got := string(f.Fail(nil, chat.Failure{Message: `no "luck"`})); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestFilterPassesWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	call := `{"function":{"name":"load_tools","arguments":{"x":"` + long + `"}}}`
	for _, stream := range []string{ollamaCalls(call) + ollamaDone, "data: {\n" + long + "\n" + ollamaDone} {
		for _, size := range []int{1 << 30, 1 << 20} {
			got := filter(chat.Ollama, ndjson, ours(), size, stream)
			if got.out != stream || !got.verdicts[0].Ended {
				t.Errorf("%d bytes of %d, %+v", len(got.out), len(stream), got.verdicts[0].Usage)
			}
		}
	}
	document := `{"message":{"content":"` + strings.Repeat(long, 4) + `","tool_calls":[{"function":{"name":"load_tools"}}]},"done":true}`
	if got := filter(chat.Ollama, single, ours(), 1<<20, document); got.out != document || !got.verdicts[0].Ended {
		t.Errorf("plain: %d bytes of %d", len(got.out), len(document))
	}
}

func TestScannerOfPartedProtocols(t *testing.T) {
	two := []chat.Call{{ID: "c1", Name: "a"}, {Index: 1, ID: "c2", Name: "b"}}
	done := chat.Usage{PromptTokens: 20, OutputTokens: 5, Done: true}
	for name, test := range map[string]streamTest{
		"responses":                         {chat.Responses, events, numberedEvents(rStart("r"), rText("0", "m", "function_call"), rCall("0", "c1", "a", "{}"), rCall("1", "c2", "b", "{}"), rEnd("r", rDone("c1", "a", "{}")+","+rDone("c2", "b", "{}"), 5)), two, done},
		"responses, calls at the end alone": {chat.Responses, events, numberedEvents(rEnd("r", rDone("c1", "a", "{}")+","+rDone("c2", "b", "{}"), 5)), two, done},
		"responses plain": {chat.Responses, single, `{"output":[` + rDone("c1", "a", "{}") + "," + rDone("c2", "b", "{}") + `],"status":"incomplete","usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":7},"output_tokens":5}}`, two,
			chat.Usage{PromptTokens: 20, CachedTokens: 7, OutputTokens: 5, Done: true, Cut: true}},
		"responses, timings": {chat.Responses, events, sse("response.completed", `"response":{"status":"completed","output":[],"usage":{"input_tokens":20,"output_tokens":5}},"timings":{"cache_n":8,"prompt_n":12,"prompt_ms":3,"predicted_ms":"x"}`), nil,
			chat.Usage{PromptTokens: 20, CachedTokens: 8, Evaluated: 12, OutputTokens: 5, PromptDuration: 3 * time.Millisecond, Done: true}},
		"responses failed": {chat.Responses, events, numberedEvents(rEvent("failed", `"response":`+rObject("r", "failed", "", 0))), nil, chat.Usage{Failed: true}},
		"responses error":  {chat.Responses, events, sse("error", `"message":"no"`), nil, chat.Usage{Failed: true}},
		"anthropic": {chat.Anthropic, events, sse("message_start", `"message":{"usage":{"input_tokens":20,"output_tokens":1}}`) + blockUse(0, "c1", "a", "{}") + blockUse(1, "c2", "b") +
			sse("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}`) + sse("message_stop", ""), two, done},
		"anthropic plain": {chat.Anthropic, single, `{"type":"message","content":[{"type":"tool_use","id":"c1","name":"a","input":{}},{"type":"tool_use","id":"c2","name":"b"}],"stop_reason":"tool_use","usage":{"input_tokens":20,"output_tokens":5}}`, two, done},
		"anthropic error": {chat.Anthropic, events, sse("error", `"error":{"type":"x"}`), nil, chat.Usage{Failed: true}},
		"anthropic odd":   {chat.Anthropic, events, sse("content_block_start", `"index":"x","content_block":{"type":"tool_use","name":7}`) + sse("message_start", `"message":[]`) + sse("message_delta", `"usage":{"output_tokens":-1}`), nil, chat.Usage{}},
	} {
		for _, size := range []int{1 << 20, 1, 3, 64} {
			calls, usage := scan(test.protocol, test.contentType, test.stream, size)
			if !reflect.DeepEqual(calls, test.calls) || usage != test.usage {
				t.Errorf("%s in pieces of %d: %+v, %+v", name, size, calls, usage)
			}
		}
	}
}

// TestFilterSetsTheWordsOfTwoRoundsApart: with an empty line where they would run into one another, and not a byte more where there is white space.
func TestFilterSetsTheWordsOfTwoRoundsApart(t *testing.T) {
	loadO, loadC := `{"function":{"name":"load_tools","arguments":{}}}`, `{"index":0,"id":"h1","type":"function","function":{"name":"load_tools","arguments":"{}"}}`
	ollama := func(text, calls string) string {
		return `{"message":{"role":"assistant","content":"` + text + `","tool_calls":[` + calls + `]},"done":true,"eval_count":5}` + "\n"
	}
	openAI := func(text, calls string) string {
		return `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"` + text + `","tool_calls":[` + calls + `]},"finish_reason":"stop"}]}`
	}
	ways := map[string]struct {
		protocol    chat.Protocol
		contentType string
		round       func(text, calls string) string
		load        string
	}{
		"Ollama": {chat.Ollama, ndjson, func(text, calls string) string {
			words := ""
			for _, word := range strings.SplitAfter(text, ",") { // in pieces
				words += ollamaSays(word)
			}
			return words + ollamaCalls(calls) + ollamaDone
		}, loadO},
		"Ollama, all in the last line": {chat.Ollama, ndjson, ollama, loadO},
		"Ollama, plain":                {chat.Ollama, single, ollama, loadO},
		"OpenAI": {chat.OpenAI, events, func(text, entries string) string {
			return role + says(text) + calls(entries) + chunk("x", "", "stop") + doneLine
		}, loadC},
		"OpenAI, all in one chunk": {chat.OpenAI, events, func(text, calls string) string {
			return chunk("x", `"role":"assistant","content":"`+text+`","tool_calls":[`+calls+`]`, "stop") + doneLine
		}, loadC},
		"OpenAI, plain": {chat.OpenAI, single, openAI, loadC},
	}
	for name, way := range ways {
		for _, c := range []struct {
			rounds []string // texts
			want   string
			joined []bool
		}{
			{[]string{"I look.", "Here, it is."}, `I look.\n\nHere, it is.`, []bool{false, true}},
			{[]string{"I look. ", "Here it is."}, "I look. Here it is.", []bool{false, false}},
			{[]string{`I look.\n`, "Here it is."}, `I look.\nHere it is.`, []bool{false, false}},
			{[]string{"I look.", " Here it is."}, "I look. Here it is.", []bool{false, false}},
			{[]string{"I look.", `\u00a0Here it is.`}, `I look.\u00a0Here it is.`, []bool{false, false}},
			{[]string{"", "Here it is."}, "Here it is.", []bool{false, false}},
			{[]string{"I look.", ""}, "I look.", []bool{false, false}},
			{[]string{"I look.", "", `\u00c9.`}, `I look.\n\n\u00c9.`, []bool{false, false, true}},
			{[]string{"I look.", "Again.", "Here."}, `I look.\n\nAgain.\n\nHere.`, []bool{false, true, true}},
		} {
			var rounds []string
			for i, text := range c.rounds {
				calls := way.load
				if i == len(c.rounds)-1 {
					calls = ""
				}
				rounds = append(rounds, way.round(text, calls))
			}
			for _, size := range []int{1, 30, 1 << 20} {
				got := filter(way.protocol, way.contentType, ours(), size, rounds...)
				var said strings.Builder
				for _, m := range regexp.MustCompile(`"content":"([^"]*)"`).FindAllStringSubmatch(got.out, -1) {
					said.WriteString(m[1])
				}
				for i, v := range got.verdicts {
					if v.Joined != c.joined[i] || v.Text != meant(t, c.rounds[i]) {
						t.Errorf("%s, %q, round %d: %q, joined %v", name, c.rounds, i, v.Text, v.Joined)
					}
				}
				if said.String() != c.want {
					t.Errorf("%s, %q: the client reads %q, want %q in\n%s", name, c.rounds, said.String(), c.want, got.out)
				}
			}
		}
	}
}

// meant is what the content of a JSON string means.
func meant(t *testing.T, text string) string {
	t.Helper()
	s, err := strconv.Unquote(`"` + text + `"`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
