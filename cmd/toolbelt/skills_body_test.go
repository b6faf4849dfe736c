package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/internal/enginetest"
)

// told is what a model is told of the skill that the test below adds.
const told = "\n\nHow weekly-report was done before:\n1. Read the numbers.\n2. Send them."

// chatIn is a chat of user and assistant messages, in turn, with four tools, as a protocol has it.
func chatIn(t *testing.T, p enginetest.Protocol, texts ...string) []byte {
	t.Helper()
	request := map[string]any{"model": "m", "stream": false}
	var messages, tools []any
	for i, text := range texts {
		messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	for _, tool := range [][2]string{{"send_mail", "Send an e-mail to somebody."}, {"read_numbers", "Read rows of a sheet."}, {"get_weather", "Weather forecast for a city."}, {"play_music", "Play a song or an album."}} {
		schema := map[string]any{"type": "object", "properties": map[string]any{}}
		one := map[string]any{"name": tool[0], "description": tool[1], "parameters": schema}
		switch p {
		case enginetest.Responses:
			one["type"] = "function"
		case enginetest.Messages:
			one = map[string]any{"name": tool[0], "description": tool[1], "input_schema": schema}
		default:
			one = map[string]any{"type": "function", "function": one}
		}
		tools = append(tools, one)
	}
	request["messages"], request["tools"] = messages, tools
	switch p {
	case enginetest.Responses:
		request["input"] = messages
		delete(request, "messages")
	case enginetest.Messages:
		request["max_tokens"] = 64
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		t.Fatalf("%s: %d %s, %v", url, res.StatusCode, answer, err)
	}
	return string(answer)
}

// What a recalled skill says reaches the model where that is switched on, at the end of the message that recalled it, and stays there; where it is
// not, nothing of it does.
func TestWhatASkillSaysIsToldWhereThatIsOn(t *testing.T) {
	const ask = "please write the weekly report"
	for _, setting := range []string{"off", "on"} {
		for _, protocol := range []enginetest.Protocol{enginetest.NativeChat, enginetest.OpenAIChat, enginetest.Responses, enginetest.Messages} {
			t.Run(setting+strings.ReplaceAll(string(protocol), "/", " "), func(t *testing.T) {
				engine := enginetest.Start(t, enginetest.Options{Script: func(*enginetest.Request) enginetest.Round { return enginetest.Round{Text: "ready"} }})
				db := filepath.Join(t.TempDir(), "t.db")
				d := start(t, engine.URL(), "TOOLBELT_DB="+db, "TOOLBELT_MAX_TOOLS=2", "TOOLBELT_PREWARM=off", "TOOLBELT_SKILL_BODY="+setting)
				post(t, d.url+"/toolbelt/v1/skills", `{"name":"weekly-report","when_to_use":"write the weekly report","tools_required":["read_numbers","send_mail"],"body":"1. Read the numbers.\n2. Send them.\n"}`)
				post(t, d.url+string(protocol), string(chatIn(t, protocol, ask)))
				post(t, d.url+string(protocol), string(chatIn(t, protocol, ask, "ready", "play a song")))
				post(t, d.url+string(protocol), string(chatIn(t, protocol, ask, "ready", "play a song", "ready", ask)))

				want := ask
				if setting == "on" {
					want += told
				}
				chats := engine.Chats()
				if len(chats) != 3 {
					t.Fatalf("the engine got %d chats", len(chats))
				}
				for i, r := range chats {
					if got := r.Messages[0].Content; got != want {
						t.Errorf("request %d begins with %q, want %q", i+1, got, want)
					}
					for _, m := range r.Messages[1:] {
						if strings.Contains(m.Content, "How weekly-report") {
							t.Errorf("request %d says it again: %q", i+1, m.Content)
						}
					}
				}
				explained := post(t, d.url+"/toolbelt/v1/explain", `{"session":"s","tool":"send_mail","messages":[{"role":"user","content":"`+ask+`"}],"tools":`+tools(t)+`}`)
				if !strings.Contains(explained, `"skill":"weekly-report"`) || strings.Contains(explained, `"body":true`) != (setting == "on") {
					t.Errorf("explained as %s", explained)
				}
				if err := d.end(); err != nil {
					t.Fatal(err)
				}
				file, err := os.ReadFile(db)
				if err != nil || !bytes.Contains(file, []byte("send_mail")) || bytes.Contains(file, []byte("How weekly-report")) {
					t.Errorf("what a skill says is kept with the conversation, or nothing is: %d bytes, %v", len(file), err)
				}
			})
		}
	}
}

// tools are those of chatIn as the sidecar takes them.
func tools(t *testing.T) string {
	t.Helper()
	var request struct{ Tools json.RawMessage }
	if err := json.Unmarshal(chatIn(t, enginetest.OpenAIChat, "x"), &request); err != nil {
		t.Fatal(err)
	}
	return string(request.Tools)
}
