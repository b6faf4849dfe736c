package chat

import (
	"bytes"
	"slices"
)

// part is one item of a Responses output or one block of an Anthropic message, as a stream tells it.
type part struct {
	kind   string
	id     []byte // raw JSON; nil where it has none
	callID []byte // the same of a Responses call's call_id, which is its id where it has no other
	call   int    // the call that it is; -1: none
	index  int    // the client's; -1: none yet
	open   bool   // the client has been told its beginning and not its end
	from   int    // length of the round's text when it began
	begins []byte // JSON of the event that began it, of a bridged call

	unindexed bool // the engine's events about it have no index
}

const maxParts = 1 << 10 // of a round; more are not told apart

// partList has the parts of one round.
type partList struct {
	byIndex map[int]*part // the latest of each
	order   []*part
	mark    int    // the client's sequence number before the end that is held back
	items   []byte // what a whole answer has of them for the client, as the elements of an array
}

// begin notes a part by its engine's index, and by its id where it has one: some engines give several the same index.
func (r *partList) begin(index int, p *part) {
	if len(r.order) >= maxParts {
		return
	}
	if r.byIndex == nil {
		r.byIndex = make(map[int]*part)
	}
	r.byIndex[index] = p
	p.unindexed = index == noIndex
	r.order = append(r.order, p)
}

// part finds a part; nil where it is unknown.
func (r *partList) part(index int, id []byte) *part {
	if len(id) > 0 {
		for _, p := range slices.Backward(r.order) {
			if bytes.Equal(p.name(), id) {
				return p
			}
		}
	}
	p := r.byIndex[index]
	if p != nil && len(id) > 0 && len(p.id) > 0 {
		return nil
	}
	return p
}

// name returns what events about a part call it: raw JSON, nil where it has no id.
func (p *part) name() []byte {
	if len(p.id) > 0 {
		return p.id
	}
	return p.callID
}

// endedPart finds the part that an item ends, nil where it is unknown. An engine that tells no index may tell the end of all items
// at the end of the answer: there the newest part counts only if it is the item's call, or neither is one.
func (r *partList) endedPart(index int, id []byte, trace []int) *part {
	p := r.part(index, id)
	if index != noIndex {
		return p
	}
	call := noIndex
	if len(trace) > 0 {
		call = trace[0]
	}
	if p != nil && p.call == call {
		return p
	}
	if call < 0 {
		return nil
	}
	for _, p := range slices.Backward(r.order) {
		if p.call == call {
			return p
		}
	}
	return nil
}

// fateOf returns what becomes of a part: one that is no call is the client's, and of a call that has been sent whole nothing more goes.
func (f *Filter) fateOf(p *part) fateKind {
	if p == nil || p.call < 0 {
		return real
	}
	fate := &f.round.fates[p.call]
	if fate.sealed {
		return held
	}
	return fate.kind
}

// edited reports whether the client's numbers differ from the engine's, so that every event has to be read.
func (f *Filter) edited() bool { return f.client.rounds > 1 || f.numbers(0).cut }

// place gives a part the client's next index, or the engine's own as long as nothing was taken out.
func (f *Filter) place(p *part, own int) {
	if p.index >= 0 {
		return
	}
	n := f.numbers(0)
	p.index = n.next
	if !f.edited() && own >= 0 {
		p.index = own
	}
	n.next = max(n.next, p.index+1)
}

// renumberPart gives an event the client's index of its part, once that may be another one than the engine's.
func (f *Filter) renumberPart(ed *editor, at span, p *part) {
	if f.edited() {
		ed.renumberAs(at, p.index)
	}
}

// renumberAs replaces an index that differs.
func (e *editor) renumberAs(at span, index int) {
	if at.end > at.start && index >= 0 && number(e.b, at, noIndex) != index {
		e.replace(at, appendInt(nil, index))
	}
}

// arguments gathers what a call's part brings; whole: it replaces what has come so far.
func (f *Filter) arguments(p *part, b []byte, value span, whole bool) {
	fate := &f.round.fates[p.call]
	if fate.bridged || value.end == 0 {
		return
	}
	if whole && (value.isString(b) && value.end-value.start > 2 || value.isObject(b)) {
		fate.arguments, fate.args = nil, balance{}
	}
	f.round.gather(fate, b, value)
}

// actsOnItself reports whether an item that is no function call waits for the client all the same.
func actsOnItself(kind string) bool {
	switch kind {
	case "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
		return true
	}
	return false
}

// appendElement adds raw JSON to the elements of an array, brackets left out.
func appendElement(list, element []byte) []byte {
	if len(list) > 0 {
		list = append(list, ',')
	}
	return append(list, element...)
}

// allItems returns the array of the parts of all rounds.
func (f *Filter) allItems() []byte {
	list := append([]byte{'['}, f.client.items...)
	if len(f.client.items) > 0 && len(f.round.items) > 0 {
		list = append(list, ',')
	}
	return append(append(list, f.round.items...), ']')
}

// putItems puts the parts of earlier rounds into an answer whose member for them, here value, is no array or is missing.
func (f *Filter) putItems(ed *editor, object, value span, key string) {
	switch {
	case len(f.client.items) == 0:
	case value.end > 0:
		ed.replace(value, f.allItems())
	default:
		ed.insert(object, key, f.allItems())
	}
}

// elements is the array of parts of a whole answer, as the client gets it.
type elements struct {
	list    []byte // what stays, brackets left out
	kept    int    // calls
	others  bool   // something else than calls and empty text
	changed bool
}

// sift makes the list of parts that the client gets. *trace loses as many calls as there are.
func (f *Filter) sift(b []byte, array span, trace *[]int) (out elements) {
	eachElement(b, array.start, func(at span) bool {
		text := at.of(b)
		if at.isObject(b) {
			text = f.siftOne(b, at, trace, &out)
		}
		if text == nil {
			out.changed = true
			return true
		}
		out.changed = out.changed || !bytes.Equal(text, at.of(b))
		out.list = appendElement(out.list, text)
		return true
	})
	return out
}

func (f *Filter) siftOne(b []byte, at span, trace *[]int, out *elements) []byte {
	kind, arguments := "tool_use", "input"
	if f.protocol == Responses {
		kind, arguments = "function_call", "arguments"
	}
	switch is := fieldOf(b, at, "type").text(b); {
	case is != kind:
		out.others = true
		if actsOnItself(is) {
			f.pass()
		}
		return at.of(b)
	case len(*trace) == 0:
		return at.of(b)
	}
	call := (*trace)[0]
	*trace = (*trace)[1:]
	if call < 0 {
		f.pass()
		out.kept++
		return at.of(b)
	}
	fate := &f.round.fates[call]
	value := fieldOf(b, at, arguments)
	if fate.kind == bridged || fate.kind == held && !fate.bridged && fate.pieces == 0 {
		f.round.gather(fate, b, value)
	}
	if fate.kind == bridged {
		f.cross(fate)
	}
	if fate.kind == held {
		return nil
	}
	f.pass()
	out.kept++
	if !fate.bridged {
		return at.of(b)
	}
	return crossed(b, at, value, fate)
}

// crossed returns a bridged call's part under its true name.
func crossed(b []byte, at, arguments span, fate *fate) []byte {
	text := at.of(b)
	ed := editor{b: text}
	name := fieldOf(b, at, "name")
	ed.replace(span{name.start - at.start, name.end - at.start}, appendQuoted(nil, fate.name))
	value := fate.arguments
	if arguments.isString(b) {
		value = appendQuoted(nil, fate.arguments)
	}
	ed.replace(span{arguments.start - at.start, arguments.end - at.start}, value)
	return ed.apply(nil)
}

// appendEvent adds a server-sent event.
func appendEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(append(dst, "event: "...), name...), "\ndata: "...)
	return append(append(dst, data...), "\n\n"...)
}
