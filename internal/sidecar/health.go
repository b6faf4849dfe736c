package sidecar

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"

	"toolbelt/embed"
)

// Status is how the daemon does.
type Status struct {
	Ready    bool          `json:"ready"`    // requests are planned as they should be
	Reasons  []string      `json:"reasons"`  // why it is not, or what else a person should know; a sentence each
	Version  string        `json:"version"`  //
	Upstream string        `json:"upstream"` // the engine's address
	Mode     string        `json:"mode"`     // "on", "shadow" or "off"
	Embedder embed.Status  `json:"embedder"` // the engine's; the builtin one is always there
	Chats    Chats         `json:"chats"`
	Measured []Calibration `json:"calibrations"` // what unrelated requests come to, for the catalogs seen lately
}

// Calibration is embed.Measured in JSON.
type Calibration struct {
	Model     string  `json:"model"`
	Digest    string  `json:"digest"`
	Catalog   string  `json:"catalog"` // hash
	Tools     int     `json:"tools"`
	Requests  int     `json:"requests"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	Floor     float64 `json:"floor"`
}

// Calibrations puts what was measured in JSON's words.
func Calibrations(list []embed.Measured) []Calibration {
	out := make([]Calibration, len(list))
	for i, m := range list {
		out[i] = Calibration{m.Model.Name, m.Model.Digest, m.Catalog.String(), m.Tools, m.Requests, finite(m.Mean), finite(m.Deviation), finite(m.Floor)}
	}
	return out
}

// Chats counts the chat requests since the start.
type Chats struct {
	All          int64 `json:"all"`
	Edited       int64 `json:"edited"`
	WithoutTools int64 `json:"without_tools"`
}

// healthz says that the daemon runs, and nothing else: it is open to all.
func (a *api) healthz(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// readyz answers 200 where the daemon is ready, else 503, and says how it does.
func (a *api) readyz(w http.ResponseWriter, _ *http.Request) error {
	s := a.Status()
	s.Reasons, s.Measured = present(s.Reasons), present(s.Measured)
	status := http.StatusOK
	if !s.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, s)
	return nil
}

// home is for a person who opens the address in a browser.
func (a *api) home(w http.ResponseWriter, _ *http.Request) error {
	s := a.Status()
	var b strings.Builder
	fmt.Fprintf(&b, "toolbelt %s runs in front of %s, mode %s.\n", s.Version, s.Upstream, s.Mode)
	fmt.Fprintf(&b, "Chats: %d, with fewer tools: %d, without tools: %d.\n", s.Chats.All, s.Chats.Edited, s.Chats.WithoutTools)
	for _, reason := range s.Reasons {
		fmt.Fprintln(&b, reason)
	}
	fmt.Fprint(&b, "\nState: /toolbelt/readyz\nSessions: /toolbelt/v1/sessions\nAPI: /toolbelt/v1/openapi.json\n")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, b.String())
	return nil
}

//go:embed openapi.json
var openAPIDocument []byte

func (a *api) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPIDocument)
	return nil
}
