package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// listen reads host:port.
func (v value) listen() (string, error) {
	host, port, err := net.SplitHostPort(v.text)
	if err != nil || !validPort(port) || (host != "" && !isHostName(host)) {
		return "", errors.New("allowed is host:port, such as 127.0.0.1:11435, with a port from 0 to 65535")
	}
	return v.text, nil
}

// baseURL reads the base of an OpenAI-compatible API.
func (v value) baseURL() (string, error) {
	if v.text == "" {
		return "", nil
	}
	bad := errors.New("allowed is an http or https URL such as http://127.0.0.1:8000/api/v1")
	u, err := url.Parse(v.text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", bad
	}
	if !isHostName(u.Hostname()) || (u.Port() != "" && !validPort(u.Port())) {
		return "", bad
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// namesHost reports whether an address has anything between its scheme and its path.
func namesHost(address string) bool {
	address = strings.Trim(address, `"'`)
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	authority, _, _ := strings.Cut(address, "/")
	return strings.TrimSpace(authority) != ""
}

func validPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isHostName reports whether host is an IP address or could be a name in the DNS or a hosts file.
func isHostName(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if host == "" || len(host) > 253 || strings.HasPrefix(host, "-") {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}
