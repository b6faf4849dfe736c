package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ollama/ollama/api"

	"toolbelt/catalog"
)

// OllamaClient returns a client for an Ollama at base whose answers are bounded to 32 MiB, as an engine's may be of any
// length. hc may be nil for the default; it is not changed. It needs no timeout: calls end with their context.
func OllamaClient(base *url.URL, hc *http.Client) *api.Client {
	if hc == nil {
		hc = http.DefaultClient
	}
	bounded := *hc
	bounded.Transport = boundedTransport{next: hc.Transport}
	return api.NewClient(base, &bounded)
}

// boundedTransport cuts answers off at maxAnswerBytes, with an error.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswerBytes)
	return resp, nil
}

// Ollama embeds through an Ollama engine. Safe for concurrent use.
type Ollama struct {
	client *api.Client
	called string // as the engine's list names it
	model  Model
	family family
	window int
	vocab  *vocab
}

var _ Embedder = (*Ollama)(nil)

// NewOllama finds the model on the engine (with or without ":latest", in any case), reads its window and learns its
// dimension by embedding one short text, which loads the model. It never pulls one: a model that the engine
// does not have is an error of kind NotFound that says how to get it. Any other failure is of kind Unavailable.
func NewOllama(ctx context.Context, client *api.Client, model string) (*Ollama, error) {
	doing := fmt.Sprintf("looking for the embedding model %q", model)
	list, err := client.List(ctx)
	if err != nil {
		return nil, unavailable(doing, shortened(err))
	}
	found, ok := findModel(list.Models, model)
	if !ok {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("the engine has no model %q: get it with \"ollama pull %s\"", model, model), nil)
	}
	o := &Ollama{client: client, called: found.Name, vocab: sharedVocab()}
	o.family = familyOf(o.called)
	if show, err := client.Show(ctx, &api.ShowRequest{Model: o.called}); err == nil {
		o.window = windowOf(show)
	}
	o.model = Model{Name: shortName(o.called), Digest: found.Digest, Prefix: o.family.version}
	probe, err := o.call(ctx, []string{"hello"})
	if err != nil {
		return nil, err
	}
	o.model.Dim = len(probe[0])
	return o, nil
}

// Model returns the name without ":latest".
func (o *Ollama) Model() Model { return o.model }

// Embed sends the texts in requests of at most 32.
func (o *Ollama) Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error) {
	prepare := func(text string) string { return o.family.prepare(o.vocab, kind, text, o.window) }
	return embedBatches(ctx, texts, prepare, func(ctx context.Context, batch []string) ([]Vector, error) {
		return o.fitting(ctx, kind, batch)
	})
}

// halvings is how often a text that the engine finds too long is halved.
const halvings = 6

// fitting is call where our estimate of a text's tokens may be too low for the engine (other scripts, code): the texts of a batch that it refuses
// for its length go one by one, and one that it refuses alone is halved until it fits. Other errors are call's.
func (o *Ollama) fitting(ctx context.Context, kind Kind, batch []string) ([]Vector, error) {
	vectors, err := o.call(ctx, batch)
	if !tooLong(err) {
		return vectors, err
	}
	if len(batch) > 1 {
		vectors = nil
		for _, text := range batch {
			one, err := o.fitting(ctx, kind, []string{text})
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, one...)
		}
		return vectors, nil
	}
	text := batch[0]
	for range halvings {
		if kind == Query {
			text = text[runeStart(text, len(text)/2):]
		} else {
			text = text[:runeStart(text, len(text)/2)]
		}
		if vectors, err = o.call(ctx, []string{text}); !tooLong(err) {
			break
		}
	}
	return vectors, err
}

// tooLong reports whether the engine refused a text for its length.
func tooLong(err error) bool {
	var refused statusError
	return errors.As(err, &refused) && refused.status == http.StatusBadRequest && strings.Contains(refused.said, "context length")
}

func (o *Ollama) call(ctx context.Context, batch []string) ([]Vector, error) {
	resp, err := o.client.Embed(ctx, &api.EmbedRequest{Model: o.called, Input: batch})
	if err != nil {
		return nil, unavailable(fmt.Sprintf("embedding %d texts with %q", len(batch), o.model.Name), shortened(err))
	}
	vectors := make([]Vector, len(resp.Embeddings))
	for i, v := range resp.Embeddings {
		vectors[i] = v
	}
	if err := checkVectors(vectors, len(batch), o.model.Dim); err != nil {
		return nil, err
	}
	return vectors, nil
}

// shortened keeps an engine's error answer, of which it may have sent megabytes, to a sentence.
func shortened(err error) error {
	var status api.StatusError
	if errors.As(err, &status) {
		return statusError{status: status.StatusCode, said: errorText([]byte(status.ErrorMessage))}
	}
	return err
}

// findModel finds the model that a user calls name: exactly so, or in another case, or without ":latest".
func findModel(models []api.ListModelResponse, name string) (api.ListModelResponse, bool) {
	for _, same := range []func(string) bool{
		func(s string) bool { return s == name },
		func(s string) bool { return sameModel(s, name) },
	} {
		for _, m := range models {
			if same(m.Name) {
				return m, true
			}
		}
	}
	return api.ListModelResponse{}, false
}

// sameModel reports whether two names mean one model to an Ollama.
func sameModel(a, b string) bool { return strings.EqualFold(shortName(a), shortName(b)) }

// shortName leaves out what Ollama adds by itself.
func shortName(name string) string { return strings.TrimSuffix(name, ":latest") }

// windowOf returns the smaller of the model's own context length and its num_ctx parameter, 0 where it tells neither.
func windowOf(show *api.ShowResponse) int {
	window := 0
	for key, value := range show.ModelInfo {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n >= 1 && n < 1<<30 {
			window = int(n)
		}
	}
	for line := range strings.Lines(show.Parameters) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] != "num_ctx" {
			continue
		}
		if n, err := strconv.Atoi(fields[1]); err == nil && n > 0 && (window == 0 || n < window) {
			window = n
		}
	}
	return window
}
