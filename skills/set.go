package skills

import (
	"cmp"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
)

// View is what one embedder makes of a list of procedures and of the background.
type View struct {
	Model      embed.Model
	Vectors    []embed.Vector // of each procedure's when_to_use as a Document, in order; nil where there is none
	Background []embed.Vector // of the texts of Background as Queries; nil ones are left out
}

// Set is an immutable set of procedures to recall from, safe for concurrent use. A nil Set recalls nothing.
type Set struct {
	procedures []Procedure // enabled ones, in the order given
	tables     []table
}

// table is one model's part: row i of the matrix belongs to procedure rows[i].
type table struct {
	model  embed.Model
	rows   []int32
	matrix []float32 // rows × model.Dim
	level  []float64 // mean cosine of the row with the background
	spread []float64 // standard deviation of the same, at least minSpread
}

// minSpread keeps a text that is about equally far from all of the background from passing on a hair's breadth.
const minSpread = 0.05

// NewSet makes a set of the enabled ones among procedures. A view is left out where it has no background with a direction or as
// many vectors as there are procedures; a vector is left out where it is not of the model's length. The
// slices are copied. The cost is that of len(procedures) × len(Background) dot products a view.
func NewSet(procedures []Procedure, views []View) *Set {
	s := &Set{}
	place := make([]int32, len(procedures)) // in s.procedures, or -1
	for i, p := range procedures {
		place[i] = -1
		if p.Enabled {
			place[i] = int32(len(s.procedures))
			p.ToolsRequired = slices.Clone(p.ToolsRequired)
			s.procedures = append(s.procedures, p)
		}
	}
	for _, v := range views {
		if t := newTable(v, place); len(t.rows) > 0 {
			s.tables = append(s.tables, t)
		}
	}
	return s
}

func newTable(v View, place []int32) table {
	t := table{model: v.Model}
	background := slices.DeleteFunc(slices.Clone(v.Background), func(b embed.Vector) bool { return len(b) != v.Model.Dim })
	if len(v.Vectors) != len(place) || len(background) == 0 || v.Model.Dim == 0 {
		return t
	}
	for i, vector := range v.Vectors {
		if place[i] < 0 || len(vector) != v.Model.Dim {
			continue
		}
		level, spread := againstBackground(vector, background)
		if math.IsNaN(level) || math.IsNaN(spread) {
			continue
		}
		t.rows = append(t.rows, place[i])
		t.matrix = append(t.matrix, vector...)
		t.level = append(t.level, level)
		t.spread = append(t.spread, max(spread, minSpread))
	}
	return t
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

// Recall returns the at most k procedures that fit the query best, best first, all of them over the floor. Where
// several models know both the query and a procedure, its cosines and its heights over the background
// are averaged over them: a model's cosines mean nothing beside another's, its heights do. The best is the one that stands highest.
// A query vector of a model that the set does not know, or not of that model's length, is as if it were not
// there. The recalled procedures are shared: they must not be changed.
func (s *Set) Recall(q QueryVectors, k int, floor Floor) []Recalled {
	if s.Len() == 0 || k < 1 || len(q) == 0 {
		return nil
	}
	fits := make([]fit, len(s.procedures))
	for _, t := range s.tables {
		if v := q[t.model]; len(v) == t.model.Dim {
			t.add(v, fits)
		}
	}
	var best []int32
	for i := range fits {
		fits[i].average()
		if fits[i].models > 0 && fits[i].height >= float64(floor) {
			best = append(best, int32(i))
		}
	}
	slices.SortStableFunc(best, func(a, b int32) int { return cmp.Compare(fits[b].height, fits[a].height) })
	recalled := make([]Recalled, min(k, len(best)))
	for i := range recalled {
		recalled[i] = Recalled{Procedure: s.procedures[best[i]], Score: fits[best[i]].cosine}
	}
	return recalled
}

// fit is how well one procedure fits a query: sums over models, then means.
type fit struct {
	cosine, height float64
	models         int
}

func (f *fit) average() {
	if f.models > 1 {
		f.cosine /= float64(f.models)
		f.height /= float64(f.models)
	}
}

// add adds this model's cosine and height of each of its rows.
func (t *table) add(query embed.Vector, fits []fit) {
	dim := t.model.Dim
	for i, p := range t.rows {
		cosine := float64(vek32.Dot(query, t.matrix[i*dim:(i+1)*dim]))
		if math.IsNaN(cosine) {
			continue
		}
		f := &fits[p]
		f.cosine += cosine
		f.height += (cosine - t.level[i]) / t.spread[i]
		f.models++
	}
}
