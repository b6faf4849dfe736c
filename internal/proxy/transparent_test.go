package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/proxy"
)

// raw sends bytes to a server and returns all that comes back before it closes.
func raw(t *testing.T, serverURL, request string) string {
	t.Helper()
	conn := dial(t, serverURL)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("after %q: %v", answer, err)
	}
	return string(answer)
}

func dial(t *testing.T, serverURL string) net.Conn {
	t.Helper()
	u, err := url.Parse(serverURL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// What an engine is sent through the daemon is what it is sent straight, but for Via, Host and hop-by-hop headers.
func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	cases := map[string]string{
		"HEAD":                    "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"GET":                     "GET /api/tags HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: curl/8\r\nAccept: */*\r\n\r\n",
		"no user agent":           "GET /api/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"escaped path":            "GET /api/blobs/sha256%3Aab%2Fc%20d/%e4 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"needlessly escaped path": "GET /%61pi/t%61gs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"illegal path bytes":      "GET /a{b}|c^d\"e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"double slashes":          "GET //a//b/../c/./d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"odd query":               "GET /x?a=1;b=2&%zz&c=%20+&&=?x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"empty query":             "GET /x? HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"forwarded":               "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: h\r\nForwarded: for=1\r\n\r\n",
		"authorization":           "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic Zm9v\r\nCookie: a=b; c=d\r\n\r\n",
		"preflight":               "OPTIONS /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://else.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		"foreign origin":          "POST /api/generate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://else.example\r\nContent-Length: 2\r\n\r\n{}",
		"chunks and a trailer":    "POST /api/create HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Sum: 7\r\n\r\n",
		"own method":              "PROPFIND /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
		"DELETE with a body":      "DELETE /api/delete HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 13\r\n\r\n{\"model\":\"x\"}",
		"GET of a chat path":      "GET /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"range":                   "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes=0-1\r\nIf-None-Match: \"a\"\r\nAccept-Encoding: gzip, br\r\nTe: trailers\r\n\r\n",
		"chat without tools":      "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 29\r\n\r\n{\"messages\": [], \"x\": 1.50  }",
		"Lemonade":                "POST /api/v1/load HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
	}
	for name, request := range cases {
		t.Run(name, func(t *testing.T) {
			for _, base := range []string{"", "/base/p%20ath"} {
				url, got := recorder(t)
				r := start(t, url+base, nil)
				raw(t, url, request)
				straight := take(t, got, "the straight request")
				raw(t, r.daemon.URL, request)
				through := take(t, got, "the request through the daemon")
				if via := through.header.Get("Via"); !strings.HasPrefix(via, "1.1 toolbelt-") {
					t.Errorf("Via %q", via)
				}
				through.header.Del("Via")
				straight.header.Del("Connection")
				straight.uri = base + straight.uri
				if want := "http://" + through.host; want != url {
					t.Errorf("Host %q, want that of %s", through.host, url)
				}
				through.host = straight.host
				if a, b := fmt.Sprintf("%+v", straight), fmt.Sprintf("%+v", through); a != b {
					t.Errorf("straight\n%s\nthrough\n%s", a, b)
				}
			}
		})
	}
}

// What a client is answered through the daemon is, byte for byte, what the engine answers.
func TestAnswersComeBackAsTheyWereGiven(t *testing.T) {
	gif := "GIF89a\x00\xff"
	answers := map[string]http.HandlerFunc{
		"single":       func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"models":[]}`) },
		"no type":      func(w http.ResponseWriter, r *http.Request) { w.Header()["Content-Type"] = nil; io.WriteString(w, gif) },
		"not found":    func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"error":"model \"x\" not found"}`, 404) },
		"own error":    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(529); io.WriteString(w, "overloaded\n") },
		"server error": func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"error":"GGML_ASSERT"}`, 500) },
		"no content":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
		"not modified": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Etag", `"a"`); w.WriteHeader(304) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		},
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8bnot really")
		},
		"headers": func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Add("Set-Cookie", "a=b")
			h.Add("Set-Cookie", "c=d")
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Retry-After", "3")
			io.WriteString(w, "x")
		},
		"pull progress": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			for i := range 3 {
				fmt.Fprintf(w, `{"status":"pulling","completed":%d}`+"\n", i)
				http.NewResponseController(w).Flush()
			}
		},
		"trailer": func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "HEAD" {
				w.Header().Set("Trailer", "X-Sum")
			}
			io.WriteString(w, "abc")
			w.Header().Set("X-Sum", "7")
		},
		"early hints": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</x>")
			w.WriteHeader(103)
			w.Header().Del("Link")
			io.WriteString(w, "abc")
		},
		"large": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			w.Write(bytes.Repeat([]byte("x"), 1000000))
		},
	}
	for name, answer := range answers {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				url := engine(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
					answer(w, r)
				})
				r := start(t, url, nil)
				path, body := "/api/pull", ""
				if method == "POST" {
					path, body = "/api/chat", chatBody(toolsJSON(4))
				}
				request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
				straight, through := parse(t, method, raw(t, url, request)), parse(t, method, raw(t, r.daemon.URL, request))
				if straight != through {
					t.Errorf("straight\n%s\nthrough\n%s", straight, through)
				}
			})
		}
	}
}

// parse returns an answer with its header lines sorted and its chunks joined, since a proxy may cut them elsewhere.
func parse(t *testing.T, method, answer string) string {
	t.Helper()
	head, _, _ := strings.Cut(answer, "\r\n\r\n")
	reader := bufio.NewReader(strings.NewReader(answer))
	res, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%v in %q", err, answer)
	}
	if res.StatusCode < 200 {
		return head + "\n" + parse(t, method, strings.TrimPrefix(answer, head+"\r\n\r\n"))
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%v in %q", err, answer)
	}
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	head = strings.Join(lines, "\n")
	return fmt.Sprintf("%s\nchunked %v, length %d\n%q\ntrailer %v", head, res.TransferEncoding, res.ContentLength, body, res.Trailer)
}

// An engine that is no Go server may leave out Date and Content-Type; nobody adds them.
func TestNoHeadersAreInvented(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(conn))
			io.WriteString(conn, "HTTP/1.1 200 Fine\r\nX-A: 1\r\n\r\n<html>hello")
			conn.Close()
		}
	}()
	r := start(t, listener.Addr().String(), nil)
	res, err := http.Get(r.daemon.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if string(body) != "<html>hello" || len(res.Header) != 1 || res.Header.Get("X-A") != "1" {
		t.Errorf("%q %v", body, res.Header)
	}
}

func TestUpgradePasses(t *testing.T) {
	for _, path := range []string{"/ws", "/api/chat"} {
		url := engine(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "echo" {
				http.Error(w, "no upgrade", 400)
				return
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			io.Copy(conn, rw)
		})
		r := start(t, url, nil)
		conn := dial(t, r.daemon.URL)
		io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		reader := bufio.NewReader(conn)
		res, err := http.ReadResponse(reader, nil)
		if err != nil || res.StatusCode != 101 {
			t.Fatalf("%s: %v %v", path, res, err)
		}
		for _, word := range []string{"one\n", "two\n"} {
			io.WriteString(conn, word)
			if line, err := reader.ReadString('\n'); err != nil || line != word {
				t.Errorf("%s: echo %q, %v", path, line, err)
			}
		}
		conn.Close()
	}
}

// An upload streams: the engine has its beginning before the client has sent its end, and 100-continue is the engine's to say.
func TestUploadsStream(t *testing.T) {
	first := make(chan string, 1)
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 5)
		io.ReadFull(r.Body, buf)
		first <- string(buf)
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	r := start(t, url, nil)
	pr, pw := io.Pipe()
	req, _ := http.NewRequest("POST", r.daemon.URL+"/api/blobs/sha256:0", pr)
	req.Header.Set("Expect", "100-continue")
	go func() {
		io.WriteString(pw, "hello")
		if <-first == "hello" {
			pw.Write(make([]byte, 3<<20))
		}
		pw.Close()
	}()
	if status, answer := r.do(req); status != 200 || answer != fmt.Sprint(3<<20, " <nil>") {
		t.Errorf("%d %q", status, answer)
	}
}

func TestEngineMayRefuseAnUploadEarly(t *testing.T) {
	url := engine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Error(w, "too large for me", http.StatusRequestEntityTooLarge)
	})
	r := start(t, url, nil)
	for name, expect := range map[string]string{"at once": "", "before it begins": "Expect: 100-continue\r\n"} {
		conn := dial(t, r.daemon.URL)
		fmt.Fprintf(conn, "POST /api/blobs/x HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: 1000000\r\n\r\n", expect)
		if expect == "" {
			io.WriteString(conn, "the beginning") // and then the client stalls
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if body, _ := io.ReadAll(res.Body); res.StatusCode != 413 || string(body) != "too large for me\n" {
			t.Errorf("%s: %d %q", name, res.StatusCode, body)
		}
		conn.Close()
	}
}

// Our own paths are not the engine's, and theirs are not ours.
func TestPaths(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, nil)
	for path, own := range map[string]bool{
		"/toolbelt/": true, "/toolbelt": true, "/toolbelt/v1/x": true,
		"/": false, "/toolbelts": false, "/v1/toolbelt/": false, "/api/toolbelt": false,
	} {
		res, err := http.Get(r.daemon.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if strings.HasPrefix(string(body), "own ") != own {
			t.Errorf("%s: %q", path, body)
		}
		if !own {
			take(t, got, "the engine's request")
		}
	}
	if len(got) > 0 {
		t.Errorf("the engine was asked for %v", <-got)
	}
}

func TestNewWantsAnUpstream(t *testing.T) {
	for _, cfg := range []proxy.Config{{}, {Upstream: &url.URL{}}, {Upstream: &url.URL{Scheme: "http", Host: "h:1"}, EditLimitBytes: -1}} {
		if _, err := proxy.New(cfg, nil, nil, nil); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

// A request that came over no wire has no request line; its path is taken from its URL.
func TestServesRequestsMadeInProcess(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, nil)
	req := httptest.NewRequest("GET", "http://localhost/a%2Fb?c", nil)
	req.RequestURI = ""
	req.URL.Host, req.URL.Scheme = "", ""
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	if q := take(t, got, "the request"); q.uri != "/a%2Fb?c" || w.Code != 200 {
		t.Errorf("%q %d", q.uri, w.Code)
	}
}
