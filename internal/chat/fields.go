package chat

import (
	"bytes"
	"slices"
	"strings"
)

// fields are the members of a message that are read, in the shape of any protocol.
type fields struct {
	isObject bool
	role     Role
	content  span // text or parts; for Responses also the output of a call
	id, name span // of the call that a tool's answer belongs to

	toolCalls  span    // array of calls
	call       span    // object that is one call: function_call
	own        callAt  // the message is a call itself, where own.name is a string
	blocks     []block // of Anthropic's content, in order; nil for a string
	isCallItem bool
	tooMany    bool // more than maxElements parts of one kind: those beyond are not read
}

// callAt is where a call stands in the body.
type callAt struct{ id, name, arguments span }

// block is one element of Anthropic's content that is more than text.
type block struct {
	kind    blockKind
	at      callAt // of a call
	id      span   // of a result: whose
	content span   // of a result; the text of a text
	failed  bool
}

type blockKind uint8

const (
	blockOther blockKind = iota
	blockText
	blockCall
	blockResult
	blockAside // a text of the app's
)

// readFields reads the message that begins at body[at] in one pass over its members, and returns the index after it. What is no object
// is RoleOther, but for an input of Responses that is a string.
func readFields(p Protocol, body []byte, at int) (f fields, end int) {
	if body[at] != '{' {
		end = skipValue(body, at)
		if p == Responses && body[at] == '"' {
			f.role, f.content = RoleUser, span{at, end}
		}
		return f, end
	}
	f.isObject = true
	var role, kind, callID, output, arguments, input span
	end = walkObject(body, at, func(key []byte, i int) int {
		value := span{i, skipValue(body, i)}
		switch string(key) {
		case "role":
			role = value
		case "content":
			f.content = value
		case "tool_calls":
			f.toolCalls = value
		case "function_call":
			f.call = value
		case "tool_call_id":
			f.id = value
		case "tool_name", "name":
			f.name = value
		case "type":
			kind = value
		case "call_id":
			callID = value
		case "output":
			output = value
		case "arguments":
			arguments = value
		case "input":
			input = value
		}
		return value.end
	})
	f.role = roleOf(body, role)
	switch p {
	case Responses:
		f.readItem(body, kind, callID, output, arguments, input)
	case Anthropic:
		f.readBlocks(body)
	}
	return f, end
}

func roleOf(body []byte, role span) Role {
	if !role.isString(body) {
		return RoleOther
	}
	switch string(unquote(role.of(body))) {
	case "user":
		return RoleUser
	case "system", "developer":
		return RoleSystem
	case "assistant":
		return RoleAssistant
	case "tool", "function":
		return RoleTool
	}
	return RoleOther
}

// readItem makes an item of Responses' input what it is: a message, a call, the answer of one, or something else.
func (f *fields) readItem(body []byte, kind, callID, output, arguments, input span) {
	switch kind.text(body) {
	case "message", "":
		f.name = span{}
	case "function_call":
		f.role, f.content, f.isCallItem = RoleAssistant, span{}, true
		f.own = callAt{id: callID, name: f.name, arguments: arguments}
	case "custom_tool_call":
		f.role, f.content, f.isCallItem = RoleAssistant, span{}, true
		f.own = callAt{id: callID, name: f.name, arguments: input}
	case "function_call_output", "custom_tool_call_output":
		f.role, f.content, f.id, f.name = RoleTool, output, callID, span{}
	default:
		f.role, f.content = RoleOther, span{}
	}
	f.toolCalls, f.call = span{}, span{}
}

// readBlocks reads Anthropic's content where it is an array, and makes a user message of nothing but results, and asides of the app's, a tool's.
func (f *fields) readBlocks(body []byte) {
	f.toolCalls, f.call = span{}, span{}
	if !f.content.isArray(body) {
		return
	}
	f.blocks = []block{}
	results, asides := 0, 0
	eachElement(body, f.content.start, func(one span) bool {
		if f.tooMany = len(f.blocks) == maxElements; f.tooMany {
			return false
		}
		b := readBlock(body, one)
		switch b.kind {
		case blockResult:
			results++
		case blockAside:
			asides++
		}
		f.blocks = append(f.blocks, b)
		return true
	})
	if f.role == RoleUser && results > 0 && results+asides == len(f.blocks) {
		f.role = RoleTool
	}
}

func readBlock(body []byte, one span) block {
	if !one.isObject(body) {
		return block{}
	}
	var kind, failed, text span
	var b block
	eachField(body, one.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			kind = value
		case "id":
			b.at.id = value
		case "name":
			b.at.name = value
		case "input":
			b.at.arguments = value
		case "tool_use_id":
			b.id = value
		case "text":
			text = value
		case "content":
			b.content = value
		case "is_error":
			failed = value
		}
		return true
	})
	switch {
	case kind.is(body, "text"):
		b.kind, b.content = blockText, text
		if isAside(body, text) {
			b.kind = blockAside
		}
	case kind.is(body, "tool_use"):
		b.kind = blockCall
	case kind.is(body, "tool_result"):
		b.kind = blockResult
		b.failed = !failed.isAbsent(body) && body[failed.start] == 't'
	}
	return b
}

// isAside reports whether a text is a note that an app puts beside what its user said or a tool gave back, for the model alone: one tag around it all, as in
// <system-reminder>…</system-reminder>.
func isAside(body []byte, text span) bool {
	if !text.isString(body) || !strings.ContainsRune("<\\ ", rune(body[text.start+1])) {
		return false
	}
	said := bytes.TrimSpace(unquote(text.of(body)))
	open, _, ok := bytes.Cut(said, []byte(">"))
	if !ok || len(open) < 2 || open[0] != '<' || bytes.ContainsAny(open, " /\"'") {
		return false
	}
	return bytes.HasSuffix(said, slices.Concat([]byte("</"), open[1:], []byte(">")))
}

// calls returns where the message's calls stand, in order: a legacy function_call, then the elements of tool_calls. It may set tooMany.
func (f *fields) calls(body []byte) []callAt {
	var calls []callAt
	if f.isCallItem {
		return append(calls, f.own)
	}
	if f.call.isObject(body) {
		calls = append(calls, readCall(body, f.call))
	}
	if f.toolCalls.isArray(body) {
		eachElement(body, f.toolCalls.start, func(one span) bool {
			f.tooMany = len(calls) == maxElements
			calls = append(calls, readCall(body, one))
			return !f.tooMany
		})
	}
	for _, b := range f.blocks {
		if b.kind == blockCall {
			calls = append(calls, b.at)
		}
	}
	return calls
}

// readCall finds the parts of {"id","function":{"name","arguments"}} or of a flat {"name","arguments"}.
func readCall(body []byte, one span) callAt {
	var c, inner callAt
	if !one.isObject(body) {
		return c
	}
	isNested := false
	eachField(body, one.start, func(key []byte, value span) bool {
		switch string(key) {
		case "id":
			c.id = value
		case "name":
			c.name = value
		case "arguments":
			c.arguments = value
		case "function":
			if isNested = value.isObject(body); isNested {
				inner = readFlat(body, value)
			}
		}
		return true
	})
	if isNested {
		c.name, c.arguments = inner.name, inner.arguments
	}
	return c
}

func readFlat(body []byte, object span) callAt {
	var c callAt
	eachField(body, object.start, func(key []byte, value span) bool {
		switch string(key) {
		case "name":
			c.name = value
		case "arguments":
			c.arguments = value
		}
		return true
	})
	return c
}
