package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// scripted is an engine that reads requests and words its errors as Ollama does. Its answers do not depend on the tools.
type scripted struct {
	*httptest.Server
	mu    sync.Mutex
	chat  http.HandlerFunc // answers chats in place of the usual; nil for that. The body is read already
	embed func(w http.ResponseWriter, r *http.Request, vectors [][]float32)
	got   []taken // the chats since take was called
}

// taken is a chat request as the engine got it.
type taken struct {
	method, uri string
	header      http.Header
	length      int64
	body        []byte
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	e := &scripted{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

// onChat sets how chats are answered until the test t ends.
func (e *scripted) onChat(t *testing.T, answer http.HandlerFunc) {
	set := func(h http.HandlerFunc) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.chat = h
	}
	set(answer)
	t.Cleanup(func() { set(nil) })
}

// onEmbed sets what becomes of the vectors that texts have, until the test t ends.
func (e *scripted) onEmbed(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, vectors [][]float32)) {
	set := func(f func(http.ResponseWriter, *http.Request, [][]float32)) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.embed = f
	}
	set(answer)
	t.Cleanup(func() { set(nil) })
}

// take returns the one chat request since it was last called.
func (e *scripted) take(t *testing.T) taken {
	t.Helper()
	got := e.takeAll()
	if len(got) != 1 {
		t.Fatalf("the engine got %d chats, want 1", len(got))
	}
	return got[0]
}

// takeAll returns every chat request since take or takeAll was last called.
func (e *scripted) takeAll() []taken {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = nil
	return got
}

// idle reports whether no chat came since take was called.
func (e *scripted) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.got) == 0
}

func (e *scripted) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if origin, err := url.Parse(r.Header.Get("Origin")); err != nil || origin.Host != "" && origin.Hostname() != "localhost" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("X-Engine", "scripted")
	switch r.URL.Path {
	case "/api/chat", "/v1/chat/completions", "/api/v1/chat/completions":
		e.mu.Lock()
		e.got = append(e.got, taken{r.Method, r.RequestURI, r.Header.Clone(), r.ContentLength, body})
		chat := e.chat
		e.mu.Unlock()
		if chat == nil {
			chat = func(w http.ResponseWriter, r *http.Request) { e.answer(w, r, body) }
		}
		chat(w, r)
	case "/api/embed", "/v1/embeddings":
		e.vectors(w, r, body)
	case "/api/version":
		io.WriteString(w, `{"version":"0.17.4"}`)
	case "/api/tags", "/api/ps":
		io.WriteString(w, `{"models":[{"name":"all-minilm:latest","model":"all-minilm:latest","digest":"d1","size":45960996}]}`)
	case "/api/show":
		io.WriteString(w, `{"model_info":{"bert.context_length":512}}`)
	default:
		http.NotFound(w, r)
	}
}

// answer is the usual answer to a chat.
func (e *scripted) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	var chat struct {
		Model    string
		Messages []struct {
			Role    string
			Content any
			Images  [][]byte
		}
		Tools  []json.RawMessage
		Stream *bool
	}
	switch err := json.Unmarshal(body, &chat); {
	case len(body) == 0:
		engineError(w, r, http.StatusBadRequest, "missing request body")
	case err != nil:
		engineError(w, r, http.StatusBadRequest, err.Error())
	case chat.Model == "toolless":
		engineError(w, r, http.StatusBadRequest, "registry.ollama.ai/library/toolless:latest does not support tools")
	case chat.Model == "absent":
		engineError(w, r, http.StatusNotFound, "model 'absent' not found")
	case isOllama(r):
		stream(w, "application/x-ndjson", chat.Stream == nil || *chat.Stream, ollamaPieces())
	default:
		stream(w, "text/event-stream", chat.Stream != nil && *chat.Stream, openAIPieces())
	}
}

func isOllama(r *http.Request) bool { return r.URL.Path == "/api/chat" }

// engineError answers in the error shape of the path.
func engineError(w http.ResponseWriter, r *http.Request, status int, text string) {
	var shape any = map[string]string{"error": text}
	if !isOllama(r) {
		shape = map[string]any{"error": map[string]any{"message": text, "type": "api_error", "param": nil, "code": nil}}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(shape)
}

// ollamaPieces are the parts of a stream, the last of them a whole answer by itself.
func ollamaPieces() []string {
	return []string{
		`{"model":"m","message":{"role":"assistant","content":"Let me "},"done":false}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":"see."},"done":false}` + "\n",
		`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":9}` + "\n",
	}
}

func openAIPieces() []string {
	return []string{
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me "}}]}` + "\n\n",
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"see."},"finish_reason":"stop"}]}` + "\n\n",
		"data: [DONE]\n\n",
	}
}

// stream writes the pieces one by one, or an answer in one piece.
func stream(w http.ResponseWriter, kind string, streamed bool, pieces []string) {
	if !streamed {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":"Let me see."},"done":true,"choices":[{"message":{"content":"Let me see."}}]}`)
		return
	}
	w.Header().Set("Content-Type", kind)
	for _, piece := range pieces {
		io.WriteString(w, piece)
		w.(http.Flusher).Flush()
	}
}

// vectors answers a request to embed. A text's vector counts its words, so that texts of the same words are near each other.
func (e *scripted) vectors(w http.ResponseWriter, r *http.Request, body []byte) {
	var ask struct{ Input json.RawMessage }
	texts := make([]string, 1)
	if err := json.Unmarshal(body, &ask); err != nil || json.Unmarshal(ask.Input, &texts) != nil && json.Unmarshal(ask.Input, &texts[0]) != nil {
		engineError(w, r, http.StatusBadRequest, "invalid input")
		return
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 64)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			h := fnv.New32a()
			io.WriteString(h, strings.Trim(word, ".,;:?!"))
			vectors[i][h.Sum32()%64]++
		}
		vectors[i][0] += 0.01
	}
	e.mu.Lock()
	answer := e.embed
	e.mu.Unlock()
	if answer == nil {
		answer = writeVectors
	}
	answer(w, r, vectors)
}

// writeVectors answers in the shape of the path.
func writeVectors(w http.ResponseWriter, r *http.Request, vectors [][]float32) {
	var answer any = map[string]any{"embeddings": vectors}
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		var data []map[string]any
		for i, v := range vectors {
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		answer = map[string]any{"data": data}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// parts is a chat body read apart by encoding/json: what stands around its tools array, and the array's elements as they were written.
type parts struct {
	before, after []byte
	tools         []json.RawMessage
}

func readParts(body []byte) (parts, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return parts{}, fmt.Errorf("not an object: %v, %v", token, err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return parts{}, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return parts{}, err
		}
		if key != "tools" {
			continue
		}
		end := int(dec.InputOffset())
		p := parts{before: body[:end-len(value)], after: body[end:]}
		return p, json.Unmarshal(value, &p.tools)
	}
	return parts{}, errors.New("no tools")
}

// names of the tools; "" for an element that has none.
func (p parts) names() []string {
	var names []string
	for _, raw := range p.tools {
		var tool struct{ Function struct{ Name string } }
		if err := json.Unmarshal(raw, &tool); err != nil {
			tool.Function.Name = ""
		}
		names = append(names, tool.Function.Name)
	}
	return names
}

// ownTool finds the tools that are ours.
var ownTool = regexp.MustCompile(`^\{"type":"function","function":\{"name":"(load_tools|tool_search)",`)

// onlyCut returns an error unless cut is whole with tools taken from its array, each kept one byte for byte as it was, and tools of ours among them.
func onlyCut(whole, cut parts) error {
	if !bytes.Equal(whole.before, cut.before) || !bytes.Equal(whole.after, cut.after) {
		return errors.New("something besides the tools array was changed")
	}
	left := map[string]int{}
	for _, raw := range whole.tools {
		left[string(raw)]++
	}
	for _, raw := range cut.tools {
		if left[string(raw)] == 0 && ownTool.Match(raw) {
			continue
		}
		if left[string(raw)]--; left[string(raw)] < 0 {
			return fmt.Errorf("a tool is not as it was sent, or there once too often: %.200s", raw)
		}
	}
	return nil
}
