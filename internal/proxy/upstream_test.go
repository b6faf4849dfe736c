package proxy_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/proxy"
)

func TestParseUpstream(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "http://127.0.0.1:11434",
		"  ":                             "http://127.0.0.1:11434",
		"0.0.0.0":                        "http://127.0.0.1:11434",
		"0.0.0.0:8080":                   "http://127.0.0.1:8080",
		":8080":                          "http://127.0.0.1:8080",
		":11434":                         "http://127.0.0.1:11434",
		"[::]":                           "http://[::1]:11434",
		"[::]:9":                         "http://[::1]:9",
		"::":                             "http://[::1]:11434",
		"::1":                            "http://[::1]:11434",
		"[::1]":                          "http://[::1]:11434",
		"[::1]:9":                        "http://[::1]:9",
		"http://[::1]":                   "http://[::1]:80",
		"box":                            "http://box:11434",
		"box:9":                          "http://box:9",
		"192.168.1.7":                    "http://192.168.1.7:11434",
		"http://box":                     "http://box:80",
		"https://box":                    "https://box:443",
		"HTTPS://box/":                   "https://box:443",
		"http://box:9/":                  "http://box:9",
		"http://0.0.0.0":                 "http://127.0.0.1:80",
		"ollama.com":                     "https://ollama.com:443",
		"https://box/engine":             "https://box:443/engine",
		"https://box/engine/":            "https://box:443/engine",
		"box/engine%20one":               "http://box:11434/engine%20one",
		"http://localhost:8000/v1":       "http://localhost:8000",
		"http://localhost:8000/v1/":      "http://localhost:8000",
		"http://localhost:8000/api/v1":   "http://localhost:8000",
		"http://localhost:8000/x/v1":     "http://localhost:8000/x",
		"http://localhost:8000/x/api/v1": "http://localhost:8000/x",
		"http://localhost:8000/rev1":     "http://localhost:8000/rev1",
		`"http://box:9"`:                 "http://box:9",
		"'box'":                          "http://box:11434",
	} {
		u, err := proxy.ParseUpstream(in)
		if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, u, err, want)
		}
	}
	for _, in := range []string{"ftp://box", "unix:///run/x", "box:0", "box:65536", "box:abc", "http://box:-1", "http://u:pw@box", "u:pw@box:1",
		"http://box/?a=b", "box#x", "a:b:c", "bo x", "http://bo\x00x", "box/%zz"} {
		u, err := proxy.ParseUpstream(in)
		if err == nil {
			t.Errorf("%q: %v, and no error", in, u)
			continue
		}
		if catalog.KindOf(err) != catalog.Invalid || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func FuzzParseUpstream(f *testing.F) {
	for _, s := range []string{"", "0.0.0.0", ":1", "http://a/b", "[::1]:2", "https://a/v1", "a@b", "::", "http://[fe80::1%25eth0]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := proxy.ParseUpstream(s)
		if err != nil {
			return
		}
		if u.Port() == "" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q: %#v", s, u)
		}
		if again, err := url.Parse(u.String()); err != nil || again.String() != u.String() || again.Host != u.Host {
			t.Errorf("%q: %v, and that: %v, %v", s, u, again, err)
		}
	})
}

func TestCheckNotSelf(t *testing.T) {
	own := ownAddress(t)
	cases := []struct {
		upstream, listen string
		self             bool
	}{
		{"http://127.0.0.1:11435", "127.0.0.1:11435", true},
		{"http://localhost:11435", "127.0.0.1:11435", true},
		{"http://127.0.0.1:11435", "localhost:11435", true},
		{"http://[::1]:11435", "127.0.0.1:11435", true},
		{"http://127.0.0.1:11435", ":11435", true},
		{"http://127.0.0.1:11435", "0.0.0.0:11435", true},
		{"http://[::1]:11435", "[::]:11435", true},
		{"http://" + own + ":11435", "0.0.0.0:11435", true},
		{"http://" + own + ":11435", own + ":11435", true},
		{"http://127.0.0.1:11435/base", "127.0.0.1:11435", true},
		{"http://127.0.0.1:11434", "127.0.0.1:11435", false},
		{"http://192.0.2.9:11435", "0.0.0.0:11435", false},
		{"http://192.0.2.9:11435", "127.0.0.1:11435", false},
		{"http://" + own + ":11435", "127.0.0.1:11435", false}, // another socket
		{"http://nowhere.invalid:11435", ":11435", false},
		{"http://127.0.0.1:11435", "127.0.0.1:0", false},
	}
	for _, c := range cases {
		u, err := url.Parse(c.upstream)
		if err != nil {
			t.Fatal(err)
		}
		err = proxy.CheckNotSelf(u, c.listen)
		if (err != nil) != c.self {
			t.Errorf("%s behind %s: %v", c.upstream, c.listen, err)
		}
		if err != nil && (catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), "TOOLBELT_UPSTREAM") || !strings.Contains(err.Error(), "OLLAMA_HOST")) {
			t.Errorf("%v", err)
		}
	}
}

// ownAddress is an IPv4 address of this machine that is not loopback; the test is left out where it has none.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}
