package chat

import (
	"slices"
	"strings"
)

const maxCalled = 8

// readMessages fills in what the conversation tells.
func (r *Request) readMessages(body []byte, array span) error {
	if array.isAbsent(body) {
		return nil
	}
	if !array.isArray(body) {
		return unedited("its \"messages\" is not an array")
	}
	r.MessageBytes = array.end - array.start
	n := 0
	var back results
	eachElement(body, array.start, func(message span) bool {
		if n++; n > maxMessages {
			return false
		}
		if message.isObject(body) {
			r.readMessage(body, message, &back)
		}
		return true
	})
	if n > maxMessages {
		return unedited("it has more than %d messages", maxMessages)
	}
	r.Failed = back.failed
	return nil
}

func (r *Request) readMessage(body []byte, message span, back *results) {
	var role []byte
	var content, calls, call, id, name span
	eachField(body, message.start, func(key []byte, value span) bool {
		switch string(key) {
		case "role":
			if role = nil; value.isString(body) {
				role = unquote(value.of(body))
			}
		case "content":
			content = value
		case "tool_calls":
			calls = value
		case "function_call":
			call = value
		case "tool_call_id":
			id = value
		case "tool_name", "name":
			name = value
		}
		return true
	})
	switch string(role) {
	case "user":
		*back = results{}
		r.Users = append(r.Users, contentText(body, content))
		r.Continues = false
		return
	case "system", "developer": // instructions of the app, wherever it puts them
		return
	case "tool", "function":
		back.came(id.text(body), name.text(body), contentHead(body, content))
	}
	r.Continues = len(r.Users) > 0
	if call.isObject(body) {
		called := fieldOf(body, call, "name")
		r.sawCall(body, called)
		back.called("", called.text(body))
	}
	if calls.isArray(body) {
		eachElement(body, calls.start, func(one span) bool {
			called := functionName(body, one)
			r.sawCall(body, called)
			back.called(idIn(body, one), called.text(body))
			return true
		})
	}
}

// sawCall moves the name to the front of Called.
func (r *Request) sawCall(body []byte, name span) {
	if !name.isString(body) {
		return
	}
	text := unquote(name.of(body))
	if len(text) == 0 {
		return
	}
	at := slices.IndexFunc(r.Called, func(s string) bool { return s == string(text) })
	var front string
	switch {
	case at >= 0:
		front = r.Called[at]
	case len(r.Called) < maxCalled:
		r.Called = append(r.Called, "")
		at, front = len(r.Called)-1, string(text)
	default:
		at, front = maxCalled-1, string(text)
	}
	copy(r.Called[1:at+1], r.Called[:at])
	r.Called[0] = front
}

// functionName finds the name in {"function":{"name"}} or in a flat {"name"}; empty where there is none.
func functionName(body []byte, object span) span {
	if !object.isObject(body) {
		return span{}
	}
	var function, name span
	eachField(body, object.start, func(key []byte, value span) bool {
		switch string(key) {
		case "function":
			function = value
		case "name":
			name = value
		}
		return true
	})
	if function.isObject(body) {
		return fieldOf(body, function, "name")
	}
	return name
}

// fieldOf returns an object's field of this name, the last of several, and the zero span where there is none.
func fieldOf(body []byte, object span, name string) span {
	var field span
	eachField(body, object.start, func(key []byte, value span) bool {
		if string(key) == name {
			field = value
		}
		return true
	})
	return field
}

// contentText returns a message's text: a string, or the text parts joined by newlines. Images, audio
// and files are left out.
func contentText(body []byte, content span) string {
	if !content.isArray(body) {
		return content.text(body)
	}
	var parts []string
	eachElement(body, content.start, func(part span) bool {
		switch {
		case part.isString(body):
			parts = append(parts, part.text(body))
		case part.isObject(body):
			if text, ok := partText(body, part); ok {
				parts = append(parts, text)
			}
		}
		return true
	})
	return strings.Join(parts, "\n")
}

func partText(body []byte, part span) (string, bool) {
	var kind []byte
	var text span
	eachField(body, part.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			if value.isString(body) {
				kind = unquote(value.of(body))
			}
		case "text":
			text = value
		}
		return true
	})
	switch string(kind) {
	case "text", "input_text", "":
		return text.text(body), text.isString(body)
	}
	return "", false
}
