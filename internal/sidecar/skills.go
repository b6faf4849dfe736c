package sidecar

import (
	"context"
	"net/http"

	"toolbelt/skills"
)

// newSkill is what may be said of a skill that is added; all else is the library's to keep.
type newSkill struct {
	Name          string   `json:"name"`
	WhenToUse     string   `json:"when_to_use"`
	ToolsRequired []string `json:"tools_required"`
	Body          string   `json:"body"`
}

func (a *api) skills(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Skills.List(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"skills": present(list)})
	return nil
}

func (a *api) addSkill(w http.ResponseWriter, r *http.Request) error {
	var in newSkill
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	stored, err := a.Editor.Add(r.Context(), skills.Procedure{Name: in.Name, WhenToUse: in.WhenToUse, ToolsRequired: in.ToolsRequired, Body: in.Body})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/toolbelt/v1/skills/"+stored.Name)
	writeJSON(w, http.StatusCreated, stored)
	return nil
}

func (a *api) skill(w http.ResponseWriter, r *http.Request) error {
	return writeSkill(w, r, a.Skills.Show)
}

func (a *api) enableSkill(w http.ResponseWriter, r *http.Request) error {
	return writeSkill(w, r, a.Editor.Enable)
}

func (a *api) disableSkill(w http.ResponseWriter, r *http.Request) error {
	return writeSkill(w, r, a.Editor.Disable)
}

// writeSkill answers with the skill that do returns for the one that the path names.
func writeSkill(w http.ResponseWriter, r *http.Request, do func(context.Context, string) (skills.Procedure, error)) error {
	p, err := do(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

func (a *api) removeSkill(w http.ResponseWriter, r *http.Request) error {
	if err := a.Editor.Remove(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
