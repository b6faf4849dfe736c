package eval

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// TTFTReport is what was measured; its JSON form is the machine-readable output.
type TTFTReport struct {
	Engine string `json:"engine"`
	Model  string `json:"model"`
	Tools  int    `json:"tools"` // of the first catalog
	TTFTSettings
	Cells   []TTFTCell `json:"cells"`
	Targets []Goal     `json:"targets"` // those that the run can judge
	Notes   []string   `json:"notes"`
	Partial string     `json:"partial,omitempty"` // why it is not complete
}

// TTFTSettings are what the figures were taken with.
type TTFTSettings struct {
	Date     string         `json:"date"`
	Machine  string         `json:"machine"`
	Version  string         `json:"version"` // of toolbelt
	API      string         `json:"api"`
	Digest   string         `json:"digest"`
	Context  int            `json:"num_ctx"`
	Embedder string         `json:"embedder"` // of the daemons
	Dense    string         `json:"gaia_embedder"`
	Log      bool           `json:"engine_log"` // evaluated tokens are exact, from the engine's log
	Catalogs map[string]int `json:"catalogs"`   // tools, by name
}

// TTFTCell is one figure. Tokens are medians over requests; times are medians and 95th percentiles over requests, those of Sum over trials.
type TTFTCell struct {
	Scenario string       `json:"scenario"`
	Variant  string       `json:"variant"`
	Catalog  string       `json:"catalog"`
	By       string       `json:"by"`
	Trials   int          `json:"trials"`
	Requests int          `json:"requests"`
	TTFT     *Percentiles `json:"ttft_ms"`          // null where it could not be taken
	Interval *Interval    `json:"ttft_interval_ms"` // 95 %, of the median, by the bootstrap
	Why      string       `json:"why,omitempty"`
	TokenCounts
	Sums
	Turns
}

// TokenCounts are a cell's tokens; null where the engine did not tell.
type TokenCounts struct {
	Prompt    *int     `json:"prompt_tokens"`
	Evaluated *int     `json:"evaluated_tokens"`
	Cached    *int     `json:"cached_tokens"`
	Estimated bool     `json:"estimated"`         // the last two
	PerSecond *float64 `json:"tokens_per_second"` // evaluated, by the engine's own time where it says one, else by the time to the first token
	Tools     int      `json:"tools_sent"`        // median
}

// Sums are over all requests of a trial, for scenarios of several turns; null for others.
type Sums struct {
	Sum         *Percentiles `json:"sum_ms,omitempty"`
	SumInterval *Interval    `json:"sum_interval_ms,omitempty"`
	SumTokens   *int         `json:"sum_evaluated_tokens,omitempty"`
	ColdStart   *float64     `json:"cold_start_ms,omitempty"` // median; not in Sum
}

// Turns count requests.
type Turns struct {
	Truncated int    `json:"truncated_requests"`
	Cut       string `json:"truncated,omitempty"` // what was cut, of the first
	Missing   int    `json:"requests_without_needed_tool"`
	Foretold  *Judge `json:"foretold,omitempty"`
}

// Judge says how often the daemon foretold the evaluated tokens within 10 % or 32 tokens.
type Judge struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

func (m *TTFT) report(id runID, scenes []*scene) *TTFTReport {
	r := &TTFTReport{Engine: id.Engine, Model: id.Model, Partial: m.partial}
	r.API, r.Digest, r.Context, r.Log = m.Target.API, id.Digest, id.Context, m.Target.Log != nil
	r.Embedder, r.Dense, r.Catalogs = m.Options.Embedder, m.Options.Dense.Model().Name, map[string]int{}
	if m.journal.note != "" {
		r.Notes = append(r.Notes, m.journal.note)
	}
	for i, s := range scenes {
		if r.Catalogs[s.w.Name] = len(s.w.Tools); i == 0 {
			r.Tools = len(s.w.Tools)
		}
		for _, group := range s.cells() {
			for _, c := range group {
				r.Cells = append(r.Cells, m.cellsOf(c.key)...)
			}
		}
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c TTFTCell) bool { return !m.Options.wants(c.Catalog, c.Scenario) })
	r.sort(scenes)
	r.Targets = r.targets()
	return r
}

// sort puts the cells in the order of the catalogs as they were given, then of the scenarios.
func (r *TTFTReport) sort(scenes []*scene) {
	var names []string
	for _, s := range scenes {
		names = append(names, s.w.Name)
	}
	slices.SortStableFunc(r.Cells, func(a, b TTFTCell) int {
		return cmp.Or(
			cmp.Compare(slices.Index(names, a.Catalog), slices.Index(names, b.Catalog)),
			cmp.Compare(slices.Index(Scenarios(), a.Scenario), slices.Index(Scenarios(), b.Scenario)))
	})
}

// cellsOf sums up a cell's trials; those of ColdScenario are SameScenario's too.
func (m *TTFT) cellsOf(key cellKey) []TTFTCell {
	trials := m.journal.of(key)
	if key.scenario != ColdScenario {
		return []TTFTCell{summed(key, trials, func(s Step) bool { return s.Name != coldStart })}
	}
	named := func(name string) func(Step) bool { return func(s Step) bool { return s.Name == name } }
	same := key
	same.scenario = SameScenario
	cells := []TTFTCell{summed(key, trials, named("turn1")), summed(same, trials, named("turn2"))}
	if !theirs(key.variant) {
		same.variant, same.by = Floor, ByHand
		cells = append(cells, summed(same, trials, named("floor")))
	}
	return cells
}

// summed makes a cell of its trials' steps that count.
func summed(key cellKey, trials []Trial, counts func(Step) bool) TTFTCell {
	c := TTFTCell{Catalog: key.catalog, Scenario: key.scenario, Variant: key.variant, By: key.by}
	var steps []Step
	var sums, colds []float64
	var evaluated []int
	for _, t := range trials {
		if why := t.void(); why != "" {
			c.Why = why
			continue
		}
		c.Trials++
		sum, tokens := 0.0, 0
		for _, s := range t.Steps {
			if s.Why != "" {
				c.Why = s.Why
			}
			switch {
			case s.Why != "":
			case counts(s):
				steps, sum = append(steps, s), sum+s.TTFTMS
				if s.Evaluated != nil {
					tokens += *s.Evaluated
				}
			case s.Name == coldStart:
				colds = append(colds, s.TTFTMS)
			}
		}
		sums, evaluated = append(sums, sum), append(evaluated, tokens)
	}
	c.Requests = len(steps)
	if len(steps) == 0 {
		if c.Why == "" {
			c.Why = "it was not measured"
		}
		return c
	}
	c.Why = ""
	var times []float64
	for _, s := range steps {
		times = append(times, s.TTFTMS)
	}
	c.TTFT, c.Interval = spread(times)
	c.TokenCounts = tokenCounts(steps)
	c.count(steps)
	c.sum(sums, evaluated, colds)
	return c
}

// sum adds what the trials come to: those of a scenario of several turns are medians, those with a tool each are the sum of all.
func (c *TTFTCell) sum(sums []float64, evaluated []int, colds []float64) {
	total := 0
	switch {
	case several(c.Scenario):
		c.Sum, c.SumInterval = spread(sums)
		total = middle(evaluated)
	case c.Scenario == OneNewScenario && c.By == ByHand:
		c.Sum = new(Percentiles)
		for i := range sums {
			c.Sum.P50, total = c.Sum.P50+sums[i], total+evaluated[i]
		}
		c.Sum.P95 = c.Sum.P50
	default:
		return
	}
	if c.Evaluated != nil {
		c.SumTokens = &total
	}
	if len(colds) > 0 {
		cold := median(colds)
		c.ColdStart = &cold
	}
}

// several says whether a scenario's trials are judged by the sum of their turns.
func several(scenario string) bool { return scenario == TopicsScenario || scenario == TwoScenario }

// void says why a trial does not count: it failed, or a part of a sum did. "" where it counts.
func (t Trial) void() string {
	if t.Why != "" || !several(t.Scenario) {
		return t.Why
	}
	for _, s := range t.Steps {
		if s.Why != "" {
			return s.Why
		}
	}
	return ""
}

// count counts what became of the requests.
func (c *TTFTCell) count(steps []Step) {
	for _, s := range steps {
		if s.Truncated != "" {
			if c.Truncated++; c.Cut == "" {
				c.Cut = s.Truncated
			}
		}
		if len(s.Missing) > 0 {
			c.Missing++
		}
		if s.Expected == nil || s.Evaluated == nil || s.Estimated {
			continue
		}
		if c.Foretold == nil {
			c.Foretold = new(Judge)
		}
		c.Foretold.Of++
		off := math.Abs(float64(*s.Expected - *s.Evaluated))
		if off <= 32 || off <= .1*float64(*s.Evaluated) {
			c.Foretold.Right++
		}
	}
}

func tokenCounts(steps []Step) TokenCounts {
	var out TokenCounts
	var prompt, evaluated, cached, tools []int
	var rates []float64
	for _, s := range steps {
		tools = append(tools, s.Tools)
		out.Estimated = out.Estimated || s.Estimated
		if s.Prompt != nil {
			prompt = append(prompt, *s.Prompt)
		}
		if s.Evaluated == nil {
			continue
		}
		evaluated, cached = append(evaluated, *s.Evaluated), append(cached, *s.Cached)
		if took := cmp.Or(s.EvalMS, s.TTFTMS); took > 0 {
			rates = append(rates, 1000*float64(*s.Evaluated)/took)
		}
	}
	out.Tools = middle(tools)
	if len(prompt) > 0 {
		m := middle(prompt)
		out.Prompt = &m
	}
	if len(evaluated) > 0 {
		e, c := middle(evaluated), middle(cached)
		out.Evaluated, out.Cached = &e, &c
	}
	if len(rates) > 0 {
		rate := median(rates)
		out.PerSecond = &rate
	}
	return out
}

// middle is the median of at least one number, the lower of the middle two.
func middle(values []int) int {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// spread is the median and the 95th percentile of at least one time, and the 95 % interval of the median by the bootstrap (percentile method; Efron,
// 1979); nil of fewer than three.
func spread(times []float64) (*Percentiles, *Interval) {
	sorted := slices.Sorted(slices.Values(times))
	p := &Percentiles{P50: median(sorted), P95: percentile(sorted, .95)}
	if len(sorted) < 3 {
		return p, nil
	}
	rng := rand.New(rand.NewPCG(1, 5))
	medians, drawn := make([]float64, resamples), make([]float64, len(sorted))
	for i := range medians {
		for k := range drawn {
			drawn[k] = sorted[rng.IntN(len(sorted))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return p, &Interval{percentile(medians, .025), percentile(medians, .975)}
}

// cell returns the run's cell of that key, nil where it has none.
func (r *TTFTReport) cell(k cellKey) *TTFTCell {
	for i, c := range r.Cells {
		if (cellKey{c.Catalog, c.Scenario, c.Variant, c.By}) == k {
			return &r.Cells[i]
		}
	}
	return nil
}

// find returns the cell, nil where there is none with a figure.
func (r *TTFTReport) find(k cellKey) *TTFTCell {
	if c := r.cell(k); c != nil && c.TTFT != nil {
		return c
	}
	return nil
}
