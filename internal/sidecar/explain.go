package sidecar

import (
	"net/http"

	"toolbelt/catalog"
)

// explainRequest is a selection and the tool that is asked about.
type explainRequest struct {
	selectRequest
	Tool string `json:"tool"`
}

// explain answers why a tool is visible or hidden in the selection that the same request would get. Nothing is kept: neither a
// list nor the tools.
func (a *api) explain(w http.ResponseWriter, r *http.Request) error {
	var in explainRequest
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	if in.Tool == "" {
		return catalog.NewError(catalog.Invalid, "\"tool\" is missing: name the tool to explain", nil)
	}
	request, _, err := a.planned(in.selectRequest, r.UserAgent())
	if err != nil {
		return err
	}
	explanation, err := a.Explainer.Explain(r.Context(), request, in.Tool)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, explanation)
	return nil
}
