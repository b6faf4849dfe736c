package hop_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"toolbelt/internal/hop"
)

// closing is an engine that answers in a chunk and closes the connection behind it, having promised to keep it.
func closing(t *testing.T) (*httptest.Server, *atomic.Int64) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" || len(r.Header["Idempotency-Key"]) > 0 {
			t.Errorf("the engine got %q, %v, %v", body, err, r.Header)
		}
		asked.Add(1)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(buffered, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
		_ = buffered.Flush()
		_ = conn.Close()
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func TestARequestOutlivesTheConnectionThatItFinds(t *testing.T) {
	for name, body := range map[string]func() io.Reader{
		"a body that can be had again": func() io.Reader { return strings.NewReader("hello") },
		"a body that streams":          func() io.Reader { return io.MultiReader(bytes.NewReader([]byte("hello"))) },
	} {
		t.Run(name, func(t *testing.T) {
			engine, asked := closing(t)
			transport := hop.NewTransport()
			defer transport.CloseIdleConnections()
			for n := range 50 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, engine.URL, body())
				if err != nil {
					t.Fatal(err)
				}
				res, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatalf("request %d: %v", n+1, err)
				}
				answer, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || string(answer) != "hi" {
					t.Fatalf("request %d was answered %q, %v", n+1, answer, err)
				}
				if _, ok := req.Header["Idempotency-Key"]; ok {
					t.Fatal("the caller's request was changed")
				}
			}
			if asked.Load() != 50 {
				t.Errorf("the engine was asked %d times", asked.Load())
			}
		})
	}
}

func TestAKeyOfTheClientsIsKept(t *testing.T) {
	var got []string
	engine := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header["Idempotency-Key"] }))
	defer engine.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, engine.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "mine")
	res, err := hop.NewTransport().RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if len(got) != 1 || got[0] != "mine" {
		t.Errorf("the engine got %q", got)
	}
}
