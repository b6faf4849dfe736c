package chat

import (
	"cmp"
	"fmt"
	"slices"

	"toolbelt/catalog"
)

// OwnTool is a tool of ours that the app did not send.
type OwnTool struct {
	Name, Description string
	Schema            []byte // JSON object, its bytes kept; empty means no parameters
	After             int    // stands after so many names of Edits.Order; those of one place in the order of Edits.Own
}

// HiddenTurn is what the app never saw: calls of ours and their answers, as an assistant message and what follows it.
type HiddenTurn struct {
	At    int    // index into Request.Messages before which it goes; len(Messages) is the end. Those of one place in the order given
	Text  string // what the model said before the calls
	Calls []HiddenCall
	Kept  bool // the engine has kept the calls (Responses): their results alone go in
}

// HiddenCall is one call of a hidden turn.
type HiddenCall struct {
	ID, Name  string // ID may be "" for Ollama alone
	Arguments []byte // JSON object, its bytes kept; empty means {}
	Result    string
}

// Appended is a text at the end of a user or tool message: of its string, or as one part more of its parts. Where Anthropic's message
// holds nothing but results of tools, it is at the end of the last result, as engines put other text before the results.
type Appended struct {
	Message int // index into Request.Messages
	Text    string
	Prose   bool // it is prose, not definitions of tools: said for whoever counts its tokens
}

// Bridged makes a call in the history one of the tool Bridge, with {"name": its name, "arguments": its arguments}. Its place and id stay.
type Bridged struct {
	Message, Call int // indexes into Request.Messages and the message's Calls
	Bridge        string
}

// Cut takes Text away from the beginning of an assistant message's text: the hidden turn before it has it. A part whose text goes as a whole
// goes with it, unless no part would stay.
type Cut struct {
	Message int
	Text    string
}

// Edits is all that may be changed in a request.
type Edits struct {
	Order  []string // keys of the elements that stay, as for Render; nil leaves the tools array alone, Own included
	Own    []OwnTool
	Hidden []HiddenTurn
	Append []Appended
	Bridge []Bridged
	Cut    []Cut
}

// Apply returns body with these edits and nothing else changed: every byte that no edit is about is the client's. r must be
// what Decode read from this body. The same arguments give the same bytes. The very slice body is returned where nothing
// changes; it is never written to.
//
// A *catalog.Error of kind Invalid says why the body cannot be edited so: a message or call that is not there, one of a shape that
// does not take the edit, a text to cut that does not stand there, two edits of the same bytes, own tools without an array for
// them, arguments or a schema that are no JSON object. Then the result is body, unchanged.
func Apply(body []byte, r *Request, e Edits) ([]byte, error) {
	p, err := plan(body, r, e)
	if err != nil {
		return body, err
	}
	edited, err := p.splice(body)
	if err != nil {
		return body, err
	}
	return edited, nil
}

// plan collects what the edits change in the body.
func plan(body []byte, r *Request, e Edits) (*patch, error) {
	if r.MessagesEnd > len(body) || r.ToolsEnd > len(body) || len(r.Messages) > 0 && r.MessagesEnd <= r.Messages[len(r.Messages)-1].Start {
		return nil, impossible("it is not the body that was read")
	}
	p := &patch{}
	if err := p.tools(body, r, e.Order, e.Own); err != nil {
		return nil, err
	}
	if err := p.hidden(body, r, e.Hidden); err != nil {
		return nil, err
	}
	for _, a := range e.Append {
		if err := p.append(body, r, a); err != nil {
			return nil, err
		}
	}
	for _, b := range e.Bridge {
		if err := p.bridge(body, r, b); err != nil {
			return nil, err
		}
	}
	for _, c := range e.Cut {
		if err := p.cut(body, r, c); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func impossible(format string, args ...any) error {
	return catalog.NewError(catalog.Invalid, "editing a request: "+fmt.Sprintf(format, args...), nil)
}

// patch is what changes in a body: pieces of it, and what stands there instead.
type patch struct{ changes []change }

type change struct {
	span
	text []byte
}

// insert puts text before body[at]; what is inserted at one place keeps its order.
func (p *patch) insert(at int, text []byte) { p.replace(span{at, at}, text) }

// inserted reports whether something is inserted before body[at].
func (p *patch) inserted(at int) bool {
	return slices.ContainsFunc(p.changes, func(c change) bool { return c.span == span{at, at} })
}

func (p *patch) replace(s span, text []byte) { p.changes = append(p.changes, change{s, text}) }

// splice makes the edited body.
func (p *patch) splice(body []byte) ([]byte, error) {
	if len(p.changes) == 0 {
		return body, nil
	}
	slices.SortStableFunc(p.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) // inserted before replaced
	})
	size, at := len(body), 0
	for _, one := range p.changes {
		if one.start < at {
			return nil, impossible("two edits are of the same bytes")
		}
		at = one.end
		size += len(one.text) - (one.end - one.start)
	}
	out, at := make([]byte, 0, size), 0
	for _, one := range p.changes {
		out = append(append(out, body[at:one.start]...), one.text...)
		at = one.end
	}
	return append(out, body[at:]...), nil
}

// message returns a message and its members.
func message(body []byte, r *Request, index int) (*Message, fields, error) {
	if index < 0 || index >= len(r.Messages) {
		return nil, fields{}, impossible("there is no message %d of %d", index, len(r.Messages))
	}
	m := &r.Messages[index]
	f, _ := readFields(r.Protocol, body, m.Start)
	return m, f, nil
}
