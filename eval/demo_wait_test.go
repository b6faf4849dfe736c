package eval_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/eval"
)

// slow is an engine without a network: it takes its time over loading, over the prompt and over the answer.
type slow struct{ load, read, answer time.Duration }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"done":true}` + "\n"
	switch r.URL.Path {
	case "/api/generate":
		time.Sleep(s.load)
	case "/api/ps":
		body = `{"models":[]}`
	case "/api/chat":
		time.Sleep(s.read)
		httptrace.ContextClientTrace(r.Context()).GotFirstResponseByte()
		time.Sleep(s.answer)
	default:
		return nil, fmt.Errorf("asked for %s", r.URL.Path)
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestTheDemoTellsThatItWaits plays one turn, at whose end the recorder, which saw nothing, ends the run.
func TestTheDemoTellsThatItWaits(t *testing.T) {
	for name, c := range map[string]struct {
		engine slow
		want   []string
	}{
		"fast": {slow{load: time.Second, read: 14 * time.Second}, []string{"straight: turn 1 of 2"}},
		"slow": {slow{load: 10 * time.Second, read: 61 * time.Second, answer: 20 * time.Second}, []string{
			"straight: still loading, 15 s", "straight: turn 1 of 2",
			"straight: turn 1 of 2: still reading the prompt, 15 s", "straight: turn 1 of 2: still reading the prompt, 30 s",
			"straight: turn 1 of 2: still reading the prompt, 45 s", "straight: turn 1 of 2: still reading the prompt, 60 s",
			"straight: turn 1 of 2: answering, 75 s",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conversation, err := eval.ParseConversation([]byte(`{"turns":[{"user":"one","needs":"a"},{"user":"two","needs":"a"}],"tools":[{"name":"a"}]}`))
				if err != nil {
					t.Fatal(err)
				}
				at := &url.URL{Scheme: "http", Host: "engine"}
				engine := eval.NewOllama(at, &http.Client{Transport: c.engine})
				var lines []string
				player := &eval.Player{Conversation: conversation, Model: "m", Engine: engine, Recorder: eval.NewRecorder(at), Progress: func(line string) { lines = append(lines, line) }}
				if _, err := player.Play(context.Background(), eval.Straight, engine); err == nil || !strings.Contains(err.Error(), "never reached the engine") {
					t.Fatalf("error %v", err)
				}
				want := slices.Concat([]string{"straight: unloading and loading m, so that nothing of the prompt is cached"}, c.want)
				if !slices.Equal(lines, want) {
					t.Errorf("told\n%s", strings.Join(lines, "\n"))
				}
			})
		})
	}
}
