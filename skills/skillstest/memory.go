// Package skillstest tests implementations of skills.Store, and has one in memory for other packages' tests.
package skillstest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	mu       sync.Mutex
	byName   map[string]skills.Procedure
	former   map[string][]skills.Procedure // oldest first
	removals map[string]skills.Removal
	changes  int
}

var (
	_ skills.Store   = (*Memory)(nil)
	_ skills.Archive = (*Memory)(nil)
)

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
		all = append(all, clone(p))
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
	old, ok := m.byName[p.Name]
	if ok && p.Version != 0 && p.Version != old.Version {
		return skills.Procedure{}, catalog.NewError(catalog.Conflict, fmt.Sprintf("the skill %q was changed meanwhile", p.Name), nil)
	}
	p = clone(p)
	p.Version = 1
	if ok {
		p.Version, p.Successes, p.Attempts, p.Unused, p.LastUsed = old.Version+1, old.Successes, old.Attempts, old.Unused, old.LastUsed
		if m.former == nil {
			m.former = map[string][]skills.Procedure{}
		}
		m.former[p.Name] = append(m.former[p.Name], old)
	}
	m.changes++
	p.Updated = time.Date(2026, 1, 1, 0, 0, m.changes, 0, time.UTC)
	if m.byName == nil {
		m.byName = make(map[string]skills.Procedure)
	}
	m.byName[p.Name] = p
	return clone(p), nil
}

func clone(p skills.Procedure) skills.Procedure {
	p.ToolsRequired, p.ToolSequence, p.Examples = slices.Clone(p.ToolsRequired), slices.Clone(p.ToolSequence), slices.Clone(p.Examples)
	p.NotFor = slices.Clone(p.NotFor)
	return p
}

// RemoveProcedure implements skills.Store.
func (m *Memory) RemoveProcedure(ctx context.Context, name string) error {
	return m.change(ctx, name, func(p skills.Procedure) {
		delete(m.byName, name)
		delete(m.former, name)
		if p.Origin.Kind == skills.Learned {
			if m.removals == nil {
				m.removals = map[string]skills.Removal{}
			}
			m.removals[name] = skills.Removal{Name: name, Tools: slices.Sorted(slices.Values(p.ToolsRequired)), At: time.Date(2026, 1, 1, 0, 0, m.changes, 0, time.UTC)}
		}
	})
}

// CountProcedure implements skills.Store.
func (m *Memory) CountProcedure(ctx context.Context, name string, use skills.Use, at time.Time) error {
	return m.change(ctx, name, func(p skills.Procedure) {
		switch use {
		case skills.Forgive:
			p.Attempts, p.Successes, p.Unused = 0, 0, 0
		case skills.Unused:
			p.Unused++
		default:
			p.Attempts++
			if use == skills.Succeeded {
				p.Successes++
			}
			if at.After(p.LastUsed) {
				p.LastUsed = at.UTC().Round(0)
			}
		}
		m.byName[name] = p
	})
}

// Versions implements skills.Archive.
func (m *Memory) Versions(ctx context.Context, name string) ([]skills.Procedure, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.former[name])
	slices.Reverse(list)
	return list, ctx.Err()
}

// Removals implements skills.Archive.
func (m *Memory) Removals(ctx context.Context) ([]skills.Removal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.removals), func(a, b skills.Removal) int { return cmp.Compare(a.Name, b.Name) }), ctx.Err()
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
