package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"toolbelt/catalog"
)

// Automatic CORE: what an app uses all the time is always visible, without anybody configuring it.
const (
	coreAfterSessions = 3    // before this an app has no automatic CORE
	coreMost          = 5    // tools at most
	coreShare         = 0.30 // of the app's sessions must have used a tool
)

// PrefixIdle is an engine's default keep-alive: of a conversation that was quiet for longer nothing of the prefix is left to lose.
const PrefixIdle = 5 * time.Minute

// app is what one app has used, and the CORE that follows.
type app struct {
	sessions int
	tools    map[string]*toolUses
	core     []string
	computed bool
	seen     time.Time // last request

	label    Label
	labelled time.Time // when the label was last told to the store, by this process
}

type toolUses struct {
	sessions, calls int
	last            string // the session that was last seen to use it
}

// maxApps is how many apps are kept in memory: a client that shows another token with every request is another app each time.
const maxApps = 4096

func (m *Manager) app(id string) *app {
	a := m.apps[id]
	if a == nil {
		if len(m.apps) >= maxApps {
			m.dropApp()
		}
		a = &app{tools: map[string]*toolUses{}}
		m.apps[id] = a
	}
	return a
}

// dropApp forgets the app that was seen longest ago. The store keeps what it has of it.
func (m *Manager) dropApp() {
	oldest := ""
	for id, a := range m.apps {
		if oldest == "" || a.seen.Before(m.apps[oldest].seen) {
			oldest = id
		}
	}
	delete(m.apps, oldest)
}

// count adds one call of each tool in the session.
func (a *app) count(session string, tools []string) {
	for _, name := range tools {
		u := a.tools[name]
		if u == nil {
			u = &toolUses{}
			a.tools[name] = u
		}
		u.calls++
		if u.last != session {
			u.last = session
			u.sessions++
		}
	}
}

// coreAt returns the app's automatic CORE. It changes only where the engine's prefix is lost anyway, so that all conversations of
// a sitting begin with the same bytes.
func (a *app) coreAt(now time.Time) []string {
	if !a.computed || len(a.core) == 0 || now.Sub(a.seen) > PrefixIdle {
		a.core, a.computed = a.automaticCore(), true
	}
	return a.core
}

func (a *app) automaticCore() []string {
	if a.sessions < coreAfterSessions {
		return nil
	}
	need := coreShare * float64(a.sessions)
	return a.mostUsed(coreMost, func(u *toolUses) bool { return float64(u.sessions) >= need })
}

// mostUsed returns the names of the n tools used in most sessions, then most often, then by name.
func (a *app) mostUsed(n int, want func(*toolUses) bool) []string {
	var names []string
	for name, u := range a.tools {
		if want(u) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		ux, uy := a.tools[x], a.tools[y]
		return cmp.Or(cmp.Compare(uy.sessions, ux.sessions), cmp.Compare(uy.calls, ux.calls), cmp.Compare(x, y))
	})
	return names[:min(n, len(names))]
}

// MostUsed returns the app's n most used tools, best first.
func (m *Manager) MostUsed(appID string, n int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.apps[appID]
	if a == nil {
		return nil
	}
	return a.mostUsed(n, func(*toolUses) bool { return true })
}

// AutomaticCores returns the automatic CORE of each app that has one.
func (m *Manager) AutomaticCores() map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	cores := map[string][]string{}
	for id, a := range m.apps {
		if core := a.automaticCore(); len(core) > 0 {
			cores[id] = core
		}
	}
	return cores
}

// load fills an empty Manager from the store.
func (m *Manager) load(store Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	records, err := store.Records(ctx, maxTurns)
	if err != nil {
		return fmt.Errorf("reading the stored sessions: %w", err)
	}
	for _, r := range records {
		r.State.Catalog = catalog.Hash{} // of another process
		base, _ := split(r.Key)
		key := ref(base, r.State.Session)
		m.turns.put(key, turnNode{r.State, r.Updated})
		m.heads.Add(r.State.Session, head{key: key, ended: true})
		for _, a := range r.State.Answers {
			m.answered(a, key, r.State.App)
		}
		m.app(r.State.App).seen = r.Updated
	}
	for id, a := range m.apps {
		uses, err := store.Uses(ctx, id)
		if err != nil {
			return fmt.Errorf("reading the stored uses: %w", err)
		}
		a.sessions = uses.Sessions
		for _, t := range uses.Tools {
			a.tools[t.Name] = &toolUses{sessions: t.Sessions, calls: t.Calls}
		}
	}
	if err := m.loadLabels(ctx, store); err != nil {
		return fmt.Errorf("reading what apps are told apart by: %w", err)
	}
	return nil
}
