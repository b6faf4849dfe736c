package learn

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// memory is what one app has taught, made ready for recall. Immutable.
type memory struct {
	slots   []catalog.Hash // of the tools that have examples
	owner   []int32        // of each example: its place in slots
	trust   []float32      // of each example, (0, 1]
	sources []source
	habits  map[string]habit // by the tool before
	uses    map[string]float64
	total   float64 // sum of uses
}

// source is how one embedder sees the examples.
type source struct {
	model embed.Model
	rows  []float32 // len = examples × Dim, row-major, zero where an example has no vector by the model
	has   []float32 // 1 where it has one, else 0
	near  standard
	match standard
}

// standard turns each example's cosines into deviations: (cosine - mean) × scale.
type standard struct{ mean, scale []float32 }

// habit is what followed one tool.
type habit struct {
	to    map[string]float64
	total float64
}

const (
	minDeviation = 1e-3 // less is not divided by
	otherSample  = 64   // requests for other tools that an example is measured against, at most
	priorSample  = 8    // how many of them the background counts as
)

// remember makes a memory of a shelf. backgrounds are vectors of unrelated requests by each model. Cost: examples × (otherSample +
// backgrounds) dot products.
func remember(s *shelf, backgrounds map[embed.Model][]embed.Vector, now time.Time) *memory {
	m := &memory{habits: map[string]habit{}, uses: map[string]float64{}}
	examples := s.sorted()
	for _, e := range examples {
		if n := len(m.slots); n == 0 || m.slots[n-1] != e.Hash {
			m.slots = append(m.slots, e.Hash)
		}
		m.owner = append(m.owner, int32(len(m.slots)-1))
		m.trust = append(m.trust, float32(e.trust(now)))
	}
	for _, model := range slices.SortedFunc(maps.Keys(backgrounds), byName) {
		background := backgrounds[model]
		if src, ok := newSource(model, examples, background); ok {
			src.calibrate(m.owner, background)
			m.sources = append(m.sources, src)
		}
	}
	for _, f := range s.sortedFollows() {
		weight := float64(f.Count) * math.Exp2(-float64(max(0, now.Sub(f.Last)))/float64(halfLife))
		h := m.habits[f.From]
		if h.to == nil {
			h.to = map[string]float64{}
		}
		h.to[f.To] += weight
		h.total += weight
		m.habits[f.From] = h
		m.uses[f.To] += weight
		m.total += weight
	}
	return m
}

func byName(a, b embed.Model) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
}

func newSource(model embed.Model, examples []*Example, background []embed.Vector) (source, bool) {
	n, any := len(examples), false
	src := source{model: model, rows: make([]float32, n*model.Dim), has: make([]float32, n)}
	for i, e := range examples {
		if v := e.Vectors[model]; len(v) == model.Dim && model.Dim > 0 {
			copy(src.row(i), v)
			src.has[i] = 1
			any = true
		}
	}
	return src, any && len(background) > 0
}

func (s *source) row(i int) []float32 { return s.rows[i*s.model.Dim : (i+1)*s.model.Dim] }

// moments are a mean and a variance.
type moments struct{ mean, variance float64 }

// calibrate measures each example against the background, and against requests for other tools. The variance of one example is itself
// noisy, so it is averaged half and half with that of all.
func (s *source) calibrate(owner []int32, background []embed.Vector) {
	n := len(s.has)
	unrelated, others := make([]moments, n), make([]moments, n)
	step := max(1, n/otherSample)
	for i := range n {
		if s.has[i] == 0 {
			continue
		}
		unrelated[i] = s.against(i, func(yield func([]float32)) {
			for _, b := range background {
				if len(b) == s.model.Dim {
					yield(b)
				}
			}
		}, moments{}, 0)
		others[i] = s.against(i, func(yield func([]float32)) {
			for j := i % step; j < n; j += step {
				if owner[j] != owner[i] && s.has[j] > 0 {
					yield(s.row(j))
				}
			}
		}, unrelated[i], priorSample)
	}
	s.near = s.standardOf(unrelated, func(i int) float64 { return (unrelated[i].mean + others[i].mean) / 2 })
	s.match = s.standardOf(others, func(i int) float64 { return others[i].mean })
}

// against is the moments of an example's cosines, with a prior that counts as so many of them.
func (s *source) against(i int, each func(yield func([]float32)), prior moments, weight float64) moments {
	n, sum, squares := weight, weight*prior.mean, weight*(prior.variance+prior.mean*prior.mean)
	each(func(v []float32) {
		c := float64(vek32.Dot(s.row(i), v))
		n++
		sum += c
		squares += c * c
	})
	if n == 0 {
		return moments{}
	}
	mean := sum / n
	return moments{mean, math.Max(0, squares/n-mean*mean)}
}

func (s *source) standardOf(of []moments, mean func(i int) float64) standard {
	n := len(of)
	out := standard{make([]float32, n), make([]float32, n)}
	average, known := 0.0, 0.0
	for i := range of {
		if s.has[i] > 0 {
			average += of[i].variance
			known++
		}
	}
	average /= math.Max(1, known)
	for i := range of {
		out.mean[i] = float32(mean(i))
		if deviation := math.Sqrt((of[i].variance + average) / 2); s.has[i] > 0 && deviation > minDeviation {
			out.scale[i] = float32(1 / deviation)
		}
	}
	return out
}
