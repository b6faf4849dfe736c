package kvcache

import "math"

// amounts is what of a prompt costs tokens: the features of the meter.
type amounts [7]float64

// The places in amounts.
const (
	head       = iota // 1 in a whole prompt: what the template begins and ends with
	textBytes         // of messages and system texts
	textSigns         // of those bytes
	textCalls         // each with its marks
	textPieces        // each with the template's marks around it
	toolBytes         // of definitions, in the array or in a message
	toolPieces        // of the array
)

func amountsOf(s []Piece) amounts {
	var a amounts
	for _, piece := range s {
		a.add(&piece)
	}
	return a
}

func (a *amounts) add(piece *Piece) {
	if piece.Role == Tool {
		a[toolBytes] += float64(piece.Bytes)
		a[toolPieces]++
		return
	}
	a[textBytes] += float64(piece.Bytes)
	a[textSigns] += float64(piece.Signs)
	a[textCalls] += float64(piece.Calls)
	a[toolBytes] += float64(piece.Tools)
	a[textPieces]++
}

func (a amounts) minus(b amounts) amounts {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

func (a amounts) dot(b amounts) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Rates is what a model's tokens are worth, as learned so far. The zero Rates is not usable; Belief.Rates gives the usual ones of a model not seen.
type Rates struct {
	weights amounts
	Answers int // that it was learned from
}

// usual are the rates before anything was learned: five letters or two signs a token in text, four bytes in definitions, and some tokens around each of them and around a call.
func usual() amounts {
	return amounts{head: 12, textBytes: 0.2, textSigns: 0.35, textCalls: 20, textPieces: 5, toolBytes: 0.25, toolPieces: 5}
}

// UsualRates are those of a model of which nothing was learned.
func UsualRates() Rates { return Rates{weights: usual()} }

// ToolTokens estimates what so many definitions of together so many bytes cost in a prompt.
func (r Rates) ToolTokens(tools, bytes int) int {
	return r.tokens(amounts{toolBytes: float64(bytes), toolPieces: float64(tools)})
}

// TextTokens estimates what so many messages of together so many bytes of prose cost in a prompt.
func (r Rates) TextTokens(messages, bytes int) int {
	return r.tokens(amounts{textBytes: float64(bytes), textSigns: proseSigns * float64(bytes), textPieces: float64(messages)})
}

// PieceTokens estimates what pieces cost in a prompt.
func (r Rates) PieceTokens(pieces []Piece) int { return r.tokens(amountsOf(pieces)) }

// proseSigns is the share of signs in English prose.
const proseSigns = 0.04

func (r Rates) tokens(a amounts) int { return int(math.Round(math.Max(0, r.weights.dot(a)))) }

// meter learns a model's rates from the engine's own counts: recursive least squares with forgetting (Haykin, Adaptive Filter Theory, the RLS
// algorithm), begun at the usual rates with a covariance that says how far a real model may be from them. It is given the amounts of a whole prompt
// where nothing is known to compare it with, and otherwise the difference to the last prompt of the same conversation: there the part that is the same, and all that the
// rates cannot say about it, falls out, and what remains tells text from tools.
type meter struct {
	weights    amounts
	covariance [len(amounts{})]amounts
	answers    int
}

// forgetting is how much an observation still counts after the next one: half after 70.
const forgetting = 0.99

// doubt is the standard deviation of each rate before anything was learned.
func doubt() amounts {
	return amounts{head: 15, textBytes: 0.06, textSigns: 0.25, textCalls: 15, textPieces: 3, toolBytes: 0.08, toolPieces: 10}
}

func newMeter() *meter {
	m := &meter{weights: usual()}
	for i, d := range doubt() {
		m.covariance[i][i] = d * d
	}
	return m
}

// learn takes one observation: these amounts, or this difference of amounts, were so many tokens. moved is the sum of the absolute parts that it is the
// difference of: the more, the less exact. What is not finite, or more than 4 times away from the rates so far, is left out, since then the count is not of this prompt.
func (m *meter) learn(x amounts, tokens, moved float64) {
	guess := m.weights.dot(x)
	noise := 2 + 0.03*moved
	off := tokens - guess
	if math.IsNaN(tokens) || math.IsInf(tokens, 0) || math.Abs(off) > 24+3*moved {
		return
	}
	var px amounts
	for i := range px {
		px[i] = m.covariance[i].dot(x)
	}
	scale := forgetting*noise*noise + px.dot(x)
	for i := range m.weights {
		m.weights[i] += px[i] / scale * off
	}
	for i := range px {
		for j := range px {
			m.covariance[i][j] = (m.covariance[i][j] - px[i]*px[j]/scale) / forgetting
		}
	}
	m.bound()
	low, high := limits()
	for i := range m.weights {
		m.weights[i] = math.Max(low[i], math.Min(high[i], m.weights[i]))
	}
	m.answers++
}

// limits are what no rate of a real model is below or above.
func limits() (low, high amounts) {
	return amounts{head: 0, textBytes: 0.05, textSigns: 0, textCalls: 0, textPieces: 0, toolBytes: 0.05, toolPieces: -20},
		amounts{head: 1000, textBytes: 1, textSigns: 1, textCalls: 100, textPieces: 50, toolBytes: 2, toolPieces: 100}
}

// bound keeps each rate's variance within what it began with: forgetting would let it grow without end while nothing new is said of it.
func (m *meter) bound() {
	for i, d := range doubt() {
		if v := m.covariance[i][i]; v > d*d {
			shrink := d / math.Sqrt(v)
			for j := range m.covariance { // a row and its column alike: what is left is a covariance still
				m.covariance[i][j] *= shrink
				m.covariance[j][i] *= shrink
			}
		}
	}
}

func (m *meter) rates() Rates { return Rates{m.weights, m.answers} }
