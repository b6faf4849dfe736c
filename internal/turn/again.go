package turn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/hatch"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
	"toolbelt/skills/runs"
)

// Round is how one of the engine's answers within one answer to the client ended.
type Round struct {
	chat.Verdict
	Asked int  // times that the engine was asked again before
	Last  bool // the next round is the last: everything is shown that fits
}

// Outcome is how an answer ended, all its rounds taken together.
type Outcome struct {
	Called []chat.Call       // that reached the client, in order
	Held   []chat.HiddenCall // of our tools, beside calls that reached the client or in an answer that ended there: they were not answered
	Text   string            // the beginning of what the model said
	Usage  chat.Usage        // of the last round
	ID     string            // that the client has of the answer, "" where it is not known
	Last   string            // the engine's, of the last round that was complete: what the engine keeps goes on from there

	Joined  bool // the last round's words have chat.Break before them in the client's answer
	Silent  bool // what was said is not known, only what was called
	Refused bool // the engine did not take the request: there is no answer
	Unread  bool // it did not take the last round's: the answer ends there, or is to the client's own request
	Foreign bool // it did not take what the plan made of a request, and took the client's own
}

// guesses is how many hidden tools are shown to a model that called something which its engine dropped.
const guesses = 6

// Again plans the next round of an answer: it answers the calls of our tools, or, where the engine dropped a call of a hidden tool,
// shows those that are likeliest. nil: the answer ends as it is. The plan is for the same turn, and has to be committed as the first one.
func (p *Planner) Again(ctx context.Context, plan *Plan, r Round) (*Plan, error) {
	d := plan.draft
	defer p.Sessions.Lock(d.request.Identity)()
	if err := p.know(d); err != nil {
		return nil, err
	}
	next := *plan
	next.Admitted, next.Evicted, next.Skipped = nil, nil, nil
	state := &next.state
	state.List = slices.Clone(state.List)
	switch {
	case len(r.Held) > 0:
		p.answer(d, &next, r)
	case r.Empty && !next.guessed:
		next.guessed = true
		names := p.likeliest(ctx, d, *state)
		if next.Admitted = p.bring(d, state, names, session.Hatch); len(next.Admitted) == 0 {
			return nil, nil
		}
	default:
		return nil, nil
	}
	if r.Last {
		p.showAll(d, state)
	}
	p.roundEnded(plan, r)
	next.later = true
	next.Tools = nil
	for _, v := range state.List {
		if v.Name[0] != 0 && d.has(v.Name) {
			next.Tools = append(next.Tools, Tool{Name: v.Name, Reason: v.Reason})
		}
	}
	body, sent := d.render(state)
	next.Body = body
	p.expect(d, &next, sent)
	for _, what := range next.loads {
		p.recordLoad(&next, what)
	}
	next.loads = nil
	return &next, nil
}

// roundEnded tells of a round that another follows.
func (p *Planner) roundEnded(plan *Plan, r Round) {
	p.answered(plan, Outcome{Text: r.Text, Usage: r.Usage}, true)
	if m, ok := p.Recorder.(Meter); ok {
		m.Again(plan, len(r.Held) == 0)
	}
}

// know makes the snapshot of the draft's array known.
func (p *Planner) know(d *draft) error {
	if d.snapshot != nil {
		return nil
	}
	snapshot, err := p.Snapshots.Snapshot(d.hash, d.request.Chat.Tools)
	if err == nil {
		d.snapshot = snapshot
	}
	return err
}

// answer answers the calls of our tools and notes the hidden turn.
func (p *Planner) answer(d *draft, plan *Plan, r Round) {
	state := &plan.state
	loader := d.snapshot.Loader()
	late := p.how(d, *state) == kvcache.Late && !d.forced()
	turn := session.Hidden{Anchor: d.end(), Said: r.Text}
	for _, call := range r.Held {
		wanted := ask(loader, call)
		inArray, told, hidden := p.load(d, plan, wanted.load, late)
		turn.Tools = append(turn.Tools, told...)
		turn.Calls = append(turn.Calls, session.HiddenCall{
			ID: d.callID(call.ID, state.Loads), Name: call.Name, Arguments: object(call.Arguments), Result: wanted.answer(inArray, told, hidden),
		})
		state.Loads++
		plan.loads = append(plan.loads, wanted.load.Bundle)
	}
	if r.Joined {
		*state = state.Joined()
	}
	state.Hidden = append(slices.Clone(state.Hidden), turn)
}

// callID is the id of a hidden call: the engine's, or one of ours where it gave none and the protocol wants one.
func (d *draft) callID(id string, n int) string {
	if id != "" || d.request.Chat.Protocol == chat.Ollama {
		return id
	}
	return fmt.Sprintf("call_toolbelt_%d_%d", d.found.State.Turn, n)
}

// object returns arguments that can stand in a history.
func object(arguments []byte) string {
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return string(trimmed)
	}
	return "{}"
}

// asked is what a call of one of our tools asks for, and its answer.
type asked struct {
	load   hatch.Load
	answer func(visible, late, hidden []string) string
}

// ask finds what a call of one of our tools asks for.
func ask(loader *hatch.Loader, call chat.HiddenCall) asked {
	switch call.Name {
	case hatch.ToolSearch:
		s := loader.Search(call.Arguments)
		return asked{s.Load, s.AnswerLate}
	case hatch.CallTool: // it names no tool
		return asked{answer: func(_, _, _ []string) string { return hatch.Unnamed }}
	}
	l := loader.Load(call.Arguments)
	return asked{l, l.AnswerLate}
}

// load makes visible what was asked for: what was named in any case, other members of a group as far as the cap and the budget allow. It returns
// what the array has now, what the answer has to define, and what stayed hidden.
func (p *Planner) load(d *draft, plan *Plan, l hatch.Load, late bool) (visible, told, hidden []string) {
	state := &plan.state
	listed := func(name string) int {
		return state.Place(name)
	}
	room := p.policy.MaxTools + p.policy.Overflow - len(state.List)
	named := len(l.Named)
	for i, name := range l.Names() {
		switch at := listed(name); {
		case at >= 0 && state.List[at].Late:
			told = append(told, name) // said again: it may stand far back
		case at >= 0:
			visible = append(visible, name)
		case i >= named && room <= 0 || !d.fits(*state, name):
			hidden = append(hidden, name)
		default:
			state.List = append(state.List, session.Visible{Name: name, Reason: session.Hatch, Admitted: state.Turn, Late: late})
			plan.Admitted = append(plan.Admitted, name)
			room--
			if late {
				told = append(told, name)
			} else {
				visible = append(visible, name)
			}
		}
	}
	plan.Skipped = append(plan.Skipped, hidden...)
	return visible, told, hidden
}

// fits reports whether the budget has room for one more tool.
func (d *draft) fits(s session.State, name string) bool {
	return d.holds(d.listBytes(s) + d.size(name))
}

// holds reports whether the budget has room for a list of so many bytes.
func (d *draft) holds(bytes int) bool {
	budget := d.budget
	return (budget.Tokens == 0 || d.inTokens(bytes) <= budget.Tokens) && (budget.Bytes == 0 || bytes <= budget.Bytes)
}

func (d *draft) listBytes(s session.State) (bytes int) {
	for _, v := range s.List {
		bytes += d.size(v.Name)
	}
	return bytes
}

// showAll makes everything visible that fits, in the client's order, and takes our tools away: the model has asked often enough.
func (p *Planner) showAll(d *draft, s *session.State) {
	bytes, listed := d.listBytes(*s), map[string]bool{}
	for _, v := range s.List {
		listed[v.Name] = true
	}
	for _, e := range d.request.Chat.Elements {
		if more := bytes + e.End - e.Start; !listed[e.Key] && !d.served(e) && d.holds(more) {
			s.List = append(s.List, session.Visible{Name: e.Key, Reason: session.Hatch, Admitted: s.Turn})
			bytes, listed[e.Key] = more, true
		}
	}
	s.Own = slices.DeleteFunc(slices.Clone(s.Own), func(o session.Own) bool { return o.Name != hatch.CallTool })
}

// likeliest are the hidden tools that rank highest for this request, those that fit.
func (p *Planner) likeliest(ctx context.Context, d *draft, s session.State) []string {
	by, ok := p.scoredFor(ctx, d)
	if !ok {
		return nil
	}
	cat := d.snapshot.Catalog()
	ids := make([]catalog.ID, cat.Len())
	for i := range ids {
		ids[i] = catalog.ID(i)
	}
	slices.SortStableFunc(ids, func(a, b catalog.ID) int { return cmp.Compare(by.scores.Rank[b], by.scores.Rank[a]) })
	var names []string
	bytes := d.listBytes(s)
	for _, id := range ids {
		name := cat.Tool(id).Name
		if len(names) == guesses {
			break
		}
		if !s.Lists(name) && d.holds(bytes+d.size(name)) {
			names = append(names, name)
		}
	}
	return names
}

// Observe counts what the answer to the plan's request called; call it once, when the stream has ended or the engine has refused the request. A hidden tool is an escape
// hatch, and visible from the next request on; so is one whose call the engine took for text, and one that was asked for beside real calls.
func (p *Planner) Observe(plan *Plan, o Outcome) {
	p.answered(plan, o, false)
	if o.Foreign {
		p.Sessions.Plainly(plan.key)
	}
	if o.Refused {
		return
	}
	if len(o.Called) == 0 {
		plan.reply = o.Text
	}
	if o.Joined {
		p.Sessions.Joined(plan.key)
	}
	names := calledNames(o.Called)
	if len(names) == 0 {
		names = p.spoken(plan, o.Text)
		p.written(plan, names)
	}
	if bridged := bridgedNames(o.Called); len(bridged) > 0 && plan.draft != nil {
		p.Sessions.Bridged(plan.key, bridged, plan.draft.end())
	}
	p.observe(plan.key, names, plan.draft.has)
	p.ran(plan.key, o.Called)
	p.Sessions.Replied(plan.key, firstReply(plan, o))
	if plan.draft != nil {
		id := plan.draft.request.Identity
		p.Sessions.Answered(id, plan.key, session.Answer{ID: o.ID, Last: o.Last, Owed: p.unanswered(plan, o.Held)})
	}
}

// firstReply is the signature of the turn's first answer, "" where it is not known: this one, or, in a request that goes on after it, the one that the app
// has, which this process need not have seen.
func firstReply(plan *Plan, o Outcome) string {
	if d := plan.draft; d != nil && d.request.Chat.Continues {
		if r := d.request.Chat; len(r.Replies) == len(r.Users) && len(r.Users) > 0 {
			return r.Replies[len(r.Users)-1]
		}
		return ""
	}
	if !o.Usage.Done || o.Silent {
		return ""
	}
	return chat.Signature(o.Text, signatures(o.Called))
}

func bridgedNames(calls []chat.Call) (names []string) {
	for _, c := range calls {
		if c.Bridged {
			names = append(names, c.Name)
		}
	}
	return names
}

// Kept is the id that the engine keeps an answer under which the app names by answer; "" where it is the same, or not known.
func (p *Planner) Kept(id session.Identity, answer string) string { return p.Sessions.Kept(id, answer) }

// ran tells of the calls of one answer.
func (p *Planner) ran(key string, called []chat.Call) {
	if len(called) == 0 {
		return
	}
	list := make([]runs.Call, len(called))
	for i, c := range called {
		list[i] = runs.Call{Name: c.Name, Arguments: c.Arguments}
	}
	p.Runs.Called(key, list)
}

// signatures are those of all calls.
func signatures(calls []chat.Call) []string {
	list := make([]string, len(calls))
	for i, c := range calls {
		list[i] = c.Signature()
	}
	return list
}

func calledNames(calls []chat.Call) []string {
	var names []string
	for _, c := range calls {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// callInText finds a name in what looks like a call that was written out.
var callInText = regexp.MustCompile(`"name"\s*:\s*"([^"\\]{1,128})"`)

// spoken returns the hidden tools whose calls the model wrote as text.
func (p *Planner) spoken(plan *Plan, text string) []string {
	var names []string
	for _, m := range callInText.FindAllStringSubmatch(text, 16) {
		hidden := !plan.state.Lists(m[1])
		if hidden && plan.state.HasList() && plan.draft.has(m[1]) && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// written tells of calls that were written as text.
func (p *Planner) written(plan *Plan, names []string) {
	if m, ok := p.Recorder.(Meter); ok && len(names) > 0 {
		m.Written(plan.state, names)
	}
}

// unanswered makes what our tools were asked for beside real calls visible from the next request on, and returns the calls' results, for an engine that keeps its answers.
func (p *Planner) unanswered(plan *Plan, held []chat.HiddenCall) (owed []session.Owed) {
	if len(held) == 0 || p.know(plan.draft) != nil {
		return nil
	}
	loader := plan.draft.snapshot.Loader()
	for _, call := range held {
		wanted := ask(loader, call)
		named := wanted.load.Named
		owed = append(owed, session.Owed{ID: call.ID, Name: call.Name, Result: wanted.answer(named, nil, wanted.load.Names()[len(named):])})
		if call.Name == hatch.CallTool { // it names no tool
			continue
		}
		p.Sessions.Load(plan.key, named)
		p.recordLoad(plan, wanted.load.Bundle)
	}
	return owed
}

// recordLoad tells the recorder of one call of our tools.
func (p *Planner) recordLoad(plan *Plan, what string) {
	if p.Recorder != nil {
		p.Recorder.Loaded(plan, what)
	}
}
