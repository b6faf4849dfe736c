package sidecar

import (
	"context"
	"fmt"
	"net/http"

	"toolbelt/catalog"
	"toolbelt/skills"
	"toolbelt/skills/skillmd"
	"toolbelt/skills/synth"
)

// SkillKeeper edits procedures and says how they stand. Errors have the kinds of skills.Library.
type SkillKeeper interface {
	Save(ctx context.Context, p skills.Procedure) (skills.Procedure, error)
	Why(ctx context.Context, name, message string) (skills.Why, error)
}

// Learning makes procedures of what was observed. Implemented by synth.Parts.
type Learning interface {
	// Look makes a pass and changes nothing.
	Look(ctx context.Context) (synth.Report, error)
	// Learn makes a pass and puts it into effect.
	Learn(ctx context.Context) (synth.Report, []synth.Proposal, error)
}

func off(what string) error {
	return catalog.NewError(catalog.Unavailable, what+" is off in this daemon", nil)
}

// editSkill replaces what a skill says; its counts, its state and where it comes from stay.
func (a *api) editSkill(w http.ResponseWriter, r *http.Request) error {
	if a.Keeper == nil {
		return off("editing skills")
	}
	var in newSkill
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	name := r.PathValue("name")
	if in.Name != "" && in.Name != name {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("\"name\" is %q and the path names %q: a name cannot be changed", in.Name, name), nil)
	}
	p, err := a.Skills.Show(r.Context(), name)
	if err != nil {
		return err
	}
	p.WhenToUse, p.ToolsRequired, p.Body = in.WhenToUse, in.ToolsRequired, in.Body
	if p, err = a.Keeper.Save(r.Context(), p); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

func (a *api) whySkill(w http.ResponseWriter, r *http.Request) error {
	if a.Keeper == nil {
		return off("explaining skills")
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	why, err := a.Keeper.Why(r.Context(), r.PathValue("name"), in.Message)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, why)
	return nil
}

// exportSkill answers with the skill as a SKILL.md.
func (a *api) exportSkill(w http.ResponseWriter, r *http.Request) error {
	p, err := a.Skills.Show(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	text, err := skillmd.Write(p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // a client that is gone need not be told
	return nil
}

// importSkill takes in one SKILL.md.
func (a *api) importSkill(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Text    string `json:"skill_md"`
		Replace bool   `json:"replace"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	d, err := skillmd.Parse([]byte(in.Text))
	if err != nil {
		return err
	}
	save := a.Editor.Add
	if old, err := a.Skills.Show(r.Context(), d.Procedure.Name); err == nil && in.Replace {
		if a.Keeper == nil {
			return off("editing skills")
		}
		d.Procedure.Enabled, d.Procedure.Version, d.Procedure.Examples, d.Procedure.NotFor = old.Enabled, old.Version, old.Examples, old.NotFor
		save = a.Keeper.Save
	}
	p, err := save(r.Context(), d.Procedure)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"skill": p, "warnings": present(d.Warnings)})
	return nil
}

// learn makes skills of what was observed.
func (a *api) learn(w http.ResponseWriter, r *http.Request) error {
	if a.Learning == nil {
		return off("learning")
	}
	var in struct {
		DryRun bool `json:"dry_run"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	var report synth.Report
	var done []synth.Proposal
	var err error
	if in.DryRun {
		report, err = a.Learning.Look(r.Context())
	} else {
		report, done, err = a.Learning.Learn(r.Context())
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"report": report, "done": present(done), "dry_run": in.DryRun})
	return nil
}
