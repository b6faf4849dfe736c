package sidecar

import (
	"fmt"
	"net/http"

	"toolbelt/catalog"
	"toolbelt/internal/session"
)

// sessions lists what each conversation sees, the most recent first.
func (a *api) sessions(w http.ResponseWriter, _ *http.Request) error {
	list := []sessionView{}
	for _, s := range a.Sessions.List() {
		list = append(list, a.view(s))
	}
	writeJSON(w, http.StatusOK, map[string]any{"sessions": list})
	return nil
}

// session shows one, by its id or by the name that an app gave it.
func (a *api) session(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	s, ok := a.Sessions.Get(name)
	if !ok {
		s, ok = a.Sessions.Get(a.memory.id(session.Product(r.UserAgent()), name))
	}
	if !ok {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no session %q: it was never seen here, or is too long ago", name), nil)
	}
	writeJSON(w, http.StatusOK, a.view(s))
	return nil
}

// sessionView is a session as it is shown.
type sessionView struct {
	session.State
	Client clientView `json:"client"`
}

// clientView is what a person can tell an app by. Each is empty where it is not known.
type clientView struct {
	Family string   `json:"family"`
	Agent  string   `json:"agent"`
	Tools  []string `json:"tools"`
}

// view makes empty lists of missing ones.
func (a *api) view(s session.State) sessionView {
	s.List, s.Core = present(s.List), present(s.Core)
	l := a.Sessions.Label(s.App)
	return sessionView{s, clientView{l.Family, l.Agent, present(l.Tools)}}
}
