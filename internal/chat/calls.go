package chat

import (
	"hash/fnv"
	"strconv"
)

// Call is one tool call in an answer.
type Call struct {
	Index   int    // as the engine numbered it within its choice; 0 where it did not
	ID      string // "" where the engine gave none; at most 1 KB of it
	Name    string
	Bridged bool // the engine called it through the bridge; only a Filter tells

	Arguments []string // names of its arguments, in the order given; nil where they cannot be read, or are over 8 KB in a stream
	Texts     uint64   // tells arguments with other texts in them apart, whatever their order; 0 where they cannot be read
}

// Signature names the call in a Signature.
func (c Call) Signature() string { return callSignature(c.Name, c.Texts) }

func callSignature(name string, texts uint64) string {
	return name + "\x00" + strconv.FormatUint(texts, 16)
}

// textSum sums up the strings in a JSON value, keys included.
func textSum(b []byte) uint64 {
	var sum uint64
	for i := 0; i < len(b); {
		if b[i] != '"' {
			i++
			continue
		}
		end := skipString(b, i)
		if end-i < 2 {
			break
		}
		h := fnv.New64a()
		h.Write(unquote(b[i:end]))
		sum += h.Sum64()
		i = end
	}
	return sum
}

const (
	maxCalls    = 256 // of one answer; more are not counted
	maxNameSize = 4 << 10
	maxIDSize   = 1 << 10
	maxRawSize  = 8 << 10

	noIndex     = -1
	legacyIndex = -2
)

// piece is one entry of tool_calls: a whole call, or what a stream tells of one.
type piece struct {
	index     int // noIndex, legacyIndex, or the engine's
	id, name  string
	arguments []byte   // as the stream tells them, unescaped; nil where not a string
	object    bool     // the arguments are an object, whole
	names     []string // of that object's members
	texts     uint64   // in it
}

// readPiece reads an entry; the arguments may alias b.
func readPiece(b []byte, entry span) piece {
	p := piece{index: noIndex}
	var function span
	eachField(b, entry.start, func(key []byte, value span) bool {
		switch string(key) {
		case "index":
			if c := b[value.start]; c >= '0' && c <= '9' {
				p.index = number(b, value, noIndex)
			}
		case "id":
			p.id = value.text(b)
		case "function":
			function = value
		}
		return true
	})
	if function.isObject(b) {
		p.readFunction(b, function)
	}
	return p
}

// readLegacy reads a function_call.
func readLegacy(b []byte, object span) piece {
	p := piece{index: legacyIndex}
	p.readFunction(b, object)
	return p
}

func (p *piece) readFunction(b []byte, function span) {
	eachField(b, function.start, func(key []byte, value span) bool {
		switch string(key) {
		case "name":
			p.name = value.text(b)
		case "index": // Ollama numbers calls here
			if c := b[value.start]; c >= '0' && c <= '9' && p.index == noIndex {
				p.index = number(b, value, noIndex)
			}
		case "arguments":
			switch {
			case value.isString(b):
				p.arguments = unquote(value.of(b))
			case value.isObject(b):
				p.object, p.names, p.texts = true, memberNames(b, value), textSum(value.of(b))
			}
		}
		return true
	})
}

// building is a call under way.
type building struct {
	choice, index int
	id            string
	name          []byte
	tooLong       bool // the name: the call is not counted
	args          balance
	raw           []byte   // the arguments so far, where they come as text; nil once they are too long
	names         []string // of their members, where they came as an object
	texts         uint64   // in them, likewise
	tooMuch       bool     // raw would be too long
	round         int      // the array of calls that last added to it
	streamed      bool     // it began as a piece
}

// calls puts the pieces of an answer's calls together.
type calls struct {
	all    []building
	open   map[slot]int // index in all of the call that a slot's pieces go to
	latest map[int]int  // index in all of a choice's latest call
	round  int
	choice int
	whole  bool

	joins func(begun, more string) bool // whether two pieces are of one name, whatever speaks against it; nil: never

	traced bool
	trace  []int // where traced: for each piece the index in all of its call, -1 where there are too many
}

type slot struct{ choice, index int }

// begin announces an array of calls of one choice. whole: of a message, so that each entry is a call of its own.
func (c *calls) begin(choice int, whole bool) {
	c.round++
	c.choice, c.whole = choice, whole
}

// add takes the next entry of the array.
func (c *calls) add(p piece) {
	if len(p.id) > maxIDSize {
		p.id = p.id[:maxIDSize]
	}
	at := c.find(p)
	if at < 0 {
		at = c.start(p)
	}
	if c.traced {
		c.trace = append(c.trace, at)
	}
	if at < 0 {
		return
	}
	b := &c.all[at]
	b.round = c.round
	if b.id == "" {
		b.id = p.id
	}
	if p.name != string(b.name) {
		b.join(p.name)
	}
	if p.object {
		b.args, b.names, b.texts = balance{state: argsWhole}, p.names, p.texts
	}
	b.args.add(p.arguments)
	b.keep(p.arguments)
}

// find returns the index of the call that the piece goes on with, and -1 where it begins one.
func (c *calls) find(p piece) int {
	if c.whole {
		return c.repeated(p)
	}
	at, ok := c.open[slot{c.choice, p.index}]
	if !ok && p.index == noIndex {
		at, ok = c.latest[c.choice]
	}
	if !ok || c.begins(&c.all[at], p) {
		return -1
	}
	return at
}

// repeated finds a call that a stream told already and a whole message at its end tells again.
func (c *calls) repeated(p piece) int {
	if p.id == "" {
		return -1
	}
	for i := range c.all {
		b := &c.all[i]
		if b.streamed && b.choice == c.choice && b.id == p.id && string(b.name) == p.name {
			return i
		}
	}
	return -1
}

// begins reports whether a piece in the place of call b is a new call. Engines number parallel
// calls all 0 or not at all, repeat names and ids in every piece, or cut a name in pieces: a new id begins
// a call; a name begins one once the arguments are complete, or once they have begun if it is another name.
func (c *calls) begins(b *building, p piece) bool {
	if p.id != "" && b.id != "" && p.id != b.id {
		return true
	}
	if p.name == "" {
		return false
	}
	if b.round == c.round { // a second entry with a name, in one array
		return true
	}
	if len(b.name) == 0 {
		return b.args.state == argsWhole
	}
	same := p.name == string(b.name)
	if p.id != "" && b.id == "" && !same {
		return true
	}
	switch b.args.state {
	case argsWhole:
		return !same || p.id == "" && (p.object || len(p.arguments) > 0)
	case argsOpen:
		return !same
	}
	return !same && p.complete() && (c.joins == nil || !c.joins(string(b.name), p.name))
}

// complete reports whether the piece has a call's arguments from beginning to end.
func (p piece) complete() bool {
	var b balance
	b.add(p.arguments)
	return p.object || b.state == argsWhole
}

// start begins a call, and returns -1 where there are too many.
func (c *calls) start(p piece) int {
	if len(c.all) >= maxCalls {
		return -1
	}
	if c.open == nil {
		c.open, c.latest = make(map[slot]int), make(map[int]int)
	}
	at := len(c.all)
	c.all = append(c.all, building{choice: c.choice, index: p.index, streamed: !c.whole})
	c.open[slot{c.choice, p.index}] = at
	c.latest[c.choice] = at
	return at
}

// join adds a piece of the name.
func (b *building) join(piece string) {
	if b.tooLong || len(b.name)+len(piece) > maxNameSize {
		b.tooLong, b.name = true, nil
		return
	}
	b.name = append(b.name, piece...)
}

func (c *calls) list() []Call {
	var list []Call
	for _, b := range c.all {
		if len(b.name) > 0 {
			list = append(list, Call{Index: max(b.index, 0), ID: b.id, Name: string(b.name), Arguments: b.argumentNames(), Texts: b.argumentTexts()})
		}
	}
	return list
}

// keep keeps the arguments' text as far as that is not too long.
func (b *building) keep(piece []byte) {
	if b.tooMuch || len(b.raw)+len(piece) > maxRawSize {
		b.tooMuch, b.raw = true, nil
		return
	}
	b.raw = append(b.raw, piece...)
}

// argumentNames are the names of the call's arguments.
func (b *building) argumentNames() []string {
	if b.names != nil || !isObject(b.raw) {
		return b.names
	}
	return memberNames(b.raw, span{skipSpace(b.raw, 0), len(b.raw)})
}

// argumentTexts is the sum of the texts in the call's arguments.
func (b *building) argumentTexts() uint64 {
	if b.names != nil || !isObject(b.raw) {
		return b.texts
	}
	return textSum(b.raw)
}

// memberNames are the names of an object's members, at most 64 of them.
func memberNames(b []byte, object span) []string {
	const most = 64
	var names []string
	eachField(b, object.start, func(key []byte, _ span) bool {
		names = append(names, string(key[:min(len(key), maxIDSize)]))
		return len(names) < most
	})
	return names
}

// balance follows a JSON object that comes in pieces, in constant space.
type balance struct {
	state    balanceState
	depth    int
	inString bool
	escaped  bool
}

type balanceState uint8

const (
	argsNone  balanceState = iota // not begun
	argsOpen                      // begun, brackets open
	argsWhole                     // every bracket closed
)

func (b *balance) add(piece []byte) {
	for _, c := range piece {
		switch {
		case b.escaped:
			b.escaped = false
		case b.inString:
			b.escaped, b.inString = c == '\\', c != '"'
		case c == '"':
			b.inString = true
		case c == '{' || c == '[':
			b.depth++
			b.state = argsOpen
		case c == '}' || c == ']':
			if b.state != argsOpen {
				continue
			}
			if b.depth--; b.depth == 0 {
				b.state = argsWhole
			}
		}
	}
}
