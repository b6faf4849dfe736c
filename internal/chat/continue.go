package chat

import "bytes"

// GoOnFrom returns body, the JSON object of a request, with another previous_response_id, and body itself where it has none. Where there are several, each is replaced.
func GoOnFrom(body []byte, id string) []byte {
	ed := editor{b: body}
	if at := skipSpace(body, 0); at < len(body) && body[at] == '{' {
		eachField(body, at, func(key []byte, value span) bool {
			if string(key) == "previous_response_id" && value.isString(body) {
				ed.replace(value, appendQuoted(nil, id))
			}
			return true
		})
	}
	if len(ed.list) == 0 {
		return body
	}
	return ed.apply(make([]byte, 0, len(body)+len(id)))
}

// Continue returns body with a message of the model's, where it said something, and one of the user's behind its messages, and how many messages stand before the
// user's. r must be what Decode read from this body, which is not changed. A *catalog.Error of kind Invalid says that it has no messages to go on with.
func Continue(body []byte, r *Request, reply, text string) (continued []byte, before int, err error) {
	if len(r.Messages) == 0 || r.MessagesEnd > len(body) || body[r.MessagesStart] != '[' {
		return nil, 0, impossible("it has no messages that another could follow")
	}
	end := r.Messages[len(r.Messages)-1].End
	before = len(r.Messages)
	var out bytes.Buffer
	out.Write(body[:end])
	add := func(role, said string) {
		out.WriteString(`,{"role":"` + role + `","content":`)
		out.Write(appendQuoted(nil, said))
		out.WriteByte('}')
	}
	if reply != "" {
		add("assistant", reply)
		before++
	}
	add("user", text)
	out.Write(body[end:])
	return out.Bytes(), before, nil
}
