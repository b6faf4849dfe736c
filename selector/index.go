// Package selector scores the tools of a catalog against what the user said: dense cosines by SIMD over
// a flat matrix, BM25 beside them, fused. Everything in it is a pure function of its arguments; an Index is immutable.
//
// Each tool gets two numbers. Rank decides order: z-scores of every signal over the catalog, summed.
// Match decides whether a tool is shown at all: how far its cosine stands above what unrelated
// requests give that same tool, in deviations.
package selector

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// lexicalWeight is the weight of BM25's z-scores beside each dense view's weight of 1.
const lexicalWeight = 0.4

// Index is a catalog made ready for scoring. Immutable and safe for concurrent use.
type Index struct {
	catalog *catalog.Catalog
	lexical *lexical
	views   []*View
}

// NewIndex makes an index with these views, each of which must be of this catalog's size. Without views only words are compared.
func NewIndex(cat *catalog.Catalog, views ...*View) (*Index, error) {
	ix := &Index{catalog: cat, lexical: newLexical(cat)}
	return ix.With(views...)
}

// With returns an index with these views beside the present ones; a view of the same model is replaced. The receiver is unchanged.
func (ix *Index) With(views ...*View) (*Index, error) {
	next := &Index{catalog: ix.catalog, lexical: ix.lexical, views: slices.Clone(ix.views)}
	for _, v := range views {
		if len(v.mean) != ix.catalog.Len() {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a view by %q is of %d tools, the catalog has %d", v.model.Name, len(v.mean), ix.catalog.Len()), nil)
		}
		next.views = slices.DeleteFunc(next.views, func(old *View) bool { return old.model == v.model })
		next.views = append(next.views, v)
	}
	return next, nil
}

// Catalog returns what the index is of.
func (ix *Index) Catalog() *catalog.Catalog { return ix.catalog }

// Has reports whether the index has a view by this model.
func (ix *Index) Has(m embed.Model) bool {
	return slices.ContainsFunc(ix.views, func(v *View) bool { return v.model == m })
}

// Query is what one turn asks for.
type Query struct {
	Texts   []string                       // the window's texts, the most important first
	Vectors map[embed.Model][]embed.Vector // of the same texts, for each embedder that answered; nil vectors are texts with nothing to embed
}

// Scores are what a query gives every tool, by ID.
type Scores struct {
	Rank  []float32 // fused z-scores; only their order means anything
	Match []float32 // deviations above the tool's own background, the mean over the views that answered; 0 without one
	Words []float32 // share of the request's word weight that the tool has, in [0, 1]
	Used  []embed.Model
}

// Score scores every tool. Vectors by a model that the index has no view of, or of another length than
// the view's, are left out: they are never compared. So is a text without a single word: punctuation has a vector, but asks for nothing. Cost: tools × texts dot products a view.
func (ix *Index) Score(q Query) Scores {
	n := ix.catalog.Len()
	s := Scores{Rank: make([]float32, n), Match: make([]float32, n), Words: make([]float32, n)}
	best, cosines := make([]float32, n), make([]float32, n)
	for _, v := range ix.views {
		if v.best(q.spoken(v.model), best, cosines) {
			addStandardized(s.Rank, best, 1)
			v.addMatch(s.Match, best)
			s.Used = append(s.Used, v.model)
		}
	}
	if len(s.Used) > 1 {
		vek32.MulNumber_Inplace(s.Match, 1/float32(len(s.Used)))
	}
	ix.addLexical(q.Texts, &s, best, cosines)
	return s
}

// spoken returns the model's vectors of the texts that hold a word.
func (q Query) spoken(m embed.Model) []embed.Vector {
	vectors := q.Vectors[m]
	spoken := make([]embed.Vector, 0, len(vectors))
	for i, v := range vectors {
		if i >= len(q.Texts) || hasWord(q.Texts[i]) {
			spoken = append(spoken, v)
		}
	}
	return spoken
}

func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// best fills out with each tool's highest cosine over the vectors. It reports false where none could be compared.
func (v *View) best(vectors []embed.Vector, out, scratch []float32) bool {
	found := false
	for _, q := range vectors {
		if len(q) != v.model.Dim {
			continue
		}
		if !found {
			v.cosines(q, out)
			found = true
			continue
		}
		v.cosines(q, scratch)
		vek32.Maximum_Inplace(out, scratch)
	}
	return found
}

func (v *View) addMatch(match, best []float32) {
	for i, b := range best {
		match[i] += (b - v.mean[i]) * v.scale[i]
	}
}

// addLexical adds BM25 to the ranks. A word of the last message counts in full, one of the message before it half:
// the mean of the scores of the first two texts, the second of which holds the first.
func (ix *Index) addLexical(texts []string, s *Scores, sum, scratch []float32) {
	clear(sum)
	if len(texts) > 2 {
		texts = texts[:2]
	}
	for i, text := range texts {
		clear(scratch)
		ix.lexical.score(text, sum, scratch)
		if i == 0 {
			copy(s.Words, scratch)
		}
	}
	addStandardized(s.Rank, sum, lexicalWeight)
}

// addStandardized adds weight × the z-scores of x to sum; where x hardly varies it says nothing and adds nothing.
func addStandardized(sum, x []float32, weight float32) {
	if len(x) == 0 {
		return
	}
	mean := vek32.Mean(x)
	var squares float32
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	deviation := float32(math.Sqrt(float64(squares / float32(len(x)))))
	if !(deviation > minDeviation) {
		return
	}
	scale := weight / deviation
	for i, v := range x {
		sum[i] += (v - mean) * scale
	}
}

// Views returns how many embedders' views the index has.
func (ix *Index) Views() int { return len(ix.views) }
