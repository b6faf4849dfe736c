package chat

import (
	"bytes"
	"fmt"
	"math"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
)

// What is beyond these limits goes on unedited. No engine reads more than the depth; the two counts
// keep a hostile body from costing many times its own size.
const (
	maxDepth    = 10_000
	maxElements = 20_000
	maxMessages = 200_000
)

// Decode reads what matters of a chat request's body. It is linear in the body, keeps nothing of it, and never
// panics. A *catalog.Error of kind Invalid says why the body is to go on unedited: it is
// not JSON, not an object, nests too deep, has a shape that we do not know, or says
// something twice, so that the engine may read the other one. Engines that match keys
// without regard to case are among them: "Tools" counts as "tools".
//
// A request without tools, with null for them or with an empty array is no error: HasTools is false.
func Decode(p Protocol, body []byte) (*Request, error) {
	if tooDeep(body, maxDepth) {
		return nil, unedited("it nests more than %d deep", maxDepth)
	}
	if !gjson.ValidBytes(body) {
		return nil, unedited("it is not JSON")
	}
	at := skipSpace(body, 0)
	if body[at] != '{' {
		return nil, unedited("it is not a JSON object")
	}
	top, err := readTop(body, at)
	if err != nil {
		return nil, err
	}
	r := &Request{Protocol: p, Model: top.model.text(body)}
	r.Stream = !top.stream.isAbsent(body) && body[top.stream.start] == 't'
	if p == Ollama {
		r.Stream = r.Stream || top.stream.isAbsent(body)
		r.ContextTokens = contextTokens(body, top.options)
	}
	if err := r.readTools(body, top.tools); err != nil {
		return nil, err
	}
	if err := r.readMessages(body, top.messages); err != nil {
		return nil, err
	}
	r.readChoice(body, top.choice)
	return r, nil
}

func unedited(format string, args ...any) error {
	return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
}

// top holds the members of a request that are read; an absent one is empty.
type top struct {
	model, stream, options, messages, tools, choice span
}

// readTop finds the members of the object at body[at]. The three that decide over the edit may be there once
// at most, in any letter case; of the others the last one counts, as for most engines.
func readTop(body []byte, at int) (top, error) {
	var t top
	var err error
	eachField(body, at, func(key []byte, value span) bool {
		switch string(key) {
		case "model":
			t.model = value
			return true
		case "stream":
			t.stream = value
			return true
		case "options":
			t.options = value
			return true
		}
		for _, one := range []struct {
			name string
			at   *span
		}{{"messages", &t.messages}, {"tools", &t.tools}, {"tool_choice", &t.choice}} {
			if !bytes.EqualFold(key, []byte(one.name)) {
				continue
			}
			if one.at.end > 0 {
				err = unedited("it has more than one %q", one.name)
				return false
			}
			if string(key) != one.name {
				err = unedited("it spells %q as %q", one.name, key)
				return false
			}
			*one.at = value
		}
		return true
	})
	return t, err
}

// contextTokens returns num_ctx of Ollama's options, 0 where it is no positive number.
func contextTokens(body []byte, options span) int {
	if !options.isObject(body) {
		return 0
	}
	n := 0
	eachField(body, options.start, func(key []byte, value span) bool {
		if string(key) == "num_ctx" {
			n = count(gjson.ParseBytes(value.of(body)))
		}
		return true
	})
	return n
}

// count returns a number of things, 0 where v is no number or out of the range of an int32.
func count(v gjson.Result) int {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num <= math.MaxInt32) {
		return 0
	}
	return int(v.Num)
}
