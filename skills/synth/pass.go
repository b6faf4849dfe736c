package synth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"toolbelt/embed"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// History is where runs are kept.
type History interface {
	Runs(ctx context.Context, f runs.Filter) ([]runs.Run, error)
}

// Shelf is where procedures are kept. Implemented by *skills.Library.
type Shelf interface {
	Library
	List(ctx context.Context) ([]skills.Procedure, error)
}

// Parts are what passes work with. All but Archive, Writer and Log are required.
type Parts struct {
	History  History
	Shelf    Shelf
	Archive  skills.Archive // nil: nothing was ever removed
	Embedder embed.Embedder
	Options  Options
	Writer   Writer       // nil: procedures keep the text that is made of their runs
	Log      *slog.Logger // nil: none
}

// maxRuns is how many runs a pass looks at, the newest.
const maxRuns = 10_000

// Look makes a pass and changes nothing.
func (p Parts) Look(ctx context.Context) (Report, error) {
	in := Input{Embedder: p.Embedder, Options: p.Options}
	var err error
	if in.Runs, err = p.History.Runs(ctx, runs.Filter{Steps: 1, Newest: maxRuns}); err != nil {
		return Report{Proposals: []Proposal{}}, err
	}
	if in.Existing, err = p.Shelf.List(ctx); err != nil {
		return Report{Proposals: []Proposal{}}, err
	}
	if p.Archive != nil {
		if in.Removed, err = p.Archive.Removals(ctx); err != nil {
			return Report{Proposals: []Proposal{}}, err
		}
	}
	return Propose(ctx, in)
}

// Learn makes a pass and puts it into effect. It returns the pass, and of its proposals those that were put into effect, as they were stored.
func (p Parts) Learn(ctx context.Context) (Report, []Proposal, error) {
	report, err := p.Look(ctx)
	if err != nil {
		return report, nil, err
	}
	p.written(ctx, report.Proposals)
	done, err := Apply(ctx, p.Shelf, report.Proposals)
	return report, done, err
}

// Run learns at each interval, where a run ended since the last time, until ctx ends. What goes wrong is logged once, until it goes well again.
func (p Parts) Run(ctx context.Context, interval time.Duration) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var seen runs.Run
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		newest, err := p.History.Runs(ctx, runs.Filter{Steps: 1, Newest: 1})
		if err == nil && (len(newest) == 0 || newest[0].Key == seen.Key && newest[0].Ended.Equal(seen.Ended)) {
			continue
		}
		var done []Proposal
		if err == nil {
			_, done, err = p.Learn(ctx)
		}
		if err != nil && !failing && !errors.Is(err, context.Canceled) {
			p.Log.Warn("no skills could be learned", "error", err)
		}
		if failing = err != nil; !failing {
			seen = newest[0]
		}
		for _, d := range done {
			p.Log.Info("a skill was learned", "action", string(d.Action), "skill", d.Procedure.Name, "tools", len(d.Procedure.ToolsRequired), "runs", len(d.Runs))
		}
	}
}
