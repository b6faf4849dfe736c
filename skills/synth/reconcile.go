package synth

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
	"toolbelt/skills"
)

// reconciler sets groups of runs against the procedures that exist.
type reconciler struct {
	options    Options
	existing   []known
	superseded map[string]bool
	removed    []skills.Removal
	names      map[string]bool
	others     []*item // runs of all jobs, short ones too
	changes    int
}

// known is a procedure with the vectors of its texts.
type known struct {
	skills.Procedure
	vectors []embed.Vector
}

func newReconciler(ctx context.Context, in Input, others []*item) (*reconciler, error) {
	r := &reconciler{options: in.Options, others: others, superseded: skills.Superseded(in.Existing), removed: in.Removed, names: map[string]bool{}}
	for _, p := range in.Existing {
		vectors, err := in.Embedder.Embed(ctx, embed.Query, append([]string{p.WhenToUse}, p.Examples...))
		if err != nil {
			return nil, err
		}
		r.existing = append(r.existing, known{p, vectors})
		r.names[p.Name] = true
	}
	return r, nil
}

// take notes a proposal as done, for the groups that follow.
func (r *reconciler) take(p Proposal) {
	if p.Action == Leave {
		return
	}
	r.changes++
	if p.Action == Return {
		return
	}
	r.names[p.Procedure.Name] = true
	if p.Procedure.Origin.Supersedes != "" {
		r.superseded[p.Procedure.Origin.Supersedes] = true
	}
}

// propose says what is to be done about a group.
func (r *reconciler) propose(g *cluster) Proposal {
	p := r.procedure(g)
	proposal := Proposal{Action: Add, Procedure: p, Why: fmt.Sprintf("done %d times, %d of them with success", p.Origin.Runs, p.Origin.Succeeded)}
	for _, it := range g.items {
		proposal.Runs = append(proposal.Runs, it.run.Key)
	}
	leave := func(existing, format string, args ...any) Proposal {
		proposal.Action, proposal.Existing, proposal.Why = Leave, existing, fmt.Sprintf(format, args...)
		return proposal
	}
	if len(p.ToolsRequired) < 2 || len(p.ToolSequence) < 2 {
		return leave("", "its runs have no two calls in common")
	}
	if err := p.Validate(); err != nil {
		return leave("", "no procedure can be made of it: %v", err)
	}
	sorted := slices.Sorted(slices.Values(p.ToolsRequired))
	for _, gone := range r.removed {
		if slices.Equal(gone.Tools, sorted) {
			return leave(gone.Name, "%q, which requires the same tools, was removed by its user", gone.Name)
		}
	}
	old := r.match(g, p)
	if old == nil {
		return proposal
	}
	proposal.Existing = old.Name
	same := slices.Equal(slices.Sorted(slices.Values(old.ToolsRequired)), sorted)
	since := g.since(old)
	switch {
	case r.superseded[old.Name]:
		return leave(old.Name, "%q is how it was done before: another took its place", old.Name)
	case !old.Automatic():
		return leave(old.Name, "%q is as its user made it", old.Name)
	case !old.Enabled && old.Note == "":
		return leave(old.Name, "%q was disabled by its user", old.Name)
	case !old.Enabled && since >= r.options.Seen:
		proposal.Action, proposal.Why = Return, fmt.Sprintf("%q had been disabled, and was done %d times with success since", old.Name, since)
		return proposal
	case !old.Enabled:
		return leave(old.Name, "%q is disabled: %s", old.Name, old.Note)
	case same && (slices.Equal(old.ToolSequence, p.ToolSequence) || since < r.options.Seen):
		return leave(old.Name, "%q is known", old.Name)
	}
	proposal.Action, proposal.Procedure.Origin.Supersedes = Supersede, old.Name
	proposal.Why = fmt.Sprintf("%q is done otherwise by now: %d times, %d of them with success", old.Name, p.Origin.Runs, p.Origin.Succeeded)
	return proposal
}

// procedure makes a procedure of a group.
func (r *reconciler) procedure(g *cluster) skills.Procedure {
	central := g.central()
	terms := g.terms()
	sequence := g.sequence()
	required := g.required(r.options.Required)
	return skills.Procedure{
		Name: r.name(terms, central[0].run.Goal), WhenToUse: whenToUse(central[0].run.Goal, terms), ToolsRequired: required, NotFor: r.notFor(g, required),
		ToolSequence: sequence[:min(len(sequence), skills.MaxSequence)], Examples: examples(central), Body: g.body(sequence), Enabled: true,
		Origin: skills.Origin{
			Kind: skills.Learned, Runs: len(g.items), Succeeded: g.succeeded(),
			First: g.items[0].run.Started, Last: g.items[len(g.items)-1].run.Started, AlsoUsed: g.also(required),
		},
	}
}

// since is how many of the group's runs began after the procedure was last learned or changed, and succeeded.
func (g *cluster) since(p *known) int {
	n := 0
	for _, it := range g.items {
		after := it.run.Started.After(p.Origin.Last)
		if !p.Enabled {
			after = it.run.Started.After(p.Updated)
		}
		if after && it.run.Outcome == "succeeded" {
			n++
		}
	}
	return n
}

// match is the existing procedure that is for what the group is for, nil where there is none: its words are alike, and its tools are, or some are and
// it was last done before the first of the group's runs.
func (r *reconciler) match(g *cluster, p skills.Procedure) *known {
	var best *known
	bestScore := 0.0
	for i := range r.existing {
		k := &r.existing[i]
		height, overlap := g.heightOf(k.vectors), share(k.ToolsRequired, p.ToolsRequired)
		replaced := k.Automatic() && height >= r.options.Goals && overlap >= r.options.Tools/2 && k.Origin.Last.Before(p.Origin.First)
		alike := overlap >= r.options.Tools && height >= r.options.goals(overlap)
		if score := height + overlapWeight*overlap; (alike || replaced) && (best == nil || score > bestScore) {
			best, bestScore = k, score
		}
	}
	return best
}

// heightOf is the group's height over the likest of the vectors.
func (c *cluster) heightOf(vectors []embed.Vector) float64 {
	best := 0.0
	for _, v := range vectors {
		if len(v) == len(c.sum) {
			best = max(best, c.height(&item{vector: v, level: c.level, spread: c.spread}))
		}
	}
	return best
}

// share is the share of both lists' names that they have in common.
func share(a, b []string) float64 {
	common := 0
	for _, name := range a {
		if slices.Contains(b, name) {
			common++
		}
	}
	return float64(common) / float64(max(1, len(a)+len(b)-common))
}

// maxExamples is how many requests a procedure keeps.
const maxExamples = 6

// examples are requests that differ: the most central, then each time the one that is least like those chosen.
func examples(central []*item) []string {
	chosen := []*item{central[0]}
	left := slices.DeleteFunc(slices.Clone(central[1:]), func(it *item) bool { return it.run.Outcome != "succeeded" })
	for len(chosen) < maxExamples && len(left) > 0 {
		pick, least := 0, float32(2)
		for i, it := range left {
			nearest := float32(-1)
			for _, c := range chosen {
				nearest = max(nearest, vek32.Dot(it.vector, c.vector))
			}
			if nearest < least {
				pick, least = i, nearest
			}
		}
		chosen = append(chosen, left[pick])
		left = slices.Delete(left, pick, pick+1)
	}
	var texts []string
	for _, it := range chosen {
		texts = append(texts, it.run.Goal)
	}
	return texts
}

// notFor are requests, told apart, that were met by fewer than half of the required tools and yet are like the group's: the likest first, each
// unlike those before it.
func (r *reconciler) notFor(g *cluster, required []string) []string {
	type near struct {
		*item
		height float64
	}
	var list []near
	own := map[string]bool{}
	for _, it := range g.items {
		own[it.run.Goal] = true
	}
	for _, it := range r.others {
		if own[it.run.Goal] || 2*usedOf(required, it.run.Names()) >= len(required) {
			continue
		}
		if h := g.height(it); h >= r.options.Goals {
			list = append(list, near{it, h})
		}
	}
	slices.SortStableFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(a.run.Goal, b.run.Goal))
	})
	var chosen []*item
	var texts []string
	for _, n := range list {
		if len(texts) >= maxNotFor {
			break
		}
		if !slices.ContainsFunc(chosen, func(c *item) bool { return vek32.Dot(c.vector, n.vector) > sameRequest }) {
			chosen, texts = append(chosen, n.item), append(texts, n.run.Goal)
		}
	}
	return texts
}

const (
	maxNotFor   = skills.MaxExamples
	sameRequest = 0.9 // two requests of at least this cosine say the same
)

// usedOf is how many of the required tools were called.
func usedOf(required, called []string) int {
	n := 0
	for _, name := range required {
		if slices.Contains(called, name) {
			n++
		}
	}
	return n
}
