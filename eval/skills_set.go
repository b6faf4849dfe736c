package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"toolbelt/embed"
	"toolbelt/skills"
)

// fold is one way to part a set.
type fold struct{ learn, test []Case }

// foldsOf parts the cases: those of RepeatedJobs as they say themselves, all others by conversation, or by group, in an order that the seed decides.
func foldsOf(d *Dataset, o SkillsOptions) []fold {
	if d.Name == RepeatedName {
		return repeatedFolds(d.Cases)
	}
	cases := d.Cases
	var names []string
	of := map[string][]Case{}
	for i, c := range cases {
		name := c.Conversation
		if o.ByGroup && c.Group != "" {
			name = "group " + c.Group
		}
		if name == "" {
			name = fmt.Sprintf("case %d %s", i, c.ID)
		}
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], c)
	}
	parts := make([][]Case, min(o.Folds, len(names)))
	for i, at := range rand.New(rand.NewPCG(o.Seed, 7)).Perm(len(names)) {
		k := i % len(parts)
		parts[k] = append(parts[k], of[names[at]]...)
	}
	folds := make([]fold, len(parts))
	for i := range parts {
		folds[i].test = parts[i]
		folds[i].learn = slices.Concat(slices.Concat(parts[:i]...), slices.Concat(parts[i+1:]...))
	}
	return folds
}

// setOf is the procedures ready for recall by all embedders.
func setOf(ctx context.Context, procedures []skills.Procedure, e Embedders) (*skills.Set, error) {
	all := []embed.Embedder{e.First}
	if e.Engine != nil {
		all = append(all, e.Engine)
	}
	var views []skills.View
	for _, embedder := range all {
		v, err := viewOf(ctx, procedures, embedder)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return skills.NewSet(procedures, views, time.Time{}), nil
}

func viewOf(ctx context.Context, procedures []skills.Procedure, e embed.Embedder) (skills.View, error) {
	v := skills.View{Model: e.Model()}
	var documents []string
	for _, p := range procedures {
		documents = append(documents, p.WhenToUse)
	}
	var err error
	if v.Background, err = e.Embed(ctx, embed.Query, skills.Background()); err != nil {
		return v, err
	}
	if v.Vectors, err = e.Embed(ctx, embed.Document, documents); err != nil {
		return v, err
	}
	for _, p := range procedures {
		vectors, err := e.Embed(ctx, embed.Query, p.Examples)
		if err != nil {
			return v, err
		}
		v.Examples = append(v.Examples, vectors)
		if vectors, err = e.Embed(ctx, embed.Query, p.NotFor); err != nil {
			return v, err
		}
		v.NotFor = append(v.NotFor, vectors)
	}
	return v, nil
}
