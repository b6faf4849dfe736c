package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"toolbelt/catalog"
)

// The headers that are ours: none of them goes to the engine.
const (
	tokenHeader   = "X-Toolbelt-Token"
	sessionHeader = "X-Toolbelt-Session"
	ownHeaders    = "X-Toolbelt-"
)

// keyHeader is where clients of Anthropic's protocol show their API key. It is the engine's, unless it holds our token.
const keyHeader = "X-Api-Key"

// door decides who may come in. A browser must not be led here by a page that renamed itself to this
// address (Host), nor write to our own paths from another page (Origin); nobody may without the token, where
// there is one.
type door struct {
	guarded bool
	secret  [sha256.Size]byte // of the token
	hosts   map[string]bool   // exact names
	domains []string          // ".name" for "*.name"
}

func newDoor(token string, hosts []string) door {
	d := door{guarded: token != "", secret: sha256.Sum256([]byte(token)), hosts: map[string]bool{}}
	for _, name := range hosts {
		name = hostname(strings.TrimSpace(name))
		if domain, ok := strings.CutPrefix(name, "*."); ok {
			d.domains = append(d.domains, "."+domain)
		} else if name != "" {
			d.hosts[name] = true
		}
	}
	return d
}

// target refuses what is meant for somebody else: a foreign Host, another origin server, a tunnel.
func (d door) target(r *http.Request) *refusal {
	if r.Method == http.MethodConnect {
		return refuse(http.StatusForbidden, "toolbelt opens no tunnels: CONNECT is refused")
	}
	if r.URL.Host != "" { // absolute form, as for a forward proxy
		if own := localAddr(r); own.IsValid() && r.URL.Port() != fmt.Sprint(own.Port()) || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
			return refuse(http.StatusForbidden, fmt.Sprintf("toolbelt is not a forward proxy: it does not fetch %q", r.URL.Scheme+"://"+r.URL.Host))
		}
	}
	if !d.knows(r) {
		return refuse(http.StatusForbidden, fmt.Sprintf("the host %q is not a name of this daemon: use its address, or add the name to TOOLBELT_HOSTS", r.Host))
	}
	return nil
}

// knows reports whether the request's Host is one of ours.
func (d door) knows(r *http.Request) bool {
	if r.Host == "" {
		return !r.ProtoAtLeast(1, 1) // only HTTP/1.0 may leave it out, and no browser does
	}
	name := hostname(r.Host)
	if addr, err := netip.ParseAddr(name); err == nil {
		addr = addr.WithZone("").Unmap()
		return addr == localAddr(r).Addr().WithZone("").Unmap() || d.hosts[name] || isOwnAddress(addr)
	}
	if name == "localhost" || d.hosts[name] {
		return true
	}
	for _, domain := range append([]string{".localhost", ".local", ".internal"}, d.domains...) {
		if strings.HasSuffix(name, domain) && len(name) > len(domain) {
			return true
		}
	}
	return false
}

// hostname returns the lower-case name of a Host header, without port, brackets and a dot at the end.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// localAddr is the address that the client's connection came in on; invalid where it is unknown.
func localAddr(r *http.Request) netip.AddrPort {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return addr.AddrPort()
}

// ownPaths keeps other pages from our own paths. That a write is JSON, which no page can send elsewhere unasked, is for the API itself to see to: it
// knows which paths and methods there are.
func (d door) ownPaths(r *http.Request) *refusal {
	if !isOwn(r) {
		return nil
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return refuse(http.StatusForbidden, fmt.Sprintf("a page from %q may not use %s", origin, Prefix))
		}
	}
	return nil
}

// token refuses a request without the token where one is set. Open are: the health check, and a browser's
// preflight, which can carry none and which the engine answers. Where the token came as X-Api-Key it is taken off, so that it goes no further;
// another key stays.
func (d door) token(r *http.Request) *refusal {
	shown := d.takeKey(r.Header)
	if !d.guarded || r.URL.Path == Prefix+"healthz" || isPreflight(r) && !isOwn(r) || shown {
		return nil
	}
	for _, shown := range r.Header.Values(tokenHeader) {
		if d.isToken(shown) {
			return nil
		}
	}
	for _, shown := range r.Header.Values("Authorization") {
		if d.isBearer(shown) {
			return nil
		}
	}
	return refuse(http.StatusUnauthorized, "this daemon wants its token: send it as X-Toolbelt-Token, or as the API key (Authorization: Bearer …, or x-api-key: …)")
}

// takeKey takes our token out of the API keys of Anthropic's clients, and reports whether it was there.
func (d door) takeKey(header http.Header) bool {
	keys := header.Values(keyHeader)
	theirs := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return d.isToken(strings.TrimSpace(key)) })
	if len(theirs) == len(keys) {
		return false
	}
	if header.Del(keyHeader); len(theirs) > 0 {
		header[keyHeader] = theirs
	}
	return true
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

func (d door) isToken(shown string) bool {
	sum := sha256.Sum256([]byte(shown))
	return d.guarded && subtle.ConstantTimeCompare(sum[:], d.secret[:]) == 1
}

func (d door) isBearer(authorization string) bool {
	scheme, credentials, ok := strings.Cut(authorization, " ")
	return ok && strings.EqualFold(scheme, "Bearer") && d.isToken(strings.TrimSpace(credentials))
}

// authorization returns the Authorization values that are meant for the engine: all but our own token.
func (d door) authorization(r *http.Request) []string {
	var theirs []string
	for _, value := range r.Header.Values("Authorization") {
		if !d.isBearer(value) {
			theirs = append(theirs, value)
		}
	}
	return theirs
}

// CheckListen refuses an address that others can reach where no token guards it. addr is host:port; an
// empty host is every address. A name other than localhost counts as reachable.
func CheckListen(addr, token string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("the listen address %q is not host:port", addr), nil)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost") || token != "" {
		return nil
	}
	return catalog.NewError(catalog.Invalid, fmt.Sprintf("listening on %q lets other machines in: set TOOLBELT_TOKEN, or listen on 127.0.0.1", addr), nil)
}
