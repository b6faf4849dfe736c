// Package selector scores the tools of a catalog against what the user said: dense cosines by SIMD over
// a flat matrix, BM25 beside them, fused. Everything in it is a pure function of its arguments; an Index is immutable.
//
// Each tool gets two numbers. Rank decides order: z-scores of every signal over the catalog, summed; below what was asked for, tools rise that
// give what it requires, and what does something that nobody asks for falls.
// Match decides whether a tool is shown at all: how far its cosine stands above what unrelated
// requests give that same tool, in deviations.
package selector

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Index is a catalog made ready for scoring. Immutable and safe for concurrent use.
type Index struct {
	catalog *catalog.Catalog
	lexical *lexical
	givers  *givers
	deeds   []deed // by tool
	views   []*View
}

// NewIndex makes an index with these views, each of which must be of this catalog's size. Without views only words are compared.
// Cost: linear in the text of the catalog, about 20 µs a tool.
func NewIndex(cat *catalog.Catalog, views ...*View) (*Index, error) {
	ix := &Index{catalog: cat, lexical: newLexical(cat), givers: newGivers(cat), deeds: deedsOf(cat)}
	return ix.With(views...)
}

// With returns an index with these views beside the present ones; a view of the same model is replaced. The receiver is unchanged.
func (ix *Index) With(views ...*View) (*Index, error) {
	next := &Index{catalog: ix.catalog, lexical: ix.lexical, givers: ix.givers, deeds: ix.deeds, views: slices.Clone(ix.views)}
	for _, v := range views {
		if len(v.mean) != ix.catalog.Len() {
			return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("a view by %q is of %d tools, the catalog has %d", v.model.Name, len(v.mean), ix.catalog.Len()), nil)
		}
		next.views = slices.DeleteFunc(next.views, func(old *View) bool { return old.model == v.model })
		next.views = append(next.views, v)
	}
	return next, nil
}

// WithExamples returns an index whose view by this model also knows these examples (see View.WithExamples). Without such a view it is an
// error of kind NotFound. The receiver is unchanged.
func (ix *Index) WithExamples(m embed.Model, examples map[catalog.ID][]embed.Vector) (*Index, error) {
	for _, v := range ix.views {
		if v.model == m {
			taught, err := v.WithExamples(examples)
			if err != nil {
				return nil, err
			}
			return ix.With(taught)
		}
	}
	return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("no view by %q to add examples to", m.Name), nil)
}

// Catalog returns what the index is of.
func (ix *Index) Catalog() *catalog.Catalog { return ix.catalog }

// Has reports whether the index has a view by this model.
func (ix *Index) Has(m embed.Model) bool {
	return slices.ContainsFunc(ix.views, func(v *View) bool { return v.model == m })
}

// Views returns how many embedders' views the index has.
func (ix *Index) Views() int { return len(ix.views) }

// Query is what one turn asks for.
type Query struct {
	// Texts are the window's: first the whole ones, of which the first is the last message and the others hold it;
	// then pieces of it. A text that is shorter than the first is a piece.
	Texts   []string
	Vectors map[embed.Model][]embed.Vector // of the same texts, for each embedder that answered; nil vectors are texts with nothing to embed
}

// whole reports whether text i is the last message or holds it.
func (q Query) whole(i int) bool {
	return i == 0 || i >= len(q.Texts) || len(q.Texts[i]) >= len(q.Texts[0])
}

// Scores are what a query gives every tool, by ID.
type Scores struct {
	Rank  []float32 // fused z-scores; only their order means anything
	Match []float32 // deviations above the tool's own background, the mean over the views that answered; 0 without one
	Words []float32 // share of the last message's word weight that the tool has, in [0, 1]
	Known float32   // the same share of all tools together, in [0, 1]: 0 where no word of the message is any tool's
	Used  []embed.Model
	Sure  []catalog.ID // tools that are over any floor, for reasons of the caller's own; Score knows none
	Steps []Step       // tools that give what the best ones require
}

// Nothing reports that the query matches no tool by either way: none of its words is known, and no tool stands a deviation
// above its own background. The ranks are then noise.
func (s Scores) Nothing() bool {
	return s.Known == 0 && !slices.ContainsFunc(s.Match, func(m float32) bool { return m >= 1 })
}

// Score scores every tool. Vectors by a model that the index has no view of, or of another length than
// the view's, are left out: they are never compared. So is a text without a single word: punctuation has a vector, but asks for nothing.
// Where no word of the request is any tool's, the views alone decide. Cost: tools × (texts + 1) dot products a view.
func (ix *Index) Score(q Query) Scores {
	s, _ := ix.score(q)
	return s
}

// moved is what ranks were moved by beside the signals.
type moved struct {
	prepared []prepared // what rose since it prepares the best tools
	deeds    rises      // by what tools do
}

// score is Score, and returns what moved beside the signals.
func (ix *Index) score(q Query) (Scores, moved) {
	n := ix.catalog.Len()
	s := Scores{Rank: make([]float32, n), Match: make([]float32, n), Words: make([]float32, n)}
	whole, pieces := make([]float32, n), make([]float32, n)
	var used []*View
	for _, v := range ix.views {
		wholes, parts := q.spoken(v)
		if len(wholes)+len(parts) == 0 {
			continue
		}
		if len(wholes) == 0 {
			wholes, parts = parts, nil
		}
		v.best(wholes, parts, whole, pieces)
		addView(s.Rank, whole, pieces, len(parts) > 0)
		if len(parts) > 0 {
			vek32.Maximum_Inplace(whole, pieces)
		}
		v.addMatch(s.Match, whole)
		used = append(used, v)
		s.Used = append(s.Used, v.model)
	}
	if len(used) > 1 {
		vek32.MulNumber_Inplace(s.Match, 1/float32(len(used)))
	}
	ix.addLexical(q, &s, whole, pieces)
	addFeedback(s.Rank, used, whole)
	rose := ix.givers.raise(s.Rank)
	deeds := ix.addDeeds(q.asks(), s.Rank)
	s.addSteps(rose)
	return s, moved{rose, deeds}
}

// spoken returns the view's model's vectors of the whole texts and of the pieces that hold a word.
func (q Query) spoken(v *View) (wholes, pieces []embed.Vector) {
	for i, vector := range q.Vectors[v.model] {
		if len(vector) != v.model.Dim || i < len(q.Texts) && !hasWord(q.Texts[i]) {
			continue
		}
		if q.whole(i) {
			wholes = append(wholes, vector)
		} else {
			pieces = append(pieces, vector)
		}
	}
	return wholes, pieces
}

func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}
