package kvcache

import (
	"encoding/json"
	"math"

	"toolbelt/catalog"
)

// lesson is what was learned of a model, as it is kept over a restart.
type lesson struct {
	Weights    []float64   `json:"weights"`
	Covariance [][]float64 `json:"covariance"`
	Answers    int         `json:"answers"`
	Pace       float64     `json:"pace"` // nanoseconds a token
}

// Lesson returns what was learned of a model's tokens, to be kept and given to Teach, and false where nothing was.
func (b *Belief) Lesson(name string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.models.Peek(canonical(name))
	if !ok || m.meter.answers == 0 {
		return nil, false
	}
	l := lesson{Weights: m.meter.weights[:], Answers: m.meter.answers, Pace: m.pace.perToken}
	for i := range m.meter.covariance {
		l.Covariance = append(l.Covariance, m.meter.covariance[i][:])
	}
	data, err := json.Marshal(l)
	return data, err == nil
}

// Teach takes up what Lesson returned in an earlier process, unless something was learned here already. An error of kind Invalid says that it is no lesson, or has a figure that no
// model has; then nothing is changed.
func (b *Belief) Teach(name string, data []byte) error {
	var l lesson
	if err := json.Unmarshal(data, &l); err != nil {
		return catalog.NewError(catalog.Invalid, "taking up what was learned of a model: it is not readable", nil)
	}
	m := newMeter()
	low, high := limits()
	whole := len(l.Weights) == len(m.weights) && len(l.Covariance) == len(m.covariance) && l.Answers > 0 && l.Pace >= 0 && !math.IsInf(l.Pace, 0)
	for i := 0; whole && i < len(l.Weights); i++ {
		whole = l.Weights[i] >= low[i] && l.Weights[i] <= high[i] && len(l.Covariance[i]) == len(m.weights) && l.Covariance[i][i] >= 0
		if whole {
			m.weights[i] = l.Weights[i]
			copy(m.covariance[i][:], l.Covariance[i])
		}
	}
	if !whole {
		return catalog.NewError(catalog.Invalid, "taking up what was learned of a model: its figures are no model's", nil)
	}
	m.bound()
	m.answers = l.Answers
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.of(name); known.meter.answers == 0 {
		known.meter, known.pace = m, pace{l.Pace}
	}
	return nil
}

// Model returns Facts and Rates at once.
func (b *Belief) Model(name string, askedContext int) (Facts, Rates) {
	return b.Facts(name, askedContext), b.Rates(name)
}
