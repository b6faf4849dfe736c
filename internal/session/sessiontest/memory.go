// Package sessiontest tests implementations of session.Store, and has one in memory for other packages' tests.
package sessiontest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"toolbelt/internal/session"
)

// Memory is a session.Store that ends with the process. Safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	records  []session.Record // in the order in which their keys were first saved
	sessions map[appSession]time.Time
	uses     map[appSession]map[string]*use
	labels   map[string]labelled
}

type labelled struct {
	label session.Label
	seen  time.Time
}

type appSession struct{ app, session string }

type use struct {
	calls int
	last  time.Time
}

var (
	_ session.Store      = (*Memory)(nil)
	_ session.LabelStore = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{sessions: make(map[appSession]time.Time), uses: make(map[appSession]map[string]*use), labels: make(map[string]labelled)}
}

// Records implements session.Store.
func (m *Memory) Records(ctx context.Context, limit int) ([]session.Record, error) {
	if err := ctx.Err(); err != nil || limit < 1 {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	sorted := slices.Clone(m.records)
	slices.SortStableFunc(sorted, func(a, b session.Record) int { return a.Updated.Compare(b.Updated) })
	sorted = sorted[max(0, len(sorted)-limit):]
	for i := range sorted {
		sorted[i].State = clone(sorted[i].State)
	}
	return sorted, nil
}

// SaveRecord implements session.Store.
func (m *Memory) SaveRecord(ctx context.Context, r session.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.see(r.State.App, r.State.Session, r.Updated)
	r.State = clone(r.State)
	i := slices.IndexFunc(m.records, func(old session.Record) bool { return old.Key == r.Key })
	if i >= 0 {
		m.records[i] = r
		return nil
	}
	m.records = append(m.records, r)
	return nil
}

func clone(s session.State) session.State {
	s.List, s.Core, s.Called = slices.Clone(s.List), slices.Clone(s.Core), slices.Clone(s.Called)
	return s
}

func (m *Memory) see(app, id string, at time.Time) {
	key := appSession{app, id}
	if last, ok := m.sessions[key]; id != "" && (!ok || at.After(last)) {
		m.sessions[key] = at
	}
}

// AddUses implements session.Store.
func (m *Memory) AddUses(ctx context.Context, app, id string, tools []string, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.see(app, id, at)
	key := appSession{app, id}
	if m.uses[key] == nil {
		m.uses[key] = make(map[string]*use)
	}
	for _, tool := range tools {
		if tool == "" {
			continue
		}
		u := m.uses[key][tool]
		if u == nil {
			u = &use{last: at}
			m.uses[key][tool] = u
		}
		u.calls++
		if at.After(u.last) {
			u.last = at
		}
	}
	return nil
}

// Uses implements session.Store.
func (m *Memory) Uses(ctx context.Context, app string) (session.AppUses, error) {
	if err := ctx.Err(); err != nil {
		return session.AppUses{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var uses session.AppUses
	for key := range m.sessions {
		if key.app == app {
			uses.Sessions++
		}
	}
	byTool := make(map[string]*session.ToolUses)
	for key, tools := range m.uses {
		if key.app != app {
			continue
		}
		for name, u := range tools {
			if byTool[name] == nil {
				byTool[name] = &session.ToolUses{Name: name}
			}
			byTool[name].Sessions++
			byTool[name].Calls += u.calls
		}
	}
	for _, t := range byTool {
		uses.Tools = append(uses.Tools, *t)
	}
	slices.SortFunc(uses.Tools, func(a, b session.ToolUses) int {
		return cmp.Or(cmp.Compare(b.Sessions, a.Sessions), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return uses, nil
}

// Prune implements session.Store.
func (m *Memory) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pruned := len(m.records)
	m.records = slices.DeleteFunc(m.records, func(r session.Record) bool { return r.Updated.Before(before) })
	pruned -= len(m.records)
	for key, tools := range m.uses {
		for name, u := range tools {
			if u.last.Before(before) {
				delete(tools, name)
				pruned++
			}
		}
		if len(tools) == 0 {
			delete(m.uses, key)
		}
	}
	for key, last := range m.sessions {
		if last.Before(before) {
			delete(m.sessions, key)
		}
	}
	maps.DeleteFunc(m.labels, func(_ string, l labelled) bool { return l.seen.Before(before) })
	return pruned, nil
}

// SaveLabel implements session.LabelStore.
func (m *Memory) SaveLabel(ctx context.Context, l session.Label, seen time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l.Tools = slices.Clone(l.Tools)
	m.labels[l.App] = labelled{l, seen}
	return nil
}

// Labels implements session.LabelStore.
func (m *Memory) Labels(ctx context.Context) ([]session.Label, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []session.Label
	for _, app := range slices.Sorted(maps.Keys(m.labels)) {
		l := m.labels[app].label
		l.Tools = slices.Clone(l.Tools)
		list = append(list, l)
	}
	return list, nil
}
