// Package hop is the way to the engine: connections that are kept, by an engine that may close each of them at any moment.
package hop

import (
	"net"
	"net/http"
	"time"
)

// Times of the connection to the engine. There is none for its answer: a first token may take minutes.
const (
	dialTimeout     = 5 * time.Second
	continueTimeout = time.Second
	idleTimeout     = 90 * time.Second
	idlePerHost     = 128
)

// idempotencyKey, without a value, never reaches the engine; net/http takes a request that has it for one that can be sent again.
const idempotencyKey = "Idempotency-Key"

// Transport asks an engine. llama.cpp's server closes its connection behind every streamed answer without saying so, and the next
// request on it finds it closed: such a request is sent once more on a new connection, where its body can be had again (GetBody) and no byte of an answer has
// come. One whose body cannot goes on a connection of its own. Safe for concurrent use.
type Transport struct{ kept, single *http.Transport }

// NewTransport returns a Transport. Compression is left to those that ask.
func NewTransport() *Transport {
	kept := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   dialTimeout,
		ExpectContinueTimeout: continueTimeout,
	}
	single := kept.Clone()
	single.MaxIdleConnsPerHost = -1 // none is kept, which DisableKeepAlives would tell the engine in a header of its own
	return &Transport{kept, single}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Body == nil || r.Body == http.NoBody:
	case r.GetBody == nil:
		return t.single.RoundTrip(r)
	default:
		if _, ok := r.Header[idempotencyKey]; !ok {
			again := *r // RoundTrip must not change the caller's
			again.Header = r.Header.Clone()
			again.Header[idempotencyKey] = nil
			r = &again
		}
	}
	return t.kept.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.kept.CloseIdleConnections()
	t.single.CloseIdleConnections()
}
