package selector

import (
	"fmt"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// View is how one embedder sees a catalog: a row a tool, and each tool's own background. Immutable.
type View struct {
	model      embed.Model
	rows       rows      // a tool's is the mean of its text vectors, zero where it has none
	mean       []float32 // a tool's mean cosine with the background
	scale      []float32 // 1 / the deviation of those cosines, 0 for a tool without a row
	background []embed.Vector // without the requests that have nothing to embed
	examples   []example
}

// minDeviation is the least deviation that is divided by; under it a signal says nothing.
const minDeviation = 1e-6

// NewView makes a view of n tools from the vectors of their texts. texts[j][i] is the vector of tool i's
// j-th text; a nil vector is a text with nothing to embed. background are the vectors of Background(), which are kept. A vector of another
// length than m.Dim is an error of kind Invalid: vectors of two models are never mixed. Cost: n × len(background) dot products.
func NewView(m embed.Model, n int, texts [][]embed.Vector, background []embed.Vector) (*View, error) {
	v := &View{model: m, rows: newRows(n, m.Dim), mean: make([]float32, n), scale: make([]float32, n)}
	for _, vectors := range texts {
		if len(vectors) != n {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a view of %d tools by %q was given %d vectors", n, m.Name, len(vectors)), nil)
		}
	}
	sum := make([]float32, m.Dim)
	for i := range n {
		clear(sum)
		for _, vectors := range texts {
			vector := vectors[i]
			if vector == nil {
				continue
			}
			if len(vector) != m.Dim {
				return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a vector of tool %d by %q has %d numbers, not %d", i, m.Name, len(vector), m.Dim), nil)
			}
			vek32.Add_Inplace(sum, vector)
		}
		vek32.MulNumber_Inplace(sum, 1/float32(max(1, len(texts))))
		v.rows.set(i, sum)
	}
	return v, v.calibrate(background)
}

// Model identifies the embedder.
func (v *View) Model() embed.Model { return v.model }

// calibrate measures each tool's background. A single tool's deviation over few requests is itself
// noisy, so its variance is averaged half and half with the mean variance of all tools.
func (v *View) calibrate(background []embed.Vector) error {
	for _, b := range background {
		if b == nil {
			continue
		}
		if len(b) != v.model.Dim {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("a background vector by %q has %d numbers, not %d", v.model.Name, len(b), v.model.Dim), nil)
		}
		v.background = append(v.background, b)
	}
	if len(v.background) == 0 {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("a view by %q was given no background to measure against", v.model.Name), nil)
	}
	variance := make([]float64, len(v.mean))
	v.rows.each(0, len(v.mean), v.background, func(i int, cosines []float32) {
		v.mean[i], variance[i] = spread(cosines)
	})
	average, known := 0.0, 0.0
	for _, x := range variance {
		if x > 0 {
			average += x
			known++
		}
	}
	for i, x := range variance {
		deviation := math.Sqrt((x + average/math.Max(known, 1)) / 2)
		if x > 0 && deviation > minDeviation {
			v.scale[i] = float32(1 / deviation)
		}
	}
	return nil
}

// spread returns the mean and the variance of numbers, of which there is at least one.
func spread(numbers []float32) (mean float32, variance float64) {
	sum, squares := 0.0, 0.0
	for _, x := range numbers {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(numbers))
	return float32(sum / n), math.Max(0, squares/n-sum/n*sum/n)
}

// best fills whole and pieces with each tool's highest cosine over the vectors of either kind, all of the view's dimension; there is
// at least one of the first, and without one of the second pieces is left as it is. Every row is read once.
func (v *View) best(wholes, parts []embed.Vector, whole, pieces []float32) {
	v.rows.each(0, len(whole), slices.Concat(wholes, parts), func(i int, cosines []float32) {
		whole[i] = slices.Max(cosines[:len(wholes)])
		if len(parts) > 0 {
			pieces[i] = slices.Max(cosines[len(wholes):])
		}
	})
	v.addExamples(wholes, whole)
	if len(parts) > 0 {
		v.addExamples(parts, pieces)
	}
}

func (v *View) addMatch(match, best []float32) {
	for i, b := range best {
		match[i] += (b - v.mean[i]) * v.scale[i]
	}
}

// mix is the weighted sum of the rows of these tools.
func (v *View) mix(ids []catalog.ID, weights []float32) embed.Vector {
	sum := make(embed.Vector, v.model.Dim)
	for i, id := range ids {
		if length := v.rows.length(int(id)); length > 0 {
			v.rows.add(int(id), weights[i]/length, sum)
		}
	}
	return sum
}

// cosines fills out with q's dot product with every row. len(out) is the number of tools, len(q) the view's dimension.
func (v *View) cosines(q embed.Vector, out []float32) {
	v.rows.each(0, len(out), []embed.Vector{q}, func(i int, cosines []float32) { out[i] = cosines[0] })
}
