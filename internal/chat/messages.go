package chat

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

const maxCalled = 8

// history reads the messages of one request, one after the other.
type history struct {
	*Request
	body      []byte
	back      results
	made      int      // calls so far
	many      bool     // there are more calls or parts than are read
	buf       []byte   // what a message's hash is over; used again for the next
	said      []byte   // by the model, in its first answer to the user's last message
	saidCalls []string // signatures
	newest    []string // those of the message's calls
	answered  bool
	args      []byte // arguments that stand in a string, unescaped
}

// readHistory fills in what the conversation tells.
func (r *Request) readHistory(body []byte, messages, system span) error {
	h := history{Request: r, body: body}
	if !system.isAbsent(body) {
		h.buf = h.appendText(h.buf, system)
		r.SystemBytes = len(h.buf)
		r.TextBytes = len(h.buf)
	}
	if messages.isAbsent(body) {
		return nil
	}
	isText := r.Protocol == Responses && messages.isString(body)
	if !isText && !messages.isArray(body) {
		return unedited("its %q is not an array", r.Protocol.messagesKey())
	}
	r.MessageBytes = messages.end - messages.start
	r.MessagesStart, r.MessagesEnd = messages.start, messages.end
	if isText {
		h.read(messages.start)
		return nil
	}
	n := 0
	walkArray(body, messages.start, func(at int) int {
		if n++; n > maxMessages || h.many {
			return len(body)
		}
		return h.read(at)
	})
	if n > maxMessages {
		return unedited("it has more than %d messages", maxMessages)
	}
	if h.many {
		return unedited("its messages have too many calls or parts")
	}
	h.endReply()
	r.Failed = h.back.failed
	return nil
}

// read takes in the message that begins at body[at], and returns the index after it.
func (h *history) read(at int) int {
	f, end := readFields(h.Protocol, h.body, at)
	m := Message{Start: at, End: end, Role: f.role}
	const head = 9 // role and length of the text
	h.buf = append(h.buf[:0], byte(m.Role), 0, 0, 0, 0, 0, 0, 0, 0)
	h.buf = h.appendText(h.buf, f.content)
	text := h.buf[head:]
	binary.LittleEndian.PutUint64(h.buf[1:], uint64(len(text)))

	if m.Role == RoleUser || m.Role == RoleTool {
		h.endReply()
	}
	switch m.Role {
	case RoleUser:
		h.results(&f, nil)
		h.back = results{}
		h.Users = append(h.Users, h.saidByUser(&f, text))
		h.Continues = false
	case RoleTool:
		h.results(&f, text)
		h.Continues = len(h.Users) > 0
	case RoleSystem: // instructions of the app, wherever it puts them
		h.SystemBytes += len(text)
	default:
		h.Continues = h.Continues || f.isObject && len(h.Users) > 0
	}
	if m.Role == RoleAssistant || m.Role == RoleOther || m.Role == RoleTool {
		m.Calls = h.calls(&f)
	}
	if m.Role == RoleAssistant {
		h.reply(text, len(m.Calls))
	}
	h.made += len(m.Calls)
	h.many = f.tooMany || h.made > maxMessages
	m.Bytes, m.Signs = len(h.buf)-head, kvcache.Signs(h.buf[head:])
	h.TextBytes += m.Bytes
	m.Hash = sha256.Sum256(h.buf)
	h.Messages = append(h.Messages, m)
	return end
}

// HashOf is the Hash of a message of this role that holds this text and no calls.
func HashOf(role Role, text string) catalog.Hash {
	buf := append(make([]byte, 9, 9+len(text)), text...)
	buf[0] = byte(role)
	binary.LittleEndian.PutUint64(buf[1:], uint64(len(text)))
	return sha256.Sum256(buf)
}

// reply takes in a message of the model's, where it belongs to the first answer to the user's last message.
func (h *history) reply(text []byte, calls int) {
	if len(h.Users) == 0 || len(h.Replies) == len(h.Users) {
		return
	}
	h.said = append(h.said, text...)
	if calls > 0 {
		h.saidCalls = append(h.saidCalls, h.newest...)
	}
	h.answered = true
}

// endReply ends the answer that is taken in.
func (h *history) endReply() {
	if !h.answered {
		return
	}
	for len(h.Replies) < len(h.Users)-1 {
		h.Replies = append(h.Replies, "")
	}
	h.Replies = append(h.Replies, Signature(string(h.said), h.saidCalls))
	h.said, h.saidCalls, h.answered = h.said[:0], nil, false
}

// calls takes in the calls of a message, and adds their names and arguments to what is hashed.
func (h *history) calls(f *fields) []HistoryCall {
	spans := f.calls(h.body)
	if len(spans) == 0 {
		return nil
	}
	calls := make([]HistoryCall, 0, len(spans))
	h.newest = h.newest[:0]
	for _, c := range spans {
		call := HistoryCall{ID: c.id.text(h.body), Name: c.name.text(h.body)}
		calls = append(calls, call)
		h.sawCall(call.Name)
		h.back.called(call.ID, call.Name)

		h.buf = append(h.buf, 0)
		h.buf = append(h.buf, call.Name...)
		h.buf = append(h.buf, 0)
		arguments := c.arguments.of(h.body)
		if c.arguments.isString(h.body) {
			h.args = appendUnquoted(h.args[:0], arguments)
			arguments = h.args
		}
		h.buf = appendCanonical(h.buf, arguments)
		h.newest = append(h.newest, callSignature(call.Name, textSum(arguments)))
	}
	return calls
}

// results takes in what came back of the calls. text is that of the message, where it is one result.
func (h *history) results(f *fields, text []byte) {
	if len(f.blocks) == 0 {
		if text != nil {
			h.back.came(f.id.text(h.body), f.name.text(h.body), oneLine(text))
		}
		return
	}
	for _, block := range f.blocks {
		if block.kind != blockResult {
			continue
		}
		said := []byte("error")
		if !block.failed {
			said = oneLine(h.appendText(nil, block.content))
		}
		h.back.came(block.id.text(h.body), "", said)
	}
}

// oneLine returns the head of a tool's answer, enough to tell an error by.
func oneLine(text []byte) []byte {
	return bytes.ReplaceAll(text[:min(len(text), failedHead)], []byte("\n"), []byte(" "))
}

// saidByUser returns a user message's text, without what tools gave back in it and without asides of the app's, unless it is nothing else.
func (h *history) saidByUser(f *fields, text []byte) string {
	is := func(kind blockKind) bool {
		return slices.ContainsFunc(f.blocks, func(b block) bool { return b.kind == kind })
	}
	if !is(blockResult) && !(is(blockAside) && is(blockText)) {
		return string(text)
	}
	var said []byte
	for _, b := range f.blocks {
		if b.kind == blockText {
			if len(said) > 0 {
				said = append(said, '\n')
			}
			said = h.appendText(said, b.content)
		}
	}
	return string(said)
}

// sawCall moves the name to the front of Called.
func (r *Request) sawCall(name string) {
	if name == "" {
		return
	}
	at := slices.Index(r.Called, name)
	switch {
	case at >= 0:
	case len(r.Called) < maxCalled:
		r.Called = append(r.Called, "")
		at = len(r.Called) - 1
	default:
		at = maxCalled - 1
	}
	copy(r.Called[1:at+1], r.Called[:at])
	r.Called[0] = name
}

// appendText adds a message's text to dst: a string, or the text parts joined by newlines. Images, audio
// and files are left out. Of Anthropic's blocks, the texts within the results of tools belong to it.
func (h *history) appendText(dst []byte, content span) []byte {
	if content.isString(h.body) {
		return appendUnquoted(dst, content.of(h.body))
	}
	if !content.isArray(h.body) {
		return dst
	}
	first := true
	eachElement(h.body, content.start, func(part span) bool {
		inner := partText(h.body, part)
		if inner.end == 0 {
			return true
		}
		if !first {
			dst = append(dst, '\n')
		}
		first = false
		if inner.isArray(h.body) { // of a tool's result, one level down
			eachElement(h.body, inner.start, func(part span) bool {
				if text := partText(h.body, part); text.isString(h.body) {
					dst = appendUnquoted(dst, text.of(h.body))
				}
				return true
			})
			return true
		}
		dst = appendUnquoted(dst, inner.of(h.body))
		return true
	})
	return dst
}

// partText returns what holds the text of a part of a message: the string, or the content of a tool's result, which may be an array. Zero for
// any other part.
func partText(body []byte, part span) span {
	if part.isString(body) {
		return part
	}
	if !part.isObject(body) {
		return span{}
	}
	var kind []byte
	var text, content span
	eachField(body, part.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			if kind = nil; value.isString(body) {
				kind = unquote(value.of(body))
			}
		case "text":
			text = value
		case "content":
			content = value
		}
		return true
	})
	switch string(kind) {
	case "text", "input_text", "output_text", "":
		if text.isString(body) {
			return text
		}
	case "tool_result":
		if content.isString(body) || content.isArray(body) {
			return content
		}
	}
	return span{}
}

// is reports whether the value is the string word, without an allocation.
func (s span) is(body []byte, word string) bool {
	return s.isString(body) && bytes.Equal(unquote(s.of(body)), []byte(word))
}
