package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"toolbelt/catalog"
)

// Recorder is a reverse proxy in front of an engine that notes which tools each chat request really
// carried when it reached the engine. It changes nothing. Safe for concurrent use.
type Recorder struct {
	proxy *httputil.ReverseProxy

	mu   sync.Mutex
	sent map[string]Sent // by the text of the last user message
}

// Sent is what one chat request carried.
type Sent struct {
	Tools     []string          // names, in the order sent
	Array     []json.RawMessage // the tools' bytes
	Path      string            // that it was posted to
	Said      string            // text of the last user message
	Texts     string            // of all user and tool messages
	Body      []byte            // the whole request; not to be changed
	BodyBytes int
}

// NewRecorder returns a Recorder that forwards to upstream, which may have a path.
func NewRecorder(upstream *url.URL) *Recorder {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	return &Recorder{
		sent: map[string]Sent{},
		proxy: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
			Transport:     transport,
			FlushInterval: -1,
			ErrorHandler:  answerUnreachable,
		},
	}
}

func answerUnreachable(w http.ResponseWriter, _ *http.Request, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf("the engine does not answer: %v", err)}) // the client may be gone
}

// ServeHTTP forwards the request and notes what a chat request carries.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost && (strings.HasSuffix(req.URL.Path, "/api/chat") || strings.HasSuffix(req.URL.Path, "/chat/completions")) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			answerUnreachable(w, req, err)
			return
		}
		r.note(req.URL.Path, body)
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.proxy.ServeHTTP(w, req)
}

func (r *Recorder) note(path string, body []byte) {
	var request struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(body, &request) != nil {
		return
	}
	sent := Sent{Array: request.Tools, Path: path, Body: body, BodyBytes: len(body)}
	for _, raw := range request.Tools {
		if t, ok := catalog.ParseTool(raw); ok {
			sent.Tools = append(sent.Tools, t.Name)
		}
	}
	for _, m := range request.Messages {
		if m.Role == "user" || m.Role == "tool" {
			sent.Texts += contentText(m.Content) + "\n"
		}
	}
	for i := len(request.Messages) - 1; i >= 0; i-- {
		if request.Messages[i].Role == "user" {
			sent.Said = contentText(request.Messages[i].Content)
			r.mu.Lock()
			r.sent[sent.Said] = sent
			r.mu.Unlock()
			return
		}
	}
}

// Take returns what the latest chat request carried whose last user message is text, or, where there is none, begins with it, and forgets it. It
// reports false where no such request came by since.
func (r *Recorder) Take(text string) (Sent, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, ok := r.sent[text]
	if !ok {
		for said := range r.sent {
			if strings.HasPrefix(said, text) {
				text, sent, ok = said, r.sent[said], true
				break
			}
		}
	}
	delete(r.sent, text)
	return sent, ok
}

// contentText is the text of a message's content: a string, or the text parts of an array.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}
