package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// exchange is one request on its way to the engine and its answer on the way back.
type exchange struct {
	h        *Handler
	w        http.ResponseWriter
	protocol chat.Protocol // of a planned chat; Unknown for all else

	path      string // as the client wrote it
	header    http.Header
	original  []byte     // the client's body, where a plan was made; with the engine's own id of the answer that it goes on from
	previous  string     // the client's id of that answer, where it is another; "": it is the same
	streams   bool       // the client asked for a stream
	plan      *turn.Plan // the newest; nil where nothing was planned, or where the engine has the client's own request instead
	edited    bool       // the body is not the client's
	started   time.Time  // when the engine was asked
	begun     bool       // some of the client's body was read before the engine was asked
	whole     bool       // all of it was
	committed sync.Once
	written   atomic.Bool // the engine has the request

	body *watchedBody // the client's as far as it streams, nil where nothing of it does
}

// pass sends the request on as it is.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, w: w}
	x.send(r)
}

// send asks the engine and streams its answer to the client.
func (x *exchange) send(r *http.Request) {
	x.started = time.Now()
	if r.Method == http.MethodPost {
		defer x.h.traffic.begin()()
	}
	out := r
	if plan := x.plan; plan != nil { // which the transport may tell of as late as another has taken its place
		trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				x.commit(plan)
			}
		}}
		out = r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	}
	if !x.whole && out.Body != nil && out.Body != http.NoBody {
		// Without this the server would swallow the rest of an upload as soon as the engine begins to answer,
		// and would wait for it. Only writers that are no connection do not know it.
		_ = http.NewResponseController(x.w).EnableFullDuplex()
		out = out.WithContext(out.Context()) // a copy: the server keeps its own
		x.body = &watchedBody{ReadCloser: out.Body}
		out.Body = x.body
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x.h.transport,
		FlushInterval:  -1,
		BufferPool:     &x.h.buffers,
		ModifyResponse: x.answer,
		ErrorHandler:   x.fail,
		ErrorLog:       x.h.quiet,
	}
	proxy.ServeHTTP(x.w, out)
}

// rewrite makes the engine's request: the client's, at another address.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	in, out, h := pr.In, pr.Out, x.h
	setTarget(out.URL, in, h.upstream, h.base)
	out.Host = h.hostHeader
	out.Trailer = in.Trailer // the same map: it is filled when the body has been read

	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := in.Header[name]; ok {
			out.Header[name] = values
		}
	}
	for name := range out.Header {
		if strings.HasPrefix(textproto.CanonicalMIMEHeaderKey(name), ownHeaders) {
			delete(out.Header, name)
		}
	}
	delete(out.Header, "Authorization")
	if theirs := h.door.authorization(in); len(theirs) > 0 {
		out.Header["Authorization"] = theirs
	}
	out.Header.Add("Via", h.loop.via())

	if x.begun {
		out.Header.Del("Expect") // we have told the client to continue
	}
	if x.edited {
		// The answer must be readable, and what is said of the bytes must be true.
		for _, name := range []string{"Accept-Encoding", "Content-Md5", "Content-Digest", "Repr-Digest", "Digest"} {
			out.Header.Del(name)
		}
	}
}

// setTarget points u at the upstream with the path and query exactly as the client wrote them.
func setTarget(u *url.URL, in *http.Request, upstream *url.URL, base string) {
	u.Scheme, u.Host, u.User = upstream.Scheme, upstream.Host, nil
	u.RawQuery, u.ForceQuery = in.URL.RawQuery, in.URL.ForceQuery

	path := base + writtenPath(in)
	u.Opaque, u.RawPath = "", path
	if unescaped, err := url.PathUnescape(path); err == nil {
		u.Path = unescaped
	}
	// What net/url would escape in another way goes past it. Only "//" at its start means something else there.
	if u.EscapedPath() != path && !strings.HasPrefix(path, "//") {
		u.Opaque = path
	}
}

// writtenPath returns the path of the request line, escaped as it was written.
func writtenPath(in *http.Request) string {
	path, _, _ := strings.Cut(in.RequestURI, "?")
	if !strings.HasPrefix(path, "/") && path != "*" { // absolute form, or a request that came over no wire
		return in.URL.EscapedPath()
	}
	return path
}

// answer looks at the engine's answer before it goes to the client. It changes nothing of it, but puts another in its place where the engine has refused what we made
// of the request.
func (x *exchange) answer(res *http.Response) error {
	x.commit(x.plan) // it was written, or there would be no answer; the trace may be told a moment later
	if x.remade() && faults(res.StatusCode) && x.straight(res) {
		return x.answer(res)
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := res.Header[name]; !ok {
			x.w.Header()[name] = nil // the server must not make one up
		}
	}
	x.logError(res)
	x.endUnread()
	if res.StatusCode >= http.StatusBadRequest {
		x.refused()
	}
	if x.edited && x.plan != nil && res.StatusCode == http.StatusOK && isPlain(res.Header) && res.ContentLength <= maxWhole {
		x.inRounds(res)
		return nil
	}
	s := &stream{ReadCloser: res.Body, x: x, ctx: res.Request.Context()}
	if x.plan != nil && res.StatusCode == http.StatusOK {
		s.watch(res.Header)
	}
	res.Body = s
	return nil
}

// remade reports whether the plan's body is another one than the client's.
func (x *exchange) remade() bool {
	return x.plan != nil && len(x.plan.Body) > 0 && !bytes.Equal(x.plan.Body, x.original)
}

// faults reports whether an engine answers so where it cannot do with what a request holds. Templates that do not know a role, or an order of roles, are 500 to some.
func faults(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge || status == http.StatusUnprocessableEntity || status == http.StatusInternalServerError
}

// straight sends the client's own request where the engine has refused what we made of it, and puts that answer in the place of res: it is
// what the engine alone would have said. false: it gave none.
func (x *exchange) straight(res *http.Response) bool {
	own, err := x.h.again(res.Request, x.original, func() {
		defer x.h.survive("noting that a chat goes on as it came")
		x.h.passed(nil, session.Identity{})
	})
	if err != nil {
		return false
	}
	res.Body.Close()
	taken := own.StatusCode < http.StatusBadRequest
	if taken {
		x.h.log.Warn("the engine refused a chat as we sent it, and took the client's own", "status", res.StatusCode, "path", res.Request.URL.Path, "engine", x.h.upstream.Host)
	}
	x.observeRefusal(turn.Outcome{Refused: true, Foreign: taken && (res.StatusCode != http.StatusInternalServerError || x.plan.Speaks())}) // an engine may fail for once
	*res = *own
	x.plan, x.edited = nil, false
	return true
}

// again sends a request once more, with another body. wrote is called once when the engine has it.
func (h *Handler) again(first *http.Request, body []byte, wrote func()) (*http.Response, error) {
	var once sync.Once
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			once.Do(wrote)
		}
	}}
	out := first.Clone(httptrace.WithClientTrace(first.Context(), trace))
	out.ContentLength, out.TransferEncoding, out.Trailer = int64(len(body)), nil, nil
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	res, err := h.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	once.Do(wrote) // an engine may answer before it has all of the request
	return res, nil
}

// maxWhole is the largest answer of a known length that is looked through as a whole.
const maxWhole = 32 << 20

// isPlain reports whether an answer's bytes are what they say.
func isPlain(header http.Header) bool {
	coding := header.Get("Content-Encoding")
	return coding == "" || coding == "identity"
}

// logError writes a line for an error of the engine, and for its refusal of a chat that was planned. The text of
// the error is the client's: it may repeat what the user said.
func (x *exchange) logError(res *http.Response) {
	line := []any{"status", res.StatusCode, "method", res.Request.Method, "path", res.Request.URL.Path, "engine", x.h.upstream.Host}
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		x.h.log.Warn("the engine answered with an error", line...)
	case res.StatusCode >= http.StatusBadRequest && x.original != nil:
		x.h.log.Info("the engine refused a chat", line...)
	}
}

// commit tells the planner once that the engine has the request.
func (x *exchange) commit(plan *turn.Plan) {
	if plan == nil {
		return
	}
	x.committed.Do(func() {
		x.written.Store(true)
		defer x.h.survive("keeping the plan")
		x.h.planner.Commit(plan)
	})
}

// ended tells whom it concerns that the engine holds the plan's prompt and what it answered.
func (x *exchange) ended(o turn.Outcome) {
	if o.Usage.Done {
		x.h.answered(x.plan, x.path, x.header)
	}
}

// refused tells the planner that the engine has not taken the request.
func (x *exchange) refused() {
	if x.plan != nil && x.written.Load() {
		x.observeRefusal(turn.Outcome{Refused: true})
	}
}

func (x *exchange) observeRefusal(o turn.Outcome) {
	defer x.h.survive("noting that a chat was refused")
	x.committed.Do(func() {}) // the planner knows of the request when it hears of its end
	x.h.planner.Observe(x.plan, o)
}

// fail answers where the engine did not.
func (x *exchange) fail(w http.ResponseWriter, r *http.Request, err error) {
	x.endUnread()
	x.refused()
	switch cause := x.body.failure(); {
	case r.Context().Err() != nil: // the client has gone; nobody reads the answer
		x.h.log.Info("the client gave up before the engine answered", "after", time.Since(x.started).Round(time.Millisecond), "method", r.Method, "path", r.URL.Path)
		w.WriteHeader(http.StatusBadGateway)
	case cause != nil:
		refuse(http.StatusBadRequest, "the request's body ended early: "+reason(cause)).write(w, r)
	default:
		message := unreachable(x.h.upstream, err)
		x.h.log.Warn(message, "method", r.Method, "path", r.URL.Path)
		refuse(http.StatusBadGateway, message).write(w, r)
	}
}

// survive keeps a panic of the planner or of the scanner from reaching the request. To be deferred.
func (h *Handler) survive(doing string) {
	if v := recover(); v != nil {
		h.log.Warn("panic; the request goes on without", "doing", doing, "panic", v)
	}
}

// endUnread closes the connection after an answer that comes before the end of the client's body: what is left
// of it must not be taken for the next request.
func (x *exchange) endUnread() {
	if x.body != nil && !x.body.ended.Load() {
		x.w.Header().Set("Connection", "close")
	}
}

// watchedBody remembers how the reading of the client's body ended, so that the engine is not blamed for it.
type watchedBody struct {
	io.ReadCloser
	ended atomic.Bool
	err   atomic.Pointer[error]
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	} else if err != nil && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.err.CompareAndSwap(nil, &err)
	}
	return n, err
}

// failure is why the body could not be read, nil where it could. b may be nil.
func (b *watchedBody) failure() error {
	if b == nil {
		return nil
	}
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// bufferPool lends ReverseProxy its copy buffers.
type bufferPool struct {
	pool sync.Pool
}

const copyBufferBytes = 32 << 10

func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[copyBufferBytes]byte); ok {
		return b[:]
	}
	return make([]byte, copyBufferBytes)
}

func (p *bufferPool) Put(b []byte) { p.pool.Put((*[copyBufferBytes]byte)(b)) }

// gone reports whether nobody waits for the answer any more.
func gone(ctx context.Context) bool { return ctx.Err() != nil }
