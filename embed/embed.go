// Package embed turns texts into unit vectors: in the binary (Builtin), or through an engine (Ollama,
// OpenAI). Neural wraps an engine's embedder for the hot path: cached, with a deadline, behind a breaker.
package embed

import (
	"context"
	"fmt"
	"math"

	"toolbelt/catalog"
)

// Vector is a unit-length embedding.
type Vector []float32

// Model identifies where a vector comes from. Two vectors may be compared only where their Models are equal.
type Model struct {
	Name   string // as the engine calls it, or "builtin"
	Digest string // of the model's content where the engine tells it, else ""
	Prefix int    // version of the task prefixes put before texts of this model's family
	Dim    int    // length of its vectors
}

// String returns the name, for people and logs.
func (m Model) String() string { return m.Name }

// Kind is what a text is embedded for: families of models want different prefixes.
type Kind uint8

// A Query is what a user said; a Document is what describes a tool.
const (
	Query Kind = iota
	Document
)

// Embedder makes vectors. Implementations are safe for concurrent use and pass conformance tests (embedtest).
type Embedder interface {
	// Embed returns one unit vector a text, in order, each of Model().Dim. A text longer than the
	// model's window is cut: a Query keeps its end, a Document its start. A text with nothing to embed is a nil Vector, not an error.
	// Any vector that is NaN, zero or of another length fails the whole call: an error is returned and no vectors.
	Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error)
	// Model is constant over the Embedder's life.
	Model() Model
}

// Normalize scales v to unit length in place. It returns an error of kind Unavailable where v is empty, zero, or
// holds a NaN or an infinity: such a vector is a failure of its embedder, never "no match".
func Normalize(v Vector) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 1e-24) || math.IsInf(sum, 0) {
		return catalog.NewError(catalog.Unavailable, fmt.Sprintf("a vector of %d numbers has no direction (zero, NaN or infinite)", len(v)), nil)
	}
	inv := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= inv
	}
	return nil
}

// Store keeps document vectors over restarts. Implemented by internal/sqlite.
type Store interface {
	// Vectors returns the stored vectors of these documents for exactly this model; missing ones are absent from the map.
	Vectors(ctx context.Context, m Model, docs []catalog.Hash) (map[catalog.Hash]Vector, error)
	// PutVectors stores vectors of this model; len(docs) == len(vectors).
	PutVectors(ctx context.Context, m Model, docs []catalog.Hash, vectors []Vector) error
}
