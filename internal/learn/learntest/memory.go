// Package learntest has a learn.Store in memory, and the contract that every learn.Store keeps, as tests.
package learntest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"toolbelt/catalog"
	"toolbelt/internal/learn"
)

// Memory is a learn.Store that keeps everything in memory. Safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	examples map[string]learn.Example
	follows  map[string]learn.Follow
	erasures int
}

var _ learn.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{examples: map[string]learn.Example{}, follows: map[string]learn.Follow{}}
}

func exampleKey(e learn.Example) string { return e.App + "\x00" + e.Hash.String() + "\x00" + e.Text }

// Learned implements learn.Store.
func (m *Memory) Learned(ctx context.Context) (learn.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := learn.Kept{Follows: slices.Collect(maps.Values(m.follows)), Erasures: m.erasures}
	for _, e := range m.examples {
		e.Vectors = maps.Clone(e.Vectors)
		kept.Examples = append(kept.Examples, e)
	}
	return kept, ctx.Err()
}

// SaveLearned implements learn.Store.
func (m *Memory) SaveLearned(ctx context.Context, erasures int, c learn.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if erasures != m.erasures {
		return catalog.NewError(catalog.Conflict, fmt.Sprintf("something was erased since erasure %d", erasures), nil)
	}
	for _, e := range c.Put {
		vectors := maps.Clone(m.examples[exampleKey(e)].Vectors)
		if vectors == nil {
			vectors = maps.Clone(e.Vectors)
		}
		maps.Copy(vectors, e.Vectors)
		e.Vectors = vectors
		m.examples[exampleKey(e)] = e
	}
	for _, e := range c.Drop {
		delete(m.examples, exampleKey(e))
	}
	for _, f := range c.Follows {
		key := f.App + "\x00" + f.From + "\x00" + f.To
		if f.Count == 0 {
			delete(m.follows, key)
		} else {
			m.follows[key] = f
		}
	}
	return nil
}

// Erasures implements learn.Store.
func (m *Memory) Erasures(ctx context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.erasures, ctx.Err()
}

// EraseLearned implements learn.Store.
func (m *Memory) EraseLearned(ctx context.Context, tool string) (learn.Erased, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return learn.Erased{}, err
	}
	before := learn.Erased{Examples: len(m.examples), Follows: len(m.follows)}
	maps.DeleteFunc(m.examples, func(_ string, e learn.Example) bool { return tool == "" || e.Tool == tool })
	maps.DeleteFunc(m.follows, func(_ string, f learn.Follow) bool { return tool == "" || f.From == tool || f.To == tool })
	m.erasures++
	return learn.Erased{Examples: before.Examples - len(m.examples), Follows: before.Follows - len(m.follows)}, nil
}
