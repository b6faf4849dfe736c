// Package embedtest has what tests of and with embedders need: a conformance test, and a deterministic fake
// that can be made to fail in every way that engines do.
package embedtest

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Fault is a way to fail.
type Fault uint8

// The faults. All but Failing, Hanging and Healthy break the contract of embed.Embedder on purpose: they return no error.
const (
	Healthy  Fault = iota
	Failing        // an error of kind Unavailable
	Hanging        // nothing until the context is done, then its error
	Fewer          // one vector less than texts
	OtherDim       // vectors of another length than Model().Dim
	NaN            // a NaN in every vector
	Zero           // vectors of zeros
)

// Faults lists those that end a call with an error or a wrong answer at once: all but Healthy and Hanging.
func Faults() []Fault { return []Fault{Failing, Fewer, OtherDim, NaN, Zero} }

// String returns the fault in words, for names of subtests.
func (f Fault) String() string {
	return []string{"healthy", "failing", "hanging", "fewer vectors", "other dimension", "NaN", "zero"}[f]
}

// fakeWindow is how many words of a text a Fake reads.
const fakeWindow = 512

// Fake is an embedder without a model: the vector of a text is the normalised sum of a fixed pseudo-random vector for each of its
// lower-case words, so texts that share words are near each other. Safe for concurrent use.
type Fake struct {
	model embed.Model

	mu    sync.Mutex
	fault Fault
	delay time.Duration
	calls int
	texts []string
}

var _ embed.Embedder = (*Fake)(nil)

// NewFake returns a healthy fake of this name and dimension, which must be positive.
func NewFake(name string, dim int) *Fake {
	return &Fake{model: embed.Model{Name: name, Digest: "fake", Dim: dim}}
}

// Break makes later calls fail so; Break(Healthy) heals.
func (f *Fake) Break(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Delay makes each later call take so long, or until its context is done.
func (f *Fake) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// Calls returns how often Embed was called.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Texts returns all texts that Embed was given, in order.
func (f *Fake) Texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.texts)
}

// Model returns the name and dimension given to NewFake.
func (f *Fake) Model() embed.Model { return f.model }

// Embed does as the contract says, unless Break or Delay has changed that.
func (f *Fake) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	f.mu.Lock()
	f.calls++
	f.texts = append(f.texts, texts...)
	fault, delay := f.fault, f.delay
	f.mu.Unlock()
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if fault == Hanging {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dim := f.model.Dim
	switch fault {
	case Failing:
		return nil, catalog.NewError(catalog.Unavailable, "the fake embedder was told to fail", nil)
	case Fewer:
		texts = texts[:max(0, len(texts)-1)]
	case OtherDim:
		dim++
	}
	vectors := make([]embed.Vector, len(texts))
	for i, text := range texts {
		if vectors[i] = fakeVector(kind, text, dim); vectors[i] == nil {
			continue
		}
		switch fault {
		case NaN:
			vectors[i][0] = float32(math.NaN())
		case Zero:
			clear(vectors[i])
		}
	}
	return vectors, nil
}

func fakeVector(kind embed.Kind, text string, dim int) embed.Vector {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return nil
	}
	if over := len(words) - fakeWindow; over > 0 && kind == embed.Query {
		words = words[over:]
	} else if over > 0 {
		words = words[:fakeWindow]
	}
	v := make(embed.Vector, dim)
	for _, word := range words {
		h := fnv.New64a()
		h.Write([]byte(word))
		for i, x := 0, h.Sum64()|1; i < dim; i++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			v[i] += float32(int32(x>>32)) / (1 << 31)
		}
	}
	if embed.Normalize(v) != nil {
		return nil
	}
	return v
}
