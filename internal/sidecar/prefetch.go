package sidecar

import (
	"net/http"

	"toolbelt/catalog"
)

// maxDraftBytes bounds a draft: what is longer is a document, not a message that somebody writes.
const maxDraftBytes = 64 << 10

// prefetch has the engine read ahead what a message that is still being written would bring.
func (a *api) prefetch(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Session string `json:"session"`
		Draft   string `json:"draft"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	switch {
	case in.Session == "":
		return catalog.NewError(catalog.Invalid, "\"session\" is missing: give the id of a conversation (see /toolbelt/v1/sessions)", nil)
	case in.Draft == "":
		return catalog.NewError(catalog.Invalid, "\"draft\" is missing: give what was written so far", nil)
	case len(in.Draft) > maxDraftBytes:
		return catalog.NewError(catalog.Invalid, "\"draft\" is longer than 64 KB", nil)
	case a.Prefetcher == nil:
		return catalog.NewError(catalog.Unavailable, "nothing is read ahead here: selection is off", nil)
	}
	d, err := a.Prefetcher.Prefetch(r.Context(), in.Session, in.Draft)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, struct {
		Added   []string `json:"tools_added"`
		Reading bool     `json:"reading"`
		Why     string   `json:"why,omitempty"`
	}{present(d.Added), d.Reading, d.Why})
	return nil
}
