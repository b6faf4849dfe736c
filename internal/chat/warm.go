package chat

import "bytes"

// Warm returns a body with which the engine evaluates what is known of a next prompt and answers one token: the request's own
// bytes with the first n messages alone (0 < n ≤ len(r.Messages)), edited by e as Apply does; edits of later messages and places after n
// do not count. It is not streamed, asks for one token, and has neither tool_choice nor keep_alive, so that how long the
// model stays loaded is the user's. Formats and options stay, as they are part of the prompt or of the loaded model.
//
// The errors are those of Apply, and one for an n out of range or options that are no object; the body is never changed.
func Warm(body []byte, r *Request, n int, e Edits) ([]byte, error) {
	if n < 1 || n > len(r.Messages) {
		return nil, impossible("there are no %d messages of %d", n, len(r.Messages))
	}
	p, err := plan(body, r, e.before(n))
	if err != nil {
		return nil, err
	}
	if n < len(r.Messages) {
		p.replace(span{r.Messages[n-1].End, r.MessagesEnd - 1}, nil)
	}
	edited, err := p.splice(body)
	if err != nil {
		return nil, err
	}
	return warmed(edited, r.Protocol)
}

// before returns the edits that concern the first n messages.
func (e Edits) before(n int) Edits {
	all := e
	e.Hidden, e.Append, e.Bridge, e.Cut = nil, nil, nil, nil
	for _, h := range all.Hidden {
		if h.At <= n {
			e.Hidden = append(e.Hidden, h)
		}
	}
	for _, a := range all.Append {
		if a.Message < n {
			e.Append = append(e.Append, a)
		}
	}
	for _, b := range all.Bridge {
		if b.Message < n {
			e.Bridge = append(e.Bridge, b)
		}
	}
	for _, c := range all.Cut {
		if c.Message < n {
			e.Cut = append(e.Cut, c)
		}
	}
	return e
}

// member is a member of the request that a warming one says otherwise; one without a value is left out.
type member struct {
	key, value string
	only       bool // only where the request has it
}

func (p Protocol) warming() []member {
	common := []member{{key: "tool_choice"}, {key: "keep_alive"}, {key: "stream_options"}, {key: "stream", value: "false"}}
	switch p {
	case OpenAI:
		return append(common, member{key: "n"}, member{key: "max_completion_tokens", value: "1", only: true}, member{key: "max_tokens", value: "1"})
	case Responses:
		return append(common, member{key: "background"}, member{key: "store", value: "false"}, member{key: "max_output_tokens", value: "1"})
	case Anthropic:
		return append(common, member{key: "max_tokens", value: "1"})
	}
	return append(common, member{key: "options"})
}

// warmed writes the top members of a body anew, those that it keeps with their own bytes and in their order.
func warmed(body []byte, p Protocol) ([]byte, error) {
	members := p.warming()
	said := make([]bool, len(members))
	out := append(make([]byte, 0, len(body)+64), '{')
	put := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	var options span
	at := skipSpace(body, 0)
	i := skipSpace(body, at+1)
	for body[i] == '"' {
		end := skipString(body, i)
		key, from := body[i:end], skipSpace(body, skipSpace(body, end)+1)
		value := span{from, skipValue(body, from)}
		known := -1
		for m := range members {
			if bytes.EqualFold(unquote(key), []byte(members[m].key)) {
				known = m
			}
		}
		switch {
		case known < 0:
			put(key, value.of(body))
		case members[known].key == "options":
			options = value
		case members[known].value != "":
			put(key, []byte(members[known].value))
			said[known] = true
		}
		if i = skipSpace(body, value.end); body[i] == ',' {
			i = skipSpace(body, i+1)
		}
	}
	for m, one := range members {
		limited := one.key == "max_tokens" && p == OpenAI && saidOf(members, said, "max_completion_tokens")
		if one.value != "" && !one.only && !said[m] && !limited {
			put(appendQuoted(nil, one.key), []byte(one.value))
		}
	}
	if p == Ollama {
		one, err := oneToken(body, options)
		if err != nil {
			return nil, err
		}
		put([]byte(`"options"`), one)
	}
	return append(out, '}'), nil
}

func saidOf(members []member, said []bool, key string) bool {
	for i, m := range members {
		if m.key == key {
			return said[i]
		}
	}
	return false
}

// oneToken returns Ollama's options with num_predict 1: 0 would not mean none.
func oneToken(body []byte, options span) ([]byte, error) {
	if options.isAbsent(body) {
		return []byte(`{"num_predict":1}`), nil
	}
	if !options.isObject(body) {
		return nil, impossible("its options are no object")
	}
	out := []byte(`{`)
	eachField(body, options.start, func(key []byte, value span) bool {
		if string(key) != "num_predict" {
			out = append(append(append(appendQuoted(out, key), ':'), value.of(body)...), ',')
		}
		return true
	})
	return append(out, `"num_predict":1}`...), nil
}
