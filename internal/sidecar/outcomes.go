package sidecar

import (
	"fmt"
	"net/http"
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/session"
)

// maxCalled bounds the names of one outcome.
const maxCalled = 1024

type outcomesRequest struct {
	Session string   `json:"session"`
	Called  []string `json:"called"`
	Success *bool    `json:"success"`
	Skill   string   `json:"skill"`
}

type outcomesResponse struct {
	Session string   `json:"session"`
	Called  []string `json:"called"` // each once, as they were counted
	Skill   string   `json:"skill,omitempty"`
}

// outcomes counts what became of a selection: the tools called on the session's newest turn, whether they did the job (they did where
// nothing is said) and, where a skill is named, whether it did. Nothing is counted where anything is wrong.
func (a *api) outcomes(w http.ResponseWriter, r *http.Request) error {
	var in outcomesRequest
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	if in.Skill != "" {
		if _, err := a.Skills.Show(r.Context(), in.Skill); err != nil {
			return err
		}
	}
	called := distinct(in.Called)
	id := a.memory.id(session.Product(r.UserAgent()), in.Session)
	if err := a.Planner.ObserveSession(id, called); err != nil {
		return err
	}
	if in.Success != nil {
		if err := a.Planner.SettleSession(id, called, *in.Success, in.Skill); err != nil { // a skill that is named is counted below
			return err
		}
	}
	if in.Skill != "" {
		if err := a.Skills.Count(r.Context(), in.Skill, *in.Success); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusOK, outcomesResponse{in.Session, called, in.Skill})
	return nil
}

func (in outcomesRequest) check() error {
	invalid := func(message string) error { return catalog.NewError(catalog.Invalid, message, nil) }
	switch {
	case in.Session == "":
		return invalid("\"session\" is missing: name the session that the tools were selected for")
	case in.Called == nil && in.Skill == "":
		return invalid("\"called\" is missing: list the names of the tools called, [] for none")
	case len(in.Called) > maxCalled:
		return invalid(fmt.Sprintf("\"called\" has %d names; at most %d are allowed", len(in.Called), maxCalled))
	case slices.Contains(in.Called, ""):
		return invalid("\"called\" holds an empty name")
	case in.Skill != "" && in.Success == nil:
		return invalid("\"success\" is missing: it says whether the skill did the job")
	}
	return nil
}

func distinct(names []string) []string {
	once := make([]string, 0, len(names))
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}
