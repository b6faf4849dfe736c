package chat

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	top, err := readTop(p, body, at)
	if err != nil {
		return nil, err
	}
	r := &Request{Protocol: p, Model: top.model.text(body)}
	r.Stream = !top.stream.isAbsent(body) && body[top.stream.start] == 't'
	if p == Ollama {
		r.Stream = r.Stream || top.stream.isAbsent(body)
		r.readOptions(body, top.options)
	}
	if p == OpenAI && top.answers.end > 0 {
		r.Several = gjson.ParseBytes(top.answers.of(body)).Num > 1 // 0 for what is no number
	}
	r.KeepAlive = string(top.keepAlive.of(body))
	if p == Responses {
		r.PreviousResponse = top.previous.text(body)
	}
	if err := r.readTools(body, top.tools); err != nil {
		return nil, err
	}
	if err := r.readHistory(body, top.messages, top.system); err != nil {
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
	model, stream, options, keepAlive, system, previous, answers span
	messages, tools, choice                                      span
}

// messagesKey is the member that holds the conversation.
func (p Protocol) messagesKey() string {
	if p == Responses {
		return "input"
	}
	return "messages"
}

// readTop finds the members of the object at body[at]. The three that decide over the edit may be there once
// at most, in any letter case; of the others the last one counts, as for most engines.
func readTop(p Protocol, body []byte, at int) (top, error) {
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
		case "keep_alive":
			t.keepAlive = value
			return true
		case "n":
			t.answers = value
			return true
		case "previous_response_id":
			t.previous = value
			return true
		case "system", "instructions":
			if p == Anthropic && key[0] == 's' || p == Responses && key[0] == 'i' {
				t.system = value
			}
			return true
		}
		for _, one := range []struct {
			name string
			at   *span
		}{{p.messagesKey(), &t.messages}, {"tools", &t.tools}, {"tool_choice", &t.choice}} {
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

// readOptions reads those of Ollama's options that belong to the loaded model: another value of one of them loads it anew.
func (r *Request) readOptions(body []byte, options span) {
	if !options.isObject(body) {
		return
	}
	loading := []string{"main_gpu", "num_batch", "num_ctx", "num_gpu", "num_thread", "use_mmap"}
	values := make([]span, len(loading))
	eachField(body, options.start, func(key []byte, value span) bool {
		if i := slices.Index(loading, string(key)); i >= 0 {
			values[i] = value
		}
		return true
	})
	var said []string
	for i, value := range values {
		if value.isAbsent(body) {
			continue
		}
		switch v := gjson.ParseBytes(value.of(body)); {
		case v.IsBool():
			said = append(said, loading[i]+"="+v.Raw)
		case v.Type != gjson.Number:
		case loading[i] != "num_ctx":
			said = append(said, loading[i]+"="+strconv.FormatFloat(v.Num, 'g', -1, 64))
		case count(v) > 0:
			r.ContextTokens = count(v)
			said = append(said, "num_ctx="+strconv.Itoa(r.ContextTokens))
		}
	}
	r.Options = strings.Join(said, ",")
}

// count returns a number of things, 0 where v is no number or out of the range of an int32.
func count(v gjson.Result) int {
	if v.Type != gjson.Number || !(v.Num >= 0 && v.Num <= math.MaxInt32) {
		return 0
	}
	return int(v.Num)
}
