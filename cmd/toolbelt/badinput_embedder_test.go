package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// embedders is a bench whose daemon also asks the engine's embedding model. Each chat says something new, so that its vector is not cached.
type embedders struct {
	*bench
	chats int
}

const withNeural = `"embedder": "builtin+all-minilm"`

func newEmbedders(t *testing.T, environ ...string) *embedders {
	t.Helper()
	e := &embedders{bench: newBench(t, append([]string{"TOOLBELT_EMBEDDER=ollama", "TOOLBELT_EMBED_MODEL=all-minilm"}, environ...)...)}
	await(t, "the engine's embedder", func() bool { // a chat that comes before it waits for it for seconds
		_, body := e.ready(t)
		return body.Embedder.State == "ready"
	})
	await(t, "a plan with the engine's vectors", func() bool {
		p := e.chat(t)
		if strings.Contains(p.plans[0], withNeural) {
			return true
		}
		time.Sleep(quietFor + quietFor/10) // the vectors are made when the engine has been left alone for so long
		return false
	})
	return e
}

// chat sends the next chat both ways and checks the cut.
func (e *embedders) chat(t *testing.T) pair {
	t.Helper()
	e.chats++
	p := e.both(t, ask{path: "/api/chat", body: bodyOf(user(fmt.Sprintf("%s Try %d.", askWeather, e.chats)), array(ordinary()))})
	p.cut(t, "get_weather")
	if p.reply.status != 200 {
		t.Errorf("status %d", p.reply.status)
	}
	return p
}

func TestBadInputEmbedder(t *testing.T) {
	for _, kind := range []string{"ollama", "lemonade"} {
		t.Run(kind, func(t *testing.T) { embedderFaults(t, newEmbedders(t, "TOOLBELT_EMBEDDER="+kind)) })
	}
}

// embedderFaults lets the embedder go wrong in each way and come back.
func embedderFaults(t *testing.T, e *embedders) {
	raw := func(text string) func(http.ResponseWriter, *http.Request, [][]float32) {
		return func(w http.ResponseWriter, r *http.Request, _ [][]float32) { io.WriteString(w, text) }
	}
	for _, c := range []struct {
		name, line string
		answer     func(w http.ResponseWriter, r *http.Request, vectors [][]float32)
	}{
		{"embedder down", "EOF", func(http.ResponseWriter, *http.Request, [][]float32) { panic(http.ErrAbortHandler) }},
		{"embedder answering 500", "HTTP 500", func(w http.ResponseWriter, r *http.Request, _ [][]float32) {
			engineError(w, r, 500, "cannot embed \"What is the weather "+said+"\"")
		}},
		{"embedder answering 404, the model is gone", "HTTP 404", func(w http.ResponseWriter, r *http.Request, _ [][]float32) {
			engineError(w, r, 404, "model \"all-minilm\" not found, try pulling it first")
		}},
		{"fewer vectors than texts", "vectors for", func(w http.ResponseWriter, r *http.Request, vectors [][]float32) {
			writeVectors(w, r, vectors[1:])
		}},
		{"no vectors", "vectors for", raw(`{}`)},
		{"another dimension after a restart of the model", "96", func(w http.ResponseWriter, r *http.Request, vectors [][]float32) {
			for i := range vectors {
				vectors[i] = append(vectors[i], make([]float32, 32)...)
			}
			writeVectors(w, r, vectors)
		}},
		{"NaN", "invalid character", raw(`{"embeddings":[[NaN,0.5]]}`)},
		{"a vector of nothing", "zero", func(w http.ResponseWriter, r *http.Request, vectors [][]float32) {
			for i := range vectors {
				vectors[i] = make([]float32, len(vectors[i]))
			}
			writeVectors(w, r, vectors)
		}},
		{"not JSON", "invalid character", raw(`<html>`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("builtin decides", func(t *testing.T) {
				e.engine.onEmbed(t, c.answer)
				for n := range 2 { // a failure by itself does not open the breaker, and is said once
					p := e.chat(t)
					if !strings.Contains(p.plans[0], `"embedder": "builtin"`) {
						t.Errorf("the plan: %s", p.plans[0])
					}
					if n == 0 {
						p.logs(t, 1, "level=WARN", "neural embedder: failed", c.line)
					} else if len(p.others) != 0 {
						t.Errorf("said again: %q", p.others)
					}
				}
			})
			if p := e.chat(t); !strings.Contains(p.plans[0], withNeural) || len(p.others) != 0 {
				t.Errorf("afterwards: %s %q", p.plans[0], p.others)
			}
		})
	}
	t.Run("embedder down for long", func(t *testing.T) {
		e.engine.onEmbed(t, func(http.ResponseWriter, *http.Request, [][]float32) { panic(http.ErrAbortHandler) })
		mark := e.mark()
		for range 6 {
			if p := e.chat(t); !strings.Contains(p.plans[0], `"embedder": "builtin"`) {
				t.Errorf("the plan: %s", p.plans[0])
			}
		}
		if _, others := e.since(mark); len(others) != 2 || !strings.Contains(others[0], "failed") || !strings.Contains(others[1], "breaker open") {
			t.Errorf("the log says %q, want that it failed, then that it is left alone", others)
		}
		if _, body := e.ready(t); body.Embedder.Breaker != "open" {
			t.Errorf("readyz: %+v", body)
		}
	})
}

type readyz struct {
	Ready    bool
	Embedder struct{ State, Breaker string }
}

func (b *bench) ready(t *testing.T) (int, readyz) {
	t.Helper()
	var body readyz
	code, text := get(t, b.daemon.url+"/toolbelt/readyz")
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Errorf("readyz: %v in %s", err, text)
	}
	return code, body
}

// TestBadInputEmbedderHangs: no chat waits for longer than the deadline, whatever hangs.
func TestBadInputEmbedderHangs(t *testing.T) {
	e := newEmbedders(t, "TOOLBELT_EMBED_DEADLINE=400ms")
	var asked, ended atomic.Int32
	e.engine.onEmbed(t, func(_ http.ResponseWriter, r *http.Request, _ [][]float32) {
		asked.Add(1)
		<-r.Context().Done()
		ended.Add(1)
	})
	for n := range 3 {
		if p := e.chat(t); !strings.Contains(p.plans[0], `"embedder": "builtin"`) {
			t.Errorf("the plan: %s", p.plans[0])
		}
		if n == 0 && (asked.Load() != 1 || ended.Load() != 0) {
			t.Errorf("%d queries to the embedder, %d of them ended: the chat must go on without the answer", asked.Load(), ended.Load())
		}
	}
	if n := strings.Count(e.daemon.log.String(), "neural embedder: late"); n != 1 {
		t.Errorf("said %d times that it is late:\n%s", n, e.daemon.log)
	}
}

// TestBadInputEmbedderNeverThere: an embedder that cannot be had from the start is said once, and every chat goes on without.
func TestBadInputEmbedderNeverThere(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, environ := range map[string][]string{
		"down":         {"TOOLBELT_EMBEDDER=openai", "TOOLBELT_EMBED_URL=" + gone.URL, "TOOLBELT_EMBED_MODEL=e"},
		"not pulled":   {"TOOLBELT_EMBEDDER=ollama", "TOOLBELT_EMBED_MODEL=nomic-embed-text"},
		"no such path": {"TOOLBELT_EMBEDDER=lemonade", "TOOLBELT_EMBED_MODEL=e", "TOOLBELT_EMBED_URL=" + gone.URL + "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, environ...)
			b.awaitLine(t, 0, "neural embedder: not ready")
			for n := range 3 {
				p := b.both(t, ask{path: "/api/chat", body: bodyOf(user(fmt.Sprintf("%s %d", askWeather, n)), array(ordinary()))})
				p.edited(t, "get_weather")
			}
			if n := strings.Count(b.daemon.log.String(), "neural embedder"); n != 1 {
				t.Errorf("said %d times:\n%s", n, b.daemon.log)
			}
			if code, body := b.ready(t); code != 200 || !body.Ready || body.Embedder.State != "opening" {
				t.Errorf("readyz: %d %+v", code, body)
			}
		})
	}
}
