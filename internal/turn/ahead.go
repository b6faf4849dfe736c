package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
)

// Ahead is a request that makes the engine read what is already known of a next one.
type Ahead struct {
	Key    string // of what it makes the engine hold
	Model  string
	Body   []byte
	Prompt kvcache.Prompt
	Spoken bool // it holds what somebody said; otherwise there are only the app's own words in it
}

// Next reads the plan's conversation ahead as far as it has come. It reports false where there is nothing to read.
func (p *Plan) Next() (Ahead, bool) {
	if p.draft == nil || p.shadow {
		return Ahead{}, false
	}
	return p.draft.ahead(p.state, len(p.draft.request.Chat.Messages), p.prompt)
}

// Begin reads ahead what the app's next conversation will begin with: its system text, CORE and our tools, or every tool where that is the strategy. Without a system text the
// first message stands in its place, since engines read nothing without a message.
func (p *Plan) Begin() (Ahead, bool) {
	if p.draft == nil || p.shadow {
		return Ahead{}, false
	}
	d, s := p.draft, p.state
	n := 0
	for n < len(d.request.Chat.Messages) && d.request.Chat.Messages[n].Role == chat.RoleSystem {
		n++
	}
	spoken := n == 0
	if n = max(n, 1); n > len(d.request.Chat.Messages) {
		return Ahead{}, false
	}
	s.Notes, s.Hidden = nil, nil
	switch {
	case s.HasList():
		s.List = s.List[:ownPlace(s)]
		if len(s.List) == 0 && len(s.Own) == 0 {
			return Ahead{}, false
		}
	case s.Fallback != "strategy all":
		return Ahead{}, false
	}
	prompt := promptOf(d.request.Body, d.request.Chat, "begin "+s.App, s.App)
	if s.Fallback == "" {
		prompt = d.prompt(d.edits(s))
		prompt.Session = "begin " + s.App
	}
	said := 0
	for _, m := range d.request.Chat.Messages[:n] {
		if m.Role != chat.RoleSystem {
			said++
		}
	}
	prompt.Messages = prompt.Messages[:min(said, len(prompt.Messages))]
	a, ok := d.ahead(s, n, prompt)
	a.Spoken = spoken
	return a, ok
}

// ahead writes the request for the first n messages.
func (d *draft) ahead(s session.State, n int, prompt kvcache.Prompt) (Ahead, bool) {
	var edits chat.Edits
	if s.Fallback == "" {
		edits = d.edits(s)
	}
	if n < 1 || n > len(d.request.Chat.Messages) {
		return Ahead{}, false
	}
	body, err := chat.Warm(d.request.Body, d.request.Chat, n, edits)
	if err != nil {
		return Ahead{}, false
	}
	return Ahead{Key: aheadKey(body), Model: d.request.Chat.Model, Body: body, Prompt: prompt, Spoken: true}, true
}

// aheadKey names what a request makes the engine hold.
func aheadKey(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// App is the opaque id of the app whose request it is.
func (p *Plan) App() string { return p.state.App }

// Model is the model that the request names; "" where nothing was planned.
func (p *Plan) Model() string {
	if p.draft == nil {
		return ""
	}
	return p.draft.request.Chat.Model
}

// Bytes is the size of the larger of the two bodies that the plan holds on to, the client's and its own.
func (p *Plan) Bytes() int {
	if p.draft == nil {
		return len(p.Body)
	}
	return max(len(p.Body), len(p.draft.request.Body))
}

// ReadAhead reads a request that was made by Begin in an earlier process. The error is that of chat.Decode, or of kind Invalid for a path that is no chat's.
func ReadAhead(path string, body []byte) (Ahead, error) {
	protocol := chat.ProtocolOf(path)
	if protocol == chat.Unknown {
		return Ahead{}, catalog.NewError(catalog.Invalid, "reading a stored request: "+quote(path)+" is no chat's path", nil)
	}
	r, err := chat.Decode(protocol, body)
	if err != nil {
		return Ahead{}, err
	}
	return Ahead{Key: aheadKey(body), Model: r.Model, Body: body, Prompt: promptOf(body, r, "begin", "")}, nil
}

// Draft plans a message that is still being written, as what would follow the answer to p, and keeps nothing. a reads the conversation and the answer with the list that the
// message would get; added are the tools that this list has and p's has not, none where the list stays as it is.
func (p *Planner) Draft(ctx context.Context, plan *Plan, text string) (a Ahead, added []string, err error) {
	d := plan.draft
	body, messages, err := chat.Continue(d.request.Body, d.request.Chat, plan.reply, text)
	if err != nil {
		return Ahead{}, nil, err
	}
	r, err := chat.Decode(d.request.Chat.Protocol, body)
	if err != nil {
		return Ahead{}, nil, err
	}
	id := d.request.Identity
	id.Chain, id.Replies, id.Continues, id.Body = chat.Chain(r), r.Replies, r.Continues, sha256.Sum256(body)
	defer p.Sessions.Lock(id)()
	next := p.draft(Request{Body: body, Chat: r, Identity: id, Answers: d.request.Answers})
	drafted, err := p.decide(ctx, next)
	if err != nil {
		return Ahead{}, nil, err
	}
	for _, t := range drafted.Tools {
		if !plan.state.Lists(t.Name) {
			added = append(added, t.Name)
		}
	}
	if drafted.Fallback != "" || len(added) == 0 {
		return Ahead{}, nil, nil
	}
	prompt := drafted.prompt
	prompt.Messages = prompt.Messages[:max(0, len(prompt.Messages)-1)]
	a, ok := next.ahead(drafted.state, messages, prompt)
	if !ok {
		return Ahead{}, nil, nil
	}
	return a, added, nil
}
