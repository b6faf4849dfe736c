package embed_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

// strictEngine is an Ollama that refuses a request in which a text has over limit bytes, as the real one does for tokens that our estimate missed.
func strictEngine(t *testing.T, limit int, got *[]string) *embed.Ollama {
	t.Helper()
	fake := embedtest.NewFake("engine", 16)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"models":[{"name":"all-minilm:latest","digest":"d"}]}`))
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{}`)) })
	mux.HandleFunc("POST /api/embed", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, text := range in.Input {
			if len(text) > limit {
				w.WriteHeader(http.StatusBadRequest)
				w.Write([]byte(`{"error":"the input length exceeds the context length"}`))
				return
			}
		}
		*got = append(*got, in.Input...)
		vectors, err := fake.Embed(r.Context(), embed.Document, in.Input)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"embeddings": vectors})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	o, err := embed.NewOllama(context.Background(), embed.OllamaClient(base, server.Client()), "all-minilm")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestATextThatTheEngineFindsTooLongCostsTheOthersNothing(t *testing.T) {
	var got []string
	o := strictEngine(t, 100, &got)
	texts := []string{"short", "begins " + strings.Repeat("检索", 60) + " ends", "also short"}
	for kind, keeps := range map[embed.Kind]string{embed.Document: "begins", embed.Query: "ends"} {
		got = nil
		vectors, err := o.Embed(context.Background(), kind, texts)
		if err != nil || len(vectors) != 3 || vectors[1] == nil {
			t.Fatalf("%d vectors, %v", len(vectors), err)
		}
		if len(got) != 3 || got[0] != "short" || got[2] != "also short" || !strings.Contains(got[1], keeps) {
			t.Errorf("kind %d: embedded %q", kind, got)
		}
	}
}

func TestAnEngineThatFindsEverythingTooLongIsAFailure(t *testing.T) {
	var got []string
	o := strictEngine(t, 5, &got)
	if vectors, err := o.Embed(context.Background(), embed.Document, []string{strings.Repeat("many words ", 200)}); err == nil {
		t.Errorf("%d vectors, no error", len(vectors))
	}
}
