package proxy_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolbelt/internal/proxy"
	"toolbelt/internal/turn"
)

func TestOnlyTheToolsArrayChanges(t *testing.T) {
	for _, path := range []string{"/api/chat", "/v1/chat/completions", "/api/v1/chat/completions"} {
		t.Run(path, func(t *testing.T) {
			url, got := recorder(t)
			r := start(t, url, nil)
			status, answer := r.post(path+"?a=b", chatBody(toolsJSON(5)), "Accept-Encoding", "gzip", "Content-Digest", "sha-256=:x:", "X-Toolbelt-Session", "s1")
			if status != 200 || answer != "{}" {
				t.Fatalf("answer %d %q", status, answer)
			}
			q := take(t, got, "the request")
			if want := shortened(); q.body != want {
				t.Errorf("engine got\n%s\nwant\n%s", q.body, want)
			}
			if q.length != int64(len(q.body)) || len(q.encoding) != 0 {
				t.Errorf("Content-Length %d, Transfer-Encoding %v, body %d bytes", q.length, q.encoding, len(q.body))
			}
			if q.uri != path+"?a=b" {
				t.Errorf("engine was asked for %q", q.uri)
			}
			for _, name := range []string{"Accept-Encoding", "Content-Digest", "X-Toolbelt-Session", "X-Forwarded-For"} {
				if q.header.Get(name) != "" {
					t.Errorf("%s went to the engine: %q", name, q.header.Get(name))
				}
			}
		})
	}
}

func TestEditOfAChunkedBodyHasAnExactLength(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, nil)
	req, _ := http.NewRequest("POST", r.daemon.URL+"/api/chat", io.MultiReader(strings.NewReader(chatBody(toolsJSON(5)))))
	req.Header.Set("Expect", "100-continue")
	if status, _ := r.do(req); status != 200 {
		t.Fatalf("status %d", status)
	}
	q := take(t, got, "the request")
	if q.body != shortened() || q.length != int64(len(q.body)) || len(q.encoding) != 0 || q.header.Get("Expect") != "" {
		t.Errorf("length %d, encoding %v, expect %q, body %s", q.length, q.encoding, q.header.Get("Expect"), q.body)
	}
}

// What the planner does not see or does not change arrives as it was sent, framing included.
func TestUnedited(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, chatBody(toolsJSON(5)))
	z.Close()
	limited := func(c *proxy.Config) { c.EditLimitBytes, c.HeldLimitBytes = 4096, 1<<20 }
	cases := []struct {
		name, body string
		header     []string
		config     func(*proxy.Config)
		plan       func(turn.Request) (*turn.Plan, error)
		log        string
		planned    bool
	}{
		{name: "not JSON", body: `{"model":"m","tools":[`, log: "unedited"},
		{name: "empty", body: "", log: "unedited"},
		{name: "bytes that are no text", body: "\x00\xff\xfe", log: "unedited"},
		{name: "tools not an array", body: chatBody(`{"name":"x"}`), log: "unedited"},
		{name: "duplicate tools", body: `{"messages":[{"role":"user","content":"x"}],"tools":` + toolsJSON(3) + `,"tools":` + toolsJSON(4) + `}`, log: "unedited"},
		{name: "no tools", body: `{"model":"m","messages":[]}`},
		{name: "tools without names", body: chatBody(`[{"type":"function","function":{}},{"type":"web_search"}]`)},
		{name: "compressed", body: packed.String(), header: []string{"Content-Encoding", "gzip"}, log: "compressed"},
		{name: "over the edit limit", body: chatBody(toolsJSON(200)), config: limited, log: "over the edit limit of 4096"},
		{name: "nothing left to hold it", body: chatBody(toolsJSON(5)), config: func(c *proxy.Config) { c.HeldLimitBytes = 10 }, log: "held at this moment"},
		{name: "planner errs", body: chatBody(toolsJSON(5)), plan: func(turn.Request) (*turn.Plan, error) { return nil, errors.New("no snapshot") }, log: "no snapshot", planned: true},
		{name: "planner panics", body: chatBody(toolsJSON(5)), plan: func(turn.Request) (*turn.Plan, error) { panic("ouch") }, log: "ouch", planned: true},
		{name: "planner has nothing to say", body: chatBody(toolsJSON(5)), plan: func(turn.Request) (*turn.Plan, error) { return nil, nil }, planned: true},
		{name: "planner gives no body", body: chatBody(toolsJSON(5)), plan: func(turn.Request) (*turn.Plan, error) { return &turn.Plan{}, nil }, planned: true},
		{name: "fallback", body: chatBody(toolsJSON(5)), plan: unchanged, planned: true},
	}
	for _, c := range cases {
		for _, chunked := range []bool{false, true} {
			t.Run(c.name+map[bool]string{false: "", true: ", chunked"}[chunked], func(t *testing.T) {
				url, got := recorder(t)
				r := start(t, url, c.config)
				r.planner.plan = c.plan
				var body io.Reader = strings.NewReader(c.body)
				if chunked {
					body = io.MultiReader(body)
				}
				req, _ := http.NewRequest("POST", r.daemon.URL+"/api/chat", body)
				req.Header.Set("Accept-Encoding", "br")
				for i := 0; i+1 < len(c.header); i += 2 {
					req.Header.Set(c.header[i], c.header[i+1])
				}
				if status, answer := r.do(req); status != 200 || answer != "{}" {
					t.Fatalf("answer %d %q", status, answer)
				}
				q := take(t, got, "the request")
				if q.body != c.body {
					t.Errorf("the engine got other bytes: %q", q.body)
				}
				if chunked && c.body != "" && (q.length != -1 || len(q.encoding) != 1) || !chunked && q.length != int64(len(c.body)) {
					t.Errorf("framing: length %d, encoding %v", q.length, q.encoding)
				}
				if q.header.Get("Accept-Encoding") != "br" {
					t.Errorf("Accept-Encoding %q", q.header.Get("Accept-Encoding"))
				}
				if !strings.Contains(r.log.String(), c.log) {
					t.Errorf("log lacks %q: %s", c.log, r.log)
				}
				if c.log != "" && strings.Count(r.log.String(), "\n") != 1 {
					t.Errorf("not one line: %s", r.log)
				}
				if planned := len(r.planner.seen()) > 0; planned != c.planned {
					t.Errorf("planned: %v, want %v", planned, c.planned)
				}
			})
		}
	}
}

// The share of a request is given back when it ends, so that those after it are edited again.
func TestHeldBytesAreGivenBack(t *testing.T) {
	url, got := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.EditLimitBytes, c.HeldLimitBytes = 8192, 8193 })
	for range 5 {
		r.post("/api/chat", chatBody(toolsJSON(5)))
		if q := take(t, got, "the request"); q.body != shortened() {
			t.Fatalf("not edited: %s\n%s", q.body, r.log)
		}
		r.post("/api/chat", chatBody(toolsJSON(300)))
		if q := take(t, got, "the request"); q.body != chatBody(toolsJSON(300)) {
			t.Fatal("the large one was changed")
		}
	}
}

// A body of exactly the limit is edited, one byte more is not.
func TestEditLimitIsExact(t *testing.T) {
	body := chatBody(toolsJSON(5))
	for _, over := range []int64{0, 1} {
		for _, chunked := range []bool{false, true} {
			url, got := recorder(t)
			r := start(t, url, func(c *proxy.Config) { c.EditLimitBytes = int64(len(body)) - over })
			var reader io.Reader = strings.NewReader(body)
			if chunked {
				reader = io.MultiReader(reader)
			}
			req, _ := http.NewRequest("POST", r.daemon.URL+"/api/chat", reader)
			r.do(req)
			want := shortened()
			if over == 1 {
				want = body
			}
			if q := take(t, got, "the request"); q.body != want {
				t.Errorf("%d over, chunked %v: %s", over, chunked, q.body)
			}
		}
	}
}

// TestAnAPIKeyIsACredential: what a client of Anthropic's protocol shows to the engine tells its user apart, our own token aside.
func TestAnAPIKeyIsACredential(t *testing.T) {
	url, _ := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.Token = "open" })
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"a","input_schema":{"type":"object"}}]}`
	r.post("/v1/messages", body, "X-Api-Key", "ann", "X-Toolbelt-Token", "open")
	r.post("/v1/messages", body, "X-Api-Key", "bob", "X-Toolbelt-Token", "open")
	r.post("/v1/messages", body, "X-Api-Key", "open")
	seen := r.planner.seen()
	if len(seen) != 3 {
		t.Fatalf("%d requests were planned", len(seen))
	}
	ann, bob, none := seen[0].Identity.Credential, seen[1].Identity.Credential, seen[2].Identity.Credential
	if ann == "" || ann == bob || strings.Contains(ann, "ann") || none != "" {
		t.Errorf("credentials %q, %q and %q", ann, bob, none)
	}
}

func TestIdentity(t *testing.T) {
	url, _ := recorder(t)
	r := start(t, url, func(c *proxy.Config) { c.Token = "open" })
	body := chatBody(toolsJSON(5))
	r.post("/v1/chat/completions", body, "Authorization", "Bearer sk-1", "X-Toolbelt-Token", "open", "X-Toolbelt-Session", "mine", "User-Agent", "Some-App/1.2 (linux)")
	r.post("/api/chat", body, "Authorization", "Bearer open", "User-Agent", "Other")
	r.post("/api/chat", body, "Authorization", "Bearer sk-2", "X-Toolbelt-Token", "open", "X-Toolbelt-Session", strings.Repeat("long", 1000))
	seen := r.planner.seen()
	if len(seen) != 3 {
		t.Fatalf("%d requests were planned", len(seen))
	}
	a, b, c := seen[0].Identity, seen[1].Identity, seen[2].Identity
	if a.Family != "openai" || a.Model != "m" || a.Explicit != "mine" || a.Agent != "Some-App" || len(a.Chain) != 1 || a.Continues {
		t.Errorf("identity %+v", a)
	}
	if a.Credential == "" || strings.Contains(a.Credential, "sk-1") || a.Credential == c.Credential {
		t.Errorf("credentials %q and %q", a.Credential, c.Credential)
	}
	if b.Family != "ollama" || b.Agent != "Other" || b.Credential != "" || b.Explicit != "" || b.Chain[0] != a.Chain[0] || b.Body != a.Body {
		t.Errorf("identity %+v", b)
	}
	if len(c.Explicit) > 128 || c.Explicit == "" {
		t.Errorf("explicit session of %d bytes", len(c.Explicit))
	}
	if string(seen[0].Body) != body {
		t.Error("the planner saw another body")
	}
}

func TestSaysOnceWhyNothingIsSaved(t *testing.T) {
	const bare = `{"model":"m","messages":[{"role":"user","content":"x"}]}`
	url, _ := recorder(t)
	r := start(t, url, nil)
	hints := func() int { return strings.Count(r.log.String(), "doc/apps.md") }
	for range 19 {
		r.post("/api/chat", bare)
	}
	r.post("/api/chat", chatBody(toolsJSON(3)))
	for range 19 {
		r.post("/api/chat", bare)
	}
	if hints() != 0 {
		t.Fatalf("said too early: %s", r.log)
	}
	for range 30 {
		r.post("/api/chat", bare)
	}
	if hints() != 1 {
		t.Errorf("said %d times", hints())
	}
	if n := r.handler.Counts(); n.Chats != 69 || n.WithoutTools != 68 || n.Edited != 1 {
		t.Errorf("counts %+v", n)
	}
}
