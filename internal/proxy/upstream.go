package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"toolbelt/catalog"
)

// lookupTimeout is how long the resolver may take for the engine's name.
const lookupTimeout = 2 * time.Second

// ParseUpstream reads an engine's address as Ollama reads OLLAMA_HOST: a URL, host:port, a bare host or
// ":port". The port is 11434 without a scheme, 80 or 443 with one. An unspecified host (0.0.0.0, [::]) is an address to listen
// on; it is reached at loopback. "" is http://127.0.0.1:11434.
//
// A path is kept and put before every request's path. /v1 or /api/v1 at its end is cut off: it is the part of an
// app's base URL that each request brings along. What cannot be an address is an error of kind
// Invalid.
func ParseUpstream(s string) (*url.URL, error) {
	text := strings.Trim(strings.TrimSpace(s), `"'`)
	bad := func(why string) (*url.URL, error) {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("reading the engine's address %q: %s", withoutPassword(text), why), nil)
	}
	scheme, rest, hasScheme := strings.Cut(text, "://")
	port := "11434"
	switch {
	case !hasScheme && text == "ollama.com":
		scheme, rest, port = "https", text, "443"
	case !hasScheme:
		scheme, rest = "http", text
	case strings.EqualFold(scheme, "http"):
		port = "80"
	case strings.EqualFold(scheme, "https"):
		port = "443"
	default:
		return bad("only http and https are known")
	}
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return bad("it must not hold credentials; the app sends its own")
	}
	if strings.ContainsAny(rest, "?#") {
		return bad("it must not have a query or a fragment")
	}
	host, port, err := splitAuthority(authority, port)
	if err != nil {
		return bad(err.Error())
	}
	u, err := url.Parse(strings.ToLower(scheme) + "://" + net.JoinHostPort(host, port) + basePath(path))
	if err != nil {
		return bad("it is not a URL")
	}
	return u, nil
}

// nameLetters are what names of hosts are made of, in networks at home too.
const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

func splitAuthority(authority, defaultPort string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(authority)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]"), defaultPort
	}
	addr, ipErr := netip.ParseAddr(host)
	if ipErr != nil && strings.Trim(host, nameLetters) != "" || addr.Zone() != "" {
		return "", "", fmt.Errorf("%q is not a host, or host:port", authority)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("%q is not a port between 1 and 65535", port)
	}
	switch {
	case host == "", addr.Unmap() == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case addr == netip.IPv6Unspecified():
		host = "::1"
	}
	return host, port, nil
}

// basePath returns the path with a slash before it and none after it, "" for the root.
func basePath(path string) string {
	path = strings.TrimRight("/"+path, "/")
	for _, brought := range []string{"/api/v1", "/v1"} {
		if cut, ok := strings.CutSuffix(path, brought); ok {
			return strings.TrimRight(cut, "/")
		}
	}
	return path
}

// withoutPassword hides what stands between "://" and "@".
func withoutPassword(s string) string {
	at := strings.LastIndex(s, "@")
	if at < 0 {
		return s
	}
	start := 0
	if i := strings.Index(s, "://"); i >= 0 && i < at {
		start = i + 3
	}
	return s[:start] + "…" + s[at:]
}

// CheckNotSelf refuses an upstream that is the daemon's own listen address (host:port, an empty host is every
// address): an error of kind Invalid that says how it comes about. It may ask the resolver for the upstream's
// name, for 2 seconds at most; a name that cannot be resolved is not us.
func CheckNotSelf(upstream *url.URL, listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" || port != upstream.Port() {
		return nil
	}
	ours := addresses(host)
	everywhere := host == "" || len(ours) == 1 && ours[0].IsUnspecified()
	for _, theirs := range addresses(upstream.Hostname()) {
		same := everywhere && isOwnAddress(theirs)
		for _, addr := range ours {
			same = same || addr == theirs || addr.IsLoopback() && theirs.IsLoopback()
		}
		if same {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("the upstream %s is toolbelt's own address (it listens on %s). "+
				"OLLAMA_HOST was probably exported for the app: set TOOLBELT_UPSTREAM to the engine's address, for example TOOLBELT_UPSTREAM=http://127.0.0.1:11434", upstream, listen), nil)
		}
	}
	return nil
}

// addresses returns the addresses of a host, none where it has none.
func addresses(host string) []netip.Addr {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.WithZone("").Unmap()}
	}
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if host == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].WithZone("").Unmap()
	}
	return found
}

// isOwnAddress reports whether one of this machine's interfaces has the address at this moment: a machine changes networks, and a forwarded connection comes in on
// another address than the client wrote. A page can rename itself to an address by its name alone, so that the address itself is no danger at the door. It asks the
// system, about 0.1 ms, for addresses that are not known otherwise.
func isOwnAddress(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range interfaces {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == addr {
			return true
		}
	}
	return false
}

// hostHeader is what the engine is to read as its Host.
func hostHeader(u *url.URL) string {
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Host
}
