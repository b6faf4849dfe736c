package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// refusal is an answer of ours in place of the engine's.
type refusal struct {
	status  int
	message string // a sentence for the person who runs the app
}

func refuse(status int, message string) *refusal { return &refusal{status, message} }

// write answers in the error shape of the path's protocol, so that the app can show the sentence.
func (no *refusal) write(w http.ResponseWriter, r *http.Request) {
	text := no.body(r.URL.Path)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	if no.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="toolbelt"`)
	}
	w.WriteHeader(no.status)
	if r.Method != http.MethodHead {
		w.Write(text) // a client that is gone has nobody to tell
	}
}

// body is the error in the shape of the path's protocol: Anthropic's, Ollama's, which our own API has too, or OpenAI's, which every other server knows.
func (no *refusal) body(path string) []byte {
	var body any
	switch {
	case isAnthropic(path):
		type detail struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		}
		body = struct {
			Type  string `json:"type"`
			Error detail `json:"error"`
		}{"error", detail{anthropicName(no.status), no.message}}
	case isOllama(path) || strings.HasPrefix(path+"/", Prefix):
		body = map[string]string{"error": no.message}
	default:
		type detail struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    string  `json:"code"`
		}
		kind, code := openAINames(no.status)
		body = map[string]detail{"error": {Message: no.message, Type: kind, Code: code}}
	}
	text, err := json.Marshal(body)
	if err != nil { // strings always marshal
		text = []byte(`{"error":"internal error"}`)
	}
	return append(text, '\n')
}

// isOllama reports whether a path is of Ollama's API; Lemonade has OpenAI's under /api/v1/.
func isOllama(path string) bool {
	return strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/api/v1/")
}

// isAnthropic reports whether a path is of Anthropic's messages API, such as /v1/messages/count_tokens.
func isAnthropic(path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1"), "/v1")
	return strings.HasPrefix(path+"/", "/messages/")
}

// openAINames returns the type and code that OpenAI's clients know for a status.
func openAINames(status int) (kind, code string) {
	switch status {
	case http.StatusUnauthorized:
		return "invalid_request_error", "invalid_api_key"
	case http.StatusForbidden:
		return "invalid_request_error", "forbidden"
	case http.StatusBadRequest:
		return "invalid_request_error", "invalid_body"
	case http.StatusRequestEntityTooLarge:
		return "invalid_request_error", "request_too_large"
	case http.StatusLoopDetected:
		return "server_error", "loop_detected"
	}
	return "server_error", "engine_unavailable"
}

// anthropicName returns the type that Anthropic's clients know for a status.
func anthropicName(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	}
	return "api_error"
}

// unreachable is the sentence for an engine that gave no answer.
func unreachable(upstream *url.URL, err error) string {
	address := upstream.Scheme + "://" + upstream.Host
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		return fmt.Sprintf("the engine at %s gave no answer: %s", address, reason(err))
	}
	return fmt.Sprintf("toolbelt cannot reach the engine at %s: %s. Is Ollama running? Start it (ollama serve), or set TOOLBELT_UPSTREAM to the engine's address", address, reason(err))
}

// reason shortens what net and net/http say to what a person needs.
func reason(err error) string {
	var lookup *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &lookup):
		return fmt.Sprintf("no address is known for %q", lookup.Name)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "it closed the connection"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	}
	return err.Error()
}
