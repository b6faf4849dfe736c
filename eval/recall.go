package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/turn"
	"toolbelt/selector"
)

// RecallOptions say what is measured. Valid checks them.
type RecallOptions struct {
	Cases     string   // which half: cases.<Cases>.jsonl
	Ks        []int    // ascending
	Cap       int      // of the visible list in a replay
	Baselines bool     // the other methods too
	Tau       float64  // floor of GAIA's rule, a cosine; 0: its own 0.20
	Seed      uint64   // of resampling and joining
	Misses    int      // to report of each set, with all of the first k; 0: a few, with a few
	Verdicts  Verdicts // a reader's, on needed tools; nil: none

	Replay  bool
	History bool // each turn's calls and results stand in the requests after it
	Long    bool // conversations joined to 30 turns, the daemon's own cap
	Learn   bool // the first half of the conversations is only learnt from

	Embedders Embedders
	Learning  NewLearning // nil: there is none to be had
	Progress  Progress    // nil: none
}

// Progress is told how far a step is: done of so many.
type Progress func(step string, done, of int)

// defaultTau is GAIA's own floor.
const defaultTau = 0.20

const mostK = 1000

// Valid reports the first thing wrong with the options, as an error of kind Invalid.
func (o RecallOptions) Valid() error {
	invalid := func(format string, args ...any) error {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
	}
	if len(o.Ks) == 0 {
		return invalid("k is empty: give at least one number of tools, such as 5,10,14")
	}
	for i, k := range o.Ks {
		if k < 1 || k > mostK {
			return invalid("k is %d: it must be from 1 to %d", k, mostK)
		}
		if i > 0 && k <= o.Ks[i-1] {
			return invalid("k must ascend, and %d follows %d", k, o.Ks[i-1])
		}
	}
	switch {
	case o.Cap < 1 || o.Cap > mostK:
		return invalid("the cap is %d: it must be from 1 to %d", o.Cap, mostK)
	case !(o.Tau >= 0 && o.Tau <= 1):
		return invalid("GAIA's floor is %v: it must be a cosine from 0 to 1", o.Tau)
	case !o.Replay && (o.History || o.Long || o.Learn):
		return invalid("history, long and learn are ways to replay: ask for a replay too")
	case o.Learn && o.Learning == nil:
		return invalid("learning from use is not part of this build")
	case o.Cases == "" || strings.ContainsAny(o.Cases, `/\`):
		return invalid("the name of the cases is %q: it must be the middle of cases.NAME.jsonl", o.Cases)
	case o.Misses < 0:
		return invalid("the number of misses is %d: it must be 1 or more, or 0 for a few", o.Misses)
	case o.Embedders.First == nil:
		return invalid("no embedder was given")
	}
	return nil
}

// RecallRow is how well one method does on one set, each case as the first request of a session of its own.
type RecallRow struct {
	Set      string `json:"set"`
	Method   string `json:"method"`
	Embedder string `json:"embedder"` // "" where none took part
	Tools    int    `json:"tools"`
	Cases    int    `json:"cases"` // with a needed tool
	Measures
	PlanUS    *Percentiles `json:"plan_us"`   // a whole plan with an engine's vectors at hand; null but for toolbelt
	Intervals Intervals    `json:"intervals"` // 95 %, by resampling conversations
	Floor     *FloorStats  `json:"floor,omitempty"`
	Shortfall *Shortfall   `json:"shortfall,omitempty"` // null but for toolbelt
	Review    *Review      `json:"review,omitempty"`    // null but for toolbelt, with verdicts
	Misses    []Miss       `json:"misses,omitempty"`
}

// FloorStats is what the floor lets through to an empty list of 14, seed and bundle mates left out.
type FloorStats struct {
	Recall   float64 `json:"recall"`    // of needed tools
	Over     float64 `json:"over"`      // mean number of tools on turns that need one
	OverNone float64 `json:"over_none"` // the same on turns that need none; 0 where the set has none
	None     int     `json:"none"`      // how many turns need none
	Apart    float64 `json:"apart"`     // share of the pairs of a turn that needs a tool and one that needs none in which the former's best match is higher; 0 where there are none
}

// Miss is a case whose needed tools were not all among the first of the largest k.
type Miss struct {
	Case    string       `json:"case"`
	Text    string       `json:"text"` // the last user message, clipped
	Recall  float64      `json:"recall"`
	Needed  []MissedTool `json:"needed"`  // all of them
	Instead []string     `json:"instead"` // what stood first
}

// MissedTool is a needed tool and the rank that it got, from 1; 0 where the catalog has neither it nor a substitute.
type MissedTool struct {
	Name string `json:"name"`
	Rank int    `json:"rank"`
}

// RecallReport is what a run found; its JSON form is the run's machine-readable output.
type RecallReport struct {
	Rows     []RecallRow  `json:"rows"`
	Mean     []RecallRow  `json:"mean,omitempty"` // over sets, a row a method, where there is more than one set
	Replay   []ReplayRow  `json:"replay"`
	Scale    []ScalePoint `json:"scale,omitempty"`
	Settings Settings     `json:"settings"`
	Notes    []string     `json:"notes,omitempty"`   // what whoever reads the figures must know
	Partial  string       `json:"partial,omitempty"` // why the run ended before all was measured
}

// Settings are those that the figures depend on.
type Settings struct {
	Cases    string  `json:"cases"`
	Ks       []int   `json:"k"`
	Cap      int     `json:"cap"`
	Seed     uint64  `json:"seed"`
	Embedder string  `json:"embedder"`
	Tau      float64 `json:"gaia_tau"`
	History  bool    `json:"history"`
	Long     bool    `json:"long"`
	Learn    bool    `json:"learn"`
}

// Recall measures the sets one after the other. Where ctx ends or a set cannot be finished, the report holds what was done until then,
// says so in Partial, and the error is returned beside it.
func Recall(ctx context.Context, sets []*Dataset, o RecallOptions) (*RecallReport, error) {
	if err := o.Valid(); err != nil {
		return &RecallReport{Partial: err.Error()}, err
	}
	if o.Tau == 0 {
		o.Tau = defaultTau
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	report := &RecallReport{
		Rows: []RecallRow{}, Replay: []ReplayRow{},
		Settings: Settings{Cases: o.Cases, Ks: o.Ks, Cap: o.Cap, Seed: o.Seed, Embedder: o.Embedders.name(), Tau: o.Tau, History: o.History, Long: o.Long, Learn: o.Learn},
	}
	if name := o.Embedders.Dense().Model().Name; o.Baselines && name != "all-minilm" {
		report.Notes = append(report.Notes, fmt.Sprintf("GAIA's floor %.2f is made for all-minilm and is used with %s here", o.Tau, name))
	}
	for _, d := range sets {
		report.note(d)
		if err := recallSet(ctx, d, o, report); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("interrupted at the set %q: %w", d.Name, context.Cause(ctx))
			} else {
				err = fmt.Errorf("measuring the set %q: %w", d.Name, err)
			}
			report.Partial = err.Error()
			report.finish(o)
			return report, err
		}
	}
	report.finish(o)
	return report, nil
}

func (r *RecallReport) finish(o RecallOptions) {
	if v := o.Embedders.engine(); v != nil && v.Trouble() != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the engine's vectors are not kept for the next run: %v", v.Trouble()))
	}
	r.average()
}

func (e Embedders) name() string {
	name := e.First.Model().Name
	if e.Engine != nil {
		name += "+" + e.Engine.Model().Name
	}
	return name
}

func (r *RecallReport) note(d *Dataset) {
	if d.Open > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d turns were left out, since no request holds their answer", d.Name, d.Open))
	}
	if len(d.Skipped) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d broken lines were skipped, the first: %v", d.Name, len(d.Skipped), d.Skipped[0]))
	}
	if len(d.Unknown) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: %d needed tools are not in the catalog, so that nothing finds them: %s", d.Name, len(d.Unknown), clip(strings.Join(d.Unknown, ", "), 200)))
	}
}

func recallSet(ctx context.Context, d *Dataset, o RecallOptions, report *RecallReport) error {
	step := func(what string) func(done, of int) {
		return func(done, of int) { o.Progress(d.Name+": "+what, done, of) }
	}
	if err := o.Embedders.fetch(ctx, embed.Document, texts(d.Tools), step("tools embedded")); err != nil {
		return err
	}
	b, err := newBench(ctx, d.Tools, d.Bundles, o.Embedders)
	if err != nil {
		return err
	}
	defer b.close()
	m := &measuring{bench: b, data: d, options: o, step: step}
	if o.Baselines {
		if m.lookup, err = newLookup(ctx, b.catalog(), d.Bundles, o.Embedders.Dense(), o.Tau); err != nil {
			return err
		}
	}
	rows, err := m.rows(ctx)
	if err != nil {
		return err
	}
	report.Rows = append(report.Rows, rows...)
	if !o.Replay {
		return nil
	}
	replays, err := m.replay(ctx)
	report.Replay = append(report.Replay, replays...)
	return err
}

// measuring is one set under way.
type measuring struct {
	bench   *bench
	lookup  *lookup // nil without baselines
	data    *Dataset
	options RecallOptions
	step    func(what string) func(done, of int)
}

// rows measures every case with each method.
func (m *measuring) rows(ctx context.Context) ([]RecallRow, error) {
	if err := m.fetchQueries(ctx, m.data.Cases); err != nil {
		return nil, err
	}
	own := &rowOf{row: RecallRow{Method: ByToolbelt, Floor: &FloorStats{}}, ks: m.options.Ks, misses: m.options.Misses}
	if m.options.Verdicts != nil {
		own.review = &review{set: m.data.Name, verdicts: m.options.Verdicts}
	}
	list := []*rowOf{own}
	var others []ranker
	if m.lookup != nil {
		dense := m.lookup.dense.Model().Name
		others = []ranker{m.lookup.byWords, m.lookup.byVectors, m.lookup.byGAIA}
		list = append(list, &rowOf{row: RecallRow{Method: ByWords}, ks: m.options.Ks}, &rowOf{row: RecallRow{Method: ByVectors, Embedder: dense}, ks: m.options.Ks}, &rowOf{row: RecallRow{Method: ByGAIA, Embedder: dense}, ks: m.options.Ks})
	}
	var err error
	if own.short, err = m.newShortfall(ctx); err != nil {
		return nil, err
	}
	policy := turn.DefaultPolicy()
	policy.MaxTools = floorTools
	planner := m.bench.planner(policy, nil)
	progress := m.step("cases scored")
	for i, c := range m.data.Cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := m.bench.request(c.Messages, fmt.Sprint("row ", i))
		if err != nil {
			return nil, fmt.Errorf("case %q: %w", c.ID, err)
		}
		if err := m.plan(ctx, planner, c, r, own); err != nil {
			return nil, fmt.Errorf("case %q: %w", c.ID, err)
		}
		for j, rank := range others {
			if len(c.Needed) == 0 {
				continue
			}
			names, err := rank(ctx, r.Chat)
			if err != nil {
				return nil, fmt.Errorf("case %q: %w", c.ID, err)
			}
			list[j+1].judged = append(list[j+1].judged, judge(c, names, m.options.Ks))
		}
		progress(i+1, len(m.data.Cases))
	}
	rows := make([]RecallRow, len(list))
	for i, r := range list {
		rows[i] = r.finish(m.data.Name, m.bench.catalog().Len(), m.options.Seed)
	}
	return rows, nil
}

// ranker orders tools for a request, best first; what it leaves out it would not show.
type ranker func(context.Context, *chat.Request) ([]string, error)

// floorTools is the list that the floor is looked at with.
const floorTools = 14

// plan ranks all tools by the planner's own scores, and makes a whole plan for its time and for what its floor lets through.
func (m *measuring) plan(ctx context.Context, planner *turn.Planner, c Case, r turn.Request, own *rowOf) error {
	plan, err := planner.Plan(ctx, r)
	if err != nil {
		return err
	}
	own.times = append(own.times, microseconds(plan.Elapsed))
	over := plan.Matched[:min(len(plan.Matched), floorTools)]
	floor := own.row.Floor
	scores, embedder, err := planner.Scores(ctx, m.bench.snapshot, r.Chat)
	if err != nil {
		return err
	}
	best := float64(slices.Max(scores.Match))
	if len(c.Needed) == 0 {
		floor.None++
		floor.OverNone += float64(len(over))
		own.idle = append(own.idle, best)
		return nil
	}
	floor.Recall += c.found(over)
	floor.Over += float64(len(over))
	own.busy = append(own.busy, best)
	if embedder != "" {
		own.row.Embedder = embedder
	}
	cat := m.bench.catalog()
	names := make([]string, 0, cat.Len())
	for _, match := range selector.Top(scores, cat.Len()) {
		names = append(names, cat.Tool(match.ID).Name)
	}
	own.judged = append(own.judged, judge(c, names, m.options.Ks))
	own.short.count(c, r.Chat, m.bench.snapshot.Index, scores, names, own.ks[len(own.ks)-1])
	if own.review != nil {
		own.review.count(c, names, own.ks[len(own.ks)-1])
	}
	own.miss(c, r.Chat, names)
	return nil
}

// rowOf is a row in the making.
type rowOf struct {
	row    RecallRow
	ks     []int
	judged []judged
	times  []float64

	short      *shortfall // nil but for toolbelt
	review     *review    // the same, and nil without verdicts
	misses     int        // to be kept, 0 for a few
	busy, idle []float64  // best matches of the turns that need a tool, and of those that need none
}

// mostMisses is how many misses a row keeps where nothing else is asked for, and insteadOf how many names each.
const (
	mostMisses = 10
	insteadOf  = 5
	missChars  = 240
)

func (r *rowOf) miss(c Case, request *chat.Request, names []string) {
	share := c.found(names[:min(len(names), r.ks[len(r.ks)-1])])
	if share == 1 {
		return
	}
	instead := insteadOf
	if r.misses > 0 {
		instead = r.ks[len(r.ks)-1]
	}
	miss := Miss{Case: c.ID, Recall: share, Instead: slices.Clone(names[:min(instead, len(names))])}
	if len(request.Users) > 0 {
		miss.Text = clip(request.Users[len(request.Users)-1], missChars)
	}
	for _, n := range c.Needed {
		miss.Needed = append(miss.Needed, MissedTool{n, c.place(n, names)})
	}
	r.row.Misses = append(r.row.Misses, miss)
}

// worst is the rank of the needed tool that stands last; one that is nowhere is the worst of all.
func (m Miss) worst() int {
	worst := 0
	for _, n := range m.Needed {
		if n.Rank == 0 {
			return 1 << 30
		}
		worst = max(worst, n.Rank)
	}
	return worst
}

func (r *rowOf) finish(set string, tools int, seed uint64) RecallRow {
	row := r.row
	row.Set, row.Tools, row.Cases = set, tools, len(r.judged)
	row.Measures, row.Intervals = summarize(r.judged, r.ks, seed)
	if len(r.times) > 0 {
		p := percentilesOf(r.times)
		row.PlanUS = &p
	}
	if f := row.Floor; f != nil {
		f.Recall /= float64(max(1, row.Cases))
		f.Over /= float64(max(1, row.Cases))
		f.OverNone /= float64(max(1, f.None))
		f.Apart = apart(r.busy, r.idle)
	}
	if r.short != nil {
		row.Shortfall = &r.short.Shortfall
	}
	if r.review != nil {
		row.Review = r.review.finish()
	}
	slices.SortStableFunc(row.Misses, func(a, b Miss) int { return b.worst() - a.worst() })
	row.Misses = row.Misses[:min(len(row.Misses), cmp.Or(r.misses, mostMisses))]
	return row
}

// fetchQueries embeds what the cases' windows hold ahead, so that no plan waits for an engine.
func (m *measuring) fetchQueries(ctx context.Context, cases []Case) error {
	var queries []string
	for _, c := range cases {
		r, err := chat.Decode(chat.Ollama, requestBody(c.Messages, []byte("[]")))
		if err != nil {
			return fmt.Errorf("case %q: %w", c.ID, err)
		}
		queries = append(queries, chat.Window(r)...)
		if m.lookup != nil {
			queries = append(queries, lastTwo(r, 0), lastTwo(r, gaiaChars))
		}
	}
	return m.options.Embedders.fetch(ctx, embed.Query, queries, m.step("texts embedded"))
}

// average adds a row a method that is the mean over the sets.
func (r *RecallReport) average() {
	r.Mean = nil
	for _, method := range []string{ByToolbelt, ByWords, ByVectors, ByGAIA} {
		var mean RecallRow
		n := 0.0
		for _, row := range r.Rows {
			if row.Method != method {
				continue
			}
			if n == 0 {
				mean = RecallRow{Set: "mean", Method: method, Embedder: row.Embedder, Measures: Measures{Recall: map[string]float64{}, AllFound: map[string]float64{}}}
			}
			n++
			mean.Cases += row.Cases
			for k := range row.Recall {
				mean.Recall[k] += row.Recall[k]
				mean.AllFound[k] += row.AllFound[k]
			}
			mean.NDCG5 += row.NDCG5
			mean.MRR += row.MRR
		}
		if n < 2 {
			continue
		}
		for k := range mean.Recall {
			mean.Recall[k] /= n
			mean.AllFound[k] /= n
		}
		mean.NDCG5, mean.MRR = mean.NDCG5/n, mean.MRR/n
		r.Mean = append(r.Mean, mean)
	}
}

// clip returns text in one line of at most n runes.
func clip(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n]) + "…"
}
