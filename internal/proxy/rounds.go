package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// rounds is the body of an answer to an edited chat. Where the model calls tools of ours alone, they are answered here and
// the engine is asked again, and what it says then goes on in the same answer: the client sees one. Read and Close are not called at the same time.
type rounds struct {
	x      *exchange
	res    *http.Response // the engine's newest answer
	filter *chat.Filter
	plain  bool   // one JSON document: nothing is sent before its end
	kind   string // Content-Type of the first

	instead bool // a plain answer is not ours, but what the engine answered to a later round

	intake
	ready []byte // for the client, from off on
	off   int
	err   error // what Read returns behind ready, nil while the answer goes on

	asked   int  // rounds after the first
	own     bool // the newest is to the client's own request
	outcome turn.Outcome
	told    sync.Once
}

// intake is what is read of the newest answer.
type intake struct {
	buf    []byte
	raw    []byte     // of a plain answer's round, in case that the filter panics
	coming chan piece // a read that is under way; nil: none is
	broken bool       // the filter panicked: what comes goes on as it is
}

// isDocument reports whether an answer of this type is one JSON document.
func isDocument(contentType string) bool { return mediaType(contentType) == "application/json" }

// inRounds gives res a body that answers calls of our tools. A plain answer is read to its end here, since its length must be known.
func (x *exchange) inRounds(res *http.Response) {
	kind := res.Header.Get("Content-Type")
	cfg := x.plan.Filter()
	cfg.Previous = x.previous
	r := &rounds{
		x: x, res: copyOf(res), kind: kind,
		plain: res.ContentLength >= 0 || !x.streams && isDocument(kind), intake: intake{buf: make([]byte, copyBufferBytes)},
	}
	ours, begins := cfg.Held, cfg.Prefix
	cfg.Held = func(name string) bool { return !r.own && ours(name) } // the answer to the client's own request is the engine's
	cfg.Prefix = func(begun string) bool { return !r.own && begins(begun) }
	r.filter = chat.NewFilter(x.protocol, kind, cfg)
	if !r.plain {
		res.Body = r
		res.ContentLength = -1
		res.Header.Del("Content-Length")
		return
	}
	for r.err == nil {
		r.fill()
	}
	if r.instead {
		res.StatusCode, res.Status, res.Header, res.Body, res.ContentLength = r.res.StatusCode, r.res.Status, r.res.Header, r.res.Body, r.res.ContentLength
		r.tell()
		return
	}
	if r.err == io.EOF && res.ContentLength >= 0 {
		res.ContentLength = int64(len(r.ready))
		res.Header.Set("Content-Length", strconv.Itoa(len(r.ready)))
	}
	res.Body = r
}

// copyOf keeps what the client's answer is changed in.
func copyOf(res *http.Response) *http.Response {
	c := *res
	return &c
}

func (r *rounds) Read(p []byte) (int, error) {
	for r.off == len(r.ready) {
		if r.err != nil {
			r.tell()
			return 0, r.err
		}
		r.ready, r.off = r.ready[:0], 0
		r.fill()
	}
	n := copy(p, r.ready[r.off:])
	r.off += n
	return n, nil
}

func (r *rounds) Close() error {
	if r.err == nil { // given up by the client
		r.note(r.end(true))
	}
	r.tell()
	return r.res.Body.Close()
}

// piece is what one read of the engine's answer gave.
type piece struct {
	bytes []byte
	err   error
}

// endWait is how long the last bytes of an answer that is complete may wait for its end: the client's next request may follow on them at
// once, and is to find what this answer has called.
const endWait = 20 * time.Millisecond

// fill takes the next piece of the engine's answer.
func (r *rounds) fill() {
	var p piece
	if r.coming != nil {
		p, r.coming = <-r.coming, nil
	} else {
		n, err := r.res.Body.Read(r.buf)
		p = piece{r.buf[:n], err}
	}
	r.handle(p)
	if r.err != nil || r.broken || r.plain || !r.filter.Done() {
		return
	}
	coming, body := make(chan piece, 1), r.res.Body
	go func() {
		buf := make([]byte, 4<<10)
		n, err := body.Read(buf) // ends with Close at the latest
		coming <- piece{buf[:n], err}
	}()
	select {
	case p := <-coming:
		r.handle(p)
	case <-time.After(endWait):
		r.coming = coming
	}
}

// handle gives the filter what was read. Where the answer has ended, the planner knows of it before the client has its last bytes.
func (r *rounds) handle(p piece) {
	if r.handled(p); r.err != nil {
		r.tell()
	}
}

func (r *rounds) handled(p piece) {
	err := p.err
	if len(p.bytes) > 0 {
		r.take(p.bytes)
	}
	switch {
	case err == nil:
	case err == io.EOF:
		r.endRound()
	default:
		r.breakOff(err)
	}
}

// breakOff ends the answer where the engine has broken off. What a first round breaks off in is the client's to see; behind others it could not tell what ended.
func (r *rounds) breakOff(err error) {
	verdict := r.end(true)
	r.note(verdict)
	if r.asked > 0 && !r.broken && (r.plain || !verdict.Ended) && !gone(r.res.Request.Context()) {
		r.fail("the engine broke off its answer: " + reason(err))
		return
	}
	r.release()
	if r.err = err; !gone(r.res.Request.Context()) {
		r.x.h.log.Warn("the engine broke off its answer", "engine", r.x.h.upstream.Host, "why", reason(err))
	}
}

// take gives the filter the next bytes. After a panic of it the engine's own go to the client.
func (r *rounds) take(p []byte) {
	if r.broken {
		r.ready = append(r.ready, p...)
		return
	}
	if r.plain {
		r.raw = append(r.raw, p...)
	}
	before := len(r.ready)
	defer r.unfiltered(func() {
		if r.ready = append(r.ready[:before], p...); r.plain {
			r.ready = append(r.ready[:0], r.raw...)
		}
	})
	r.ready = r.filter.Write(r.ready, p)
}

// end is the filter's End, and release its Release.
func (r *rounds) end(brokenOff bool) (v chat.Verdict) {
	if r.broken {
		return v
	}
	defer r.unfiltered(func() { v, r.ready = chat.Verdict{}, append(r.ready, r.raw...) })
	return r.filter.End(brokenOff)
}

func (r *rounds) release() {
	if r.broken {
		return
	}
	defer r.unfiltered(func() { r.ready = append(r.ready[:0], r.raw...) })
	r.ready = r.filter.Release(r.ready)
}

// unfiltered survives a panic of the filter, and does without it from then on. To be deferred.
func (r *rounds) unfiltered(instead func()) {
	if v := recover(); v != nil {
		r.x.h.log.Warn("panic; the request goes on without", "doing", "reading the answer", "panic", v)
		r.broken = true
		instead()
	}
}

// endRound ends the answer, or asks the engine again.
func (r *rounds) endRound() {
	verdict := r.end(false)
	r.note(verdict)
	next, again := r.again(verdict)
	if !again && r.isCutShort(verdict) {
		r.fail("the engine ended its answer early")
		return
	}
	if !again {
		if onlyHeld(verdict) { // as beside real calls: what they name is visible from the next request on
			r.outcome.Held = append(r.outcome.Held, verdict.Held...)
		}
		r.release()
		r.err = io.EOF
		return
	}
	r.outcome.Usage = chat.Usage{} // the planner was told
	r.asked++
	r.x.h.counters.hidden.Add(1)
	res, err := r.askPlainly(next)
	switch {
	case err != nil:
		r.outcome.Unread = true
		r.fail(unreachable(r.x.h.upstream, err))
	case r.goesOnIn(res):
		r.replace(res)
		r.filter.Next(res.Header.Get("Content-Type"))
	case r.plain:
		r.outcome.Unread = true
		r.replace(res)
		r.err, r.instead = io.EOF, true
	default:
		r.outcome.Unread = true
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // what was read before a failure is the best there is
		res.Body.Close()
		status := answered(res.StatusCode)
		r.failWith(refusalOf(status, text), status)
	}
}

// answered is the sentence for an answer of the engine's that is no part of the client's.
func answered(status int) string {
	return strings.TrimSpace(fmt.Sprintf("the engine answered %d %s", status, http.StatusText(status)))
}

// refusalOf is what the client reads of such an answer: the engine's own words where they are an error, else all of it.
func refusalOf(status string, body []byte) chat.Failure {
	if f, ok := chat.ReadFailure(body); ok {
		return f
	}
	if body = bytes.TrimSpace(body); len(body) > 0 {
		status += ": " + string(body)
	}
	return chat.Failure{Message: status}
}

// isCutShort reports whether a later round has come to nothing: it ended without its end, and without an error of the engine's own.
func (r *rounds) isCutShort(v chat.Verdict) bool {
	if r.asked == 0 || r.broken || v.Usage.Done || v.Usage.Failed {
		return false
	}
	return !v.Ended || r.plain && len(bytes.TrimSpace(r.raw)) == 0
}

// goesOnIn reports whether an answer can go on with the client's: it is one, and in the form of the first.
func (r *rounds) goesOnIn(res *http.Response) bool {
	if res.StatusCode != http.StatusOK || !isPlain(res.Header) {
		return false
	}
	kind, first := mediaType(res.Header.Get("Content-Type")), mediaType(r.kind)
	return kind == first || kind == "" || !r.plain && isStream(kind)
}

// mediaType is a Content-Type without its parameters.
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	return strings.TrimSpace(kind)
}

// isStream reports whether answers of this type come in lines or events.
func isStream(kind string) bool {
	return strings.Contains(kind, "event-stream") || strings.Contains(kind, "ndjson") || strings.Contains(kind, "jsonl")
}

func (r *rounds) replace(res *http.Response) {
	r.res.Body.Close()
	r.res, r.raw = res, nil
}

// fail ends the answer with an error of ours.
func (r *rounds) fail(message string) { r.failWith(chat.Failure{Message: message}, message) }

// failWith ends the answer with an error in the protocol's own form. A plain one has a status for it. The log has why alone: an engine's words may repeat the user's.
func (r *rounds) failWith(f chat.Failure, why string) {
	if !gone(r.res.Request.Context()) {
		r.x.h.log.Warn("the engine was asked again within an answer and gave none", "why", why)
	}
	r.outcome.Usage.Done = false
	r.err, r.instead = io.EOF, r.plain
	if !r.plain {
		r.ready = r.filter.Fail(r.ready, f)
		return
	}
	no := refuse(http.StatusBadGateway, f.Message)
	text := no.body(r.x.path)
	r.replace(&http.Response{
		StatusCode: no.status, Status: strconv.Itoa(no.status) + " " + http.StatusText(no.status), Request: r.res.Request,
		Header: http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(text))}},
		Body:   io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	})
}

// again asks the planner what to do. An answer that ended at its limit of tokens has ended: nothing more is asked for than the client allowed. Where the planner has no answer to a call of ours the client's own request is sent: what the
// engine alone would have said is better than a call that nobody can answer.
func (r *rounds) again(v chat.Verdict) (next []byte, again bool) {
	defer func() {
		if p := recover(); p != nil {
			r.x.h.log.Warn("panic; the client's own request is sent instead", "doing", "answering a call of ours", "panic", p)
			next, again = r.x.original, onlyHeld(v) && !v.Ended
			r.own = r.own || again
		}
	}()
	if v.Ended || v.Usage.Cut || r.own || !onlyHeld(v) && !v.Empty {
		return nil, false
	}
	if r.asked > maxRounds { // it has seen everything, and the client is not to be left with nothing
		r.own = true
		return r.x.original, true
	}
	plan, err := r.x.h.planner.Again(r.res.Request.Context(), r.x.plan, turn.Round{Verdict: v, Asked: r.asked, Last: r.asked >= maxRounds})
	switch {
	case err != nil:
		r.x.h.log.Warn("a call of ours cannot be answered; the client's own request is sent instead", "why", err)
		r.own = r.own || onlyHeld(v)
		return r.x.original, onlyHeld(v)
	case plan == nil:
		return nil, false
	}
	r.x.plan = plan
	return plan.Body, true
}

// maxRounds is how many times the model is answered within one answer and may go on asking. The answer to its next call shows everything that fits and none of our
// tools that ask for more; where it calls one of them even then, the client's own request is sent.
const maxRounds = 3

func onlyHeld(v chat.Verdict) bool { return len(v.Held) > 0 && len(v.Passed) == 0 }

// ask sends the next round's request, which is the first's but for the body. Its plan holds from when the engine has the request: a client that
// loses patience before the first token, and asks again, finds what the model has loaded.
func (r *rounds) ask(body []byte) (*http.Response, error) {
	plan, own := r.x.plan, r.own
	return r.x.h.again(r.res.Request, body, func() {
		defer r.x.h.survive("keeping the plan")
		if own {
			r.x.h.passed(nil, session.Identity{})
			return
		}
		r.x.h.planner.Commit(plan)
	})
}

// askPlainly is ask, and asks with the client's own request where the engine refuses the round's.
func (r *rounds) askPlainly(body []byte) (*http.Response, error) {
	res, err := r.ask(body)
	if err != nil || r.own || !faults(res.StatusCode) {
		return res, err
	}
	r.own = true
	own, err := r.ask(r.x.original)
	if err != nil {
		return res, nil
	}
	res.Body.Close()
	r.outcome.Unread, r.outcome.Foreign = true, own.StatusCode < http.StatusBadRequest
	r.x.h.log.Warn("the engine refused what a call of ours was answered with; the client's own request was sent instead", "status", res.StatusCode, "engine", r.x.h.upstream.Host)
	return own, nil
}

// note keeps what a round told.
func (r *rounds) note(v chat.Verdict) {
	r.outcome.Called = append(r.outcome.Called, v.Passed...)
	if r.outcome.Usage = v.Usage; r.own { // of a prompt that nobody has planned
		r.outcome.Usage = chat.Usage{Done: v.Usage.Done, Failed: v.Usage.Failed}
	}
	if v.ID != "" {
		if v.Usage.Done {
			r.outcome.Last = v.ID
		}
		if r.plain || r.outcome.ID == "" { // the client has the last plain one's, and the first stream's
			r.outcome.ID = v.ID
		}
	}
	r.outcome.Text += v.Text
	r.outcome.Joined = v.Joined && !r.own
	if len(v.Passed) > 0 {
		r.outcome.Held = append(r.outcome.Held, v.Held...)
	}
}

// tell tells the planner once how the answer ended.
func (r *rounds) tell() {
	r.told.Do(func() {
		defer r.x.h.survive("noting the tools called")
		r.x.h.planner.Observe(r.x.plan, r.outcome)
		r.x.ended(r.outcome)
	})
}
