package session

import (
	"context"
	"slices"
	"time"
)

// LabelTools is how many tools tell apps apart.
const LabelTools = 3

// relabelAfter is how long a label stands before it is kept again, so that its store knows when the app was last seen.
const relabelAfter = 24 * time.Hour

// Label is what tells a person which app an opaque id is of: nothing that anybody said, and no secret.
type Label struct {
	App    string   // opaque id
	Family string   // API family: "ollama", "openai"; "" where nothing is known
	Agent  string   // product of the User-Agent, "" without one
	Tools  []string // the names of at most three tools: those used most, else those that its first request began with, where that was told
}

// LabelStore is a Store that keeps what apps are told apart by. With one that does not, it is known only while the process runs.
type LabelStore interface {
	// SaveLabel inserts or replaces the label of l.App, which was seen at this time.
	SaveLabel(ctx context.Context, l Label, seen time.Time) error
	// Labels returns all, by id. Tools are those of the first request.
	Labels(ctx context.Context) ([]Label, error)
}

// Seen notes which app a request is of, and the names of tools that it offers, in order; nil where they are not to be kept.
func (m *Manager) Seen(id Identity, tools []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	app, now := id.App(), m.now()
	a := m.app(app)
	if now.Sub(a.labelled) < relabelAfter {
		return
	}
	first := a.label.Tools
	if len(first) == 0 {
		first = slices.Clone(tools[:min(len(tools), LabelTools)])
	}
	a.label, a.labelled = Label{App: app, Family: id.Family, Agent: id.Agent, Tools: first}, now
	m.store.label(a.label, now)
}

// Label returns what is known of an app; of one that was never seen, its id alone.
func (m *Manager) Label(app string) Label {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.apps[app]
	if a == nil {
		return Label{App: app}
	}
	l := a.label
	l.App = app
	if used := a.mostUsed(LabelTools, func(*toolUses) bool { return true }); len(used) > 0 {
		l.Tools = used
	}
	return l
}

// loadLabels fills in what the store knows of the apps that are known here.
func (m *Manager) loadLabels(ctx context.Context, store Store) error {
	kept, ok := store.(LabelStore)
	if !ok {
		return nil
	}
	labels, err := kept.Labels(ctx)
	if err != nil {
		return err
	}
	for _, l := range labels {
		if a := m.apps[l.App]; a != nil {
			a.label = l
		}
	}
	return nil
}

func (w *writer) label(l Label, seen time.Time) {
	w.enqueue(func(ctx context.Context, s Store) error {
		if kept, ok := s.(LabelStore); ok {
			return kept.SaveLabel(ctx, l, seen)
		}
		return nil
	})
}
