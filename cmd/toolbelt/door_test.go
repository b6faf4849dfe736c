package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Through the whole daemon: who comes with the token as Anthropic's clients show it, and what is said to those that may not.
func TestADaemonWithATokenServesAnthropicsClients(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys, _ := json.Marshal(r.Header.Values("X-Api-Key"))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"keys":`+string(keys)+`}`)
	}))
	defer engine.Close()
	r := start(t, engine.URL, "TOOLBELT_TOKEN=s3cret")
	ask := func(method, path string, header ...string) (int, string, http.Header) {
		t.Helper()
		q, err := http.NewRequest(method, r.url+path, strings.NewReader(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			q.Header.Add(header[i], header[i+1])
		}
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, strings.TrimSpace(string(body)), res.Header
	}
	for _, c := range []struct {
		method, path string
		header       []string
		status       int
		body, allow  string
	}{
		{"POST", "/v1/messages", []string{"X-Api-Key", "s3cret"}, 200, `{"keys":null}`, ""},
		{"POST", "/v1/messages", []string{"X-Api-Key", "sk", "X-Toolbelt-Token", "s3cret"}, 200, `{"keys":["sk"]}`, ""},
		{"POST", "/v1/messages", nil, 401, `{"type":"error","error":{"type":"authentication_error",`, ""},
		{"PUT", "/toolbelt/readyz", []string{"X-Api-Key", "s3cret"}, 405, `"kind":"invalid"`, "GET, HEAD"},
		{"PATCH", "/toolbelt/readyz", []string{"X-Api-Key", "s3cret"}, 405, `"kind":"invalid"`, "GET, HEAD"},
		{"TRACE", "/toolbelt/readyz", []string{"X-Api-Key", "s3cret"}, 405, `"kind":"invalid"`, "GET, HEAD"},
		{"POST", "/toolbelt/nix", []string{"X-Api-Key", "s3cret"}, 404, `"kind":"not_found"`, ""},
		{"POST", "/toolbelt/v1/select", []string{"X-Api-Key", "s3cret"}, 415, "application/json", ""},
		{"POST", "/toolbelt/nix", nil, 401, "token", ""},
	} {
		status, body, header := ask(c.method, c.path, c.header...)
		if status != c.status || !strings.Contains(body, c.body) || header.Get("Allow") != c.allow {
			t.Errorf("%s %s %v: %d, Allow %q, %s; want %d, %q, %s", c.method, c.path, c.header, status, header.Get("Allow"), body, c.status, c.allow, c.body)
		}
	}
}

// What the log says of a compressed chat names no text of the user's.
func TestACompressedChatIsSaidInTheLog(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer engine.Close()
	r := start(t, engine.URL)
	q, err := http.NewRequest("POST", r.url+"/api/chat", strings.NewReader("not really packed"))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Encoding", "gzip")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if log := r.log.String(); !strings.Contains(log, `level=INFO msg="a chat request goes on unedited" why="its body is compressed (\"gzip\")" path=/api/chat`) || strings.Contains(log, "really") {
		t.Errorf("log: %s", log)
	}
}

// The daemon alone sets a file aside, so that it comes up whatever it finds.
func TestServeSetsAFileAside(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	path := filepath.Join(t.TempDir(), "tools.db")
	if err := os.WriteFile(path, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, engine.URL, "TOOLBELT_DB="+path)
	if status, body := get(t, r.url+"/toolbelt/healthz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	found, _ := filepath.Glob(path + ".broken-*")
	if len(found) == 0 || !strings.Contains(r.log.String(), found[0]) {
		t.Errorf("set aside as %v; log: %s", found, r.log)
	}
}
