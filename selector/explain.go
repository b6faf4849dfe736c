package selector

import (
	"math"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Explanation is why a tool stands where it does.
type Explanation struct {
	ID    catalog.ID
	Place int     // among all tools by rank, from 1
	Rank  float64 // fused z-scores
	Match float64 // match units, the mean over the views
	Words float64 // share of the last message's word weight, in [0, 1]
	BM25  float64 // raw, of the last message
	Views []Sight // one for each view that was asked

	Prepares catalog.ID // the tool that it gives something to which that requires, None where it neither rose by that nor counts as more
	Rise     float64    // what its rank grew by for that, part of Rank
	Step     float64    // match units that it counts as for that, on a turn that clearly needs a tool

	Deed  string  // what it does, as far as its name says so: "read", "make", "change", "remove", "send" or ""
	Asked float64 // what its rank grew by since that is asked for, below 0 since something else is, part of Rank
}

// Sight is what one view has to say of a tool.
type Sight struct {
	Model     embed.Model
	Cosine    float64 // the best over the texts
	Text      string  // the text that gave it
	Example   bool    // a learned example gave it: Cosine is what that is worth, and not the cosine with the example
	Mean      float64 // of the tool's cosines with the background
	Deviation float64 // of the same; 0: the view knows nothing of the tool
	Z         float64 // (Cosine - Mean) / Deviation, 0 where that is 0
}

// Over reports whether the floor lets the tool through.
func (e Explanation) Over(f Floor) bool { return e.Match >= f.Threshold || e.Words >= f.Words }

// Explain scores the query and says what made up the score of one tool, which must be in the catalog. Cost: that of Score.
func (ix *Index) Explain(q Query, id catalog.ID) Explanation {
	s, by := ix.score(q)
	e := Explanation{ID: id, Place: 1, Rank: float64(s.Rank[id]), Match: float64(s.Match[id]), Words: float64(s.Words[id]), Prepares: catalog.None,
		Deed: ix.deeds[id].String(), Asked: float64(by.deeds[ix.deeds[id]])}
	for _, p := range by.prepared {
		if p.tool == id && (p.rise > 0 || s.step(id) > float64(s.Match[id])) {
			e.Prepares, e.Rise, e.Step = p.before, float64(p.rise), s.step(id)
		}
	}
	for i, r := range s.Rank {
		if r > s.Rank[id] || r == s.Rank[id] && catalog.ID(i) < id {
			e.Place++
		}
	}
	if len(q.Texts) > 0 {
		scores := make([]float32, ix.catalog.Len())
		ix.lexical.score(q.Texts[0], scores, make([]float32, len(scores)))
		e.BM25 = float64(scores[id])
	}
	for _, v := range ix.views {
		if sight, ok := v.sight(q, id); ok {
			e.Views = append(e.Views, sight)
		}
	}
	return e
}

// sight is false where no text could be compared.
func (v *View) sight(q Query, id catalog.ID) (Sight, bool) {
	s := Sight{Model: v.model, Cosine: math.Inf(-1), Mean: float64(v.mean[id])}
	found := false
	for i, vector := range q.Vectors[v.model] {
		if len(vector) != v.model.Dim || i < len(q.Texts) && !hasWord(q.Texts[i]) {
			continue
		}
		found = true
		see := func(cosine float32, example bool) {
			if c := float64(cosine); c > s.Cosine {
				s.Cosine, s.Example, s.Text = c, example, ""
				if i < len(q.Texts) {
					s.Text = q.Texts[i]
				}
			}
		}
		v.rows.each(int(id), int(id)+1, []embed.Vector{vector}, func(_ int, cosines []float32) { see(cosines[0], false) })
		for _, e := range v.examples {
			if worth, ok := v.worth(e, vek32.Dot(e.vector, vector)); ok && e.tool == id {
				see(worth, true)
			}
		}
	}
	if v.scale[id] > 0 {
		s.Deviation = 1 / float64(v.scale[id])
		s.Z = (s.Cosine - s.Mean) / s.Deviation
	}
	return s, found
}
