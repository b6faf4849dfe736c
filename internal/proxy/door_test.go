package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/proxy"
)

// ask sends a request line and headers, and returns status and body.
func ask(t *testing.T, r *rig, line string, header ...string) (int, string) {
	t.Helper()
	conn := dial(t, r.daemon.URL)
	defer conn.Close()
	method, _, _ := strings.Cut(line, " ")
	version := " HTTP/1.1"
	if strings.HasSuffix(line, "HTTP/1.0") {
		version = ""
	}
	fmt.Fprintf(conn, "%s%s\r\n%s\r\n\r\n", line, version, strings.Join(append(header, "Connection: close"), "\r\n"))
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %v: %v", line, header, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func TestHostMustBeOurs(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.Hosts = []string{"Box.Example", " *.lan.example ", "10.9.8.7"} })
	cases := map[string]bool{
		"localhost": true, "localhost:11435": true, "LOCALHOST.:1": true, "app.localhost": true, "127.0.0.1": true, "127.9.9.9:80": true,
		"[::1]": true, "[::1]:11435": true, "[::ffff:127.0.0.1]:1": true, "0.0.0.0:11435": true, "my-box.local": true, "host.docker.internal:11435": true,
		"box.example": true, "BOX.example:99": true, "a.lan.example": true, "a.b.lan.example": true, "10.9.8.7:1": true,
		"evil.example": false, "lan.example": false, "xlan.example": false, "box.example.evil.example": false, "localhost.evil.example": false,
		"127.0.0.1.evil.example": false, "10.9.8.8": false, "192.168.1.1:11435": false, "[fe80::1]": false, ".local": false, "local": false, "internal": false,
		"": false, "notlocalhost": false, "2130706433": false, "0x7f.1": false,
	}
	for host, ok := range cases {
		for _, path := range []string{"/api/chat", "/v1/models", "/x", "/toolbelt/healthz", "/toolbelt/v1/select"} {
			status, body := ask(t, r, "GET "+path, "Host: "+host)
			if ok != (status == 200) || !ok && status != 403 {
				t.Errorf("Host %q, %s: %d %s", host, path, status, body)
			}
			if !ok {
				message(t, path, body)
			}
			if ok && !strings.HasPrefix(path, "/toolbelt") {
				if q := take(t, got, "the request"); "http://"+q.host != url {
					t.Errorf("the engine was asked as %q", q.host)
				}
			}
		}
	}
	if len(got) != 0 {
		t.Errorf("a refused request came through: %v", <-got)
	}
	// Only HTTP/1.0 can leave Host out.
	if status, _ := ask(t, r, "GET /x HTTP/1.0"); status != 200 {
		t.Errorf("HTTP/1.0 without Host: %d", status)
	}
}

// A connection that is forwarded comes in on another address than the client wrote: here loopback.
func TestOwnAddressesAreOurs(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	url, _ := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.Token = "t" })
	tried := 0
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() {
			continue
		}
		tried++
		for _, host := range []string{net.JoinHostPort(ip.IP.String(), "11435"), strings.TrimSuffix(net.JoinHostPort(ip.IP.String(), ""), ":")} {
			if status, body := ask(t, r, "GET /x", "Host: "+host, "X-Toolbelt-Token: t"); status != 200 {
				t.Errorf("Host %q: %d %s", host, status, body)
			}
		}
		if status, _ := ask(t, r, "GET /x", "Host: "+ip.IP.String()+".evil.example", "X-Toolbelt-Token: t"); status != 403 {
			t.Errorf("a name that begins with %s: %d", ip.IP, status)
		}
	}
	if tried == 0 {
		t.Skip("this machine has no address beside loopback")
	}
}

func TestNoForwardProxy(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, nil)
	here := strings.TrimPrefix(r.daemon.URL, "http://")
	for line, want := range map[string]int{
		"GET http://evil.example/x":             403,
		"GET http://127.0.0.1:1/x":              403,
		"GET http://localhost/x":                403,
		"GET ftp://" + here + "/x":              403,
		"POST http://evil.example/toolbelt/v1/": 403,
		"CONNECT evil.example:443":              403,
		"CONNECT " + here:                       403,
		"GET http://" + here + "/x":             200,
	} {
		if status, body := ask(t, r, line, "Host: localhost"); status != want {
			t.Errorf("%s: %d %s", line, status, body)
		}
	}
	if q := take(t, got, "the request"); q.uri != "/x" || len(got) != 0 {
		t.Errorf("the engine was asked for %q and %d more", q.uri, len(got))
	}
}

func TestOwnPathsAreForOwnPages(t *testing.T) {
	url, _ := recorder(t)
	r := start(t, url, nil)
	const json = "Content-Type: application/json"
	cases := []struct {
		line   string
		header []string
		want   int
	}{
		{"GET /toolbelt/", nil, 200},
		{"GET /toolbelt/", []string{"Origin: http://localhost:9"}, 200},
		{"GET /toolbelt/", []string{"Origin: http://LOCALHOST:9"}, 200},
		{"GET /toolbelt/", []string{"Origin: http://localhost:10"}, 403},
		{"GET /toolbelt/", []string{"Origin: http://evil.example"}, 403},
		{"GET /toolbelt/", []string{"Origin: null"}, 403},
		{"GET /toolbelt/", []string{"Origin: "}, 403},
		{"OPTIONS /toolbelt/v1/select", []string{"Origin: http://evil.example", "Access-Control-Request-Method: POST"}, 403},
		{"POST /toolbelt/v1/select", []string{json}, 200},
		{"POST /toolbelt/v1/select", []string{json + "; charset=utf-8"}, 200},
		{"POST /toolbelt/v1/select", []string{json, "Origin: http://evil.example"}, 403},
		{"PUT /toolbelt/v1/x", []string{json, "Origin: null"}, 403},
		{"DELETE /toolbelt/v1/skills/x", nil, 200},
		{"DELETE /toolbelt/v1/skills/x", []string{"Origin: http://evil.example"}, 403},
		// The engine's paths have the engine's rules.
		{"POST /api/generate", []string{"Origin: http://evil.example"}, 200},
	}
	for _, c := range cases {
		if status, body := ask(t, r, c.line, append(c.header, "Host: localhost:9")...); status != c.want {
			t.Errorf("%s %v: %d %s, want %d", c.line, c.header, status, body, c.want)
		}
	}
}

func TestToken(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.Token = "s3cret" })
	const host = "Host: localhost"
	cases := []struct {
		name, line string
		header     []string
		want       int
		upstream   string // the Authorization that the engine sees
		key        string // and the X-Api-Key
	}{
		{"none", "GET /api/tags", nil, 401, "", ""},
		{"none, OpenAI", "POST /v1/chat/completions", nil, 401, "", ""},
		{"none, ours", "GET /toolbelt/v1/sessions", nil, 401, "", ""},
		{"health is open", "GET /toolbelt/healthz", nil, 200, "", ""},
		{"wrong", "GET /api/tags", []string{"X-Toolbelt-Token: s3cre"}, 401, "", ""},
		{"empty", "GET /api/tags", []string{"X-Toolbelt-Token: ", "Authorization: Bearer "}, 401, "", ""},
		{"not a bearer", "GET /api/tags", []string{"Authorization: Basic s3cret"}, 401, "", ""},
		{"header", "GET /api/tags", []string{"X-Toolbelt-Token: s3cret"}, 200, "", ""},
		{"bearer is ours", "GET /api/tags", []string{"Authorization: bearer s3cret"}, 200, "", ""},
		{"bearer is theirs", "GET /api/tags", []string{"X-Toolbelt-Token: s3cret", "Authorization: Bearer sk-engine"}, 200, "Bearer sk-engine", ""},
		{"both are ours", "GET /api/tags", []string{"X-Toolbelt-Token: s3cret", "Authorization: Bearer s3cret"}, 200, "", ""},
		{"ours", "GET /toolbelt/v1/sessions", []string{"Authorization: Bearer s3cret"}, 200, "", ""},
		{"key is ours", "POST /v1/messages", []string{"X-Api-Key: s3cret"}, 200, "", ""},
		{"key is ours, elsewhere", "GET /api/tags", []string{"x-api-key: s3cret"}, 200, "", ""},
		{"key is ours, of our API", "GET /toolbelt/v1/sessions", []string{"X-Api-Key: s3cret"}, 200, "", ""},
		{"key is wrong", "POST /v1/messages", []string{"X-Api-Key: s3cre"}, 401, "", ""},
		{"key is empty", "POST /v1/messages", []string{"X-Api-Key: "}, 401, "", ""},
		{"key is theirs", "POST /v1/messages", []string{"X-Toolbelt-Token: s3cret", "X-Api-Key: sk-engine"}, 200, "", "sk-engine"},
		{"both keys", "POST /v1/messages", []string{"X-Api-Key: sk-engine", "X-Api-Key: s3cret"}, 200, "", "sk-engine"},
		{"key and header are ours", "POST /v1/messages", []string{"X-Toolbelt-Token: s3cret", "X-Api-Key: s3cret"}, 200, "", ""},
		{"key is ours, bearer is theirs", "POST /v1/messages", []string{"X-Api-Key: s3cret", "Authorization: Bearer sk-engine"}, 200, "Bearer sk-engine", ""},
		{"preflight", "OPTIONS /api/chat", []string{"Origin: http://a.example", "Access-Control-Request-Method: POST"}, 200, "", ""},
		{"not a preflight", "OPTIONS /api/chat", nil, 401, "", ""},
		{"preflight of ours", "OPTIONS /toolbelt/v1/select", []string{"Origin: http://localhost", "Access-Control-Request-Method: POST"}, 401, "", ""},
	}
	for _, c := range cases {
		status, body := ask(t, r, c.line, append(c.header, host)...)
		if status != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, status, body, c.want)
		}
		if status == 401 {
			_, path, _ := strings.Cut(c.line, " ")
			message(t, path, body)
		} else if !strings.Contains(c.line, "/toolbelt/") {
			q := take(t, got, "the request")
			if q.header.Get("Authorization") != c.upstream || q.header.Get("X-Toolbelt-Token") != "" || strings.Join(q.header.Values("X-Api-Key"), ",") != c.key {
				t.Errorf("%s: the engine saw %v", c.name, q.header)
			}
		}
		if strings.Contains(r.log.String()+body, "s3cret") {
			t.Fatalf("%s: the token is told: %s", c.name, r.log)
		}
	}
	if len(got) != 0 {
		t.Errorf("a refused request came through: %v", <-got)
	}
}

func TestWithoutATokenEveryAuthorizationGoesOn(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, nil)
	ask(t, r, "GET /x", "Host: localhost", "Authorization: Bearer ", "X-Toolbelt-Token: x", "x-toolbelt-anything: y", "X-Api-Key: k", "X-Api-Key: ")
	q := take(t, got, "the request")
	if v := q.header.Values("X-Api-Key"); !slices.Equal(v, []string{"k", ""}) {
		t.Errorf("X-Api-Key %q", v)
	}
	if v := q.header.Values("Authorization"); len(v) != 1 || v[0] != "Bearer" {
		t.Errorf("Authorization %q", v)
	}
	for name := range q.header {
		if strings.HasPrefix(name, "X-Toolbelt-") {
			t.Errorf("%s went to the engine", name)
		}
	}
}

func TestCheckListen(t *testing.T) {
	for addr, open := range map[string]bool{
		"127.0.0.1:11435": true, "127.1.2.3:1": true, "[::1]:11435": true, "localhost:0": true,
		"0.0.0.0:11435": false, ":11435": false, "[::]:1": false, "192.168.1.2:11435": false, "box:11435": false,
	} {
		if err := proxy.CheckListen(addr, ""); (err == nil) != open {
			t.Errorf("%s without a token: %v", addr, err)
		} else if err != nil && !strings.Contains(err.Error(), "TOOLBELT_TOKEN") {
			t.Errorf("%s: %v", addr, err)
		}
		if err := proxy.CheckListen(addr, "t"); err != nil {
			t.Errorf("%s with a token: %v", addr, err)
		}
	}
	for _, addr := range []string{"", "11435", "127.0.0.1", "[::1"} {
		if err := proxy.CheckListen(addr, "t"); err == nil {
			t.Errorf("%q: no error", addr)
		}
	}
}
