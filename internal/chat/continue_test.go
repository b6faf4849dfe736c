package chat_test

import (
	"testing"

	"toolbelt/internal/chat"
)

func TestContinue(t *testing.T) {
	const body = `{"messages": [{"role":"user","content":"a"} ], "model":"m"}`
	for _, c := range []struct {
		reply, want string
		before      int
	}{
		{"b \"q\"", `{"messages": [{"role":"user","content":"a"},{"role":"assistant","content":"b \"q\""},{"role":"user","content":"c"} ], "model":"m"}`, 2},
		{"", `{"messages": [{"role":"user","content":"a"},{"role":"user","content":"c"} ], "model":"m"}`, 1},
	} {
		got, before, err := chat.Continue([]byte(body), decode(t, chat.Ollama, body), c.reply, "c")
		if err != nil || string(got) != c.want || before != c.before {
			t.Errorf("%s, %d, %v; want %s, %d", got, before, err, c.want, c.before)
		}
	}
	for _, empty := range []string{`{}`, `{"messages":[]}`, `{"messages":null}`} {
		if _, _, err := chat.Continue([]byte(empty), decode(t, chat.Ollama, empty), "", "c"); err == nil {
			t.Errorf("%s is gone on with", empty)
		}
	}
}
