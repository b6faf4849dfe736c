package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"toolbelt/internal/proxy"
)

// deadAddress is an address that nobody listens on.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// message reads an error answer in the shape of the path's protocol.
func message(t *testing.T, path, body string) string {
	t.Helper()
	switch {
	case strings.Contains(path, "/v1/messages"):
		var e struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Type != "error" || e.Error.Message == "" || e.Error.Type == "" {
			t.Errorf("%s: not Anthropic's error shape: %s", path, body)
		}
		return e.Error.Message
	case strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/api/v1/") || strings.HasPrefix(path, "/toolbelt"):
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == "" {
			t.Errorf("%s: not Ollama's error shape: %s", path, body)
		}
		return e.Error
	}
	var e struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" || e.Error.Code == "" {
		t.Errorf("%s: not OpenAI's error shape: %s", path, body)
	}
	return e.Error.Message
}

var allPaths = []string{"/api/chat", "/v1/chat/completions", "/api/v1/chat/completions", "/v1/messages", "/api/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/api/tags", "/v1/models", "/chat/completions", "/other"}

func TestEngineDown(t *testing.T) {
	dead := deadAddress(t)
	r := start(t, dead, nil)
	for _, path := range allPaths {
		before := strings.Count(r.log.String(), "\n")
		status, body := r.post(path, chatBody(toolsJSON(4)))
		text := message(t, path, body)
		if status != 502 || !strings.Contains(text, "http://"+dead) || !strings.Contains(text, "connection refused") || !strings.Contains(text, "TOOLBELT_UPSTREAM") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		if n := strings.Count(r.log.String(), "\n") - before; n != 1 {
			t.Errorf("%s: %d log lines", path, n)
		}
	}
	if r.planner.commits() != 0 || len(r.planner.observed) != 0 {
		t.Error("a request that was never written was committed or observed")
	}
}

func TestEngineWithoutAnAddress(t *testing.T) {
	r := start(t, "http://nowhere.invalid:1", nil)
	if status, body := r.post("/api/chat", "{}"); status != 502 || !strings.Contains(body, "nowhere.invalid") {
		t.Errorf("%d %s", status, body)
	}
}

// An engine that hangs up before it answers is told from one that is not there.
func TestEngineHangsUp(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
	r := start(t, url, nil)
	for _, path := range allPaths {
		status, body := r.post(path, chatBody(toolsJSON(4)))
		if text := message(t, path, body); status != 502 || !strings.Contains(text, url) || !strings.Contains(text, "closed the connection") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A client that gives up on a hanging engine ends the call, and one line says so.
func TestEngineHangsUntilTheClientGivesUp(t *testing.T) {
	ended := make(chan struct{}, 1)
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		giveUp()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	r := start(t, url, nil)
	req, _ := http.NewRequestWithContext(ctx, "POST", r.daemon.URL+"/api/chat", strings.NewReader(chatBody(toolsJSON(4))))
	if res, err := http.DefaultClient.Do(req); err == nil {
		t.Fatalf("an answer: %v", res.Status)
	}
	take(t, ended, "the end of the call")
	r.daemon.Close()
	if log := r.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "INFO msg=\"the client gave up before the engine answered\" after=") {
		t.Errorf("log: %s", log)
	}
}

// A body that ends early is the client's fault and not the engine's.
func TestClientBreaksOffItsBody(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	r := start(t, url, nil)
	for _, path := range []string{"/api/chat", "/v1/chat/completions", "/api/pull"} {
		conn := dial(t, r.daemon.URL)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", path)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, _ := io.ReadAll(res.Body)
		if text := message(t, path, string(body)); res.StatusCode != 400 || !strings.Contains(text, "body") {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
		conn.Close()

		conn = dial(t, r.daemon.URL)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"messages\"", path)
		conn.Close()
	}
	r.daemon.Close()
	if strings.Contains(r.log.String(), "WARN") {
		t.Errorf("log: %s", r.log)
	}
}

// The circle is broken by its second round, with a sentence that helps.
func TestLoopIsRecognised(t *testing.T) {
	var daemon *rig
	relay := engine(t, func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequest(r.Method, daemon.daemon.URL+r.URL.Path, r.Body)
		req.Header = r.Header.Clone()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		w.WriteHeader(res.StatusCode)
		io.Copy(w, res.Body)
	})
	daemon = start(t, relay, func(c *proxy.Config) { c.Instance, c.Token = "one", "secret" })
	for _, path := range allPaths {
		status, body := daemon.post(path, chatBody(toolsJSON(4)), "X-Toolbelt-Token", "secret", "Via", "1.1 toolbelt-two, 1.0 proxy (x)")
		if text := message(t, path, body); status != 508 || !strings.Contains(text, "OLLAMA_HOST") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A chain of two daemons is no circle.
func TestTwoDaemonsInARow(t *testing.T) {
	url, got := recorder(t)
	second := start(t, url, nil)
	first := start(t, second.daemon.URL, nil)
	if status, _ := first.post("/api/chat", chatBody(toolsJSON(4)), "Via", "1.1 other"); status != 200 {
		t.Errorf("status %d", status)
	}
	if q := take(t, got, "the request"); q.body != shortened() || len(q.header.Values("Via")) != 3 {
		t.Errorf("Via %v, body %s", q.header.Values("Via"), q.body)
	}
}
