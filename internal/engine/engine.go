// Package engine asks an inference engine about itself: what it says of a model, which models are loaded, where a model's template puts the tools. What
// an engine cannot tell stays unknown; nothing here is needed for a request to pass.
package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// maxAnswerBytes bounds what is read of one answer.
const maxAnswerBytes = 16 << 20

// Client is how an engine is reached.
type Client struct {
	Base   *url.URL // may have a path
	HTTP   *http.Client
	Header http.Header // sent with every question (credentials); may be nil
}

// Known is what an engine says of a model.
type Known struct {
	Facts kvcache.Facts
	Key   string // of the model as it is: another one where weights, template or parameters differ
}

// errNoAPI says that the engine has no such endpoint.
var errNoAPI = catalog.NewError(catalog.NotFound, "the engine has no such endpoint", nil)

// Ask asks for a model in the way that the engine understands: llama.cpp's (which answers Ollama's questions too, with less), Ollama's, or that of any OpenAI-compatible one. An engine that has none of the
// endpoints is an error of kind NotFound, one that cannot be reached of kind Unavailable, one that fails of kind Internal.
func Ask(ctx context.Context, c Client, model string) (Known, error) {
	for _, ask := range []func(context.Context, Client, string) (Known, error){askLlama, askOllama, askModels} {
		known, err := ask(ctx, c, model)
		if !errors.Is(err, errNoAPI) {
			return known, err
		}
	}
	return Known{}, catalog.NewError(catalog.NotFound, fmt.Sprintf("asking the engine about the model %q: it has none of the known endpoints", model), nil)
}

// fingerprint is a Key made of what tells models apart.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ask sends a request, with a body where there is one to send, and returns the JSON object that the engine answers, and its own clock where it tells it. An answer
// that is no object, 404 without an Ollama's error, 405 or 501 are errNoAPI.
func (c Client) ask(ctx context.Context, method, path string, body any) (gjson.Result, time.Time, error) {
	doing := fmt.Sprintf("asking the engine %s %s", method, path)
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Internal, doing, err)
		}
		payload = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.at(path), payload)
	if err != nil {
		return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Invalid, doing, err)
	}
	for name, values := range c.Header {
		request.Header[name] = values
	}
	if payload != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Unavailable, doing, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err != nil {
		return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Unavailable, doing, err)
	}
	whole := len(answer) <= maxAnswerBytes && gjson.ValidBytes(answer)
	result := gjson.ParseBytes(answer)
	if whole && result.IsObject() && response.StatusCode == http.StatusOK {
		clock, _ := http.ParseTime(response.Header.Get("Date"))
		return result, clock, nil
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK, code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented,
		code == http.StatusNotFound && !(whole && result.Get("error").Type == gjson.String):
		return gjson.Result{}, time.Time{}, errNoAPI
	case code == http.StatusNotFound:
		return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Invalid, doing+": "+result.Get("error").Str, nil)
	}
	return gjson.Result{}, time.Time{}, catalog.NewError(catalog.Internal, fmt.Sprintf("%s: status %d", doing, response.StatusCode), nil)
}

func (c Client) at(path string) string {
	at := *c.Base
	path, query, _ := strings.Cut(path, "?")
	at.Path, at.RawPath = strings.TrimSuffix(at.Path, "/")+path, ""
	at.RawQuery = query
	return at.String()
}
