package chat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxHeldLine  = 8 << 20  // bytes of one line or event that a Filter reads; a longer one passes as it is
	maxDocument  = 32 << 20 // bytes of a plain answer that are held back; a longer one passes as it is
	maxWaiting   = 1 << 20  // bytes of a stream held back while a call's name is incomplete
	maxArguments = 8 << 20  // bytes of all arguments of held and bridged calls; what comes after is dropped
	maxText      = 64 << 10 // bytes of Verdict.Text
)

// FilterConfig says which calls of an answer are not the client's.
type FilterConfig struct {
	Held   func(name string) bool // calls that are kept from the client; nil: none
	Prefix func(name string) bool // whether a held name or Bridge begins with these bytes; nil: any may, so that a call whose name could still grow waits for the stream's next piece
	Bridge string                 // the tool whose calls become calls of the tool that they name, or are held where they name none or the bridge; "": none

	// Where an answer echoes the request's tools and tool_choice (Responses), the client's own go in. Raw JSON; nil: left.
	Tools, Choice []byte
	Previous      string // likewise its previous_response_id; "": left
}

// Verdict is what a round of an answer came to.
type Verdict struct {
	ID        string       // the engine's id of this round's answer; "" where it has none. The client sees the first round's, of a plain answer the last's
	Held      []HiddenCall // calls kept from the client, in order; Arguments as the model wrote them, an object as a rule, nil where there are none, and of the bridge's own; Result empty
	Passed    []Call       // calls the client got, bridged ones under their true names
	Text      string       // what the model said in this round, thinking left out; at most 64 KiB, ending at a whole character
	Truncated bool         // Text is not all of it
	Joined    bool         // in the client's answer Break stands before it, since an earlier round's words come first
	Empty     bool         // complete, not cut at its limit and with tokens generated, yet without text, thinking and calls
	Ended     bool         // the client has been given the answer's end, or an error of the engine's: Next is of no use
	Usage     Usage        // of this round
}

// Filter stands between the engine's answer and the client. It passes the answer on as it comes and byte for byte, but
// for this: held calls are cut out; bridged calls become calls of the true tool; what an answer breaks off in goes if it may be of a call that is ours; and the end of a round that brought the
// client no call, and called ours or said nothing at all, is held back, so that another round of the engine's
// can go on with the same answer (Next) or the answer ends there (Release). What it cannot read passes unchanged.
// How the bytes are split over writes makes no difference to what is sent.
//
// A stream's text, thinking and calls go at once, line by line. A plain answer, one JSON document, is held
// back whole, up to 32 MiB. It is for one goroutine. The order of calls is: Write…, End, then Next and Write… again, or
// Release or Fail.
type Filter struct {
	protocol Protocol
	cfg      FilterConfig

	mode    mode
	lines   lineReader
	round   *round
	client  clientSide
	pending []byte // decided by End, to be sent with the next bytes
	stub    []byte // a last line that could not be read: only Release sends it
	document
}

// mode is how the answer comes.
type mode uint8

const (
	undecided mode = iota // the content type does not tell, nor what has come so far
	stream                // lines or events
	plain                 // one JSON document
	through               // nothing of it is read
)

// clientSide is where the client stands: what it was told over all rounds.
type clientSide struct {
	rounds      int // begun
	id, created []byte
	known       bool               // the first round's id and created have been read
	announced   bool               // the role, or the message, has been begun
	open        bool               // its text so far ends in something else than white space
	tail        []byte             // the last bytes that were sent, at most 3
	choices     map[int]*numbering // by choice; of protocols that have none, by 0
	cached      bool               // it was told of reused tokens
	spent       figures

	items    []byte // of Responses and Anthropic: the parts of earlier rounds, as the elements of an array
	previous []byte // Responses: the first round's previous_response_id
	eventForm
}

// eventForm is how the engine writes the events of Responses, which ours beside them mirror: llama.cpp's have neither numbers nor indexes.
type eventForm struct {
	sequence   int  // the number of the next event
	numbered   bool // an event with a number has come
	unnumbered bool // one without
}

// bare reports whether the engine's events have no numbers.
func (e *eventForm) bare() bool { return e.unnumbered && !e.numbered }

// came notes an event of the engine's and its number, -1 without one.
func (e *eventForm) came(number int) {
	e.numbered = e.numbered || number >= 0
	e.unnumbered = e.unnumbered || number < 0
}

// appendNumber writes the next number as a member of an event, where its events have one.
func (e *eventForm) appendNumber(dst []byte) []byte {
	if e.bare() {
		return dst
	}
	dst = appendInt(append(dst, `,"sequence_number":`...), e.sequence)
	e.sequence++
	return dst
}

// numbering gives the calls of a choice their indexes.
type numbering struct {
	next int
	cut  bool // a call was taken out: the engine's own numbers no longer fit
}

// figures are counts that add up over rounds: tokens and nanoseconds.
type figures struct {
	prompt, output                int
	total, load, promptEval, eval int64         // as Ollama says
	reading, writing              time.Duration // as any engine does
}

// NewFilter returns a filter for the first round of an answer with this Content-Type, which may be empty. For an
// Unknown protocol all passes.
func NewFilter(p Protocol, contentType string, cfg FilterConfig) *Filter {
	f := &Filter{protocol: p, cfg: cfg, mode: modeOf(contentType)}
	if p == Unknown {
		f.mode = through
	}
	f.begin()
	return f
}

func modeOf(contentType string) mode {
	kind := strings.ToLower(contentType)
	for _, word := range []string{"event-stream", "ndjson", "jsonl"} {
		if strings.Contains(kind, word) {
			return stream
		}
	}
	return undecided
}

func (f *Filter) begin() {
	f.client.rounds++
	f.lines = lineReader{}
	f.round = &round{}
	f.round.scan.protocol = f.protocol
	f.round.scan.calls.traced, f.round.scan.calls.joins = true, f.joinsName
	f.round.limit = maxText
	if f.protocol == Responses { // repeats whole texts
		f.round.limit = maxHeldLine
	}
}

// Write takes the next bytes of the engine's answer, of which it keeps no reference, and appends what can go to the client now to dst.
func (f *Filter) Write(dst, p []byte) []byte {
	before := len(dst)
	dst = f.drain(dst)
	switch f.mode {
	case through:
		dst = append(dst, p...)
	case stream:
		dst = f.readLines(dst, p)
	default:
		dst = f.collect(dst, p)
	}
	f.note(dst[before:])
	return dst
}

// Done reports whether the engine has said that the round's answer is complete: nothing but its end can follow.
func (f *Filter) Done() bool { return f.round.scan.usage.Done }

// End says that the round's answer has ended, as its connection says, or that it has broken off. Whether the engine has said all is Verdict.Usage.Done.
func (f *Filter) End(brokenOff bool) Verdict {
	switch f.mode {
	case stream:
		f.pending = f.finishLines(f.pending)
	case undecided, plain:
		f.mode = plain
		f.closeDocument(brokenOff)
	}
	r := f.round
	v := Verdict{ID: r.id, Text: string(wholeRunes(r.text, maxText)), Truncated: r.truncated || len(r.text) > maxText, Joined: r.joined, Ended: r.ended, Usage: r.scan.usage}
	for i := range r.fates {
		v.add(&r.scan.calls.all[i], &r.fates[i])
	}
	v.Empty = v.Usage.Done && !v.Usage.Cut && v.Usage.OutputTokens > 0 && !r.substance && len(r.fates) == 0
	return v
}

func (v *Verdict) add(b *building, fate *fate) {
	switch {
	case fate.kind == held:
		arguments := unpack(fate.arguments)
		if arguments == nil {
			arguments = fate.arguments
		}
		v.Held = append(v.Held, HiddenCall{ID: b.id, Name: fate.name, Arguments: arguments})
	case fate.name != "":
		names, texts := b.argumentNames(), b.argumentTexts()
		if fate.bridged {
			names, texts = memberNames(fate.arguments, span{0, len(fate.arguments)}), textSum(fate.arguments)
		}
		v.Passed = append(v.Passed, Call{Index: max(b.index, 0), ID: b.id, Name: fate.name, Bridged: fate.bridged, Arguments: names, Texts: texts})
	}
}

// Release appends the end that was held back, and of a plain answer all of it: the answer ends here. Usage in it are
// the prompt tokens of the last round, and the output tokens and durations of all.
func (f *Filter) Release(dst []byte) []byte {
	before := len(dst)
	dst = f.drain(dst)
	if f.mode == plain {
		dst = append(dst, f.whole...)
		f.document = document{}
	}
	dst = append(f.flush(dst), f.stub...)
	f.stub = nil
	f.note(dst[before:])
	return dst
}

// Next begins the next round in the same client answer; the end that was held back is dropped. The round is to come in the
// form of the first, a stream or plain; its Content-Type counts where the first had no body.
func (f *Filter) Next(contentType string) {
	if f.mode == plain && len(f.whole) == 0 {
		f.mode = modeOf(contentType)
	}
	f.client.spent.add(&f.round.figures, f.round.scan.usage)
	if len(f.round.text) > 0 {
		f.client.open = f.round.open
	}
	f.client.cached = f.client.cached || f.round.scan.usage.CachedTokens > 0
	f.rewind()
	if len(f.round.items) > 0 {
		f.client.items = appendElement(f.client.items, f.round.items)
	}
	f.whole, f.stub = nil, nil
	f.endEvent()
	f.begin()
}

// endEvent makes sure that what the next round sends begins a line, or an event, of its own.
func (f *Filter) endEvent() {
	if f.mode != stream {
		return
	}
	tail := append(slices.Clone(f.client.tail), f.pending...)
	if len(tail) == 0 {
		return
	}
	if tail[len(tail)-1] != '\n' {
		f.pending = append(f.pending, '\n')
		tail = append(tail, '\n')
	}
	if f.protocol != Ollama && !bytes.HasSuffix(tail, []byte("\n\n")) && !bytes.HasSuffix(tail, []byte("\n\r\n")) {
		f.pending = append(f.pending, '\n')
	}
}

// Fail appends the protocol's in-band error, which ends the stream; the end that was held back is dropped. To a plain answer
// that has sent nothing it appends nothing: the caller answers with a status.
func (f *Filter) Fail(dst []byte, why Failure) []byte {
	if f.mode != stream {
		return dst
	}
	f.rewind()
	f.endEvent()
	return f.appendError(f.drain(dst), why)
}

// rewind takes back the numbers given to the end that is dropped.
func (f *Filter) rewind() {
	if f.round.ending && f.protocol == Responses {
		f.client.sequence = f.round.mark
	}
}

func (f *Filter) appendError(dst []byte, why Failure) []byte {
	switch f.protocol {
	case Ollama:
		return append(appendQuoted(append(dst, `{"error":`...), why.Message), "}\n"...)
	case OpenAI:
		dst = appendQuoted(append(dst, `data: {"error":{"message":`...), why.Message)
		dst = append(appendQuoted(append(dst, `,"type":`...), cmp.Or(why.Type, "server_error")), `,"param":null,"code":`...)
		if why.Code == "" {
			dst = append(dst, "null"...)
		} else {
			dst = appendQuoted(dst, why.Code)
		}
		return append(dst, "}}\n\n"...)
	case Responses:
		data := f.client.appendNumber([]byte(`{"type":"error"`))
		data = appendQuoted(append(data, `,"code":`...), cmp.Or(why.Code, why.Type, "server_error"))
		data = appendQuoted(append(data, `,"message":`...), why.Message)
		return appendEvent(dst, "error", append(data, `,"param":null}`...))
	case Anthropic:
		data := appendQuoted([]byte(`{"type":"error","error":{"type":`), cmp.Or(why.Type, "api_error"))
		data = appendQuoted(append(data, `,"message":`...), why.Message)
		return appendEvent(dst, "error", append(data, "}}"...))
	}
	return dst
}

// drain sends what End has decided.
func (f *Filter) drain(dst []byte) []byte {
	dst = append(dst, f.pending...)
	f.pending = f.pending[:0]
	return dst
}

// note remembers how what the client got ends.
func (f *Filter) note(sent []byte) {
	f.client.tail = append(f.client.tail, sent[max(0, len(sent)-3):]...)
	if n := len(f.client.tail); n > 3 {
		f.client.tail = append(f.client.tail[:0], f.client.tail[n-3:]...)
	}
}

// say notes text of the model's; raw is a JSON string, quotes included.
func (r *round) say(raw []byte) {
	if len(raw) <= 2 {
		return
	}
	r.substance = true
	said := r.text
	if r.truncated {
		said = nil
	}
	said = appendUnquoted(said, raw)
	last, _ := utf8.DecodeLastRune(said)
	r.open = !unicode.IsSpace(last)
	if !r.truncated {
		r.truncated = len(said) > r.limit
		r.text = wholeRunes(said, r.limit)
	}
}

// Break is what a Filter puts between the words of two rounds where they would run into one another, in protocols that have one text for all of them (Ollama, OpenAI's chat):
// where neither has white space there.
const Break = "\n\n"

// joins reports whether Break goes before this text of the model's, a JSON string, and notes that it does.
func (f *Filter) joins(raw []byte) bool {
	r := f.round
	if !f.client.open || len(r.text) > 0 || len(raw) <= 2 {
		return false
	}
	first, _ := utf8.DecodeRune(appendUnquoted(nil, raw))
	r.joined = !unicode.IsSpace(first)
	return r.joined
}

// broken is a JSON string with Break at its beginning.
func broken(raw []byte) []byte { return append([]byte(`"\n\n`), raw[1:]...) }

// wholeRunes returns text cut to a length, or a little less, at the end of a character.
func wholeRunes(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
