package skills

import (
	"math"
	"slices"
	"time"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
)

// View is what one embedder makes of a list of procedures and of the background.
type View struct {
	Model      embed.Model
	Vectors    []embed.Vector   // of each procedure's when_to_use as a Document, in order; nil where there is none
	Examples   [][]embed.Vector // of each procedure's examples as Queries; nil where none has any
	NotFor     [][]embed.Vector // of each procedure's not_for as Queries; likewise
	Background []embed.Vector   // of the texts of Background as Queries; nil ones are left out
}

// Set is an immutable set of procedures to recall from, safe for concurrent use. A nil Set recalls nothing.
type Set struct {
	procedures []Procedure // those that can be recalled, in the order given
	weights    []float64   // of each
	tables     []table
}

// table is one model's part: row i of the matrix belongs to procedure rows[i]; rows of one procedure stand together.
type table struct {
	model  embed.Model
	rows   []int32
	first  []int32          // of each procedure: its first row; first[p+1] is where its rows end
	matrix []float32        // rows × model.Dim
	level  []float64        // mean cosine of the row with the background
	spread []float64        // standard deviation of the same, at least minSpread
	sketch *sketch          // nil where every row is looked at
	not    [][]embed.Vector // of each procedure: vectors of what it is not for; nil where none has any
}

// minSpread keeps a text that is about equally far from all of the background from passing on a hair's breadth.
const minSpread = 0.05

// notForMargin is by how much, as a cosine, a request must be nearer to what a procedure is not for than to what it is for.
const notForMargin = 0.15

// NewSet makes a set of those among procedures that are enabled and not superseded, each with its Weight at now (the zero time: none is
// old). A view is left out where it has no background with a direction or as many vectors as there are procedures; a vector is left
// out where it is not of the model's length. The slices are copied. The cost is that of rows × len(Background) dot
// products a view; a row is a when_to_use or an example.
func NewSet(procedures []Procedure, views []View, now time.Time) *Set {
	s := &Set{}
	superseded := Superseded(procedures)
	place := make([]int32, len(procedures)) // in s.procedures, or -1
	for i, p := range procedures {
		place[i] = -1
		if p.Enabled && !superseded[p.Name] {
			place[i] = int32(len(s.procedures))
			p.ToolsRequired = slices.Clone(p.ToolsRequired)
			s.procedures = append(s.procedures, p)
			s.weights = append(s.weights, p.Weight(now))
		}
	}
	for _, v := range views {
		if t := newTable(v, place, len(s.procedures)); len(t.rows) > 0 {
			s.tables = append(s.tables, t)
		}
	}
	return s
}

func newTable(v View, place []int32, procedures int) table {
	t := table{model: v.Model}
	background := slices.DeleteFunc(slices.Clone(v.Background), func(b embed.Vector) bool { return len(b) != v.Model.Dim })
	if len(v.Vectors) != len(place) || len(background) == 0 || v.Model.Dim == 0 {
		return t
	}
	for i, vector := range v.Vectors {
		if place[i] < 0 {
			continue
		}
		t.first = append(t.first, int32(len(t.rows)))
		t.add(vector, place[i], background)
		if i < len(v.Examples) {
			for _, example := range v.Examples[i] {
				t.add(example, place[i], background)
			}
		}
		if i < len(v.NotFor) {
			t.not = append(t.not, slices.DeleteFunc(slices.Clone(v.NotFor[i]), func(n embed.Vector) bool { return len(n) != t.model.Dim }))
		}
	}
	t.first = append(t.first, int32(len(t.rows)))
	if len(t.rows) > sketchFrom {
		t.sketch = newSketch(t.matrix, t.model.Dim)
	}
	return t
}

// add adds a row, unless the vector cannot be compared.
func (t *table) add(vector embed.Vector, procedure int32, background []embed.Vector) {
	if len(vector) != t.model.Dim {
		return
	}
	level, spread := againstBackground(vector, background)
	if math.IsNaN(level) || math.IsNaN(spread) {
		return
	}
	t.rows = append(t.rows, procedure)
	t.matrix = append(t.matrix, vector...)
	t.level = append(t.level, level)
	t.spread = append(t.spread, max(spread, minSpread))
}

// againstBackground returns mean and standard deviation of v's cosines with the background.
func againstBackground(v embed.Vector, background []embed.Vector) (mean, deviation float64) {
	var sum, squares float64
	for _, b := range background {
		x := float64(vek32.Dot(v, b))
		sum += x
		squares += x * x
	}
	n := float64(len(background))
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean))
}

// Len is the number of procedures that can be recalled.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.procedures)
}

// Recall returns the at most k procedures that fit the query best, best first, all of them over the floor. A procedure fits as well as the
// best of its rows. Where several models know both the query and a procedure, its cosines and its heights over the background
// are averaged over them: a model's cosines mean nothing beside another's, its heights do; the height counts by the procedure's weight. The
// best is the one that stands highest. What is nearer to a text of its not_for than to all of its rows it does not fit. A query vector of a model that the set does not know, or not of that model's length, is as if it were not
// there. The recalled procedures are shared: they must not be changed.
func (s *Set) Recall(q QueryVectors, k int, floor Floor) []Recalled {
	return s.RecallOf(q, k, floor, nil)
}

// RecallOf is Recall among the procedures of which at least one required tool is there, or which require none; a nil there has them all. Past some
// thousand rows a sketch of each chooses which are looked at, so that what is far from the query costs next to nothing; a procedure over
// the floor that is among the nearest few hundred is not missed by that.
func (s *Set) RecallOf(q QueryVectors, k int, floor Floor, there func(tool string) bool) []Recalled {
	if s.Len() == 0 || k < 1 || len(q) == 0 {
		return nil
	}
	var best []Recalled
	s.fits(q, func(p int32, f fit) {
		f.average()
		if f.height *= s.weights[p]; f.height < float64(floor) || f.models == 0 || f.other > f.cosine+notForMargin {
			return
		}
		if there != nil && !s.procedures[p].serves(there) {
			return
		}
		at := len(best)
		for at > 0 && best[at-1].Height < f.height {
			at--
		}
		if at >= k {
			return
		}
		best = slices.Insert(best, at, Recalled{Procedure: s.procedures[p], Score: f.cosine, Height: f.height})
		best = best[:min(k, len(best))]
	})
	return best
}

// besideFirst is the share of the best one's height that a further procedure must reach: most requests are for one job.
const besideFirst = 0.85

// Choose returns the procedures whose tools a turn is to see: RecallOf, less those that stand clearly lower than the best.
func (s *Set) Choose(q QueryVectors, k int, floor Floor, there func(tool string) bool) []Recalled {
	best := s.RecallOf(q, k, floor, there)
	for len(best) > 1 && best[len(best)-1].Height < besideFirst*best[0].Height {
		best = best[:len(best)-1]
	}
	return best
}

func (p Procedure) serves(there func(string) bool) bool {
	return len(p.ToolsRequired) == 0 || slices.ContainsFunc(p.ToolsRequired, there)
}

// fits calls each with every procedure that may fit, in the order given.
func (s *Set) fits(q QueryVectors, each func(p int32, f fit)) {
	candidates, all := s.candidates(q)
	n := len(candidates)
	if all {
		n = len(s.procedures)
	}
	for i := range n {
		p := int32(i)
		if !all {
			p = candidates[i]
		}
		var f fit
		for j := range s.tables {
			t := &s.tables[j]
			if v := q[t.model]; len(v) == t.model.Dim {
				t.fit(v, p, &f)
			}
		}
		each(p, f)
	}
}

// candidates are the procedures that the sketches name, in order; all is true where each must be looked at.
func (s *Set) candidates(q QueryVectors) (list []int32, all bool) {
	for j := range s.tables {
		t := &s.tables[j]
		v := q[t.model]
		if len(v) != t.model.Dim {
			continue
		}
		if t.sketch == nil {
			return nil, true
		}
		for _, row := range t.sketch.nearest(v) {
			list = append(list, t.rows[row])
		}
	}
	slices.Sort(list)
	return slices.Compact(list), false
}

// fit is how well one procedure fits a query: sums over models, then means.
type fit struct {
	cosine, height float64
	other          float64 // cosine with what the procedure is not for
	models         int
}

func (f *fit) average() {
	if f.models > 1 {
		f.cosine /= float64(f.models)
		f.height /= float64(f.models)
		f.other /= float64(f.models)
	}
}

// fit adds the height and cosine of the procedure's row that stands highest.
func (t *table) fit(query embed.Vector, p int32, f *fit) {
	cosine, height := 0.0, math.Inf(-1)
	for i := t.first[p]; i < t.first[p+1]; i++ {
		c := float64(vek32.Dot(query, t.matrix[int(i)*t.model.Dim:(int(i)+1)*t.model.Dim]))
		if h := (c - t.level[i]) / t.spread[i]; h > height { // never, where c is NaN
			cosine, height = c, h
		}
	}
	if math.IsInf(height, -1) {
		return
	}
	f.cosine += cosine
	f.height += height
	f.models++
	other := -1.0
	if len(t.not) > 0 {
		for _, n := range t.not[p] {
			other = max(other, float64(vek32.Dot(query, n)))
		}
	}
	f.other += other
}

// Nearest is the name of the procedure that stands highest over DefaultFloor by a look at every one, "" where there is none: what Recall is
// measured against.
func (s *Set) Nearest(q QueryVectors) string {
	exact := *s
	exact.tables = slices.Clone(s.tables)
	for i := range exact.tables {
		exact.tables[i].sketch = nil
	}
	if r := exact.Recall(q, 1, DefaultFloor); len(r) > 0 {
		return r[0].Procedure.Name
	}
	return ""
}
