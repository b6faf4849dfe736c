package chat_test

import (
	"reflect"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// ours holds load_tools and tool_search and knows the bridge.
func ours() chat.FilterConfig {
	return chat.FilterConfig{Held: func(name string) bool { return name == "load_tools" || name == "tool_search" }, Bridge: "call_tool"}
}

// filtered is what a client got of an answer, and what each round came to.
type filtered struct {
	out      string
	verdicts []chat.Verdict
}

// filter plays the rounds, each written in pieces of the given size, and releases the last.
func filter(p chat.Protocol, contentType string, cfg chat.FilterConfig, size int, rounds ...string) filtered {
	return play(p, contentType, cfg, func(s string) []string {
		var pieces []string
		for len(s) > 0 {
			n := min(size, len(s))
			pieces = append(pieces, s[:n])
			s = s[n:]
		}
		return pieces
	}, rounds...)
}

func play(p chat.Protocol, contentType string, cfg chat.FilterConfig, split func(string) []string, rounds ...string) filtered {
	f := chat.NewFilter(p, contentType, cfg)
	var got filtered
	var out []byte
	for i, round := range rounds {
		if i > 0 {
			f.Next(contentType)
		}
		for _, piece := range split(round) {
			b := []byte(piece)
			out = f.Write(out, b)
			for i := range b { // nothing of it may be kept
				b[i] = '#'
			}
		}
		got.verdicts = append(got.verdicts, f.End(false))
	}
	got.out = string(f.Release(out))
	return got
}

type filterTest struct {
	protocol    chat.Protocol
	contentType string
	rounds      []string
	want        string // "": the last round as it came
	held        string // names of the last round but one, or of the only one
	passed      string // names of the last round; a bridged one ends in "*"
	text        string // of the first round
	ended       bool   // the last round's end was not held back
	empty       bool   // the first round's Empty
}

func names(v chat.Verdict) (held, passed string) {
	var h, p []string
	for _, call := range v.Held {
		h = append(h, call.Name)
	}
	for _, call := range v.Passed {
		name := call.Name
		if call.Bridged {
			name += "*"
		}
		p = append(p, name)
	}
	return strings.Join(h, " "), strings.Join(p, " ")
}

func runFilterTests(t *testing.T, tests map[string]filterTest) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := test.want
			if want == "" {
				want = test.rounds[len(test.rounds)-1]
			}
			got := filter(test.protocol, test.contentType, ours(), 1<<20, test.rounds...)
			if got.out != want {
				t.Fatalf("got:\n%s\nwant:\n%s", got.out, want)
			}
			last := got.verdicts[len(got.verdicts)-1]
			held, _ := names(got.verdicts[max(0, len(got.verdicts)-2)])
			if _, passed := names(last); held != test.held || passed != test.passed {
				t.Errorf("held %q, passed %q, want %q, %q", held, passed, test.held, test.passed)
			}
			first := got.verdicts[0]
			if first.Text != test.text || first.Empty != test.empty || last.Ended != test.ended {
				t.Errorf("text %q, empty %v, ended %v; want %q, %v, %v", first.Text, first.Empty, last.Ended, test.text, test.empty, test.ended)
			}
			for _, size := range []int{1, 2, 3, 7, 64} {
				if again := filter(test.protocol, test.contentType, ours(), size, test.rounds...); !reflect.DeepEqual(again, got) {
					t.Fatalf("in pieces of %d:\n%+v\nat once:\n%+v", size, again, got)
				}
			}
			whole := strings.Join(test.rounds, "")
			for cut := 0; cut < len(whole); cut += 1 + 10*(cut/500) { // at every byte, less often later on
				again := play(test.protocol, test.contentType, ours(), func(s string) []string {
					at := min(cut, len(s))
					return []string{s[:at], "", s[at:]}
				}, test.rounds...)
				if !reflect.DeepEqual(again, got) {
					t.Fatalf("cut at %d:\n%+v\nat once:\n%+v", cut, again, got)
				}
			}
			none := filter(test.protocol, test.contentType, chat.FilterConfig{}, 7, test.rounds[0])
			if none.out != test.rounds[0] {
				t.Errorf("with nothing to hold:\n%s\nwant:\n%s", none.out, test.rounds[0])
			}
		})
	}
}

// The pieces of Ollama's answers.
func ollamaSays(text string) string {
	return `{"model":"m","message":{"role":"assistant","content":"` + text + `"},"done":false}` + "\n"
}

func ollamaCalls(entries ...string) string {
	return `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[` + strings.Join(entries, ",") + `]},"done":false}` + "\n"
}

const ollamaDone = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":100,"load_duration":10,"prompt_eval_count":20,"prompt_eval_duration":30,"eval_count":5,"eval_duration":40}` + "\n"

func TestFilterOllamaStream(t *testing.T) {
	load := `{"id":"h1","function":{"index":0,"name":"load_tools","arguments":{"name":"files"}}}`
	real0 := `{"id":"c1","function":{"index":0,"name":"read","arguments":{"path":"a"}}}`
	real1 := `{"id":"c1","function":{"index":1,"name":"read","arguments":{"path":"a"}}}`
	bridge := `{"id":"b1","function":{"index":0,"name":"call_tool","arguments":{"name":"write","arguments":{"path":"b","n":1.0}}}}`
	sum := strings.NewReplacer(`"total_duration":100`, `"total_duration":200`, `"load_duration":10`, `"load_duration":20`, `"prompt_eval_duration":30`, `"prompt_eval_duration":60`,
		`"eval_count":5`, `"eval_count":10`, `"eval_duration":40`, `"eval_duration":80`).Replace(ollamaDone)
	one := func(rounds ...string) filterTest {
		return filterTest{protocol: chat.Ollama, contentType: ndjson, rounds: rounds, ended: true}
	}
	with := func(test filterTest, change func(*filterTest)) filterTest { change(&test); return test }
	unnamed := func(round string) filterTest {
		return with(one(round), func(t *filterTest) { t.held, t.want, t.ended = "call_tool", ollamaDone, false })
	}
	through := func(arguments, inner string) filterTest {
		return with(one(ollamaCalls(`{"function":{"name":"call_tool","arguments":`+arguments+`}}`)+ollamaDone), func(t *filterTest) {
			t.passed, t.want = "now*", ollamaCalls(`{"function":{"name":"now","arguments":`+inner+`}}`)+ollamaDone
		})
	}
	runFilterTests(t, map[string]filterTest{
		"text": with(one(ollamaSays("a")+ollamaSays("b \\u00e9\\n")+ollamaDone), func(t *filterTest) { t.text = "ab é\n" }),
		"real call": with(one(ollamaSays("a")+ollamaCalls(real0, real1)+ollamaDone), func(t *filterTest) {
			t.text, t.passed = "a", "read read"
		}),
		"ours alone, released": with(one(ollamaSays("a")+ollamaCalls(load)+ollamaDone), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "a", "load_tools", ollamaSays("a")+ollamaDone, false
		}),
		"ours alone, then text": with(one(ollamaSays("a")+ollamaCalls(load)+ollamaDone, ollamaSays("b")+ollamaDone), func(t *filterTest) {
			t.text, t.held, t.want = "a", "load_tools", ollamaSays("a")+ollamaSays(`\n\nb`)+sum
		}),
		"ours beside real": with(one(ollamaCalls(load, real1)+ollamaDone), func(t *filterTest) {
			t.held, t.passed, t.want = "load_tools", "read", ollamaCalls(real0)+ollamaDone
		}),
		"ours, then real in another line": with(one(ollamaCalls(load)+ollamaCalls(real1)+ollamaDone), func(t *filterTest) {
			t.held, t.passed, t.want = "load_tools", "read", ollamaCalls(real0)+ollamaDone
		}),
		"bridged": with(one(ollamaCalls(bridge)+ollamaDone), func(t *filterTest) {
			t.passed, t.want = "write*", ollamaCalls(`{"id":"b1","function":{"index":0,"name":"write","arguments":{"path":"b","n":1.0}}}`)+ollamaDone
		}),
		"bridged, the arguments a string": with(one(ollamaCalls(strings.Replace(bridge, `{"path":"b","n":1.0}`, `"{\"x\":1}"`, 1))+ollamaDone), func(t *filterTest) {
			t.passed, t.want = "write*", ollamaCalls(`{"id":"b1","function":{"index":0,"name":"write","arguments":{"x":1}}}`)+ollamaDone
		}),
		"bridged, the arguments no object": with(one(ollamaCalls(strings.Replace(bridge, `{"path":"b","n":1.0}`, `[1]`, 1))+ollamaDone), func(t *filterTest) {
			t.passed, t.want = "write*", ollamaCalls(`{"id":"b1","function":{"index":0,"name":"write","arguments":{"arguments":[1]}}}`)+ollamaDone
		}),
		"bridged, without a name":      unnamed(ollamaCalls(strings.Replace(bridge, `"name":"write",`, ``, 1)) + ollamaDone),
		"bridged, the name no text":    unnamed(ollamaCalls(strings.Replace(bridge, `"write"`, `{"name":"write"}`, 1)) + ollamaDone),
		"bridged, no arguments at all": unnamed(ollamaCalls(`{"function":{"name":"call_tool"}}`) + ollamaDone),
		"bridged without a name, then bridged": with(one(ollamaCalls(strings.Replace(bridge, `"name":"write",`, ``, 1))+ollamaDone, ollamaCalls(bridge)+ollamaDone), func(t *filterTest) {
			t.held, t.passed, t.want = "call_tool", "write*", ollamaCalls(`{"id":"b1","function":{"index":0,"name":"write","arguments":{"path":"b","n":1.0}}}`)+sum
		}),
		"bridged without a name, beside real": with(one(ollamaCalls(strings.Replace(bridge, `"name":"write",`, ``, 1), real1)+ollamaDone), func(t *filterTest) {
			t.held, t.passed, t.want = "call_tool", "read", ollamaCalls(real0)+ollamaDone
		}),
		"bridged, without arguments": with(one(ollamaCalls(`{"function":{"name":"call_tool","arguments":{"name":"now"}}}`)+ollamaDone), func(t *filterTest) {
			t.passed, t.want = "now*", ollamaCalls(`{"function":{"name":"now","arguments":{}}}`)+ollamaDone
		}),
		"bridged, the arguments beside the name":           through(`{"x":1,"name":"now","y":[2]}`, `{"x":1,"y":[2]}`),
		"bridged, more beside the name and the arguments":  through(`{"name":"now","x":1,"arguments":{"y":2}}`, `{"y":2}`),
		"bridged, more beside the name and null":           through(`{"name":"now","arguments":null,"x":1}`, `{"x":1}`),
		"bridged, more beside the name and nothing":        through(`{"arguments":"","name":"now","x":1}`, `{"x":1}`),
		"bridged, the arguments a text":                    through(`{"name":"now","arguments":"x"}`, `{"arguments":"x"}`),
		"bridged, the arguments under another name":        through(`{"name":"now","parameters":{"x":1}}`, `{"x":1}`),
		"bridged, an argument of that name beside another": through(`{"name":"now","parameters":{"x":1},"y":2}`, `{"parameters":{"x":1},"y":2}`),
		"bridged to the bridge":                            unnamed(ollamaCalls(strings.Replace(bridge, "write", "call_tool", 1)) + ollamaDone),
		"junk, then text and no last newline":              with(one("junk\n"+strings.TrimSpace(ollamaSays("a"))), func(t *filterTest) { t.text, t.ended = "a", false }),
		"ours, no last newline, then text": with(one(ollamaCalls(load)+strings.TrimSpace(ollamaSays("a")), ollamaSays("b")+ollamaDone), func(t *filterTest) {
			t.text, t.held, t.want = "a", "load_tools", ollamaSays("a")+ollamaSays(`\n\nb`)+ollamaDone
		}),
		"bridged to ours, then real": with(one(ollamaCalls(strings.Replace(bridge, `"write"`, `"load_tools"`, 1))+ollamaDone, ollamaCalls(real0)+ollamaDone), func(t *filterTest) {
			t.held, t.passed, t.want = "load_tools", "read", ollamaCalls(real0)+sum
		}),
		"ours in the last line with text": with(one(`{"message":{"content":"x","tool_calls":[`+load+`]},"done":true,"done_reason":"stop","eval_count":5}`+"\n", ollamaDone), func(t *filterTest) {
			t.text, t.held, t.want, t.ended = "x", "load_tools", `{"message":{"content":"x"},"done":false}`+"\n"+strings.Replace(ollamaDone, `"eval_count":5`, `"eval_count":10`, 1), false
		}),
		"nothing at all":  with(one(ollamaDone), func(t *filterTest) { t.empty, t.ended = true, false }),
		"thinking alone":  one(strings.Replace(ollamaSays(""), `"content"`, `"thinking":"hm","content"`, 1) + ollamaDone),
		"broken off":      with(one(ollamaSays("a")+`{"message":{"con`), func(t *filterTest) { t.text, t.ended = "a", false }),
		"no last newline": with(one(ollamaSays("a")+strings.TrimSpace(ollamaDone)), func(t *filterTest) { t.text = "a" }),
		"ours, broken off": with(one(ollamaCalls(load)), func(t *filterTest) {
			t.held, t.want, t.ended = "load_tools", "x", false
			t.rounds = append(t.rounds, "x")
		}),
		"error in band":    with(one(ollamaSays("a")+`{"error":"gone"}`+"\n"), func(t *filterTest) { t.text = "a" }),
		"ours, then error": with(one(ollamaCalls(load)+`{"error":"gone"}`+"\n"), func(t *filterTest) { t.held, t.want = "load_tools", `{"error":"gone"}`+"\n" }),
		"what is no JSON":  with(one("{\"tool_calls\n\noops\r\n[]\n{}{}\n"+ollamaSays("a")+ollamaDone), func(t *filterTest) { t.text = "a" }),
		"under another type": with(one(ollamaSays("a")+ollamaCalls(load)+ollamaDone), func(t *filterTest) {
			t.contentType, t.text, t.held, t.want, t.ended = single, "a", "load_tools", ollamaSays("a")+ollamaDone, false
		}),
	})
}
