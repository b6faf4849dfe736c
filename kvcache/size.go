package kvcache

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// size is what pieces cost in tokens, and how unsure that is.
type size struct{ tokens, variance float64 }

func (s size) plus(o size) size { return size{s.tokens + o.tokens, s.variance + o.variance} }

// sizes is what a model's answers told of single pieces. Rates say what a piece of so many bytes costs on the whole; a definition can be a fifth off from that, and it is sent
// again and again.
type sizes struct {
	rates Rates
	known *simplelru.LRU[uint64, size]
}

// maxSized bounds the pieces of one model that are known by themselves.
const maxSized = 1024

func newSizes() *simplelru.LRU[uint64, size] {
	known, _ := simplelru.NewLRU[uint64, size](maxSized, nil) // the error is that of a size below 1
	return known
}

// of is what one piece costs: by itself where it is known, otherwise by the rates, which on the whole are a tenth or so off.
func (z *sizes) of(piece *Piece) size {
	if s, ok := z.known.Peek(piece.Hash); ok {
		return s
	}
	var a amounts
	a.add(piece)
	tokens := math.Max(0, z.rates.weights.dot(a))
	off := 2 + 0.1*tokens
	return size{tokens, off * off}
}

func (z *sizes) sum(pieces []Piece) size {
	var s size
	for i := range pieces {
		s = s.plus(z.of(&pieces[i]))
	}
	return s
}

// head is what the template begins and ends with.
func (z *sizes) head() float64 { return z.rates.weights[head] }

// whole is what a prompt costs, by what the engine counted for the session's last one, if it did.
func (z *sizes) whole(s []Piece, last *answered) float64 {
	if last == nil || last.tokens == 0 {
		return z.head() + z.sum(s).tokens
	}
	if last.pieces == nil {
		return float64(last.tokens) + z.rates.weights.dot(amountsOf(s).minus(last.amounts)) + z.head()
	}
	more, less := difference(s, last.pieces)
	return float64(last.tokens) + z.sum(more).tokens - z.sum(less).tokens
}

// learn takes what the engine counted: a prompt with the pieces more is so many tokens longer than one with the pieces less in their place. What the sizes are off from that is shared out by how unsure
// each was, as in a Kalman filter's update with independent errors. Of what was seen together, most comes together again, so that a sum is trusted more than that says; but a single piece
// stays unsure by a few tokens.
func (z *sizes) learn(more, less []Piece, tokens float64) {
	plus, minus := z.sum(more), z.sum(less)
	off, variance := tokens-(plus.tokens-minus.tokens), plus.variance+minus.variance
	if variance <= 0 || math.Abs(off) > 24+3*(plus.tokens+minus.tokens) { // as for the rates: not of these prompts
		return
	}
	const noise = 1 // a mark that the template sets or leaves out
	for _, side := range []struct {
		pieces []Piece
		sign   float64
	}{{more, 1}, {less, -1}} {
		for i := range side.pieces {
			piece := &side.pieces[i]
			was := z.of(piece)
			gain := was.variance / (variance + noise)
			left := math.Max(noise/(variance+noise), (1-gain)/4)
			tokens := math.Max(0, was.tokens+side.sign*gain*off)
			least := 1 + 0.03*tokens
			z.known.Add(piece.Hash, size{tokens, math.Max(math.Min(was.variance, least*least), was.variance*left)})
		}
	}
}

// difference returns the pieces of s that t has not, and the other way round, as often as they are more; order says nothing.
func difference(s, t []Piece) (more, less []Piece) {
	n := common(s, t)
	s, t = s[n:], t[n:]
	if len(s) == 0 || len(t) == 0 {
		return s, t
	}
	count := make(map[Piece]int, len(t))
	for _, piece := range t {
		count[piece]++
	}
	for _, piece := range s {
		if count[piece] > 0 {
			count[piece]--
		} else {
			more = append(more, piece)
		}
	}
	for _, piece := range t {
		if count[piece] > 0 {
			count[piece]--
			less = append(less, piece)
		}
	}
	return more, less
}

// common is how many pieces two sequences have in common from the first on.
func common(s, t []Piece) int {
	n := 0
	for n < len(s) && n < len(t) && s[n] == t[n] {
		n++
	}
	return n
}
