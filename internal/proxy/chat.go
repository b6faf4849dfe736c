package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// serveChat sends a chat request on with the tools that the planner shows, or as it came.
func (h *Handler) serveChat(w http.ResponseWriter, r *http.Request, protocol chat.Protocol) {
	h.counters.chats.Add(1)
	if why := unreadable(r); why != "" {
		h.log.Info("a chat request goes on unedited", "why", why, "path", r.URL.Path)
		h.passed(nil, session.Identity{})
		h.pass(w, r)
		return
	}
	read, err := h.read(r)
	defer read.release()
	if err != nil {
		if !gone(r.Context()) {
			refuse(http.StatusBadRequest, "the request's body ended early: "+reason(err)).write(w, r)
		}
		return
	}
	x := &exchange{h: h, w: w, path: r.URL.Path, header: r.Header, begun: len(read.bytes) > 0, whole: read.whole}
	out := r.WithContext(r.Context()) // a copy
	if !read.whole {
		h.log.Info("a chat request goes on unedited", "why", read.why, "path", r.URL.Path)
		h.passed(nil, session.Identity{})
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(read.bytes), r.Body), r.Body}
		x.send(out)
		return
	}
	x.protocol = protocol
	body := h.makePlan(x, r, read.bytes)
	if x.plan != nil {
		x.original = body
	}
	if x.remade() {
		body, x.edited = x.plan.Body, true
		h.counters.edited.Add(1)
	}
	if x.edited {
		out.ContentLength, out.TransferEncoding, out.Trailer = int64(len(body)), nil, nil
	}
	if len(body) > 0 {
		// With GetBody the transport may ask again where the engine had closed an idle connection.
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	x.send(out)
}

// unreadable says why the body is not to be read at all, "" where it may be.
func unreadable(r *http.Request) string {
	if r.Header.Get("Upgrade") != "" {
		return "it asks for another protocol"
	}
	for _, coding := range r.Header.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return fmt.Sprintf("its body is compressed (%q)", coding)
		}
	}
	return ""
}

// makePlan fills in the plan for a chat request, none where it is to go on as it came and nothing is to be learned from its answer. It
// returns the body that the plan is for: the client's, but that it goes on from an answer by the engine's own id.
func (h *Handler) makePlan(x *exchange, r *http.Request, body []byte) (from []byte) {
	from = body
	defer func() {
		if v := recover(); v != nil {
			h.log.Warn("a chat request goes on unedited: planning panicked", "path", r.URL.Path, "panic", v)
			x.plan = nil
			h.passed(nil, session.Identity{})
		}
	}()
	request, err := chat.Decode(x.protocol, body)
	if err != nil {
		h.log.Info("a chat request goes on unedited", "why", err.Error(), "path", r.URL.Path)
		h.passed(nil, session.Identity{})
		return from
	}
	h.countTools(len(request.Elements) > 0)
	if kept := h.kept(r, request); kept != "" {
		renamed := chat.GoOnFrom(body, kept)
		if again, err := chat.Decode(x.protocol, renamed); err == nil {
			x.previous, x.edited = request.PreviousResponse, true
			request, from = again, renamed
		}
	}
	identity := h.identity(r, request, from)
	if !request.HasTools() {
		if len(request.Elements) > 0 {
			h.log.Info("a chat request goes on unedited", "why", "none of its tools is a function with a name", "path", r.URL.Path)
		}
		h.passed(request, identity)
		return from
	}
	one := !request.Several // a call of ours in one of several answers could not be answered without the others being asked for again
	plan, err := h.planner.Plan(r.Context(), turn.Request{Body: from, Chat: request, Identity: identity, Answers: one})
	if err != nil {
		h.passed(nil, session.Identity{})
		if !gone(r.Context()) {
			h.log.Warn("a chat request goes on unedited: no plan could be made", "path", r.URL.Path, "why", err.Error())
		}
		return from
	}
	x.plan, x.streams = plan, request.Stream
	return from
}

// Keeper is a Planner that knows under which id the engine keeps an answer of which the client has another; "" for none.
type Keeper interface {
	Kept(id session.Identity, answer string) string
}

// kept is the engine's id of the answer that the request goes on from, "" where the client has the same or it is not known.
func (h *Handler) kept(r *http.Request, request *chat.Request) string {
	keeper, ok := h.planner.(Keeper)
	if !ok || request.PreviousResponse == "" {
		return ""
	}
	return keeper.Kept(h.identity(r, request, nil), request.PreviousResponse)
}

// identity is what the request says about its conversation.
func (h *Handler) identity(r *http.Request, request *chat.Request, body []byte) session.Identity {
	return session.Identity{
		Family:     request.Protocol.Family(),
		Model:      request.Model,
		Credential: credential(slices.Concat(h.door.authorization(r), r.Header.Values(keyHeader))),
		Agent:      session.Product(r.UserAgent()),
		Explicit:   session.Short(r.Header.Get(sessionHeader)),
		Previous:   session.Short(request.PreviousResponse),
		Chain:      chat.Chain(request),
		Replies:    request.Replies,
		Continues:  request.Continues,
		Body:       catalog.Hash(sha256.Sum256(body)),
	}
}

// credential returns an opaque name for what the client shows to the engine, "" for nothing.
func credential(authorization []string) string {
	if len(authorization) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte("toolbelt credential\x00" + strings.Join(authorization, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// bodyRead is what was read of a request's body, whole or its beginning.
type bodyRead struct {
	bytes   []byte
	whole   bool
	why     string // it is not whole
	release func() // gives its share of the held bytes back; bytes must not be used afterwards
}

// How a body's buffer grows: from firstBytes, or its announced length where that is less, by doubling.
const firstBytes = 256 << 10

// read reads the body up to the edit limit, within what may be held by all requests. It never waits for
// others. An error is one of reading the client's body.
func (h *Handler) read(r *http.Request) (bodyRead, error) {
	var weight int64
	b := bodyRead{release: func() { h.held.Release(weight) }}
	if r.ContentLength > h.editLimit {
		b.why = fmt.Sprintf("its body of %d bytes is over the edit limit of %d", r.ContentLength, h.editLimit)
		return b, nil
	}
	size := int64(firstBytes)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength)
	}
	size = min(size, h.editLimit) + 1 // one more, to see the end
	for {
		if !h.held.TryAcquire(size - weight) {
			b.why = "too many large requests are held at this moment"
			return b, nil
		}
		weight = size
		grown := make([]byte, len(b.bytes), size)
		copy(grown, b.bytes)
		b.bytes = grown
		for len(b.bytes) < cap(b.bytes) {
			n, err := r.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
			b.bytes = b.bytes[:len(b.bytes)+n]
			if err == io.EOF {
				b.whole = int64(len(b.bytes)) <= h.editLimit
			} else if err != nil {
				return b, err
			}
			if b.whole {
				return b, nil
			}
			if err == io.EOF {
				break
			}
		}
		if int64(len(b.bytes)) > h.editLimit {
			b.why = fmt.Sprintf("its body is over the edit limit of %d bytes", h.editLimit)
			return b, nil
		}
		size = min(2*size, h.editLimit+1)
	}
}
