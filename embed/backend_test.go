package embed_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

func openOllama(t testing.TB, e *engine, model string) *embed.Ollama {
	t.Helper()
	o, err := embed.NewOllama(context.Background(), e.ollama(), model)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func openOpenAI(t testing.TB, e *engine, path, model string) *embed.OpenAI {
	t.Helper()
	o, err := embed.NewOpenAI(context.Background(), embed.OpenAIConfig{BaseURL: e.URL + path, Key: "secret", Model: model, Client: e.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestBackendsConform(t *testing.T) {
	t.Run("ollama", func(t *testing.T) {
		embedtest.Run(t, func(t testing.TB) embed.Embedder { return openOllama(t, newEngine(t), "all-minilm") })
	})
	t.Run("openai", func(t *testing.T) {
		embedtest.Run(t, func(t testing.TB) embed.Embedder { return openOpenAI(t, newEngine(t), "", "any-model") })
	})
}

// TestBackendFaults lets the engine go wrong after it was opened: the whole call fails, the next one works again.
func TestBackendFaults(t *testing.T) {
	for name, open := range map[string]func(testing.TB, *engine) embed.Embedder{
		"ollama": func(t testing.TB, e *engine) embed.Embedder { return openOllama(t, e, "all-minilm") },
		"openai": func(t testing.TB, e *engine) embed.Embedder { return openOpenAI(t, e, "/v1", "m") },
	} {
		for _, f := range faults() {
			if name == "ollama" && f == nan {
				continue // Ollama's own client reads a null as 0
			}
			t.Run(name+"/"+string(f), func(t *testing.T) {
				e := newEngine(t)
				em := open(t, e)
				e.setFault(f)
				vs, err := em.Embed(context.Background(), embed.Query, []string{"one thing", "", "another thing"})
				if err == nil || vs != nil {
					t.Fatalf("Embed = %d vectors, %v", len(vs), err)
				}
				if catalog.KindOf(err) != catalog.Unavailable {
					t.Errorf("error of kind %d: %v", catalog.KindOf(err), err)
				}
				if len(err.Error()) > 500 || strings.Contains(err.Error(), "thing") {
					t.Errorf("the error is long or repeats the text: %.600v", err)
				}
				e.setFault(healthy)
				if _, err := em.Embed(context.Background(), embed.Query, []string{"one thing"}); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
		}
		t.Run(name+"/hanging", func(t *testing.T) {
			e := newEngine(t)
			em := open(t, e)
			e.setFault(hanging)
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-e.reached; cancel() }()
			if vs, err := em.Embed(ctx, embed.Query, []string{"x"}); !errors.Is(err, context.Canceled) || vs != nil || catalog.KindOf(err) != catalog.Unavailable {
				t.Errorf("Embed = %d vectors, %v", len(vs), err)
			}
		})
		t.Run(name+"/down", func(t *testing.T) {
			e := newEngine(t)
			em := open(t, e)
			e.Close()
			if _, err := em.Embed(context.Background(), embed.Query, []string{"x"}); catalog.KindOf(err) != catalog.Unavailable {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestBackendsOpenOnlyWhatWorks(t *testing.T) {
	ctx := context.Background()
	for _, f := range []fault{nan, zero, http500, html, htmlError, empty} {
		e := newEngine(t)
		e.setFault(f)
		if f != nan {
			if _, err := embed.NewOllama(ctx, e.ollama(), "all-minilm"); catalog.KindOf(err) != catalog.Unavailable {
				t.Errorf("ollama, %s: %v", f, err)
			}
		}
		if _, err := embed.NewOpenAI(ctx, embed.OpenAIConfig{BaseURL: e.URL, Model: "m"}); catalog.KindOf(err) != catalog.Unavailable || err == nil {
			t.Errorf("openai, %s: %v", f, err)
		}
	}
	for _, cfg := range []embed.OpenAIConfig{{Model: "m"}, {BaseURL: "localhost:8000", Model: "m"}, {BaseURL: "ftp://x", Model: "m"}, {BaseURL: "http://localhost:1"}} {
		if _, err := embed.NewOpenAI(ctx, cfg); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestOllamaResolvesNames(t *testing.T) {
	e := newEngine(t)
	e.models = append(e.models, api.ListModelResponse{Name: "nomic-embed-text:v1.5", Digest: "d2"})
	for name, want := range map[string]embed.Model{
		"all-minilm":            {Name: "all-minilm", Digest: "d1", Dim: 32},
		"all-minilm:latest":     {Name: "all-minilm", Digest: "d1", Dim: 32},
		"All-MiniLM":            {Name: "all-minilm", Digest: "d1", Dim: 32},
		"nomic-embed-text:v1.5": {Name: "nomic-embed-text:v1.5", Digest: "d2", Prefix: 1, Dim: 32},
	} {
		if got := openOllama(t, e, name).Model(); got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"nomic-embed-text", "bge-m3", ""} {
		before := len(e.inputs)
		_, err := embed.NewOllama(context.Background(), e.ollama(), name)
		if catalog.KindOf(err) != catalog.NotFound || len(e.inputs) != before {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOpenAIFindsItsEndpoint(t *testing.T) {
	for _, c := range []struct{ base, exists string }{
		{"", "/v1/embeddings"}, {"/", "/v1/embeddings"}, {"/v1", "/v1/embeddings"}, {"/v1/", "/v1/embeddings"}, {"/v1/embeddings", "/v1/embeddings"},
		{"", "/api/v1/embeddings"}, {"/api", "/api/v1/embeddings"}, {"/api/v1", "/api/v1/embeddings"}, {"/gateway", "/gateway/v1/embeddings"}, {"/gateway", "/gateway/embeddings"},
	} {
		e := newEngine(t)
		e.paths = []string{c.exists}
		em := openOpenAI(t, e, c.base, "m")
		if m := em.Model(); m != (embed.Model{Name: "m", Dim: 32}) {
			t.Errorf("%q: %+v", c.base, m)
		}
		if got := e.header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("%q: Authorization %q", c.base, got)
		}
	}
	e := newEngine(t)
	e.paths = nil
	_, err := embed.NewOpenAI(context.Background(), embed.OpenAIConfig{BaseURL: e.URL, Model: "m"})
	if catalog.KindOf(err) != catalog.Unavailable || !strings.Contains(err.Error(), "404") {
		t.Errorf("no endpoint: %v", err)
	}
}

func TestOpenAIWithoutIndex(t *testing.T) {
	e := newEngine(t)
	e.unindexed = true
	embedtest.Run(t, func(t testing.TB) embed.Embedder { return openOpenAI(t, e, "", "m") })
}

func TestPrefixesByFamily(t *testing.T) {
	const bge = "Represent this sentence for searching relevant passages: "
	for model, want := range map[string][2]string{
		"nomic-embed-text:latest":                 {"search_query: ", "search_document: "},
		"nomic-embed-text-v2-moe":                 {"search_query: ", "search_document: "},
		"embeddinggemma:300m":                     {"task: search result | query: ", "title: none | text: "},
		"user/multilingual-e5-base":               {"query: ", "passage: "},
		"hf.co/intfloat/e5_small_v2":              {"query: ", "passage: "},
		"BAAI/bge-small-en-v1.5":                  {bge, ""},
		"bge-m3":                                  {"", ""},
		"mxbai-embed-large":                       {bge, ""},
		"snowflake-arctic-embed:33m":              {bge, ""},
		"snowflake-arctic-embed2":                 {"query: ", ""},
		"all-minilm":                              {"", ""},
		"text-embedding-3-small":                  {"", ""},
		"somebody/made5up":                        {"", ""},
		"Qwen3-Embedding-0.6B-GGUF":               {"Instruct: ", ""},
		"intfloat/multilingual-e5-large-instruct": {"Instruct: ", ""},
	} {
		e := newEngine(t)
		o := openOpenAI(t, e, "", model)
		if (o.Model().Prefix > 0) != (want != [2]string{}) {
			t.Errorf("%s: Prefix is %d", model, o.Model().Prefix)
		}
		for kind, prefix := range want {
			if _, err := o.Embed(context.Background(), embed.Kind(kind), []string{"some words"}); err != nil {
				t.Fatal(err)
			}
			sent := e.inputs[len(e.inputs)-1]
			if !strings.HasPrefix(sent, prefix) || !strings.HasSuffix(sent, "some words") || prefix == "" && sent != "some words" {
				t.Errorf("%s, kind %d: %q was sent", model, kind, sent)
			}
		}
	}
}

func TestTextsAreCutToTheWindow(t *testing.T) {
	b := newBuiltin(t)
	long := "first " + strings.Repeat("some plain words in between ", 3000) + " last"
	for _, c := range []struct {
		model    string
		show     api.ShowResponse
		query    int // the prefix included
		document int
	}{
		{model: "all-minilm:latest", query: 256, document: 256},
		{model: "all-minilm:latest", show: api.ShowResponse{ModelInfo: map[string]any{"bert.context_length": 512.0}}, query: 512, document: 512},
		{model: "all-minilm:latest", show: api.ShowResponse{ModelInfo: map[string]any{"bert.context_length": 512.0}, Parameters: "stop \"x\"\nnum_ctx    100\n"}, query: 100, document: 100},
		{model: "nomic-embed-text:latest", query: 512 + 4, document: 2048},
		{model: "bge-m3:latest", query: 512, document: 2048},
		{model: "unheard-of:latest", query: 512, document: 512},
		{model: "nomic-embed-text:latest", show: api.ShowResponse{ModelInfo: map[string]any{"bert.context_length": "x"}, Parameters: "num_ctx -1"}, query: 512 + 4, document: 2048},
	} {
		e := newEngine(t)
		e.models = []api.ListModelResponse{{Name: c.model}}
		e.show = c.show
		o := openOllama(t, e, c.model)
		for kind, window := range map[embed.Kind]int{embed.Query: c.query, embed.Document: c.document} {
			if _, err := o.Embed(context.Background(), kind, []string{long}); err != nil {
				t.Fatal(err)
			}
			sent := e.inputs[len(e.inputs)-1]
			if n := b.Tokens(sent); n > window || n < window-20 {
				t.Errorf("%s, kind %d: %d tokens were sent, the window is %d", c.model, kind, n, window)
			}
			if kind == embed.Query && !strings.HasSuffix(sent, " last") || kind == embed.Document && !strings.Contains(sent, "first ") {
				t.Errorf("%s, kind %d: cut at the wrong side: %.50q", c.model, kind, sent)
			}
		}
	}
}

func TestBatches(t *testing.T) {
	e := newEngine(t)
	o := openOllama(t, e, "all-minilm")
	var texts []string
	for i := range 70 {
		texts = append(texts, fmt.Sprint("text ", i), " ")
	}
	e.batches = nil
	if _, err := o.Embed(context.Background(), embed.Document, texts); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.batches, []int{32, 32, 6}) {
		t.Errorf("requests of %v texts", e.batches)
	}
}

func TestDiscover(t *testing.T) {
	for _, c := range []struct {
		models []string
		want   string
	}{
		{[]string{"smollm2:latest", "all-minilm:latest"}, "all-minilm"},
		{[]string{"all-minilm:latest", "nomic-embed-text:latest", "bge-m3:latest"}, "nomic-embed-text"},
		{[]string{"all-minilm:l6-v2", "mxbai-embed-large:latest"}, "mxbai-embed-large"},
		{[]string{"hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4_K_M"}, "hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4_K_M"},
		{[]string{"qwen3-embedding:8b", "bge-reranker:latest", "llama3.2:latest"}, ""},
		{nil, ""},
	} {
		e := newEngine(t)
		e.models = nil
		for _, name := range c.models {
			e.models = append(e.models, api.ListModelResponse{Name: name})
		}
		got, err := embed.Discover(context.Background(), e.ollama())
		if got != c.want || (err != nil) != (c.want == "") || err != nil && catalog.KindOf(err) != catalog.NotFound {
			t.Errorf("%v: %q, %v, want %q", c.models, got, err, c.want)
		}
	}
	e := newEngine(t)
	e.models = []api.ListModelResponse{{Name: "nomic-embed-text:latest", Size: 9e9}, {Name: "embeddinggemma:cloud", RemoteHost: "https://example.org"}}
	if got, err := embed.Discover(context.Background(), e.ollama()); err == nil {
		t.Errorf("a model too large or elsewhere was chosen: %q", got)
	}
	e.Close()
	if _, err := embed.Discover(context.Background(), e.ollama()); catalog.KindOf(err) != catalog.Unavailable {
		t.Errorf("engine down: %v", err)
	}
}

// TestRealEngine runs against an Ollama with an embedding model.
func TestRealEngine(t *testing.T) {
	address := os.Getenv("TOOLBELT_TEST_ENGINE")
	if address == "" {
		t.Skip("TOOLBELT_TEST_ENGINE is not set: give the base URL of an Ollama that has an embedding model")
	}
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, client := context.Background(), embed.OllamaClient(base, nil)
	name, err := embed.Discover(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	open := func(t testing.TB) embed.Embedder {
		o, err := embed.NewOllama(ctx, client, name)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if m := open(t).Model(); len(m.Digest) != 64 {
		t.Errorf("Model() = %+v, want a digest of 64 digits", m)
	}
	t.Run("ollama", func(t *testing.T) { embedtest.Run(t, open) })
	t.Run("openai", func(t *testing.T) {
		embedtest.Run(t, func(t testing.TB) embed.Embedder {
			o, err := embed.NewOpenAI(ctx, embed.OpenAIConfig{BaseURL: address, Model: name})
			if err != nil {
				t.Fatal(err)
			}
			return o
		})
	})
}
