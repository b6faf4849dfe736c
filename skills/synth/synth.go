// Package synth makes procedures of runs: what was asked for in about the same words, done by about the same tools, often enough and
// with success, becomes a procedure. It is a pure function of the runs, of an embedder and of what exists: the same history gives the same
// procedures.
package synth

import (
	"context"
	"fmt"
	"slices"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// Options are what a run and a group of runs must have. The zero value of a field is its default.
type Options struct {
	Steps    int     // calls of a run, at least; 3
	Seen     int     // runs of a group, at least; 3
	Success  float64 // share of a group's runs, at least; 0.8
	Goals    float64 // τ: how alike two requests must be, in deviations above unrelated ones (as skills.Floor); 3
	Tools    float64 // how alike their tools must be: the share of both runs' tools that is common, in [0, 1]; 0.5
	Groups   int     // of one pass, at most, those seen most often first; 10
	Required int     // tools_required, at most; 6
}

// Defaults are the options of a zero value.
func Defaults() Options {
	return Options{Steps: 3, Seen: 3, Success: 0.8, Goals: 3, Tools: 0.5, Groups: 10, Required: 6}
}

func (o Options) complete() Options {
	d := Defaults()
	for _, f := range []struct{ own, std *int }{{&o.Steps, &d.Steps}, {&o.Seen, &d.Seen}, {&o.Groups, &d.Groups}, {&o.Required, &d.Required}} {
		if *f.own <= 0 {
			*f.own = *f.std
		}
	}
	for _, f := range []struct{ own, std *float64 }{{&o.Success, &d.Success}, {&o.Goals, &d.Goals}, {&o.Tools, &d.Tools}} {
		if !(*f.own > 0) {
			*f.own = *f.std
		}
	}
	return o
}

// Action is what is to be done about a group of runs.
type Action string

// The actions.
const (
	Add       Action = "add"       // nothing like it exists
	Supersede Action = "supersede" // it is done otherwise by now: the new procedure takes the old one's place
	Return    Action = "return"    // one that had been disabled for doing badly did well since
	Leave     Action = "leave"     // it exists, or its user does not want it
)

// Proposal is what a pass makes of one group of runs.
type Proposal struct {
	Action    Action           `json:"action"`
	Procedure skills.Procedure `json:"procedure"`
	Existing  string           `json:"existing,omitempty"` // name of the procedure that it concerns
	Why       string           `json:"why"`
	Runs      []string         `json:"runs"` // keys of the runs, oldest first
}

// Input is what a pass works from.
type Input struct {
	Runs     []runs.Run
	Existing []skills.Procedure
	Removed  []skills.Removal
	Embedder embed.Embedder // of requests: one that is always there, since the same history must give the same procedures
	Options  Options
}

// Report is a pass.
type Report struct {
	Runs      int        `json:"runs"`   // looked at
	Fit       int        `json:"fit"`    // of those, with enough calls and an end
	Groups    int        `json:"groups"` // of alike runs, of any size
	Proposals []Proposal `json:"proposals"`
	More      int        `json:"more"` // groups that wait for the next pass
}

// Propose makes a pass. Cost: an embedding a run, and a dot product for each group that shares its tools. An error is the embedder's, or ctx's.
func Propose(ctx context.Context, in Input) (Report, error) {
	in.Options = in.Options.complete()
	report := Report{Runs: len(in.Runs), Proposals: []Proposal{}}
	fit := fitRuns(in.Runs, in.Options)
	report.Fit = len(fit)
	if len(fit) == 0 {
		return report, ctx.Err()
	}
	items, err := embedGoals(ctx, in.Embedder, fit)
	if err != nil {
		return report, err
	}
	groups, err := group(ctx, items, in.Options)
	if err != nil {
		return report, err
	}
	report.Groups = len(groups)
	groups = slices.DeleteFunc(groups, func(g *cluster) bool { return !g.enough(in.Options) })
	slices.SortStableFunc(groups, func(a, b *cluster) int { return b.succeeded() - a.succeeded() })
	others, err := embedGoals(ctx, in.Embedder, lastRuns(in.Runs))
	if err != nil {
		return report, err
	}
	r, err := newReconciler(ctx, in, others)
	if err != nil {
		return report, err
	}
	for _, g := range groups {
		p := r.propose(g)
		if p.Action != Leave && r.changes >= in.Options.Groups {
			report.More++
			continue
		}
		r.take(p)
		report.Proposals = append(report.Proposals, p)
	}
	return report, ctx.Err()
}

// maxOthers is how many runs a procedure's not_for is looked for among, the newest.
const maxOthers = 4096

// lastRuns are the newest runs that called anything and have a goal.
func lastRuns(all []runs.Run) []runs.Run {
	list := fitRuns(all, Options{Steps: 1})
	return list[max(0, len(list)-maxOthers):]
}

// fitRuns are the runs that a procedure can be made of, oldest first.
func fitRuns(all []runs.Run, o Options) []runs.Run {
	var fit []runs.Run
	for _, r := range all {
		if len(r.Calls) >= o.Steps && r.Outcome != runs.Open && r.Goal != "" {
			fit = append(fit, r)
		}
	}
	slices.SortFunc(fit, func(a, b runs.Run) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return fit
}

// Library is where a pass is put into effect. Implemented by *skills.Library.
type Library interface {
	Learn(ctx context.Context, p skills.Procedure, supersedes string) (skills.Procedure, error)
	Return(ctx context.Context, name string) (skills.Procedure, error)
}

// Apply puts proposals into effect, in order, and returns those that were. One that meets a change made meanwhile by somebody else is passed
// over: the next pass sees it. Any other error ends it.
func Apply(ctx context.Context, l Library, proposals []Proposal) (done []Proposal, err error) {
	done = []Proposal{}
	for _, p := range proposals {
		var saved skills.Procedure
		switch p.Action {
		case Add, Supersede:
			saved, err = l.Learn(ctx, p.Procedure, p.Procedure.Origin.Supersedes)
		case Return:
			saved, err = l.Return(ctx, p.Existing)
		default:
			continue
		}
		switch catalog.KindOf(err) {
		case catalog.Conflict, catalog.NotFound:
			if err != nil {
				continue
			}
		}
		if err != nil {
			return done, fmt.Errorf("putting the skill %q into effect: %w", p.Procedure.Name, err)
		}
		p.Procedure = saved
		done = append(done, p)
	}
	return done, nil
}
