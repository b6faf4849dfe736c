package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// engineSays reads the sentence of an error in the shape that clients of the path know.
func engineSays(t *testing.T, path, body string) string {
	t.Helper()
	var ollama struct{ Error string }
	var openAI struct {
		Error struct{ Message, Type, Code string }
	}
	if path == "/api/chat" {
		if err := json.Unmarshal([]byte(body), &ollama); err != nil || ollama.Error == "" {
			t.Errorf("not Ollama's shape of an error: %q", body)
		}
		return ollama.Error
	}
	if err := json.Unmarshal([]byte(body), &openAI); err != nil || openAI.Error.Message == "" || openAI.Error.Type == "" || openAI.Error.Code == "" {
		t.Errorf("not OpenAI's shape of an error: %q", body)
	}
	return openAI.Error.Message
}

func TestBadInputEngineDown(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	b := benchAt(t, newScripted(t), gone.URL)
	for _, path := range chatPaths() {
		mark := b.mark()
		got := b.send(t, b.daemon.url, ask{path: path, body: vary(bodyOf(user(askWeather), array(ordinary())), path)})
		if text := engineSays(t, path, got.body); got.status != http.StatusBadGateway || !strings.Contains(text, gone.URL) || !strings.Contains(text, "connection refused") {
			t.Errorf("%s: %d %q", path, got.status, text)
		}
		plans, others := b.since(mark)
		pair{plans: plans, others: others}.logs(t, 1, "level=WARN", gone.URL, "connection refused")
	}
}

func TestBadInputEngineErrors(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, model string
		answer      http.HandlerFunc
		status      int
		says, line  string
	}{
		{"engine answering 500", "m", func(w http.ResponseWriter, r *http.Request) {
			engineError(w, r, 500, "llama runner process has terminated while reading "+said)
		}, 500, "has terminated", "the engine answered with an error"},
		{"engine answering 503 without a shape", "m", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			io.WriteString(w, "<html>busy")
		}, 503, "<html>busy", "the engine answered with an error"},
		{"engine answering 400", "toolless", nil, 400, "does not support tools", "the engine refused a chat"},
		{"engine answering 404", "absent", nil, 404, "model 'absent' not found", "the engine refused a chat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.engine.onChat(t, c.answer)
			for _, path := range chatPaths() {
				body := bytes.Replace(bodyOf(user(askWeather+c.name), array(ordinary())), []byte(`"m"`), []byte(`"`+c.model+`"`), 1)
				p := b.both(t, ask{path: path, body: vary(body, path)})
				p.cut(t, "get_weather")
				p.logs(t, 1, c.line)
				if p.reply.status != c.status || !strings.Contains(p.reply.body, c.says) {
					t.Errorf("%s: %d %s", path, p.reply.status, p.reply.body)
				}
			}
		})
	}
}

// TestBadInputEngineHangs: the engine's call ends when the client gives up, and not before.
func TestBadInputEngineHangs(t *testing.T) {
	b := newBench(t)
	arrived, ended := make(chan struct{}), make(chan struct{})
	b.engine.onChat(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	for _, base := range []string{b.engine.URL, b.daemon.url} {
		for _, path := range chatPaths() {
			mark := b.mark()
			ctx, giveUp := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(vary(bodyOf(user(askWeather), array(ordinary())), path)))
			if err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				res, err := b.client.Do(req)
				if err == nil {
					res.Body.Close()
				}
				failed <- err
			}()
			receive(t, arrived, "the request")
			giveUp()
			receive(t, ended, "the end of the engine's call")
			if err := receive(t, failed, "the client's error"); !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			if base == b.daemon.url {
				b.awaitLine(t, mark, "the client gave up")
				plans, others := b.since(mark)
				pair{plans: plans, others: others}.logs(t, 1, "level=INFO", "the client gave up before the engine answered")
			}
			b.engine.take(t)
		}
	}
}

// TestBadInputStreamCut: the client has what came before the cut, and knows that it was cut.
func TestBadInputStreamCut(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name  string
		begin func(w http.ResponseWriter, r *http.Request) string
	}{
		{"stream cut midway", func(w http.ResponseWriter, r *http.Request) string {
			if isOllama(r) {
				w.Header().Set("Content-Type", "application/x-ndjson")
				return ollamaPieces()[0] + ollamaPieces()[1][:20]
			}
			w.Header().Set("Content-Type", "text/event-stream")
			return openAIPieces()[0] + openAIPieces()[1][:20]
		}},
		{"single answer cut midway", func(w http.ResponseWriter, r *http.Request) string {
			w.Header().Set("Content-Length", "1000")
			return `{"message":{"content":"Let`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var begun string
			b.engine.onChat(t, func(w http.ResponseWriter, r *http.Request) {
				begun = c.begin(w, r)
				io.WriteString(w, begun)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			for _, path := range chatPaths() {
				p := b.both(t, ask{path: path, body: vary(bodyOf(user(askWeather+c.name), array(ordinary())), path)})
				if !p.reply.broken || p.reply.body != begun || p.reply.status != 200 {
					t.Errorf("%s: %+v", path, p.reply)
				}
				p.logs(t, 1, "level=WARN", "the engine broke off its answer")
			}
		})
	}
	t.Run("the next chat is whole", func(t *testing.T) {
		b.both(t, ask{path: "/api/chat", body: bodyOf(user(askWeather), array(ordinary()))}).edited(t, "get_weather")
	})
}

func TestBadInputDoor(t *testing.T) {
	b := newBench(t, "TOOLBELT_TOKEN="+token)
	body := bodyOf(user(askWeather), array(ordinary()))
	const evil = "http://evil.example"
	shown := map[string]string{"X-Toolbelt-Token": token}
	from := map[string]string{"X-Toolbelt-Token": token, "Origin": evil}
	refused := func(name string, a ask, status int, says string) {
		t.Run(name, func(t *testing.T) {
			mark := b.mark()
			got := b.send(t, b.daemon.url, a)
			shape := a.path
			if strings.HasPrefix(shape, "/toolbelt/") {
				shape = "/api/chat"
			}
			if text := engineSays(t, shape, got.body); got.status != status || !strings.Contains(text, says) {
				t.Errorf("%d %q", got.status, text)
			}
			plans, others := b.since(mark)
			pair{plans: plans, others: others}.logs(t, 0, "request refused", says)
			if !b.engine.idle() {
				t.Error("it reached the engine")
			}
		})
	}
	for _, path := range chatPaths() {
		refused("a foreign Host, "+path, ask{path: path, body: body, host: "evil.example", header: shown}, 403, "evil.example")
		refused("no token, "+path, ask{path: path, body: body}, 401, "X-Toolbelt-Token")
		refused("a wrong token, "+path, ask{path: path, body: body, header: map[string]string{"X-Toolbelt-Token": token + "x"}}, 401, "X-Toolbelt-Token")
	}
	refused("a page from another origin, our own paths", ask{path: "/toolbelt/v1/select", body: body, header: from}, 403, "evil.example")
	refused("a page without an origin, our own paths", ask{path: "/toolbelt/v1/outcomes", body: body, header: map[string]string{"X-Toolbelt-Token": token, "Origin": "null"}}, 403, "may not use")
	refused("our own paths, not as JSON", ask{path: "/toolbelt/v1/select", body: body, header: map[string]string{"X-Toolbelt-Token": token, "Content-Type": "text/plain"}}, 415, "application/json")

	t.Run("a page from another origin, the engine's paths", func(t *testing.T) { // the engine refuses it itself
		for _, base := range []string{b.engine.URL, b.daemon.url} {
			if got := b.send(t, base, ask{path: "/api/chat", body: body, header: from}); got.status != 403 || got.body != "" || !b.engine.idle() {
				t.Errorf("%s: %+v", base, got)
			}
		}
	})
	t.Run("the token is not the engine's", func(t *testing.T) {
		for name, header := range map[string]map[string]string{"header": shown, "bearer": {"Authorization": "Bearer " + token}} {
			got := b.send(t, b.daemon.url, ask{path: "/api/chat", body: vary(body, name), header: header})
			seen := b.engine.take(t)
			if got.status != 200 || seen.header.Get("X-Toolbelt-Token") != "" || strings.Contains(seen.header.Get("Authorization"), token) {
				t.Errorf("%s: %d, the engine got %v", name, got.status, seen.header)
			}
		}
	})
}
