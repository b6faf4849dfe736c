package embed_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

// fault is a way in which an engine's answer goes wrong.
type fault string

const (
	healthy   fault = "healthy"
	fewer     fault = "fewer vectors"
	otherDim  fault = "other dimension"
	nan       fault = "null for NaN"
	huge      fault = "number out of range"
	zero      fault = "zero vector"
	http500   fault = "HTTP 500"
	html      fault = "HTML body"
	htmlError fault = "HTML body with HTTP 502"
	empty     fault = "empty body"
	endless   fault = "endless body"
	hanging   fault = "hanging"
)

func faults() []fault {
	return []fault{fewer, otherDim, nan, huge, zero, http500, html, htmlError, empty, endless}
}

// engine is a fake of Ollama's and OpenAI's embedding endpoints.
type engine struct {
	*httptest.Server
	fake    *embedtest.Fake
	reached chan struct{} // a hanging call has arrived

	mu        sync.Mutex
	fault     fault
	models    []api.ListModelResponse
	running   []api.ProcessModelResponse
	onEmbed   func(*engine) // under mu
	show      api.ShowResponse
	inputs    []string
	batches   []int
	paths     []string // of OpenAI endpoints that exist
	header    http.Header
	unindexed bool
	looked    chan struct{} // where not nil, gets the first look at what is running
}

func newEngine(t testing.TB) *engine {
	e := &engine{
		fake: embedtest.NewFake("engine", 32), reached: make(chan struct{}, 8), fault: healthy,
		models: []api.ListModelResponse{{Name: "smollm2:latest", Digest: "c0"}, {Name: "all-minilm:latest", Digest: "d1"}},
		paths:  []string{"/v1/embeddings"},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		e.locked(func() { writeJSON(w, api.ListResponse{Models: e.models}) })
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		e.locked(func() { writeJSON(w, e.show) })
	})
	mux.HandleFunc("GET /api/ps", func(w http.ResponseWriter, _ *http.Request) {
		e.locked(func() { writeJSON(w, api.ProcessResponse{Models: e.running}) })
		select {
		case e.looked <- struct{}{}:
		default:
		}
	})
	mux.HandleFunc("POST /", e.embed)
	e.Server = httptest.NewServer(mux)
	t.Cleanup(e.Server.Close)
	return e
}

func (e *engine) locked(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *engine) embed(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct{ Input []string }
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ollama := r.URL.Path == "/api/embed"
	e.mu.Lock()
	if !ollama && !slices.Contains(e.paths, r.URL.Path) {
		e.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	e.inputs, e.batches, e.header = append(e.inputs, in.Input...), append(e.batches, len(in.Input)), r.Header
	if e.onEmbed != nil {
		e.onEmbed(e)
	}
	f, unindexed := e.fault, e.unindexed
	e.mu.Unlock()
	switch f {
	case hanging:
		e.reached <- struct{}{}
		<-r.Context().Done()
		return
	case http500:
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error":"model runner has unexpectedly stopped"}`)
		return
	case htmlError:
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html><body>"+strings.Repeat("Bad gateway ", 1000)+"</body></html>")
		return
	case html:
		io.WriteString(w, "<!doctype html><title>Sign in</title>")
		return
	case empty:
		return
	case endless:
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	e.answer(w, in.Input, f, ollama, unindexed)
}

func (e *engine) answer(w http.ResponseWriter, input []string, f fault, ollama, unindexed bool) {
	vectors, _ := e.fake.Embed(context.Background(), embed.Document, input)
	out := make([]any, len(vectors))
	for i, v := range vectors {
		numbers := make([]any, len(v))
		for j, x := range v {
			numbers[j] = 3 * x // engines need not normalise
			switch {
			case f == zero:
				numbers[j] = 0
			case f == nan && j == 1:
				numbers[j] = nil
			case f == huge && j == 1:
				numbers[j] = math.MaxFloat64
			}
		}
		if f == otherDim {
			numbers = numbers[1:]
		}
		out[i] = numbers
	}
	if f == fewer {
		out = out[:len(out)-1]
	}
	if ollama {
		writeJSON(w, map[string]any{"model": "x", "embeddings": out})
		return
	}
	var data []any
	for i := range out {
		if unindexed {
			data = append(data, map[string]any{"embedding": out[i]})
		} else { // last first
			at := len(out) - 1 - i
			data = append(data, map[string]any{"object": "embedding", "index": at, "embedding": out[at]})
		}
	}
	writeJSON(w, map[string]any{"object": "list", "data": data})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func (e *engine) ollama() *api.Client {
	base, err := url.Parse(e.URL)
	if err != nil {
		panic(err)
	}
	return embed.OllamaClient(base, e.Client())
}

func (e *engine) setFault(f fault) { e.locked(func() { e.fault = f }) }

func loaded(names ...string) []api.ProcessModelResponse {
	var all []api.ProcessModelResponse
	for _, name := range names {
		all = append(all, api.ProcessModelResponse{Name: name, ExpiresAt: time.Now().Add(time.Hour)})
	}
	return all
}
