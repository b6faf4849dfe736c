package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"toolbelt/catalog"
)

// OpenAIConfig says which OpenAI-compatible engine to embed with.
type OpenAIConfig struct {
	BaseURL string       // http or https, with or without a path such as /v1 or /api/v1
	Key     string       // sent as the bearer; "": none
	Model   string       // required
	Client  *http.Client // nil: http.DefaultClient. It needs no timeout: calls end with their context
}

// OpenAI embeds through any engine with an OpenAI-compatible /embeddings. Safe for concurrent use.
type OpenAI struct {
	client   *http.Client
	endpoint string
	key      string
	called   string
	model    Model
	family   family
	vocab    *vocab
}

var _ Embedder = (*OpenAI)(nil)

// NewOpenAI finds the endpoint below the base URL and learns the model's dimension by embedding one short text. A base URL that is
// none, or no model, is an error of kind Invalid; an engine that does not answer with a vector is one of kind Unavailable.
func NewOpenAI(ctx context.Context, cfg OpenAIConfig) (*OpenAI, error) {
	endpoints, err := openAIEndpoints(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg.Model == "" {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("no embedding model is named for %q", cfg.BaseURL), nil)
	}
	o := &OpenAI{client: cfg.Client, key: cfg.Key, called: cfg.Model, family: familyOf(cfg.Model), vocab: sharedVocab()}
	if o.client == nil {
		o.client = http.DefaultClient
	}
	o.model = Model{Name: cfg.Model, Prefix: o.family.version}
	var first error
	for _, endpoint := range endpoints {
		o.endpoint = endpoint
		probe, err := o.call(ctx, []string{"hello"})
		if err == nil {
			o.model.Dim = len(probe[0])
			return o, nil
		}
		if first == nil {
			first = err
		}
		if !errors.As(err, new(wrongPathError)) {
			return nil, err
		}
	}
	return nil, first
}

// openAIEndpoints lists where /embeddings may be below a base URL, most likely first.
func openAIEndpoints(base string) ([]string, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("%q is no http or https address of an engine", base), nil)
	}
	u.Fragment = ""
	var endpoints []string
	add := func(parts ...string) { endpoints = append(endpoints, u.JoinPath(parts...).String()) }
	switch path := strings.TrimRight(u.Path, "/"); {
	case strings.HasSuffix(path, "/embeddings"):
		add()
	case strings.HasSuffix(path, "/v1"):
		add("embeddings")
	case strings.HasSuffix(path, "/api"):
		add("v1", "embeddings")
	default:
		add("v1", "embeddings")
		add("api", "v1", "embeddings")
		add("embeddings")
	}
	return endpoints, nil
}

// Model returns the name as it was configured; such engines tell no digest.
func (o *OpenAI) Model() Model { return o.model }

// Embed sends the texts in requests of at most 32.
func (o *OpenAI) Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error) {
	prepare := func(text string) string { return o.family.prepare(o.vocab, kind, text, 0) }
	return embedBatches(ctx, texts, prepare, o.call)
}

// wrongPathError is an answer that a server gives on a path that it does not have.
type wrongPathError struct{ error }

func (e wrongPathError) Unwrap() error { return e.error }

func (o *OpenAI) call(ctx context.Context, batch []string) ([]Vector, error) {
	doing := fmt.Sprintf("embedding %d texts with %q", len(batch), o.called)
	body, err := o.post(ctx, batch)
	if err != nil {
		return nil, unavailable(doing, err)
	}
	vectors, err := decodeOpenAI(body, len(batch))
	if err != nil {
		return nil, unavailable(doing, err)
	}
	if err := checkVectors(vectors, len(batch), o.model.Dim); err != nil {
		return nil, err
	}
	return vectors, nil
}

func (o *OpenAI) post(ctx context.Context, batch []string) ([]byte, error) {
	payload, err := json.Marshal(struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{o.called, batch})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.endpoint, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if o.key != "" {
		req.Header.Set("Authorization", "Bearer "+o.key)
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, maxAnswerBytes))
	if err != nil {
		return nil, err
	}
	refused := statusError{at: req.URL.Redacted(), status: resp.StatusCode, said: errorText(body)}
	switch resp.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil, wrongPathError{refused}
	}
	return nil, refused
}

// decodeOpenAI reads the vectors of an answer in the order of their index, or as they come where none has one.
func decodeOpenAI(body []byte, n int) ([]Vector, error) {
	var answer struct {
		Data []struct {
			Index     *int            `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, wrongPathError{fmt.Errorf("the answer is no JSON of vectors: %v", err)}
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("the engine gave %d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([]Vector, n)
	for i, d := range answer.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, fmt.Errorf("the engine gave index %d, out of range or twice, for %d texts", at, n)
		}
		if bytes.Contains(d.Embedding, []byte("null")) { // how JSON writes a NaN
			return nil, fmt.Errorf("vector %d of %d holds a null", at+1, n)
		}
		if err := json.Unmarshal(d.Embedding, &vectors[at]); err != nil {
			return nil, fmt.Errorf("vector %d of %d: %v", at+1, n, err)
		}
		if vectors[at] == nil {
			vectors[at] = Vector{}
		}
	}
	return vectors, nil
}
