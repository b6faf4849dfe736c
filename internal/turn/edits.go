package turn

import (
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/hatch"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
)

// edits is what is changed of the request so that the engine sees what the state says. Anchors that the request lacks are left out.
func (d *draft) edits(s session.State) chat.Edits {
	e := chat.Edits{Order: s.Array()}
	for _, o := range s.Own {
		if !d.has(o.Name) {
			e.Own = append(e.Own, chat.OwnTool{Name: o.Name, Description: o.Description, Schema: []byte(o.Schema), After: ownPlace(s)})
		}
	}
	d.owedEdits(&e)
	d.hiddenEdits(s, &e)
	for _, n := range s.Notes {
		if at, ok := d.locate(n.Anchor); ok {
			e.Append = append(e.Append, chat.Appended{Message: at, Text: n.Text, Prose: len(n.Tools) == 0})
		}
	}
	if s.HasOwn(hatch.CallTool) {
		d.bridgeEdits(s, &e)
	}
	return e
}

// owedEdits puts in the results of calls of ours that the engine has kept, behind those of the app's own calls.
func (d *draft) owedEdits(e *chat.Edits) {
	if len(d.found.Owed) == 0 {
		return
	}
	messages, turn := d.request.Chat.Messages, chat.HiddenTurn{Kept: true}
	for turn.At < len(messages) && messages[turn.At].Role == chat.RoleTool {
		turn.At++
	}
	for _, o := range d.found.Owed {
		turn.Calls = append(turn.Calls, chat.HiddenCall{ID: o.ID, Name: o.Name, Result: o.Result})
	}
	e.Hidden = append(e.Hidden, turn)
}

// hiddenEdits puts hidden turns back, with what the model said before their calls. Where the app's next answer begins with that, it is cut there, with the break of ours behind it; where the app has kept
// none of it, the engine alone has read it, and has it again; where the app has it in another form, that hidden turn stands without. In
// Responses, where each round's words are a message of their own, that message is left as it is, and the hidden turn stands behind it.
func (d *draft) hiddenEdits(s session.State, e *chat.Edits) {
	messages := d.request.Chat.Messages
	cut := map[int]string{} // by message
	next := map[int]int{}   // where the next hidden turn goes, by the anchor
	for _, h := range s.Hidden {
		at, ok := d.locateTurn(h.Anchor)
		if !ok {
			continue
		}
		next[at] = max(next[at], at+1)
		turn := chat.HiddenTurn{Text: h.Said}
		if own := d.itemOf(h.Said, next[at]); own >= 0 && cut[own] == "" {
			next[at], turn.Text = own+1, ""
		} else if answer := d.answerAt(next[at]); answer >= 0 && h.Said != "" {
			var kept chat.Keeping
			kept, cut[answer] = chat.Kept(d.request.Body, d.request.Chat, answer, cut[answer], h.Said)
			if kept == chat.Within {
				turn.Text = ""
			}
		}
		if answer := d.answerAt(next[at]); h.Break && answer >= 0 && cut[answer] != "" {
			_, cut[answer] = chat.Kept(d.request.Body, d.request.Chat, answer, cut[answer], chat.Break)
		}
		turn.At = next[at]
		for _, c := range h.Calls {
			turn.Calls = append(turn.Calls, chat.HiddenCall{ID: c.ID, Name: c.Name, Arguments: []byte(c.Arguments), Result: c.Result})
		}
		e.Hidden = append(e.Hidden, turn)
	}
	for at := range messages {
		if text := cut[at]; text != "" {
			e.Cut = append(e.Cut, chat.Cut{Message: at, Text: text})
		}
	}
}

// answerAt is the first message of the model's at or behind a place that comes before any of the user or a tool, -1 where there is none.
func (d *draft) answerAt(place int) int {
	for i := place; i < len(d.request.Chat.Messages); i++ {
		switch d.request.Chat.Messages[i].Role {
		case chat.RoleAssistant:
			return i
		case chat.RoleUser, chat.RoleTool:
			return -1
		}
	}
	return -1
}

// itemOf is the message of Responses that holds these words of the model's and nothing else, at or behind a place and before any call; -1 where there is none.
func (d *draft) itemOf(said string, place int) int {
	if said == "" || d.request.Chat.Protocol != chat.Responses {
		return -1
	}
	own := chat.HashOf(chat.RoleAssistant, said)
	for i := place; i < len(d.request.Chat.Messages); i++ {
		switch m := d.request.Chat.Messages[i]; {
		case m.Hash == own:
			return i
		case m.Role == chat.RoleUser || m.Role == chat.RoleTool || len(m.Calls) > 0:
			return -1
		}
	}
	return -1
}

// bridgeEdits turns the history's calls of tools that came as text into the calls that the model made.
func (d *draft) bridgeEdits(s session.State, e *chat.Edits) {
	since := d.broughtAt(s)
	for i, m := range d.request.Chat.Messages {
		for j, c := range m.Calls {
			if at, late := since[c.Name]; late && i > at {
				e.Bridge = append(e.Bridge, chat.Bridged{Message: i, Call: j, Bridge: hatch.CallTool})
			}
		}
	}
}

// broughtAt is behind which message each late tool came, or was called through the bridge before anything told of it; -1 where nothing says so. Calls before that were of a tool in the
// array of then.
func (d *draft) broughtAt(s session.State) map[string]int {
	since := map[string]int{}
	for _, v := range s.List {
		if v.Late {
			since[v.Name] = -1
		}
	}
	brought := func(tools []string, at int, ok bool) {
		for _, name := range tools {
			if first, late := since[name]; ok && late && (first < 0 || at < first) {
				since[name] = at
			}
		}
	}
	for _, n := range s.Notes {
		at, ok := d.locate(n.Anchor)
		brought(n.Tools, at, ok)
	}
	for _, h := range s.Hidden {
		at, ok := d.locateTurn(h.Anchor)
		brought(h.Tools, at, ok)
	}
	for _, b := range s.Bridged {
		at, ok := d.locate(b.Anchor)
		if _, late := since[b.Name]; late && !ok {
			since[b.Name] = -1
		}
		brought([]string{b.Name}, at, ok)
	}
	return since
}

// ownPlace is where our tools stand: where they were put when they were made, and before that behind CORE, and behind what stands before it.
func ownPlace(s session.State) int {
	array := s.Array()
	if len(s.Own) > 0 {
		return slices.Index(array, s.Own[0].After) + 1
	}
	place := 0
	for i, name := range array {
		if slices.Contains(s.Core, name) {
			place = i + 1
		}
	}
	return place
}

// locate finds a message of the app's: where it was, or, where the app has dropped or added messages, the one like it that is nearest and stands behind the
// same message, or now begins the conversation.
func (d *draft) locate(a session.Anchor) (int, bool) {
	messages := d.request.Chat.Messages
	is := func(at int) bool {
		if at < 0 || at >= len(messages) || messages[at].Hash != a.Hash {
			return false
		}
		return at == a.Message || at == 0 || a.Before == (catalog.Hash{}) || messages[at-1].Hash == a.Before || messages[at-1].Role == chat.RoleSystem
	}
	for off := range len(messages) + a.Message + 1 {
		for _, at := range []int{a.Message - off, a.Message + off} {
			if is(at) {
				return at, true
			}
		}
		if a.Message-off < 0 && a.Message+off >= len(messages) {
			break
		}
	}
	return 0, false
}

// locateTurn is locate for what a hidden turn stands behind: it never comes between calls and their results.
func (d *draft) locateTurn(a session.Anchor) (int, bool) {
	at, ok := d.locate(a)
	if next := at + 1; ok && next < len(d.request.Chat.Messages) && d.request.Chat.Messages[next].Role == chat.RoleTool {
		return 0, false
	}
	return at, ok
}

// anchor names a message of this request.
func (d *draft) anchor(at int) session.Anchor {
	a := session.Anchor{Message: at, Hash: d.request.Chat.Messages[at].Hash}
	if at > 0 {
		a.Before = d.request.Chat.Messages[at-1].Hash
	}
	return a
}

// end names the last message of this request; the zero Anchor, which is found nowhere, where it has none.
func (d *draft) end() session.Anchor {
	last := len(d.request.Chat.Messages) - 1
	if last < 0 {
		return session.Anchor{}
	}
	return d.anchor(last)
}

// anchored reports whether everything of ours in the conversation can be put back where it stood.
func (d *draft) anchored() bool {
	for _, n := range d.found.State.Notes {
		if _, ok := d.locate(n.Anchor); !ok {
			return false
		}
	}
	for _, h := range d.found.State.Hidden {
		if _, ok := d.locateTurn(h.Anchor); !ok {
			return false
		}
	}
	return d.found.State.Announced()
}

// render writes the request as the engine is to see it, and returns what it changed. Where what is ours has no place in it, it goes without, and the state says so.
func (d *draft) render(s *session.State) ([]byte, chat.Edits) {
	apply := func() ([]byte, chat.Edits, error) {
		e := d.edits(*s)
		body, err := chat.Apply(d.request.Body, d.request.Chat, e)
		return body, e, err
	}
	body, e, err := apply()
	if err == nil {
		return body, e
	}
	*s = s.Forget()
	if body, e, err = apply(); err == nil {
		return body, e
	}
	s.Own = nil
	return chat.Render(d.request.Body, d.request.Chat, s.Array()), d.edits(*s)
}

// bring makes tools visible that the list lacks: in the array, or as text in the newest message.
func (p *Planner) bring(d *draft, s *session.State, names []string, why session.Reason) (brought []string) {
	late := p.how(d, *s) == kvcache.Late && !d.forced() && d.newest() >= 0
	for _, name := range names {
		if at := s.Place(name); at >= 0 && s.List[at].Late && d.forces(name) {
			s.List = intoArray(s.List, at)
		}
		if !d.has(name) || s.Lists(name) {
			continue
		}
		s.List = append(s.List, session.Visible{Name: name, Reason: why, Admitted: s.Turn, Late: late})
		brought = append(brought, name)
	}
	if late {
		d.announce(s, brought)
	}
	return brought
}

// intoArray is the list with a tool that came as text at the end of what the array holds.
func intoArray(list []session.Visible, at int) []session.Visible {
	moved := list[at]
	moved.Late = false
	list = slices.Delete(slices.Clone(list), at, at+1)
	end := len(list)
	for end > 0 && list[end-1].Late {
		end--
	}
	return slices.Insert(list, end, moved)
}

// announce adds the note that tells the model of tools that came late.
func (d *draft) announce(s *session.State, names []string) {
	if len(names) == 0 {
		return
	}
	note := session.Note{Anchor: d.anchor(d.newest()), Tools: names, Text: "\n\n" + hatch.LateText(d.toolsNamed(names))}
	s.Notes = append(slices.Clone(s.Notes), note)
}

func (d *draft) toolsNamed(names []string) []catalog.Tool {
	var tools []catalog.Tool
	for _, name := range names {
		if i := slices.IndexFunc(d.request.Chat.Tools, func(t catalog.Tool) bool { return t.Name == name }); i >= 0 {
			tools = append(tools, d.request.Chat.Tools[i])
		}
	}
	return tools
}

// prompt is the request with these edits as the engine's cache sees it.
func (d *draft) prompt(e chat.Edits) kvcache.Prompt {
	r := d.request.Chat
	p := promptOf(nil, r, d.found.State.Session, d.found.State.App)
	sent := elements(r.Elements, e.Order)
	own := func(before int) {
		for _, o := range e.Own {
			if o.After == before {
				if text, err := o.JSON(r.Protocol); err == nil {
					p.Tools = append(p.Tools, piece(text, kvcache.Tool))
				}
			}
		}
	}
	p.Tools = nil
	for i, el := range sent {
		own(i)
		if el.End > 0 {
			p.Tools = append(p.Tools, piece(d.request.Body[el.Start:el.End], kvcache.Tool))
		}
	}
	own(len(e.Order))
	p.System, p.Messages = nil, nil
	for i, m := range r.Messages {
		d.hiddenPieces(&p, e, i)
		one := messagePiece(m)
		for _, a := range e.Append {
			if a.Message == i {
				one.Hash ^= hashOf([]byte(a.Text))
				if a.Prose {
					one.Bytes += len(a.Text)
					one.Signs += kvcache.Signs([]byte(a.Text))
				} else {
					one.Tools += len(a.Text)
				}
			}
		}
		for _, c := range e.Cut {
			if c.Message == i {
				one.Hash ^= hashOf([]byte(c.Text))
				one.Bytes = max(0, one.Bytes-len(c.Text))
				one.Signs = max(0, one.Signs-kvcache.Signs([]byte(c.Text)))
			}
		}
		if one.Role == kvcache.System {
			p.System = append(p.System, one)
		} else {
			p.Messages = append(p.Messages, one)
		}
	}
	d.hiddenPieces(&p, e, len(r.Messages))
	return p
}

// hiddenPieces adds the hidden turns that stand before message i.
func (d *draft) hiddenPieces(p *kvcache.Prompt, e chat.Edits, i int) {
	for _, h := range e.Hidden {
		if h.At != i {
			continue
		}
		said := h.Text
		for _, c := range h.Calls {
			call := piece([]byte(said+c.Name+string(c.Arguments)), kvcache.Assistant)
			call.Calls = 1
			p.Messages = append(p.Messages, call, piece([]byte(c.Result), kvcache.Result))
			said = ""
		}
	}
}
