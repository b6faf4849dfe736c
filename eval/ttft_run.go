package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolbelt/embed"
)

// The scenarios.
const (
	ColdScenario      = "cold"               // first turn, nothing cached
	PrewarmedScenario = "prewarmed"          // first turn, after the daemon warmed the engine
	SameScenario      = "turn2_same"         // second turn, list unchanged; played with ColdScenario
	OneNewScenario    = "turn2_one_new"      // second turn, one tool more, short history
	LongScenario      = "turn2_one_new_long" // the same behind a history of 2,000 tokens
	TopicsScenario    = "topic_switches"     // 12 turns
	TwoScenario       = "two_conversations"  // two conversations in turns
	ContextScenario   = "context4096"        // 12 turns in a context of 4,096 tokens
)

// Scenarios returns all scenarios in the order they are reported.
func Scenarios() []string {
	return []string{ColdScenario, PrewarmedScenario, SameScenario, OneNewScenario, LongScenario, TopicsScenario, TwoScenario, ContextScenario}
}

// The variants that are not ours. Ours are named for the daemon's strategies.
const (
	AllTools = "all"
	AllWarm  = "all_warm" // every tool, evaluated once before the conversation begins
	Floor    = "floor"    // the daemon's own request of SameScenario, repeated by hand
)

// How a cell's requests reach the engine.
const (
	ByDaemon = "daemon"
	ByHand   = "hand"
)

// TTFTOptions say what is measured. Valid checks them.
type TTFTOptions struct {
	Trials    int            // of a cell whose trials take under 20 s; at most 3 of others
	Scenarios []string       // none: all; "catalog:scenario" is of that catalog alone
	Variants  []string       // none: those that each scenario compares
	Every     bool           // in OneNewScenario: every tool that could be added, else 5 of them
	Cap       int            // of GAIA's list, and of the daemon's by its own default
	Dense     embed.Embedder // for GAIA's rule
	Embedder  string         // setting of the daemons
	Folder    string         // for the journal; "": none is kept
	Resume    bool           // go on with the journal that is there
	Progress  func(string)   // told what is about to be done; nil: nobody is
}

// Valid reports the first thing wrong with the options, as an error of kind Invalid.
func (o TTFTOptions) Valid() error {
	if o.Trials < 1 || o.Trials > 100 {
		return invalidf("the number of trials is %d: it must be from 1 to 100", o.Trials)
	}
	for _, s := range o.Scenarios {
		_, of, _ := strings.Cut(s, ":")
		if !slices.Contains(Scenarios(), cmp.Or(of, s)) {
			return invalidf("there is no scenario %q; there are %s", s, strings.Join(Scenarios(), ", "))
		}
	}
	for _, v := range o.Variants {
		if !slices.Contains(knownVariants(), v) {
			return invalidf("there is no variant %q; there are %s", v, strings.Join(knownVariants(), ", "))
		}
	}
	if o.Resume && o.Folder == "" {
		return invalidf("there is nothing to resume without a folder of an earlier run")
	}
	return nil
}

func knownVariants() []string {
	return []string{AllTools, AllWarm, ByGAIA, "append", "late", "rebuild", "frozen", "auto"}
}

func theirs(variant string) bool {
	return variant == AllTools || variant == AllWarm || variant == ByGAIA
}

// wants says whether the scenario is to be reported of that catalog.
func (o TTFTOptions) wants(catalog, scenario string) bool {
	return len(o.Scenarios) == 0 || slices.Contains(o.Scenarios, scenario) || slices.Contains(o.Scenarios, catalog+":"+scenario)
}

// TTFT measures the time to the first token of an engine, with and without toolbelt before it.
type TTFT struct {
	Target   *Target
	Recorder *Recorder // in front of the engine
	Recorded *url.URL  // its address: every measured request passes it
	Start    StartDaemon
	Client   *http.Client
	Options  TTFTOptions

	journal *journal
	partial string
	held    string // the tool that the sorted rule added last, while the engine holds that prompt
}

// longTrial is from when on a cell has fewer trials.
const (
	longTrialMS = 20_000
	fewTrials   = 3
)

// Run measures the workloads and reports. Where ctx ends, or an error does not let it go on, the report holds what was measured until
// then and says so; the error comes with it. Where nothing was measured the report is nil.
func (m *TTFT) Run(ctx context.Context, workloads []*Workload) (*TTFTReport, error) {
	if err := m.Options.Valid(); err != nil {
		return nil, err
	}
	m.tell("asking the engine for a first answer")
	if err := m.Target.Check(ctx, workloads[0].Tools[0]); err != nil {
		return nil, err
	}
	id, err := m.id(ctx, workloads)
	if err != nil {
		return nil, err
	}
	path := ""
	if m.Options.Folder != "" {
		if err := os.MkdirAll(m.Options.Folder, 0o755); err != nil {
			return nil, fmt.Errorf("making the report's folder: %w", err)
		}
		path = filepath.Join(m.Options.Folder, "ttft.jsonl")
	}
	if m.journal, err = openJournal(path, id, m.Options.Resume); err != nil {
		return nil, err
	}
	defer m.journal.close()
	var scenes []*scene
	for _, w := range workloads {
		s, err := m.scene(ctx, w, len(m.Options.Variants) == 0 || slices.Contains(m.Options.Variants, ByGAIA))
		if err != nil {
			return nil, err
		}
		defer s.close()
		scenes = append(scenes, s)
	}
	m.tell("measuring the engine's pace")
	err = m.Target.Gauge(ctx)
	if err == nil {
		err = m.rounds(ctx, scenes)
	}
	if ctx.Err() != nil {
		m.partial = "the run was interrupted"
	} else if err != nil {
		m.partial = err.Error()
	}
	return m.report(id, scenes), err
}

func (m *TTFT) id(ctx context.Context, workloads []*Workload) (runID, error) {
	id := runID{Journal: journalFormat, Engine: m.Target.base.String(), Model: m.Target.Model, Digest: m.Target.digestOf(ctx), Context: m.Target.Context, Catalogs: map[string]string{}}
	for _, w := range workloads {
		data, err := json.Marshal(w)
		if err != nil {
			return id, fmt.Errorf("writing the catalog %q: %v", w.Name, err)
		}
		id.Catalogs[w.Name] = fmt.Sprintf("%x", sha256.Sum256(data))[:12]
	}
	return id, nil
}

// rounds plays one trial of each cell after the other, the order of the variants turned by one each round, until every cell has its trials.
func (m *TTFT) rounds(ctx context.Context, scenes []*scene) error {
	for round := 0; ; round++ {
		played := false
		for _, s := range scenes {
			for _, group := range s.cells() {
				for i := range group {
					c := group[(i+round)%len(group)]
					for n := range m.wanted(c) {
						if m.journal.has(c.key, n) {
							continue
						}
						if err := m.play(ctx, c, n); err != nil {
							return err
						}
						played = true
						if !c.block {
							break
						}
					}
				}
			}
		}
		if !played {
			return nil
		}
	}
}

// wanted is how many trials the cell is to have.
func (m *TTFT) wanted(c cell) int {
	trials := m.journal.of(c.key)
	if len(trials) >= 2 && !slices.ContainsFunc(trials, func(t Trial) bool { return t.Why == "" }) {
		return len(trials) // it cannot be measured
	}
	if c.fixed > 0 {
		return c.fixed
	}
	for _, t := range trials {
		if trialMS(t) >= longTrialMS {
			return min(m.Options.Trials, fewTrials)
		}
	}
	return m.Options.Trials
}

// engineBack is how long an engine that went away may take to come back.
const engineBack = 2 * time.Minute

// play plays one trial and keeps it. One that fails is played once more, when the engine answers again; then it is kept as one that came to nothing. It
// returns an error only where nothing more can be measured.
func (m *TTFT) play(ctx context.Context, c cell, n int) error {
	m.tell(fmt.Sprintf("%s, %s: %s by %s, trial %d of %d", c.key.catalog, c.key.scenario, c.key.variant, c.key.by, n+1, m.wanted(c)))
	trial := Trial{Catalog: c.key.catalog, Scenario: c.key.scenario, Variant: c.key.variant, By: c.key.by, N: n}
	var err error
	if !c.block {
		m.held = ""
	}
	for range 2 {
		trial.Steps, err = c.play(ctx, n)
		if err == nil || ctx.Err() != nil || refused(err) {
			break
		}
		m.tell(fmt.Sprintf("the trial failed: %v", err))
		if err := m.Target.awaitEngine(ctx, engineBack); err != nil {
			return fmt.Errorf("the engine does not answer any more: %w", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	trial.At = time.Now().UTC().Format(time.RFC3339)
	if err != nil {
		trial.Steps, trial.Why = nil, err.Error()
	} else if !slices.ContainsFunc(trial.Steps, func(s Step) bool { return s.Why == "" }) {
		trial.Why = trial.Steps[0].Why
	}
	if trial.Why != "" {
		m.journal.trials = append(m.journal.trials, trial) // not in the file: another run may try again
		return nil
	}
	return m.journal.add(trial)
}

func (m *TTFT) tell(line string) {
	if m.Options.Progress != nil {
		m.Options.Progress(line)
	}
}

// trialMS is how long a trial's measured requests took to their first tokens.
func trialMS(t Trial) float64 {
	sum := 0.0
	for _, s := range t.Steps {
		if t.Scenario != ColdScenario || s.Name == "turn1" {
			sum += s.TTFTMS
		}
	}
	return sum
}
