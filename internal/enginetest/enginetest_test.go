package enginetest_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/enginetest"
)

var protocols = []enginetest.Protocol{enginetest.NativeChat, enginetest.OpenAIChat, enginetest.Responses, enginetest.Messages}

// each runs a test in all styles and protocols, stream and plain.
func each(t *testing.T, test func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool)) {
	for style, name := range map[enginetest.Style]string{enginetest.Ollama: "ollama", enginetest.LlamaCpp: "llamacpp"} {
		for _, p := range protocols {
			if style == enginetest.LlamaCpp && p == enginetest.NativeChat {
				continue
			}
			for _, stream := range []bool{true, false} {
				mode := "plain"
				if stream {
					mode = "stream"
				}
				t.Run(name+strings.ReplaceAll(string(p), "/", "_")+" "+mode, func(t *testing.T) { test(t, style, p, stream) })
			}
		}
	}
}

func TestAnswersInAllFormats(t *testing.T) {
	script := enginetest.Round{
		Thinking: "Let me think. ", Text: "I look. ", Tokens: 17,
		Calls: []enginetest.Call{{Name: "load_tools", Arguments: `{"name":"größe und länge"}`}, {Name: "get_time"}},
	}
	each(t, func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool) {
		e := enginetest.Start(t, enginetest.Options{Style: style, Script: enginetest.InOrder(script, script)})
		status, kind, answer, broken := ask(t, e, p, request(p, stream, "What time is it?", "get_time", "load_tools"))
		if status != http.StatusOK || broken {
			t.Fatalf("status %d, broken %v: %s", status, broken, answer)
		}
		if stream != (strings.Contains(kind, "event-stream") || strings.Contains(kind, "ndjson")) {
			t.Errorf("the content type is %q", kind)
		}
		got := hear(p, stream, answer)
		want := heard{Thinking: script.Thinking, Text: script.Text, Calls: []string{`load_tools {"name":"größe und länge"}`, "get_time {}"}, Output: 17, Ended: true}
		want.Prompt, want.Finish = e.Requests()[0].Count.Prompt, got.Finish
		if style == enginetest.Ollama && p == enginetest.Responses {
			want.Text = "" // beside calls this API of Ollama gives no text in the end
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("heard\n%+v, want\n%+v in\n%s", got, want, answer)
		}
		if !slices.Contains([]string{"stop", "tool_calls", "tool_use", "completed"}, got.Finish) {
			t.Errorf("the answer ends with %q", got.Finish)
		}
		_, _, again, _ := ask(t, e, p, request(p, stream, "What time is it?", "get_time", "load_tools"))
		if again == answer {
			t.Error("two answers have the same ids")
		}
	})
}

func TestRequestsAreUnderstood(t *testing.T) {
	each(t, func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool) {
		e := enginetest.Start(t, enginetest.Options{Style: style, Script: enginetest.InOrder(enginetest.Round{Text: "Yes"})})
		body := request(p, stream, "Is it?", "a", "b")
		ask(t, e, p, body)
		list := e.Chats()
		if len(list) != 1 {
			t.Fatalf("%d requests", len(list))
		}
		r := list[0]
		<-r.Done()
		if string(r.Body) != body || r.Protocol != p || r.Stream != stream || r.Model != "m" || !slices.Equal(r.Tools, []string{"a", "b"}) ||
			r.Last().Role != "user" || r.Last().Content != "Is it?" || !strings.Contains(r.Prompt, `"name":"b"`) || r.Answer.Text != "Yes" {
			t.Errorf("understood %+v", r)
		}
	})
}

func TestEmptyWithTokens(t *testing.T) {
	each(t, func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool) {
		e := enginetest.Start(t, enginetest.Options{Style: style, DropUnlisted: true, Script: enginetest.InOrder(enginetest.Round{Calls: []enginetest.Call{{Name: "hidden", Arguments: `{"a":1}`}}})})
		_, _, answer, _ := ask(t, e, p, request(p, stream, "Go", "a"))
		got := hear(p, stream, answer)
		if got.Text != "" || got.Thinking != "" || len(got.Calls) > 0 || got.Output == 0 || !got.Ended {
			t.Errorf("heard %+v in\n%s", got, answer)
		}
	})
}

func TestErrors(t *testing.T) {
	each(t, func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool) {
		e := enginetest.Start(t, enginetest.Options{Style: style, Script: enginetest.InOrder(
			enginetest.Round{Status: http.StatusServiceUnavailable, Error: "loading"}, enginetest.Round{Text: "half ", Error: "out of memory"}, enginetest.Round{Text: "much too long", CutAfter: 9},
		)})
		body := request(p, stream, "Go", "a")
		status, _, answer, _ := ask(t, e, p, body)
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "loading") {
			t.Errorf("status %d: %s", status, answer)
		}
		status, _, answer, broken := ask(t, e, p, body)
		got := hear(p, stream, answer)
		switch {
		case !stream && (status != http.StatusInternalServerError || !strings.Contains(answer, "out of memory")):
			t.Errorf("status %d: %s", status, answer)
		case stream && (status != http.StatusOK || broken || got.Text != "half " || got.Ended):
			t.Errorf("status %d, heard %+v in\n%s", status, got, answer)
		case stream && (p == enginetest.NativeChat || style == enginetest.LlamaCpp) && got.Error != "out of memory":
			t.Errorf("no error in\n%s", answer)
		}
		if _, _, answer, broken = ask(t, e, p, body); !broken || len(answer) != 9 {
			t.Errorf("broken %v after %q", broken, answer)
		}
		if status, _, answer, _ = ask(t, e, p, body); status != http.StatusInternalServerError || !strings.Contains(answer, "only 3 rounds") {
			t.Errorf("behind the script: status %d: %s", status, answer)
		}
		if status, _, _, _ = ask(t, e, p, `{"model":`); status != http.StatusBadRequest {
			t.Errorf("a broken request gets status %d", status)
		}
	})
}

func TestSplitChangesNoByte(t *testing.T) {
	each(t, func(t *testing.T, style enginetest.Style, p enginetest.Protocol, stream bool) {
		round := enginetest.Round{Text: "größer and ", Calls: []enginetest.Call{{Name: "a", Arguments: `{"x":"é"}`}}}
		var answers []string
		for _, split := range []int{0, 1} {
			e := enginetest.Start(t, enginetest.Options{Style: style, Split: split, Script: enginetest.InOrder(round)})
			_, _, answer, _ := ask(t, e, p, request(p, stream, "Go", "a"))
			answers = append(answers, answer)
		}
		if style == enginetest.Ollama && p == enginetest.Responses { // item ids are drawn by chance
			answers[0], answers[1] = hearText(p, stream, answers[0]), hearText(p, stream, answers[1])
		}
		if answers[0] != answers[1] || answers[0] == "" {
			t.Errorf("whole\n%s\nsplit\n%s", answers[0], answers[1])
		}
	})
}

func hearText(p enginetest.Protocol, stream bool, answer string) string {
	text, _ := json.Marshal(hear(p, stream, answer))
	return string(text)
}

func TestStall(t *testing.T) {
	release := make(chan struct{})
	e := enginetest.Start(t, enginetest.Options{Script: enginetest.InOrder(enginetest.Round{Text: "a b", Stall: release, StallAt: 20}, enginetest.Round{Stall: make(chan struct{}), StallAt: 1, Text: "x"})})
	res, err := http.Post(e.URL()+"/api/chat", "application/json", strings.NewReader(request(enginetest.NativeChat, true, "Go")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	head := make([]byte, 20)
	if n, _ := res.Body.Read(head); n == 0 {
		t.Fatal("nothing came before the stall")
	}
	select {
	case <-e.Requests()[0].Done():
		t.Fatal("the answer ended in its stall")
	default:
	}
	close(release)
	<-e.Requests()[0].Done()
	gone, err := http.Post(e.URL()+"/api/chat", "application/json", strings.NewReader(request(enginetest.NativeChat, true, "Go")))
	if err != nil {
		t.Fatal(err)
	}
	gone.Body.Close() // a client that leaves frees the engine
	<-e.Requests()[1].Done()
}

func TestPrefixIsCounted(t *testing.T) {
	var messages []map[string]any
	chat := func(e *enginetest.Engine, text string, tools ...string) enginetest.Count {
		messages = append(messages, map[string]any{"role": "user", "content": text})
		list := []any{}
		for _, name := range tools {
			list = append(list, map[string]any{"type": "function", "function": map[string]any{"name": name, "description": strings.Repeat("long ", 40), "parameters": map[string]any{"type": "object"}}})
		}
		body, err := json.Marshal(map[string]any{"model": "m", "stream": false, "messages": messages, "tools": list})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, e, enginetest.NativeChat, string(body))
		messages = append(messages, map[string]any{"role": "assistant", "content": "Yes"})
		all := e.Requests()
		return all[len(all)-1].Count
	}
	e := enginetest.Start(t, enginetest.Options{Script: func(*enginetest.Request) enginetest.Round { return enginetest.Round{Text: "Yes"} }})
	cold := chat(e, "one", "a", "b")
	warm := chat(e, "two", "a", "b")
	appended := chat(e, "three", "a", "b", "c")
	inserted := chat(e, "four", "0", "a", "b", "c")
	if cold.Cached != 0 || cold.Evaluated != cold.Prompt || warm.Evaluated > 15 || warm.Prompt != warm.Cached+warm.Evaluated {
		t.Errorf("cold %+v, warm %+v", cold, warm)
	}
	if appended.Evaluated < 50 || appended.Cached < warm.Prompt/2 || inserted.Cached > 30 {
		t.Errorf("appended %+v, inserted %+v", appended, inserted)
	}
	e.Forget()
	if c := chat(e, "five", "a"); c.Cached != 0 {
		t.Errorf("after forgetting %+v", c)
	}
	small := enginetest.Start(t, enginetest.Options{Context: 100, Script: func(*enginetest.Request) enginetest.Round { return enginetest.Round{} }})
	if c := chat(small, "six", "a", "b"); c.Prompt != 100 {
		t.Errorf("a prompt over the context counts %+v", c)
	}
}

func TestWarmingUsesNoRoundUp(t *testing.T) {
	e := enginetest.Start(t, enginetest.Options{Script: enginetest.InOrder(enginetest.Round{Text: "first"})})
	ask(t, e, enginetest.NativeChat, `{"model":"m","stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"x"}]}`)
	_, _, answer, _ := ask(t, e, enginetest.NativeChat, request(enginetest.NativeChat, false, "Go"))
	if hear(enginetest.NativeChat, false, answer).Text != "first" || len(e.Chats()) != 1 || len(e.Requests()) != 2 {
		t.Errorf("answered %s", answer)
	}
	if _, _, answer, _ = ask(t, e, enginetest.NativeChat, `{"model":"m"}`); !strings.Contains(answer, `"done_reason":"load"`) || len(e.Requests()) != 2 {
		t.Errorf("without messages: %s", answer)
	}
}

func TestOtherPaths(t *testing.T) {
	for _, c := range []struct {
		style        enginetest.Style
		method, path string
		body         string
		status       int
		want         string
	}{
		{enginetest.Ollama, "GET", "/", "", 200, "Ollama is running"},
		{enginetest.Ollama, "GET", "/api/version", "", 200, `"0.17.4"`},
		{enginetest.Ollama, "GET", "/api/tags", "", 200, `"name":"m"`},
		{enginetest.Ollama, "GET", "/api/ps", "", 200, `"context_length":8192`},
		{enginetest.Ollama, "POST", "/api/show", `{"model":"m"}`, 200, `.Tools`},
		{enginetest.Ollama, "POST", "/api/show", `{"name":"other"}`, 404, "not found"},
		{enginetest.Ollama, "GET", "/props", "", 404, "404 page not found"},
		{enginetest.Ollama, "GET", "/v1/models", "", 200, `"id":"m"`},
		{enginetest.LlamaCpp, "GET", "/props", "", 200, `"chat_template":`},
		{enginetest.LlamaCpp, "GET", "/v1/models", "", 200, `"id":"m"`},
		{enginetest.LlamaCpp, "GET", "/api/version", "", 404, "File Not Found"},
		{enginetest.LlamaCpp, "POST", "/api/chat", `{}`, 404, "File Not Found"},
		{enginetest.Ollama, "GET", "/api/chat", "", 405, ""},
	} {
		e := enginetest.Start(t, enginetest.Options{Style: c.style})
		req, err := http.NewRequest(c.method, e.URL()+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text := readAll(t, res)
		if res.StatusCode != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: status %d, %s", c.method, c.path, res.StatusCode, text)
		}
		if got := e.Paths(); !slices.Equal(got, []string{c.method + " " + c.path}) {
			t.Errorf("paths %q", got)
		}
	}
}

func TestArgumentsThatAreNoJSON(t *testing.T) {
	round := enginetest.Round{Calls: []enginetest.Call{{Name: "a", Arguments: `{"name": "gith`}}}
	for style, want := range map[enginetest.Style]string{enginetest.Ollama: "a {}", enginetest.LlamaCpp: `a {"name": "gith`} {
		e := enginetest.Start(t, enginetest.Options{Style: style, Script: enginetest.InOrder(round)})
		_, _, answer, _ := ask(t, e, enginetest.OpenAIChat, request(enginetest.OpenAIChat, true, "Go", "a"))
		if got := hear(enginetest.OpenAIChat, true, answer); len(got.Calls) != 1 || got.Calls[0] != want {
			t.Errorf("heard %q, want %q", got.Calls, want)
		}
	}
}
