package session_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
)

func TestAppsAreToldApart(t *testing.T) {
	store, at := sessiontest.NewMemory(), newClock()
	open := func() *session.Manager {
		m, err := session.Open(store, at.now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open()
	id, other := said("a"), said("a")
	other.Agent, other.Credential = "", "hash of a credential"
	if l := m.Label(id.App()); !reflect.DeepEqual(l, session.Label{App: id.App()}) {
		t.Errorf("of an app that was never seen, %+v is known", l)
	}
	f := turn(m, id, "files", "mail")
	m.Seen(id, []string{"files", "mail", "web", "more"})
	m.Seen(id, []string{"web"})
	m.Seen(other, nil)
	began := session.Label{App: id.App(), Family: "ollama", Agent: "app", Tools: []string{"files", "mail", "web"}}
	for name, c := range map[string]struct{ got, want session.Label }{
		"app": {m.Label(id.App()), began}, "other": {m.Label(other.App()), session.Label{App: other.App(), Family: "ollama"}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s is %+v, want %+v", name, c.got, c.want)
		}
	}
	m.Close()
	m = open()
	if l := m.Label(id.App()); !reflect.DeepEqual(l, began) {
		t.Errorf("after a restart it is %+v", l)
	}
	m.Observe(f.Key, []string{"mail"}, nil)
	used := began
	used.Tools = []string{"mail"}
	if l := m.Label(id.App()); !reflect.DeepEqual(l, used) {
		t.Errorf("once a tool was used it is %+v", l)
	}
	m.Close()
	if labels, err := store.Labels(t.Context()); err != nil || len(labels) != 2 || fmt.Sprint(labels) != fmt.Sprint(sorted(began, session.Label{App: other.App(), Family: "ollama"})) {
		t.Errorf("the store has %+v, %v", labels, err)
	}
}

func sorted(a, b session.Label) []session.Label {
	if a.App > b.App {
		a, b = b, a
	}
	return []session.Label{a, b}
}

// TestAnAppInUseStaysKnown prunes what was not seen for a month, while the process runs on.
func TestAnAppInUseStaysKnown(t *testing.T) {
	store, at := sessiontest.NewMemory(), newClock()
	m, err := session.Open(store, at.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m.Seen(said("a"), []string{"files"})
	at.pass(40 * 24 * time.Hour)
	m.Seen(said("b"), nil)
	m.Close()
	if _, err := store.Prune(t.Context(), at.now().Add(-30*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if labels, err := store.Labels(t.Context()); err != nil || len(labels) != 1 || fmt.Sprint(labels[0].Tools) != "[files]" {
		t.Errorf("left are %+v, %v", labels, err)
	}
}
