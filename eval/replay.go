package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// ReplayRow is how well one method keeps the needed tools visible while the conversations of a set are played turn by turn.
type ReplayRow struct {
	Set      string `json:"set"`
	Method   string `json:"method"`
	Embedder string `json:"embedder"`
	Cap      int    `json:"cap"`
	Cases    int    `json:"cases"` // turns with a needed tool
	Turns    int    `json:"turns"`
	Learned  bool   `json:"learned"` // the first half of the conversations was played before, unmeasured, and learnt from

	VisibleRecall    float64  `json:"visible_recall"` // share of the needed tools that is visible when the model is called, CORE included
	AllVisible       float64  `json:"all_visible"`    // share of those turns with all of them visible
	ChangesPerTurn   float64  `json:"changes_per_turn"`
	ToolsPerTurn     float64  `json:"tools_per_turn"`
	TokensPerTurn    float64  `json:"tokens_per_turn"`
	AdmittedWhenNone *float64 `json:"admitted_when_none_needed"` // newly visible tools on a turn that needs none; CORE and seed not counted; null without such a turn
	LongestList      int      `json:"longest_list"`

	VisibleInterval Interval `json:"visible_recall_interval"` // 95 %, by resampling conversations
	PrefixCost
	Restraint *Restraint `json:"none_needed"`        // null without a turn that needs none
	GivenUp   *GivenUp   `json:"given_up,omitempty"` // null but for the methods that keep less of the list
}

// PrefixCost is what the changes of the list cost an engine that still holds the turn before's prompt.
type PrefixCost struct {
	EvictedPerTurn    float64 `json:"evictions_per_turn"`
	PrefixLostPerTurn float64 `json:"prefix_tokens_lost_per_turn"` // estimated tokens of the list before that must be evaluated again
}

// lister decides, turn by turn, what is visible in one conversation.
type lister interface {
	// turn returns the visible tools in the order sent, and those of them that are only a seed.
	turn(ctx context.Context, r turn.Request) (visible, seed []string, err error)
	// used is told what the model called on the turn.
	used(names []string)
}

// replay plays the conversations with each method.
func (m *measuring) replay(ctx context.Context) ([]ReplayRow, error) {
	conversations, first := m.conversations()
	if err := m.fetchQueries(ctx, slices.Concat(conversations...)); err != nil {
		return nil, err
	}
	methods, end, err := m.methods(ctx, later(conversations[first:]))
	if err != nil {
		return nil, err
	}
	defer end()
	var rows []ReplayRow
	played := map[string][]judged{}
	for _, method := range methods {
		p := playing{measuring: m, method: method, core: m.core(), first: first, row: ReplayRow{
			Set: m.data.Name, Method: method.name, Embedder: method.embedder, Cap: m.options.Cap, Learned: method.settle != nil,
		}}
		if err := p.play(ctx, conversations); err != nil {
			return rows, err
		}
		row := p.finish()
		if by := method.against; by != "" {
			row.GivenUp = givenUp(by, played[by], p.judged, m.options.Seed)
		}
		played[row.Method] = p.judged
		rows = append(rows, row)
	}
	return rows, nil
}

// conversations are those to play, and which of them is the first to be measured.
func (m *measuring) conversations() (list [][]Case, first int) {
	list = Conversations(m.data.Cases)
	if m.options.Learn {
		list, first = halves(list, m.options.Seed)
	}
	if m.options.Long {
		learned := list[:first]
		list = slices.Concat(learned, Join(list[first:], m.options.Seed))
	}
	if m.options.History {
		for i := range list {
			list[i] = withHistory(list[i])
		}
	}
	return list, first
}

// method is one way to decide what is visible.
type method struct {
	name, embedder string
	begin          func(session string) lister
	settle         func(context.Context) error // after each turn, where it learns; nil where it does not
	against        string                      // the method, played before, that keeps more of its list; "" where there is no such comparison
}

// methods are those that are played; end gives up what they hold. keeps says whether any conversation has a second turn.
func (m *measuring) methods(ctx context.Context, keeps bool) (list []method, end func(), err error) {
	core, all, end := m.core(), m.options.Embedders.name(), func() {}
	daemon := func(p *turn.Planner) func(string) lister {
		return func(id string) lister { return &planned{planner: p, session: id} }
	}
	plain := method{name: ByToolbelt, embedder: all, begin: daemon(m.bench.planner(m.policy(core), nil))}
	if m.options.Learn {
		learning, err := m.options.Learning(ctx, m.options.Embedders, m.bench.clock.now)
		if err != nil {
			return nil, end, err
		}
		end = learning.Close
		list = append(list, method{name: ByToolbelt, embedder: all, begin: daemon(m.bench.planner(m.policy(core), learning.Learner)), settle: learning.Settle})
		plain.name = Unlearned
	}
	list = append(list, plain)
	if keeps {
		list = append(list, m.looser(m.policy(core), plain)...)
	}
	if m.lookup == nil {
		return list, end, nil
	}
	dense := m.options.Embedders.Dense().Model().Name
	top := func(rank ranker) func(string) lister {
		return func(string) lister { return &topped{rank: rank, core: core, cap: m.options.Cap} }
	}
	list = append(list,
		method{name: ByWords, begin: top(m.lookup.byWords)},
		method{name: ByVectors, embedder: dense, begin: top(m.lookup.byVectors)},
		method{name: ByGAIA, embedder: dense, begin: func(string) lister { return newGAIA(m.lookup, core, m.options.Cap) }})
	return list, end, nil
}

// core are the set's CORE tools that the catalog has.
func (m *measuring) core() []string {
	return slices.DeleteFunc(slices.Clone(m.data.Core), func(name string) bool {
		_, ok := m.bench.catalog().Lookup(name)
		return !ok
	})
}

// policy is the daemon's, but for what a comparison at equal size asks for.
func (m *measuring) policy(core []string) turn.Policy {
	p := turn.DefaultPolicy()
	p.Core, p.MaxTools = core, m.options.Cap
	p.Strict = !m.options.Long
	return p
}

// playing is one method's replay under way.
type playing struct {
	*measuring
	method method
	core   []string
	first  int // conversation to be measured
	row    ReplayRow

	judged           []judged // visible recall
	all              float64
	none             restraining
	tokens           float64
	changes, evicted float64
	lost, shown      float64
}

func (p *playing) play(ctx context.Context, conversations [][]Case) error {
	progress := p.step("conversations played by " + p.row.Method)
	for i, turns := range conversations {
		list := p.method.begin(strconv.Itoa(i))
		var previous []string
		for j, c := range turns {
			if err := ctx.Err(); err != nil {
				return err
			}
			visible, seed, err := p.turn(ctx, list, c, strconv.Itoa(i))
			if err != nil {
				return fmt.Errorf("case %q: %w", c.ID, err)
			}
			if i >= p.first {
				p.count(turns, j, previous, visible, seed)
			}
			previous = visible
		}
		p.bench.clock.pass(betweenSessions)
		progress(i+1, len(conversations))
	}
	return nil
}

// turn plays one turn: what is visible when the model is called; then what is needed is used.
func (p *playing) turn(ctx context.Context, list lister, c Case, session string) (visible, seed []string, err error) {
	p.bench.clock.pass(betweenTurns)
	r, err := p.bench.request(c.Messages, session)
	if err != nil {
		return nil, nil, err
	}
	if p.method.settle == nil {
		r.Identity.Credential = session // an app of its own: nothing carries over
	}
	if visible, seed, err = list.turn(ctx, r); err != nil {
		return nil, nil, err
	}
	list.used(c.Needed)
	if p.method.settle != nil {
		err = p.method.settle(ctx)
	}
	return visible, seed, err
}

// count judges one turn of the conversation: j is its place, from 0.
func (p *playing) count(turns []Case, j int, previous, visible, seed []string) {
	c := turns[j]
	p.row.Turns++
	p.row.LongestList = max(p.row.LongestList, len(visible))
	p.shown += float64(len(visible))
	for _, name := range visible {
		p.tokens += float64(p.cost(name))
	}
	admitted, evicted := without(visible, previous), without(previous, visible)
	if j > 0 {
		if len(admitted)+len(evicted) > 0 {
			p.changes++
		}
		p.evicted += float64(len(evicted))
		for _, name := range previous {
			p.lost += float64(p.cost(name))
		}
		p.lost -= float64(kvcache.PrefixTokens(previous, visible, p.cost))
	}
	if len(c.Needed) == 0 {
		p.none.count(without(without(admitted, p.core), seed), turns[j+1:])
		return
	}
	share := c.found(visible)
	p.judged = append(p.judged, judged{c.cluster(), []float64{share, 0, 0, 0}})
	if share == 1 {
		p.all++
	}
}

func (p *playing) cost(name string) int {
	id, ok := p.bench.catalog().Lookup(name)
	if !ok {
		return 0
	}
	return p.bench.catalog().Tool(id).EstimatedTokens()
}

// without are the names that others does not hold.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}

func (p *playing) finish() ReplayRow {
	row := p.row
	row.Cases = len(p.judged)
	means, limits := summarize(p.judged, []int{1}, p.options.Seed)
	row.VisibleRecall, row.VisibleInterval = means.Recall["1"], limits.Recall["1"]
	row.AllVisible = p.all / float64(max(1, row.Cases))
	turns := float64(max(1, row.Turns))
	row.ChangesPerTurn, row.ToolsPerTurn, row.TokensPerTurn = p.changes/turns, p.shown/turns, p.tokens/turns
	row.EvictedPerTurn, row.PrefixLostPerTurn = p.evicted/turns, p.lost/turns
	row.AdmittedWhenNone, row.Restraint = p.none.mean(), p.none.finish()
	return row
}
