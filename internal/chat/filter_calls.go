package chat

import (
	"bytes"
	"slices"
)

// fate is what becomes of a call.
type fate struct {
	kind      fateKind
	name      string // the true one, once it is known
	bridged   bool
	arguments []byte // of a held or bridged call, so far
	object    bool   // they came as JSON, not as a string that holds it
	args      balance
	pieces    int    // entries gathered
	template  []byte // JSON of the unit that began a bridged call in a stream
	sealed    bool   // a bridged call was sent, of which the stream may still bring empty pieces, or a call was dropped
	index     int    // the client's number for it, -1: none yet
	choice    int
}

type fateKind uint8

const (
	unsettled fateKind = iota
	real               // the client's
	held               // ours
	bridged            // of the bridge, its arguments not whole yet
)

// settle decides the calls whose names are known, those of this trace among them, and reports whether none is left undecided. all: no
// more will come of any name.
func (f *Filter) settle(trace []int, all bool) bool {
	r := f.round
	calls := &r.scan.calls
	for len(r.fates) < len(calls.all) {
		b := &calls.all[len(r.fates)]
		r.fates = append(r.fates, fate{index: noIndex, choice: b.choice})
	}
	settled := true
	for i := range r.fates {
		fate := &r.fates[i]
		b := &calls.all[i]
		if fate.kind == real && fate.name == "" && len(b.name) > 0 && !fate.sealed {
			f.decide(fate, string(b.name), b) // the name came after all
		}
		if fate.kind != unsettled {
			if fate.kind == real && !fate.sealed {
				fate.name = f.grown(fate, b)
			}
			continue
		}
		if !all && !r.scan.usage.Done && !f.known(i, slices.Contains(trace, i)) {
			settled = false
			continue
		}
		if broken := all && !r.scan.usage.Done && r.waits <= maxWaiting; (broken || r.scan.usage.Cut) && f.grows(b) {
			f.drop(fate)
			continue
		}
		f.decide(fate, string(b.name), b)
	}
	return settled
}

// grown returns the name of a call that was decided, of which more may have come.
func (f *Filter) grown(fate *fate, b *building) string {
	if fate.bridged || b.tooLong || len(fate.name) >= len(b.name) {
		return fate.name
	}
	return string(b.name)
}

// followed reports whether a call of the same choice has begun since: nothing more comes of this one's name.
func (r *round) followed(call int) bool {
	return slices.ContainsFunc(r.fates[call+1:], func(later fate) bool { return later.choice == r.fates[call].choice })
}

// known reports whether a call's name is complete, or cannot become one of ours. touched: the unit at hand has a piece of it.
func (f *Filter) known(call int, touched bool) bool {
	b := &f.round.scan.calls.all[call]
	switch {
	case !b.streamed || b.tooLong || b.index == legacyIndex:
		return true
	case !touched:
		return !f.grows(b) || f.round.followed(call)
	case len(b.name) == 0:
		return false
	case b.args.state != argsNone:
		return true
	}
	return f.cfg.Prefix != nil && !f.cfg.Prefix(string(b.name))
}

// grows reports whether what has come of a call is a part of one of our names and nothing else, so that the rest of the name may follow.
func (f *Filter) grows(b *building) bool {
	return b.streamed && b.index != legacyIndex && b.args.state == argsNone && f.beginsOurs(string(b.name))
}

// beginsOurs reports whether one of our names begins with these bytes and has more to it.
func (f *Filter) beginsOurs(name string) bool {
	return name != "" && f.cfg.Prefix != nil && f.cfg.Prefix(name) && !f.isOurs(name)
}

// isOurs reports whether a name is one of ours, whole.
func (f *Filter) isOurs(name string) bool {
	return f.isHeld(name) || name != "" && name == f.cfg.Bridge
}

// joinsName reports whether two pieces of a name make one of ours, or the beginning of one.
func (f *Filter) joinsName(begun, more string) bool {
	return f.beginsOurs(begun) && f.cfg.Prefix(begun+more)
}

// drop keeps from the client what an answer is cut or broken off in: the beginning of a name that may have been one of ours.
func (f *Filter) drop(fate *fate) {
	fate.kind, fate.name, fate.sealed = real, "", true
	f.numbers(fate.choice).cut = true
}

func (f *Filter) decide(fate *fate, name string, b *building) {
	fate.name, fate.kind = name, real
	switch {
	case name == "" || b.index == legacyIndex:
	case name == f.cfg.Bridge:
		fate.kind = bridged
	case f.isHeld(name):
		f.hold(fate)
		return
	}
}

func (f *Filter) isHeld(name string) bool { return f.cfg.Held != nil && f.cfg.Held(name) }

// hold keeps a call from the client.
func (f *Filter) hold(fate *fate) {
	fate.kind = held
	f.round.holding = true
	f.numbers(fate.choice).cut = true
}

func (f *Filter) numbers(choice int) *numbering {
	n := f.client.choices[choice]
	if n == nil {
		if f.client.choices == nil {
			f.client.choices = make(map[int]*numbering)
		}
		n = &numbering{}
		f.client.choices[choice] = n
	}
	return n
}

// number returns the client's index for a call that passes: the engine's own as long as they fit.
func (f *Filter) number(call int) int {
	fate := &f.round.fates[call]
	if fate.index >= 0 {
		return fate.index
	}
	n := f.numbers(fate.choice)
	fate.index = n.next
	n.cut = n.cut || f.isOvertaking(call)
	if own := f.round.scan.calls.all[call].index; own >= 0 && !n.cut {
		fate.index = own
	}
	n.next = max(n.next, fate.index+1)
	return fate.index
}

// isOvertaking reports whether a call of the choice that began earlier still waits: it may yet be held, and gets its number afterwards.
func (f *Filter) isOvertaking(call int) bool {
	fates := f.round.fates
	return slices.ContainsFunc(fates[:call], func(earlier fate) bool {
		return earlier.kind == bridged && earlier.choice == fates[call].choice
	})
}

// gather adds what an entry brings of a call's arguments.
func (r *round) gather(fate *fate, b []byte, arguments span) {
	fate.pieces++
	before := len(fate.arguments)
	switch {
	case r.gathered > maxArguments:
	case arguments.isString(b):
		fate.arguments = appendUnquoted(fate.arguments, arguments.of(b))
		fate.args.add(fate.arguments[before:])
		r.gathered += len(fate.arguments) - before
	case arguments.isObject(b) || arguments.isArray(b):
		fate.arguments, fate.object = bytes.Clone(arguments.of(b)), true
		fate.args.state = argsWhole
		r.gathered += len(fate.arguments)
	}
}

// entry is one element of an array of calls.
type entry struct {
	at, index, function     span
	name, arguments, index2 span // of the function
}

func readEntry(b []byte, at span) entry {
	e := entry{at: at}
	eachField(b, at.start, func(key []byte, value span) bool {
		switch string(key) {
		case "index":
			e.index = value
		case "function":
			e.function = value
		}
		return true
	})
	if !e.function.isObject(b) {
		return e
	}
	eachField(b, e.function.start, func(key []byte, value span) bool {
		switch string(key) {
		case "name":
			e.name = value
		case "arguments":
			e.arguments = value
		case "index":
			e.index2 = value
		}
		return true
	})
	return e
}

// rewritten is an array of calls as the client gets it.
type rewritten struct {
	array   []byte // with its brackets
	kept    int
	changed bool
}

// rewrite makes the array of calls that the client gets; *trace loses as many calls as the array has.
func (f *Filter) rewrite(u *unit, array span, trace *[]int) rewritten {
	b := u.json()
	out := rewritten{array: []byte{'['}}
	eachElement(b, array.start, func(at span) bool {
		text := at.of(b)
		if at.isObject(b) {
			call := -1
			if len(*trace) > 0 {
				call, *trace = (*trace)[0], (*trace)[1:]
			}
			if call >= 0 {
				text = f.rewriteEntry(u, readEntry(b, at), call)
			} else {
				f.round.passing = true
			}
		}
		if len(text) == 0 {
			out.changed = true
			return true
		}
		out.changed = out.changed || !bytes.Equal(text, at.of(b))
		if out.kept++; out.kept > 1 {
			out.array = append(out.array, ',')
		}
		out.array = append(out.array, text...)
		return true
	})
	out.array = append(out.array, ']')
	return out
}

// rewriteEntry returns the entry as the client gets it, nil where it does not.
func (f *Filter) rewriteEntry(u *unit, e entry, call int) []byte {
	b := u.json()
	fate := &f.round.fates[call]
	streamed := f.round.scan.calls.all[call].streamed
	switch fate.kind {
	case held:
		if !fate.bridged {
			f.round.gather(fate, b, e.arguments)
		}
		return nil
	case real:
		if fate.sealed {
			return nil
		}
		f.pass()
		return f.renumber(b, e, call, streamed)
	}
	f.round.gather(fate, b, e.arguments)
	if streamed && fate.args.state != argsWhole {
		if fate.template == nil {
			fate.template = bytes.Clone(b)
		}
		return nil
	}
	f.cross(fate)
	if fate.kind == held {
		return nil
	}
	f.pass()
	fate.sealed = streamed
	if fate.pieces > 1 {
		return f.compose(call)
	}
	text := f.renumber(b, e, call, streamed)
	if fate.bridged {
		text = rename(text, fate)
	}
	return text
}

// pass notes that the client gets a call.
func (f *Filter) pass() { f.round.passing = true }

// rename gives an entry the true name and arguments.
func rename(text []byte, fate *fate) []byte {
	e := readEntry(text, span{0, len(text)})
	ed := editor{b: text}
	ed.replace(e.name, appendQuoted(nil, fate.name))
	if e.arguments.isString(text) {
		ed.replace(e.arguments, appendQuoted(nil, fate.arguments))
	} else {
		ed.replace(e.arguments, fate.arguments)
	}
	return ed.apply(nil)
}

// renumber returns an entry with the client's index.
func (f *Filter) renumber(b []byte, e entry, call int, streamed bool) []byte {
	index := f.number(call)
	own := e.index
	if own.end == 0 {
		own = e.index2
	}
	text := e.at.of(b)
	switch {
	case own.end > 0:
		if number(b, own, noIndex) == index || !f.numbers(f.round.fates[call].choice).cut {
			return text
		}
		ed := editor{b: text}
		ed.replace(span{own.start - e.at.start, own.end - e.at.start}, appendInt(nil, index))
		return ed.apply(nil)
	case streamed && f.numbers(f.round.fates[call].choice).cut:
		rest := bytes.TrimSpace(text[1:])
		out := appendInt([]byte(`{"index":`), index)
		if rest[0] != '}' {
			out = append(out, ',')
		}
		return append(out, rest...)
	}
	return text
}

// compose writes a bridged call that came in pieces as one.
func (f *Filter) compose(call int) []byte {
	fate, b := &f.round.fates[call], &f.round.scan.calls.all[call]
	out := appendInt([]byte(`{"index":`), f.number(call))
	if b.id != "" {
		out = appendQuoted(append(out, `,"id":`...), b.id)
	}
	out = appendQuoted(append(out, `,"type":"function","function":{"name":`...), fate.name)
	out = append(out, `,"arguments":`...)
	if fate.object {
		out = append(out, fate.arguments...)
	} else {
		out = appendQuoted(out, fate.arguments)
	}
	return append(out, "}}"...)
}
