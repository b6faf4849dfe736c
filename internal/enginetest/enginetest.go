// Package enginetest is a scripted engine for tests: it speaks the wire formats of Ollama 0.17.4 and of llama.cpp 0.5.0, says
// what a script tells it to, can be made to stall, break off or fail anywhere, and counts prompt tokens as an engine with a prefix cache would. Ollama's
// formats are written by Ollama's own converters. It serves loopback only.
package enginetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Style is whose engine is imitated.
type Style uint8

// The styles. They differ in formats, in how a tool call is streamed (Ollama sends it whole, llama.cpp its name first and then pieces of its arguments), in
// errors, and in what else they serve.
const (
	Ollama Style = iota
	LlamaCpp
)

// Protocol is a chat API.
type Protocol string

// The protocols, by their paths. llama.cpp has no NativeChat.
const (
	NativeChat Protocol = "/api/chat"
	OpenAIChat Protocol = "/v1/chat/completions"
	Responses  Protocol = "/v1/responses"
	Messages   Protocol = "/v1/messages"
)

// Options say how the engine behaves. The zero value is an Ollama without an answer to anything.
type Options struct {
	Style        Style
	Script       Script
	Split        int        // an answer's bytes are written and flushed this many at a time; 0 for a chunk at a time
	Lacks        []Protocol // answered with 404
	Models       []string   // there and loaded; none: "m"
	Context      int        // tokens; a longer prompt is cut as Ollama does it, without a word; 0 for no limit
	Template     string     // of /api/show and /props; "" for one with the tools in the first system block
	ToolsLast    bool       // the prompt has the tools in the last user message instead
	DropUnlisted bool       // calls of tools that the request lacks vanish, as Ollama's template parser has it
}

// Engine is the server. Safe for concurrent use.
type Engine struct {
	options Options
	server  *httptest.Server // nil where it is served by others

	script   sync.Mutex // held while the script speaks
	mu       sync.Mutex
	requests []*Request
	paths    []string
	cache    map[string]string // by model: the prompt and answer that are held
	ids      int
}

// New returns an engine that is not served yet: an http.Handler.
func New(o Options) *Engine {
	if len(o.Models) == 0 {
		o.Models = []string{"m"}
	}
	if o.Template == "" {
		o.Template = defaultTemplate
	}
	if o.Style == LlamaCpp {
		o.Lacks = append(slices.Clone(o.Lacks), NativeChat)
	}
	return &Engine{options: o, cache: map[string]string{}}
}

// Start serves an engine on a loopback port until the test ends.
func Start(t testing.TB, o Options) *Engine {
	t.Helper()
	e := New(o)
	e.server = httptest.NewServer(e)
	t.Cleanup(e.server.Close)
	return e
}

// URL is the base URL of a started engine, without a path.
func (e *Engine) URL() string { return e.server.URL }

// Requests returns the chat requests so far, in the order in which the script was asked. They must not be changed.
func (e *Engine) Requests() []*Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Chats returns those of Requests that want more than one token: not the ones that only warm the engine up.
func (e *Engine) Chats() []*Request {
	return slices.DeleteFunc(e.Requests(), func(r *Request) bool { return r.Limit == 1 })
}

// Paths returns method and path of all requests so far.
func (e *Engine) Paths() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.paths)
}

// Forget empties the prefix cache of all models, as unloading them does.
func (e *Engine) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.cache)
}

func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	e.mu.Lock()
	e.paths = append(e.paths, r.Method+" "+r.URL.Path)
	e.mu.Unlock()
	protocol := Protocol(r.URL.Path)
	isChat := slices.Contains([]Protocol{NativeChat, OpenAIChat, Responses, Messages}, protocol)
	switch {
	case r.URL.Path == "/" && e.options.Style == Ollama:
		io.WriteString(w, "Ollama is running") // the client may be gone
	case !isChat:
		e.serveRest(w, r, body)
	case slices.Contains(e.options.Lacks, protocol):
		e.notFound(w)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		e.serveChat(w, r, protocol, body)
	}
}

// notFound answers as the imitated server does where it has no such path.
func (e *Engine) notFound(w http.ResponseWriter) {
	if e.options.Style == LlamaCpp {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	io.WriteString(w, "404 page not found")
}
