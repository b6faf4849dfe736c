package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/turn"
	"toolbelt/skills"
	"toolbelt/skills/runs"
	"toolbelt/skills/synth"
)

// SkillsOptions say what is measured of procedures. Valid checks them.
type SkillsOptions struct {
	Cases     string // which half: cases.<Cases>.jsonl
	Cap       int    // of the visible list, which counts everything
	Folds     int    // of cross-validation
	ByGroup   bool   // what belongs to one group is learnt or tested as a whole, not only what belongs to one conversation
	Seed      uint64 // of the folds
	Ways      int    // to part a set, with seeds that follow each other, over which all figures are taken together; 0: one
	Floor     skills.Floor
	Recalled  int // procedures a turn, at most
	Synthesis synth.Options
	Sizes     []int // of sets whose recall is timed; none: none is
	Embedders Embedders
	Progress  Progress // nil: none
}

// Valid reports the first thing wrong with the options, as an error of kind Invalid.
func (o SkillsOptions) Valid() error {
	invalid := func(format string, args ...any) error {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
	}
	switch {
	case o.Cap < 1 || o.Cap > mostK:
		return invalid("the cap is %d: it must be from 1 to %d", o.Cap, mostK)
	case o.Folds < 2 || o.Folds > 100:
		return invalid("folds is %d: it must be from 2 to 100", o.Folds)
	case o.Ways < 0 || o.Ways > 1000:
		return invalid("%d ways to part a set: it must be from 1 to 1000", o.Ways)
	case !(o.Floor > 0 && o.Floor < 1000):
		return invalid("the floor is %v: it must be a height over 0, such as %v", o.Floor, skills.DefaultFloor)
	case o.Recalled < 1 || o.Recalled > 16:
		return invalid("%d skills a turn: it must be from 1 to 16", o.Recalled)
	case o.Cases == "" || strings.ContainsAny(o.Cases, `/\`):
		return invalid("the name of the cases is %q: it must be the middle of cases.NAME.jsonl", o.Cases)
	case o.Embedders.First == nil:
		return invalid("no embedder was given")
	}
	for _, n := range o.Sizes {
		if n < 1 || n > 1_000_000 {
			return invalid("a set of %d procedures cannot be timed: it must be from 1 to 1000000", n)
		}
	}
	return nil
}

// SkillsRow is what memory of jobs does on one set, over all folds.
type SkillsRow struct {
	Set        string  `json:"set"`
	Embedder   string  `json:"embedder"`
	Tools      int     `json:"tools"`
	Turns      int     `json:"turns"`      // with a needed tool, each counted once for every way to part the set
	Jobs       int     `json:"jobs"`       // of those, with at least the steps of a procedure
	Procedures float64 `json:"procedures"` // learned, mean over folds
	Runs       float64 `json:"runs"`       // that they were learned from, mean over folds

	Recalled  float64  `json:"recalled"`  // share of turns on which a procedure was recalled
	Precision *float64 `json:"precision"` // of the tools that recalled procedures require: share that the turn needs; null where none was recalled
	Coverage  float64  `json:"coverage"`  // of the tools that jobs need: share that a recalled procedure requires

	All     Gain     `json:"all_turns"`
	OfJobs  Gain     `json:"job_turns"`
	Harmed  float64  `json:"harmed"`            // share of turns on which a needed tool is visible without memory and not with it
	Worst   float64  `json:"harmed_worst"`      // the same in that way to part the set in which it is largest
	Harming []string `json:"harming,omitempty"` // ids of those, the first few
}

// Gain is the share of turns on which every needed tool is visible, without and with procedures.
type Gain struct {
	Without float64  `json:"all_found_without"`
	With    float64  `json:"all_found_with"`
	Closed  *float64 `json:"gap_closed"` // (with - without) / (1 - without); null where nothing is missing without
}

func gain(without, with, of int) Gain {
	n := float64(max(1, of))
	g := Gain{Without: float64(without) / n, With: float64(with) / n}
	if without < of {
		closed := float64(with-without) / float64(of-without)
		g.Closed = &closed
	}
	return g
}

// SkillsReport is what a run found; its JSON form is the run's machine-readable output.
type SkillsReport struct {
	Rows     []SkillsRow    `json:"rows"`
	Times    []SkillsTime   `json:"times"`
	Settings SkillsSettings `json:"settings"`
	Partial  string         `json:"partial,omitempty"` // why the run ended before all was measured
}

// SkillsSettings are those that the figures depend on.
type SkillsSettings struct {
	Cases    string        `json:"cases"`
	Cap      int           `json:"cap"`
	Folds    int           `json:"folds"`
	ByGroup  bool          `json:"by_group"`
	Seed     uint64        `json:"seed"`
	Ways     int           `json:"ways"`
	Floor    float64       `json:"floor"`
	Recalled int           `json:"skills_a_turn"`
	Embedder string        `json:"embedder"`
	Learning synth.Options `json:"synthesis"`
}

// Skills measures the sets one after the other: procedures are learned from the turns of all folds but one, and recalled on those of that one. Where ctx
// ends or a set cannot be finished, the report holds what was done until then, says so in Partial, and the error is returned beside it.
func Skills(ctx context.Context, sets []*Dataset, o SkillsOptions) (*SkillsReport, error) {
	report := &SkillsReport{Rows: []SkillsRow{}, Times: []SkillsTime{}}
	if err := o.Valid(); err != nil {
		report.Partial = err.Error()
		return report, err
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	report.Settings = SkillsSettings{
		Cases: o.Cases, Cap: o.Cap, Folds: o.Folds, ByGroup: o.ByGroup, Seed: o.Seed, Ways: max(1, o.Ways), Floor: float64(o.Floor), Recalled: o.Recalled,
		Embedder: o.Embedders.name(), Learning: o.Synthesis,
	}
	stop := func(what string, err error) (*SkillsReport, error) {
		err = fmt.Errorf("measuring %s: %w", what, err)
		report.Partial = err.Error()
		return report, err
	}
	for _, d := range sets {
		row, err := skillsOf(ctx, d, o)
		if err != nil {
			return stop(fmt.Sprintf("the set %q", d.Name), err)
		}
		report.Rows = append(report.Rows, row)
	}
	for i, n := range o.Sizes {
		t, err := timeRecall(ctx, o.Embedders.First, n)
		if err != nil {
			return stop("the time of a recall", err)
		}
		report.Times = append(report.Times, t)
		o.Progress("recalls timed", i+1, len(o.Sizes))
	}
	return report, nil
}

// stepsOf are a case's calls, in order.
func stepsOf(c Case) []string {
	if len(c.Steps) > 0 {
		return c.Steps
	}
	return c.Needed
}

// goalOf is the case's last user message.
func goalOf(c Case) string {
	for _, m := range slices.Backward(c.Messages) {
		if role(m) == "user" {
			return textOf(m)
		}
	}
	return ""
}

// textOf is a message's text: its content, or its parts' texts.
func textOf(m json.RawMessage) string {
	content := gjson.GetBytes(m, "content")
	if !content.IsArray() {
		return content.String()
	}
	var parts []string
	for _, part := range content.Array() {
		parts = append(parts, part.Get("text").String())
	}
	return strings.Join(parts, "\n")
}

// skillsOf measures one set.
func skillsOf(ctx context.Context, d *Dataset, o SkillsOptions) (SkillsRow, error) {
	step := func(what string) func(done, of int) {
		return func(done, of int) { o.Progress(d.Name+": "+what, done, of) }
	}
	m := &measuring{data: d, options: RecallOptions{Embedders: o.Embedders}, step: step}
	if err := o.Embedders.fetch(ctx, embed.Document, texts(d.Tools), step("tools embedded")); err != nil {
		return SkillsRow{}, err
	}
	if err := m.fetchQueries(ctx, d.Cases); err != nil {
		return SkillsRow{}, err
	}
	b, err := newBench(ctx, d.Tools, d.Bundles, o.Embedders)
	if err != nil {
		return SkillsRow{}, err
	}
	defer b.close()
	j := &jobbing{bench: b, options: o, row: SkillsRow{Set: d.Name, Embedder: o.Embedders.name(), Tools: len(d.Tools)}}
	ways := max(1, o.Ways)
	if d.Name == RepeatedName {
		ways = 1 // they are parted as they say themselves
	}
	all := 0
	for way := range ways {
		parting := o
		parting.Seed += uint64(way)
		folds := foldsOf(d, parting)
		harmed, turns := j.harmed, j.row.Turns
		for i, f := range folds {
			if err := j.fold(ctx, f); err != nil {
				return j.row, err
			}
			step("folds measured")(way*len(folds)+i+1, ways*len(folds))
		}
		all += len(folds)
		j.row.Worst = max(j.row.Worst, float64(j.harmed-harmed)/float64(max(1, j.row.Turns-turns)))
	}
	return j.finish(all), nil
}

// jobbing is one set under way.
type jobbing struct {
	bench   *bench
	options SkillsOptions
	row     SkillsRow

	without, with         int // turns with all found
	jobsWithout, jobsWith int
	recalled, harmed      int
	required, useful      int // tools of recalled procedures, and those needed
	needed, covered       int // tools of jobs, and those that a recalled procedure requires
	asked                 int // turns planned, for the sessions' names
}

// fold learns from one part and tests the other.
func (j *jobbing) fold(ctx context.Context, f fold) error {
	learned, n, err := learnFrom(ctx, f.learn, j.options)
	if err != nil {
		return err
	}
	j.row.Procedures += float64(len(learned))
	j.row.Runs += float64(n)
	set, err := setOf(ctx, learned, j.options.Embedders)
	if err != nil {
		return err
	}
	policy := turn.DefaultPolicy()
	policy.MaxTools, policy.Strict = j.options.Cap, true
	plain, remembering := j.bench.planner(policy, nil), j.bench.planner(policy, nil)
	recall := &recaller{set: set, options: j.options, tools: j.bench.catalog()}
	remembering.Skills = recall
	for _, c := range f.test {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(c.Needed) == 0 {
			continue
		}
		recall.last = nil
		before, err := j.plan(ctx, plain, c)
		if err != nil {
			return err
		}
		after, err := j.plan(ctx, remembering, c)
		if err != nil {
			return err
		}
		j.count(c, before.Order(), after.Order(), recall.last)
	}
	return nil
}

// plan is what would be decided for the case, as the first request of a session.
func (j *jobbing) plan(ctx context.Context, p *turn.Planner, c Case) (*turn.Plan, error) {
	j.asked++
	r, err := j.bench.request(c.Messages, fmt.Sprint("job ", j.asked))
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", c.ID, err)
	}
	r.Identity.Credential = r.Identity.Explicit // an app of its own: nothing carries over
	plan, err := p.Plan(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", c.ID, err)
	}
	return plan, nil
}

// mostHarming is how many harmed turns a row names.
const mostHarming = 20

func (j *jobbing) count(c Case, before, after []string, recalled []skills.Recalled) {
	j.row.Turns++
	isJob := len(stepsOf(c)) >= 3
	if isJob {
		j.row.Jobs++
	}
	if c.found(before) == 1 {
		j.without++
		if isJob {
			j.jobsWithout++
		}
	}
	if c.found(after) == 1 {
		j.with++
		if isJob {
			j.jobsWith++
		}
	}
	for _, n := range c.Needed {
		if slices.Contains(before, n) && !slices.Contains(after, n) {
			j.harmed++
			if len(j.row.Harming) < mostHarming {
				j.row.Harming = append(j.row.Harming, c.ID)
			}
			break
		}
	}
	if len(recalled) > 0 {
		j.recalled++
	}
	var required []string
	for _, r := range recalled {
		for _, name := range r.Procedure.ToolsRequired {
			if !slices.Contains(required, name) {
				required = append(required, name)
			}
		}
	}
	for _, name := range required {
		j.required++
		if slices.Contains(c.Needed, name) {
			j.useful++
		}
	}
	if isJob {
		j.needed += len(c.Needed)
		for _, name := range c.Needed {
			if slices.Contains(required, name) {
				j.covered++
			}
		}
	}
}

func (j *jobbing) finish(folds int) SkillsRow {
	row := j.row
	turns := float64(max(1, row.Turns))
	row.Procedures, row.Runs = row.Procedures/float64(max(1, folds)), row.Runs/float64(max(1, folds))
	row.Recalled, row.Harmed = float64(j.recalled)/turns, float64(j.harmed)/turns
	row.Coverage = float64(j.covered) / float64(max(1, j.needed))
	if j.required > 0 {
		precision := float64(j.useful) / float64(j.required)
		row.Precision = &precision
	}
	row.All, row.OfJobs = gain(j.without, j.with, row.Turns), gain(j.jobsWithout, j.jobsWith, row.Jobs)
	return row
}

// recaller is the procedures as a planner recalls them. It remembers what it recalled last.
type recaller struct {
	set     *skills.Set
	options SkillsOptions
	tools   *catalog.Catalog
	last    []skills.Recalled
}

// Recall implements turn.Skills.
func (r *recaller) Recall(q skills.QueryVectors, there func(string) bool) []skills.Recalled {
	r.last = r.set.Choose(q, r.options.Recalled, r.options.Floor, there)
	return r.last
}

// learnFrom plays the cases as runs that succeeded, a minute apart, and makes procedures of them until a pass finds none. It returns them
// and how many runs there were.
func learnFrom(ctx context.Context, cases []Case, o SkillsOptions) ([]skills.Procedure, int, error) {
	in := synth.Input{Embedder: o.Embedders.First, Options: o.Synthesis}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, c := range cases {
		r := runs.Run{Key: c.ID, App: "eval", Session: c.Conversation, Goal: goalOf(c), Outcome: runs.Succeeded, Started: began.Add(time.Duration(i) * time.Minute)}
		for _, name := range stepsOf(c) {
			r.Calls = append(r.Calls, runs.Call{Name: name})
		}
		in.Runs = append(in.Runs, r)
	}
	for {
		report, err := synth.Propose(ctx, in)
		if err != nil {
			return nil, 0, err
		}
		learned := 0
		for _, p := range report.Proposals {
			if p.Action == synth.Add || p.Action == synth.Supersede {
				learned++
				in.Existing = append(in.Existing, p.Procedure)
				if p.Action == synth.Supersede {
					i := slices.IndexFunc(in.Existing, func(e skills.Procedure) bool { return e.Name == p.Existing })
					in.Existing[i].SupersededBy = p.Procedure.Name
				}
			}
		}
		if learned == 0 {
			return in.Existing, len(in.Runs), nil
		}
	}
}
