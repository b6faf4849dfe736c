package chat

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// cross ends the waiting of a bridged call whose arguments are whole, or will not become so: it is the true tool's, or held.
// One whose arguments do not say what to call is held under the bridge's name and without arguments, since the app knows of no bridge.
func (f *Filter) cross(fate *fate) {
	name, arguments := throughBridge(fate.arguments)
	if name == f.cfg.Bridge {
		name = ""
	}
	fate.name, fate.arguments, fate.bridged = name, arguments, true
	switch {
	case name == "":
		fate.name, fate.arguments = f.cfg.Bridge, nil
		f.hold(fate)
	case f.isHeld(name):
		f.hold(fate)
	default:
		fate.kind = real
	}
}

// dropBridged forgets the bridged calls that still wait, and the ends of those that were sent: nothing follows an error.
func (f *Filter) dropBridged() {
	for _, p := range f.round.order {
		p.open = false
	}
	for i := range f.round.fates {
		if fate := &f.round.fates[i]; fate.kind == bridged {
			fate.kind, fate.name, fate.sealed = real, "", true
		}
	}
}

// throughBridge reads the arguments of a bridge call: {"name": …, "arguments": {…}}, the inner ones an object or a string that
// holds one. Where there are none of that kind, what stands beside the name are the arguments: some models write
// {"name": "weather", "city": "Paris"}, others "parameters" for "arguments". name is "" where there is none.
func throughBridge(raw []byte) (name string, arguments []byte) {
	if raw = unpack(raw); raw == nil {
		return "", nil
	}
	var inner, parameters span
	others := 0
	eachField(raw, 0, func(key []byte, value span) bool {
		switch string(key) {
		case "name":
			name = value.text(raw)
		case "arguments":
			inner = value
		case "parameters":
			parameters = value
			fallthrough
		default:
			others++
		}
		return true
	})
	if arguments = unpack(inner.of(raw)); arguments != nil {
		return name, arguments
	}
	isNone := inner.isAbsent(raw) || inner.isString(raw) && !filled(raw, inner)
	if isNone && others == 1 && parameters.isObject(raw) {
		return name, parameters.of(raw)
	}
	ed := editor{b: raw}
	ed.cut(0, func(key string) bool { return key == "name" || key == "arguments" && isNone })
	return name, ed.apply(nil)
}

// unpack returns the object that a value is, or holds as a string, and nil where there is none.
func unpack(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	for range 2 {
		if tooDeep(raw, maxDepth) || !gjson.ValidBytes(raw) {
			return nil
		}
		switch raw[0] {
		case '{':
			return raw
		case '"':
			raw = bytes.TrimSpace(appendUnquoted(nil, raw))
			continue
		}
		return nil
	}
	return nil
}
