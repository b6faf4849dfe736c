package selector

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// example is a request that a tool was used for, with its own background.
type example struct {
	tool   catalog.ID
	vector embed.Vector
	mean   float32 // its mean cosine with the background
	scale  float32 // 1 / the deviation of those cosines
}

// WithExamples returns a view in which these tools are also known by these vectors, of requests that they were used for; they take the place
// of examples that the view had. Two requests are more alike than a request and a description, so an example counts by how far a
// cosine stands above the example's own background, as the tool's row does; the better of the two is the tool's. A vector of
// another length than the view's, or a tool that it does not have, is an error of kind Invalid. Nil vectors are passed over. The vectors are kept.
func (v *View) WithExamples(examples map[catalog.ID][]embed.Vector) (*View, error) {
	next := *v
	next.examples = nil
	for _, id := range slices.Sorted(maps.Keys(examples)) {
		if id < 0 || int(id) >= len(v.mean) {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("an example of tool %d, the view by %q is of %d", id, v.model.Name, len(v.mean)), nil)
		}
		for _, vector := range examples[id] {
			if vector == nil {
				continue
			}
			if len(vector) != v.model.Dim {
				return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("an example of tool %d by %q has %d numbers, not %d", id, v.model.Name, len(vector), v.model.Dim), nil)
			}
			next.examples = append(next.examples, v.example(id, vector))
		}
	}
	return &next, nil
}

func (v *View) example(id catalog.ID, vector embed.Vector) example {
	cosines := make([]float32, len(v.background))
	for i, b := range v.background {
		cosines[i] = vek32.Dot(b, vector)
	}
	mean, variance := spread(cosines)
	e := example{tool: id, vector: vector, mean: mean}
	if deviation := math.Sqrt(variance); deviation > minDeviation {
		e.scale = float32(1 / deviation)
	}
	return e
}

// addExamples raises each tool's cosine to what its best example is worth.
func (v *View) addExamples(vectors []embed.Vector, cosines []float32) {
	for _, e := range v.examples {
		if worth, ok := v.worth(e, highest(e.vector, vectors)); ok {
			cosines[e.tool] = max(cosines[e.tool], worth)
		}
	}
}

// highest is the highest dot product with one of the vectors, of which there is at least one.
func highest(example embed.Vector, vectors []embed.Vector) float32 {
	best := vek32.Dot(example, vectors[0])
	for _, v := range vectors[1:] {
		best = max(best, vek32.Dot(example, v))
	}
	return best
}

// worth is the cosine with the tool's row that stands as far above the tool's background as cosine does above the example's. A tool
// without a row, or without a deviation, has no such cosine.
func (v *View) worth(e example, cosine float32) (float32, bool) {
	scale := v.scale[e.tool]
	if !(scale > 0) {
		return 0, false
	}
	return v.mean[e.tool] + (cosine-e.mean)*e.scale/scale, true
}
