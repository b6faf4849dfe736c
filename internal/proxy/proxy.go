// Package proxy stands between a chat app and its engine. Every request goes to the engine as it came and
// every answer comes back as it was given; only the tools array of a chat request may be cut, by the
// Planner. Whatever goes wrong on our side, the request goes on unedited.
package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/semaphore"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/hop"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// Planner decides which tools a chat request shows. An error or a panic of any method costs the
// request nothing but the saving. The methods are called from different goroutines, for one exchange in turn.
type Planner interface {
	// Plan returns the plan for r; its Body is what is sent. r.Body is valid until the exchange ends.
	Plan(ctx context.Context, r turn.Request) (*turn.Plan, error)
	// Commit is called once for each plan, when its body has been written to the engine. It must not block.
	Commit(p *turn.Plan)
	// Again returns the plan of the next round, where a round's answer called tools of ours alone, or came to nothing; nil where the answer is to
	// end as it is. An error says that there is no answer to those calls.
	Again(ctx context.Context, p *turn.Plan, r turn.Round) (*turn.Plan, error)
	// Observe is called once with the newest plan when the answer with status 200 to a committed one has ended, was cut or was given up, or
	// when the engine has refused the request or gave no answer.
	Observe(p *turn.Plan, o turn.Outcome)
}

// Limits of the bodies that are read in order to be edited; what is beyond streams through unedited.
const (
	DefaultEditLimitBytes = 64 << 20
	DefaultHeldLimitBytes = 256 << 20
)

// Prefix is the part of the path space that is the daemon's own; all else is the engine's.
const Prefix = "/toolbelt/"

// Config says where the engine is and who may come in.
type Config struct {
	Upstream *url.URL // as ParseUpstream returns it
	Token    string   // what a client must show, "" for none
	Hosts    []string // further names that requests may come for: "name" or "*.name", without a port

	EditLimitBytes int64    // largest body that is edited; 0 means DefaultEditLimitBytes
	HeldLimitBytes int64    // bytes of bodies held at one time by all requests; 0 means DefaultHeldLimitBytes
	Traffic        *Traffic // told of what the engine is asked; nil: nobody wants to know
	Passed         Passed   // likewise; nil: nobody wants to know
	Answered       Answered // told of each answer to a plan, after Observe; nil: nobody wants to know
	Instance       string   // this daemon's name in Via headers, of letters, digits and "-"; random where empty
}

// Passed is told of each request that makes the engine evaluate a prompt and has no plan: r is nil where the prompt cannot be read. It must not block.
type Passed func(r *chat.Request, id session.Identity)

// Answered is told of a plan whose answer has ended, with the path and headers that its request came with. It must not block.
type Answered func(p *turn.Plan, path string, header http.Header)

// Handler is the whole HTTP surface of the daemon. Safe for concurrent use.
type Handler struct {
	upstream   *url.URL
	base       string // escaped path of the upstream, without a slash at its end
	hostHeader string // of the upstream, without a port that its scheme implies
	planner    Planner
	own        http.Handler
	log        *slog.Logger
	quiet      *log.Logger // of ReverseProxy: stream and fail say in sentences what it would say
	door       door
	loop       loop
	transport  *hop.Transport
	buffers    bufferPool

	editLimit int64
	held      *semaphore.Weighted
	traffic   *Traffic
	passed    Passed
	answered  Answered
	counters  counters
}

// New returns the handler. Requests under Prefix that may come in go to own, all others to the engine. It
// starts nothing; an unusable Config is an error of kind Invalid.
func New(cfg Config, planner Planner, own http.Handler, logger *slog.Logger) (*Handler, error) {
	if cfg.Upstream == nil || cfg.Upstream.Host == "" {
		return nil, catalog.NewError(catalog.Invalid, "the proxy has no upstream: set TOOLBELT_UPSTREAM to the engine's address", nil)
	}
	if cfg.EditLimitBytes < 0 || cfg.HeldLimitBytes < 0 {
		return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("the proxy's limits must not be negative: edit %d, held %d", cfg.EditLimitBytes, cfg.HeldLimitBytes), nil)
	}
	h := &Handler{
		upstream:   cfg.Upstream,
		base:       strings.TrimRight(cfg.Upstream.EscapedPath(), "/"),
		hostHeader: hostHeader(cfg.Upstream),
		planner:    planner,
		own:        own,
		log:        logger,
		quiet:      log.New(io.Discard, "", 0),
		door:       newDoor(cfg.Token, cfg.Hosts),
		loop:       newLoop(cfg.Instance),
		transport:  hop.NewTransport(),
		editLimit:  orDefault(cfg.EditLimitBytes, DefaultEditLimitBytes),
		traffic:    cfg.Traffic,
		held:       semaphore.NewWeighted(orDefault(cfg.HeldLimitBytes, DefaultHeldLimitBytes)),
	}
	if h.traffic == nil {
		h.traffic = &Traffic{}
	}
	if h.passed = cfg.Passed; h.passed == nil {
		h.passed = func(*chat.Request, session.Identity) {}
	}
	if h.answered = cfg.Answered; h.answered == nil {
		h.answered = func(*turn.Plan, string, http.Header) {}
	}
	return h, nil
}

func orDefault(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}

// Close closes the idle connections to the engine. Requests in flight go on.
func (h *Handler) Close() { h.transport.CloseIdleConnections() }

// ServeHTTP answers one request: the door first, then our own paths, then chats, then all the rest.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, check := range []func(*http.Request) *refusal{h.door.target, h.loop.check, h.door.ownPaths, h.door.token} {
		if no := check(r); no != nil {
			h.log.Info("request refused", "status", no.status, "method", r.Method, "path", r.URL.Path, "why", no.message)
			no.write(w, r)
			return
		}
	}
	switch protocol := chat.ProtocolOf(r.URL.Path); {
	case isOwn(r):
		h.own.ServeHTTP(w, r)
	case protocol != chat.Unknown && r.Method == http.MethodPost:
		h.serveChat(w, r, protocol)
	default:
		if r.Method == http.MethodPost && evaluates(r.URL.Path) {
			h.passed(nil, session.Identity{})
		}
		h.pass(w, r)
	}
}

// evaluates reports whether a request on the path, which is no chat's, makes the engine evaluate a prompt.
func evaluates(path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/api"), "/v1")
	switch path {
	case "/generate", "/completions", "/completion", "/chat/completions", "/chat", "/responses", "/messages", "/infill":
		return true
	}
	return false
}

// isOwn reports whether the path is the daemon's.
func isOwn(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, Prefix) || r.URL.Path+"/" == Prefix
}

// randomName returns 16 hexadecimal digits.
func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}
