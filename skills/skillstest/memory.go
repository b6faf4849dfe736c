// Package skillstest tests implementations of skills.Store, and has one in memory for other packages' tests.
package skillstest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills"
)

// Memory is a skills.Store that ends with the process. Its clock starts at 2026-01-01 and goes one second
// forward at each change, so that what it returns is always the same. The zero value is empty and ready; it is safe for
// concurrent use.
type Memory struct {
	mu      sync.Mutex
	byName  map[string]skills.Procedure
	changes int
}

var _ skills.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Procedures implements skills.Store.
func (m *Memory) Procedures(ctx context.Context) ([]skills.Procedure, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]skills.Procedure, 0, len(m.byName))
	for _, p := range m.byName {
		p.ToolsRequired = slices.Clone(p.ToolsRequired)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b skills.Procedure) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// SaveProcedure implements skills.Store.
func (m *Memory) SaveProcedure(ctx context.Context, p skills.Procedure) (skills.Procedure, error) {
	if err := cmp.Or(ctx.Err(), p.Validate()); err != nil {
		return skills.Procedure{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.ToolsRequired = slices.Clone(p.ToolsRequired)
	p.Version = 1
	if old, ok := m.byName[p.Name]; ok {
		p.Version, p.Successes, p.Attempts = old.Version+1, old.Successes, old.Attempts
	}
	m.changes++
	p.Updated = time.Date(2026, 1, 1, 0, 0, m.changes, 0, time.UTC)
	if m.byName == nil {
		m.byName = make(map[string]skills.Procedure)
	}
	m.byName[p.Name] = p
	p.ToolsRequired = slices.Clone(p.ToolsRequired)
	return p, nil
}

// RemoveProcedure implements skills.Store.
func (m *Memory) RemoveProcedure(ctx context.Context, name string) error {
	return m.change(ctx, name, func(skills.Procedure) { delete(m.byName, name) })
}

// CountProcedure implements skills.Store.
func (m *Memory) CountProcedure(ctx context.Context, name string, success bool) error {
	return m.change(ctx, name, func(p skills.Procedure) {
		p.Attempts++
		if success {
			p.Successes++
		}
		m.byName[name] = p
	})
}

func (m *Memory) change(ctx context.Context, name string, do func(skills.Procedure)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.byName[name]
	if !ok {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no skill %q", name), nil)
	}
	do(p)
	return nil
}
