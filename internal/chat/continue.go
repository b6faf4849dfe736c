package chat

import "bytes"

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
