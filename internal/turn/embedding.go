package turn

import (
	"context"
	"errors"

	"toolbelt/embed"
	"toolbelt/selector"
)

// errNothing is an embedder's failure to give vectors that can be compared.
var errNothing = errors.New("no embedder gave usable vectors")

// embed asks the engine's embedder where the index knows it, and the builtin always: two views see more than one, and where one
// fails the other decides. An error means that both failed. Without texts there is nothing to ask, and nothing matches.
func (p *Planner) embed(ctx context.Context, ix *selector.Index, texts []string) (selector.Query, string, error) {
	q := selector.Query{Texts: texts, Vectors: map[embed.Model][]embed.Vector{}}
	if len(texts) == 0 {
		return q, "", nil
	}
	name := ""
	builtin, err := p.Builtin.Embed(ctx, embed.Query, texts)
	if err == nil && usable(builtin, p.Builtin.Model()) {
		q.Vectors[p.Builtin.Model()] = builtin
		name = p.Builtin.Model().Name
	}
	if p.Neural != nil && ix.Views() > 1 {
		vectors, model, err := p.ask(ctx, texts)
		if err == nil && usable(vectors, model) && ix.Has(model) {
			q.Vectors[model] = vectors
			if name != "" {
				name += "+"
			}
			name += model.Name
		}
	}
	if len(q.Vectors) == 0 {
		return q, "", errNothing
	}
	return q, name, nil
}

// ask asks the engine's embedder, for no longer than the budget: only what waits for others is bounded by it.
func (p *Planner) ask(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	if p.policy.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.policy.Budget)
		defer cancel()
	}
	return p.Neural.Query(ctx, texts)
}

// usable reports whether vectors may be compared: each of the model's length, or nil for a text of nothing, and of unit
// length. A vector with a NaN, a zero one or a short one is its embedder's failure.
func usable(vectors []embed.Vector, m embed.Model) bool {
	for _, v := range vectors {
		if v == nil {
			continue
		}
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != m.Dim || !(sum > 0.9 && sum < 1.1) {
			return false
		}
	}
	return len(vectors) > 0
}
