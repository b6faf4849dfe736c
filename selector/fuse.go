package selector

import (
	"math"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
)

const (
	// lexicalWeight is the weight of BM25's z-scores beside one view's. Beside several it grows with the root of their
	// number, as the deviation of a sum of signals that are hardly correlated does.
	lexicalWeight = 0.4

	// feedbackTools is how many of the best tools speak for those like them, and feedbackWeight how much that counts
	// beside all other signals together. What a request needs beyond what it names (to look an order up before it is cancelled) is
	// mostly found among the tools that are like those it names.
	feedbackTools  = 10
	feedbackWeight = 0.3
)

// addView adds one view's opinion to the ranks. Where there are pieces, half of it is how well the best piece
// fits: a request of many steps needs the tools of each of them, and its whole is like none.
func addView(rank, whole, pieces []float32, hasPieces bool) {
	if !hasPieces {
		addStandardized(rank, whole, 1)
		return
	}
	both := make([]float32, len(rank))
	addStandardized(both, whole, 1)
	addStandardized(both, pieces, 1)
	addStandardized(rank, both, 1)
}

// addLexical adds BM25 to the ranks: the mean of the scores of the whole texts, so that a word of the last message counts in
// full, and one of an earlier message in part. sum and scratch are overwritten.
func (ix *Index) addLexical(q Query, s *Scores, sum, scratch []float32) {
	clear(sum)
	for i, text := range q.Texts {
		if !q.whole(i) {
			continue
		}
		clear(scratch)
		known := ix.lexical.score(text, sum, scratch)
		if i == 0 {
			s.Known = known
			copy(s.Words, scratch)
		}
	}
	addStandardized(s.Rank, sum, lexicalWeight*math.Sqrt(float64(max(1, len(s.Used)))))
}

// addFeedback ranks the tools higher that are like the best ones: by each view, the cosine with the mean of the best tools' rows,
// each weighted by its rank.
func addFeedback(rank []float32, views []*View, scratch []float32) {
	if len(rank) <= feedbackTools || len(views) == 0 {
		return
	}
	mean := vek32.Mean(rank)
	deviation := deviationOf(rank, mean)
	if !(deviation > minDeviation) {
		return
	}
	top := topIDs(rank, feedbackTools)
	weights := make([]float32, len(top))
	for i, id := range top {
		weights[i] = max(0, rank[id])
	}
	weight := feedbackWeight * deviation / float64(len(views))
	for _, v := range views {
		v.cosines(v.mix(top, weights), scratch)
		addStandardized(rank, scratch, weight)
	}
}

// topIDs returns the ids of the k highest ranks, k at most, best first; equal ranks keep the catalog's order.
func topIDs(rank []float32, k int) []catalog.ID {
	top := make([]catalog.ID, 0, k)
	for i, r := range rank {
		if len(top) == k && !(r > rank[top[k-1]]) {
			continue
		}
		if len(top) < k {
			top = append(top, 0)
		}
		at := len(top) - 1
		for ; at > 0 && rank[top[at-1]] < r; at-- {
			top[at] = top[at-1]
		}
		top[at] = catalog.ID(i)
	}
	return top
}

// addStandardized adds weight × the z-scores of x to sum; where x hardly varies it says nothing and adds nothing.
func addStandardized(sum, x []float32, weight float64) {
	if len(x) == 0 {
		return
	}
	mean := vek32.Mean(x)
	deviation := deviationOf(x, mean)
	if !(deviation > minDeviation) {
		return
	}
	scale := float32(weight / deviation)
	for i, v := range x {
		sum[i] += (v - mean) * scale
	}
}

func deviationOf(x []float32, mean float32) float64 {
	var squares float32
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(float64(squares / float32(len(x))))
}
