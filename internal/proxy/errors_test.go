package proxy_test

import (
	"encoding/json"
	"testing"

	"toolbelt/internal/proxy"
)

// Each protocol's clients are told by the type that they know for the status.
func TestErrorTypes(t *testing.T) {
	dead := deadAddress(t)
	r := start(t, dead, func(c *proxy.Config) { c.Token = "secret" })
	cases := []struct {
		path   string
		header []string
		status int
		want   string // the type; "" where the protocol has none
	}{
		{"/v1/messages", nil, 401, "authentication_error"},
		{"/v1/messages", []string{"Host: evil.example"}, 403, "permission_error"},
		{"/v1/messages", []string{"X-Api-Key: secret"}, 502, "api_error"},
		{"/v1/messages/count_tokens", []string{"X-Api-Key: secret"}, 502, "api_error"},
		{"/api/v1/messages", []string{"X-Api-Key: secret"}, 502, "api_error"},
		{"/v1/messages_of_another", []string{"X-Api-Key: secret"}, 502, "server_error"},
		{"/v1/chat/completions", nil, 401, "invalid_request_error"},
		{"/v1/chat/completions", []string{"Host: evil.example"}, 403, "invalid_request_error"},
		{"/v1/responses", []string{"X-Api-Key: secret"}, 502, "server_error"},
		{"/", []string{"X-Api-Key: secret"}, 502, "server_error"},
		{"/api/chat", nil, 401, ""},
		{"/api/chat", []string{"Host: evil.example"}, 403, ""},
		{"/api/chat", []string{"X-Api-Key: secret"}, 502, ""},
		{"/toolbelt/v1/sessions", nil, 401, ""},
		{"/toolbelt", nil, 401, ""},
	}
	for _, c := range cases {
		header := append([]string{"Content-Length: 0"}, c.header...)
		if len(c.header) == 0 || c.header[0] != "Host: evil.example" {
			header = append(header, "Host: localhost")
		}
		status, body := ask(t, r, "POST "+c.path, header...)
		var e struct {
			Type  string
			Error json.RawMessage
		}
		var detail struct{ Type, Message string }
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != c.status {
			t.Errorf("%s %v: %d %s, want %d", c.path, c.header, status, body, c.status)
			continue
		}
		_ = json.Unmarshal(e.Error, &detail) // a text in Ollama's shape
		if detail.Type != c.want || (e.Type == "error") != (c.want == "authentication_error" || c.want == "permission_error" || c.want == "api_error") {
			t.Errorf("%s %v: %s, want the type %q", c.path, c.header, body, c.want)
		}
	}
}
