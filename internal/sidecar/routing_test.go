package sidecar_test

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A write must say that it is JSON, where there is something to write to: otherwise that is what the answer says.
func TestWritesAreJSON(t *testing.T) {
	r := start(t, nil)
	cases := []struct {
		method, path, kind, body string
		want                     int
		allow                    string
	}{
		{"PUT", "/toolbelt/readyz", "", "", 405, "GET, HEAD"},
		{"PATCH", "/toolbelt/readyz", "text/plain", "x", 405, "GET, HEAD"},
		{"TRACE", "/toolbelt/readyz", "", "", 405, "GET, HEAD"},
		{"DELETE", "/toolbelt/", "", "x", 405, "GET, HEAD"},
		{"POST", "/toolbelt/nix", "", "", 404, ""},
		{"PUT", "/toolbelt/v1/nix", "text/plain", "x", 404, ""},
		{"POST", "/toolbelt/v1/select", "", "{}", 415, ""},
		{"POST", "/toolbelt/v1/select", "text/plain", "{}", 415, ""},
		{"POST", "/toolbelt/v1/memory/erase", "application/x-www-form-urlencoded", `{"all":true}`, 415, ""},
		{"POST", "/toolbelt/v1/skills/x/enable", "", "", 415, ""},
		{"PUT", "/toolbelt/v1/skills/x", "multipart/form-data; boundary=b", "{}", 415, ""},
		{"DELETE", "/toolbelt/v1/skills/x", "text/plain", "x", 415, ""},
		{"DELETE", "/toolbelt/v1/skills/x", "", "", 404, ""},
		{"POST", "/toolbelt/v1/select", "application/json; charset=utf-8", "{}", 400, ""},
	}
	for _, c := range cases {
		q := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.kind != "" {
			q.Header.Set("Content-Type", c.kind)
		}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		if w.Code != c.want || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), `"error":"`) {
			t.Errorf("%s %s as %q: %d, Allow %q, %s; want %d, %q", c.method, c.path, c.kind, w.Code, w.Header().Get("Allow"), w.Body, c.want, c.allow)
		}
	}
}
