package turn

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/admission"
	"toolbelt/internal/chat"
	"toolbelt/internal/hatch"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
	"toolbelt/selector"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// Snapshots gives the snapshot of a tools array. hash identifies the array's bytes.
type Snapshots interface {
	Snapshot(hash catalog.Hash, tools []catalog.Tool) (*Snapshot, error)
}

// Neural is an engine's embedder, made safe for the hot path: it answers in time or with an error.
type Neural interface {
	Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
}

// Skills recalls procedures that fit the last user message.
type Skills interface {
	// Recall returns those whose tools the turn is to see, best first. there reports whether the request has a tool.
	Recall(q skills.QueryVectors, there func(tool string) bool) []skills.Recalled
}

// Runs are told what was asked for and what was called for it, so that procedures can be made of what is done often. Turns are named by their keys. The methods must not block.
type Runs interface {
	Began(key string, b runs.Began)
	Called(key string, calls []runs.Call)
	Failed(key string, tools []string)
	Ended(key string, success bool, counted string)
}

// Recorder is told what was decided. It must not block.
type Recorder interface {
	Planned(*Plan)
	Escaped(s session.State, tool string)
	Loaded(p *Plan, what string)         // the model asked for a tool or a bundle, "" where it does not exist
	Answered(p *Plan, v kvcache.Verdict) // an answer ended: what its prompt came to
}

// Parts are what a Planner works with. All but Neural, Skills, Learner, Runs, Prefix and Recorder are required.
type Parts struct {
	Sessions  *session.Manager
	Snapshots Snapshots
	Builtin   embed.Embedder
	Neural    Neural
	Skills    Skills
	Learner   Learner
	Runs      Runs
	Prefix    Prefix
	Recorder  Recorder
	QueryKey  []byte // of the query hash in the log
	Now       func() time.Time
}

// Planner makes plans. Safe for concurrent use; plans of one conversation are made one at a time.
type Planner struct {
	Parts
	policy Policy
	serial *atomic.Uint64              // of the newest plan
	under  string                      // names the policy
	seeds  [2]maphash.Seed             // of tools arrays' hashes
	arrays *lru.Cache[string, nameSet] // by turn: which names its array had, for outcomes that are told later
	unmet  *unmet
	names  *lru.Cache[catalog.Hash, nameSet] // the same by the array's hash: the turns of a conversation share one
}

// maxOutcomes is how many turns' outcomes can be told apart from calls of tools that the turn did not have.
const maxOutcomes = 256

// maxArrays is how many arrays' names are kept for turns to come.
const maxArrays = 32

// NewPlanner returns a planner.
func NewPlanner(policy Policy, parts Parts) *Planner {
	if parts.Now == nil {
		parts.Now = time.Now
	}
	if parts.Learner == nil {
		parts.Learner = learn.None{}
	}
	if parts.Runs == nil {
		parts.Runs = runs.None{}
	}
	if parts.Prefix == nil {
		parts.Prefix = noPrefix{}
	}
	arrays, _ := lru.New[string, nameSet](maxOutcomes) // fails for sizes below 1 only
	names, _ := lru.New[catalog.Hash, nameSet](maxArrays)
	return &Planner{Parts: parts, policy: policy, serial: new(atomic.Uint64), under: policy.name(), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, arrays: arrays, names: names, unmet: &unmet{names: slices.Clone(policy.Core)}}
}

// Plan decides what the model sees of this request's tools. It always returns a plan whose Body can be sent; in fallback that is
// the client's own. An error means that no plan could be made at all: send the request as it came.
func (p *Planner) Plan(ctx context.Context, r Request) (*Plan, error) {
	started := p.Now()
	defer p.Sessions.Lock(r.Identity)()
	d := p.draft(r)
	p.Learner.Failed(d.found.Key, r.Chat.Failed)
	if d.found.Same && r.Chat.Continues {
		p.Runs.Failed(d.found.Key, r.Chat.Failed) // none clears those of before
	}
	plan, err := p.decide(ctx, d)
	if err != nil {
		return nil, err
	}
	if p.policy.Shadow {
		plan.Body, plan.shadow = r.Body, true
		plan.prompt = promptOf(r.Body, r.Chat, plan.Session, plan.state.App) // the engine reads the client's own
		plan.Expected = p.Prefix.Expect(plan.prompt)
	}
	plan.Elapsed = p.Now().Sub(started)
	if p.Recorder != nil && !plan.Repeated {
		p.Recorder.Planned(plan)
	}
	return plan, nil
}

// settings names what a request's list is made under: the policy, and whether tools of ours may stand in the array.
func (p *Planner) settings(r Request) string {
	if !r.Answers {
		return p.under + "-"
	}
	return p.under
}

// underPolicy is what was found, as far as it still holds: under other settings a turn's list is made anew, and the first one from nothing.
func underPolicy(f session.Found, settings string) session.Found {
	if !f.Same || f.State.Policy == settings {
		return f
	}
	if f.Same = false; f.State.Turn == 1 {
		f.New, f.State.List, f.State.Core = true, nil, nil
	}
	return f
}

// draft begins a plan. The conversation is locked.
func (p *Planner) draft(r Request) *draft {
	settings := p.settings(r)
	found := underPolicy(p.Sessions.Find(r.Identity), settings)
	d := &draft{request: r, found: found, under: settings, core: p.core(found, settings), hash: p.arrayHash(r.Body[r.Chat.ToolsStart:r.Chat.ToolsEnd])}
	switch s := &d.found.State; {
	case r.Identity.Previous != "" && s.Body != r.Identity.Body: // the engine keeps what came before, and with it what is ours
		s.Notes, s.Hidden = nil, nil
	case !r.Answers && len(s.Own) > 0: // whatever becomes of the list, nobody could answer a call of them
		*s = s.Forget()
		s.Own = nil
	case !d.anchored():
		*s = s.Forget()
	}
	d.found.State = d.yielding(d.found.State)
	d.search = r.Chat.ToolSearch != "" && r.Answers && p.policy.LoadTools && !d.has(hatch.ToolSearch)
	d.budget = p.room(d)
	return d
}

// room is what the list may take of the context, where anybody knows how large that is: less what our own tools take.
func (p *Planner) room(d *draft) kvcache.Budget {
	r := d.request.Chat
	facts, rates := p.Prefix.Model(r.Model, r.ContextTokens)
	d.rates = rates
	room := kvcache.Room(facts, r.ContextTokens, rates.TextTokens(len(r.Messages), r.TextBytes), answerReserve)
	if room.Tokens > 0 && r.HasTools() && d.request.Answers && p.policy.LoadTools {
		room.Tokens = max(1, room.Tokens-hatch.MaxTokens)
	}
	return room
}

// core is the CORE of the session: as configured, or the app's own when the session began.
func (p *Planner) core(f session.Found, settings string) []string {
	fresh := f.New || f.State.Policy != settings || !f.State.HasList() && len(f.State.Core) == 0
	if fresh && len(p.policy.Core) > 0 {
		return p.policy.Core
	}
	return f.State.Core
}

// decide takes the first way out that applies, the making of a list last.
func (p *Planner) decide(ctx context.Context, d *draft) (*Plan, error) {
	if p.policy.Off != "" {
		plan := p.fallback(d, p.policy.Off)
		plan.Repeated = d.found.Same
		return plan, nil
	}
	if d.found.Same && d.sameArray() && d.settled() {
		return p.repeat(d), nil
	}
	snapshot, err := p.Snapshots.Snapshot(d.hash, d.request.Chat.Tools)
	if err != nil {
		return p.retreat(d, err), nil
	}
	d.snapshot = snapshot
	switch {
	case snapshot.Catalog().Len() == 0:
		return p.fallback(d, "empty catalog"), nil
	case p.policy.small(snapshot.Catalog()) && !d.deferred():
		return p.fallback(d, "small array"), nil
	case d.request.Chat.Choice == chat.NoTools && d.found.State.HasList() && d.hasWholeList():
		return p.unchanged(d), nil
	case d.request.Chat.Choice == chat.NoTools:
		return p.fallback(d, "tool_choice none"), nil
	case p.ready(d) == kvcache.All:
		return p.fallback(d, "strategy all"), nil
	}
	return p.make(ctx, d)
}

// make is the plan itself: window, embed and score (see score), select, expand, admit, order, render.
func (p *Planner) make(ctx context.Context, d *draft) (*Plan, error) {
	scores, query, embedder, err := p.score(ctx, d.snapshot, d.request.Chat)
	if err != nil {
		return p.retreat(d, err), nil
	}
	if !p.understood(query, scores) {
		return p.retreat(d, errLanguage), nil
	}
	ask := p.learned(d, query, &scores)
	d.begin(p)
	d.chosen = p.choose(d, scored{scores, query, p.recall(d, query), embedder})
	plan := p.finish(d)
	plan.ask = ask
	return plan, nil
}

// scored is what a list is chosen by.
type scored struct {
	scores   selector.Scores
	query    selector.Query
	skill    remembered
	embedder string
}

// chosen is a choice and what it was made by.
type chosen struct {
	scored
	matches  []selector.Match
	mates    []bundles.Mate
	brought  brought
	input    admission.Input
	admitted admission.Result
}

// choose takes the steps of a plan that settle which tools are visible: select, expand, admit. It changes nothing.
func (p *Planner) choose(d *draft, by scored) *chosen {
	c := &chosen{scored: by, matches: selector.Select(by.scores, p.floor(), maxMatches)}
	c.mates = d.snapshot.Bundles.Expand(d.openers(c.matches), p.policy.MateDiscount, p.policy.Threshold)
	c.brought = by.skill.against(c.matches, d.snapshot.Catalog())
	c.input = p.input(d, by.scores, c.matches, c.mates, c.brought, by.embedder)
	c.admitted = admission.Admit(c.input)
	return c
}

// maxMatches bounds the tools over the floor that are looked at: far more than any cap.
const maxMatches = 64

// querySHA is the log's name for a message: keyed, so that a short one cannot be guessed from it.
func (p *Planner) querySHA(users []string) string {
	if len(users) == 0 {
		return ""
	}
	mac := hmac.New(sha256.New, p.QueryKey)
	mac.Write([]byte(users[len(users)-1]))
	return hex.EncodeToString(mac.Sum(nil))[:12]
}

// expect fills in what follows from the plan's edits: our tools that are there, and what the request is expected to cost the engine.
func (p *Planner) expect(d *draft, plan *Plan, sent chat.Edits) {
	plan.Own = nil
	for _, o := range plan.state.Own {
		plan.Own = append(plan.Own, o.Name)
	}
	plan.prompt = d.prompt(sent)
	plan.Expected = p.Prefix.Expect(plan.prompt)
	if plan.PrefixKept = plan.Expected.Kept; p.Prefix == (noPrefix{}) {
		plan.PrefixKept = kvcache.PrefixTokens(d.found.State.Array(), plan.state.Array(), d.tokens)
	}
}
