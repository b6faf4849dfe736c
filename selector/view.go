package selector

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// View is how one embedder sees a catalog: a row a tool, and each tool's own background. Immutable.
type View struct {
	model      embed.Model
	rows       []float32 // len = tools × Dim, row-major: the mean of the tool's text vectors, zero where it has none
	mean       []float32 // a tool's mean cosine with the background
	scale      []float32 // 1 / the deviation of those cosines, 0 for a tool without a row
	background []embed.Vector
	examples   []example
}

// minDeviation is the least deviation that is divided by; under it a signal says nothing.
const minDeviation = 1e-6

// NewView makes a view of n tools from the vectors of their texts. texts[j][i] is the vector of tool i's
// j-th text; a nil vector is a text with nothing to embed. background are the vectors of Background(), which are kept. A vector of another
// length than m.Dim is an error of kind Invalid: vectors of two models are never mixed. Cost: n × len(background) dot products.
func NewView(m embed.Model, n int, texts [][]embed.Vector, background []embed.Vector) (*View, error) {
	v := &View{model: m, rows: make([]float32, n*m.Dim), mean: make([]float32, n), scale: make([]float32, n), background: background}
	for _, vectors := range texts {
		if len(vectors) != n {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a view of %d tools by %q was given %d vectors", n, m.Name, len(vectors)), nil)
		}
		for i, vector := range vectors {
			if vector == nil {
				continue
			}
			if len(vector) != m.Dim {
				return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a vector of tool %d by %q has %d numbers, not %d", i, m.Name, len(vector), m.Dim), nil)
			}
			vek32.Add_Inplace(v.row(catalog.ID(i)), vector)
		}
	}
	if len(texts) > 1 {
		vek32.MulNumber_Inplace(v.rows, 1/float32(len(texts)))
	}
	return v, v.calibrate()
}

// Model identifies the embedder.
func (v *View) Model() embed.Model { return v.model }

func (v *View) row(id catalog.ID) []float32 {
	return v.rows[int(id)*v.model.Dim : (int(id)+1)*v.model.Dim]
}

// calibrate measures each tool's background. A single tool's deviation over few requests is itself
// noisy, so its variance is averaged half and half with the mean variance of all tools.
func (v *View) calibrate() error {
	n := len(v.mean)
	variance := make([]float64, n)
	cosines := make([]float32, n)
	sum, squares := make([]float64, n), make([]float64, n)
	used := 0.0
	for _, b := range v.background {
		if b == nil {
			continue
		}
		if len(b) != v.model.Dim {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("a background vector by %q has %d numbers, not %d", v.model.Name, len(b), v.model.Dim), nil)
		}
		v.cosines(b, cosines)
		for i, c := range cosines {
			sum[i] += float64(c)
			squares[i] += float64(c) * float64(c)
		}
		used++
	}
	if used == 0 {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("a view by %q was given no background to measure against", v.model.Name), nil)
	}
	average, rows := 0.0, 0.0
	for i := range variance {
		mean := sum[i] / used
		v.mean[i] = float32(mean)
		variance[i] = math.Max(0, squares[i]/used-mean*mean)
		if variance[i] > 0 {
			average += variance[i]
			rows++
		}
	}
	for i := range variance {
		deviation := math.Sqrt((variance[i] + average/math.Max(rows, 1)) / 2)
		if variance[i] > 0 && deviation > minDeviation {
			v.scale[i] = float32(1 / deviation)
		}
	}
	return nil
}

// best fills whole and pieces with each tool's highest cosine over the vectors of either kind, all of the view's dimension; there is
// at least one of the first, and without one of the second pieces is left as it is. Every row is read once.
func (v *View) best(wholes, parts []embed.Vector, whole, pieces []float32) {
	dim := v.model.Dim
	inParallel(len(whole), dim*(len(wholes)+len(parts)), func(from, to int) {
		for i := from; i < to; i++ {
			row := v.rows[i*dim : (i+1)*dim]
			whole[i] = highest(row, wholes)
			if len(parts) > 0 {
				pieces[i] = highest(row, parts)
			}
		}
	})
	v.addExamples(wholes, whole)
	if len(parts) > 0 {
		v.addExamples(parts, pieces)
	}
}

// highest is the highest dot product of row with one of the vectors, of which there is at least one.
func highest(row []float32, vectors []embed.Vector) float32 {
	best := vek32.Dot(row, vectors[0])
	for _, q := range vectors[1:] {
		best = max(best, vek32.Dot(row, q))
	}
	return best
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
		w := weights[i]
		if norm := vek32.Norm(v.row(id)); norm > 0 {
			w /= norm
		}
		for j, x := range v.row(id) {
			sum[j] += w * x
		}
	}
	return sum
}

// cosines fills out with q's dot product with every row. len(out) is the number of tools, len(q) the view's dimension.
func (v *View) cosines(q embed.Vector, out []float32) {
	dim := v.model.Dim
	inParallel(len(out), dim, func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = vek32.Dot(v.rows[i*dim:(i+1)*dim], q)
		}
	})
}

// cosinesScalar is the plain reference of cosines: equal within 1e-5.
func (v *View) cosinesScalar(q embed.Vector, out []float32) {
	dim := v.model.Dim
	for i := range out {
		var sum float32
		for j, x := range v.rows[i*dim : (i+1)*dim] {
			sum += x * q[j]
		}
		out[i] = sum
	}
}

// parallelWork is how many multiplications are worth a goroutine of their own: about a tenth of a millisecond.
const parallelWork = 1 << 20

// inParallel calls work for parts of [0, n) that together are all of it, and returns when all are done; at the same time
// where there is much to do: each of the n costs so many multiplications.
func inParallel(n, cost int, work func(from, to int)) {
	parts := min(n*cost/parallelWork, runtime.GOMAXPROCS(0), n)
	if parts < 2 {
		work(0, n)
		return
	}
	var group sync.WaitGroup
	for k := 1; k < parts; k++ {
		group.Go(func() { work(k*n/parts, (k+1)*n/parts) })
	}
	work(0, n/parts)
	group.Wait()
}
