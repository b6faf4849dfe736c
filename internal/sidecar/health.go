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
	Prewarm  Prewarm       `json:"prewarm"`
	Models   []Model       `json:"models"`       // what the engine is believed to hold, by model
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
	Generic   int     `json:"generic_requests"` // about the catalog's own subjects
	Ceiling   float64 `json:"ceiling"`
}

// Calibrations puts what was measured in JSON's words.
func Calibrations(list []embed.Measured) []Calibration {
	out := make([]Calibration, len(list))
	for i, m := range list {
		out[i] = Calibration{m.Model.Name, m.Model.Digest, m.Catalog.String(), m.Tools, m.Requests, finite(m.Mean), finite(m.Deviation), finite(m.Floor), m.Generic, finite(m.Ceiling)}
	}
	return out
}

// Prewarm counts the requests that had the engine read ahead.
type Prewarm struct {
	On      bool `json:"on"`
	Done    int  `json:"done"`
	Dropped int  `json:"dropped"` // ended because a client's request began
	Failed  int  `json:"failed"`
	Skipped int  `json:"skipped"` // the model was not loaded, or the same state was read already
	TookMS  int  `json:"took_ms"`
}

// Model is what is known of a model and of what the engine holds for it.
type Model struct {
	Model    string `json:"model"`
	Tools    string `json:"tools"`    // where its template puts them
	Strategy string `json:"strategy"` // how a new tool reaches it
	Context  int    `json:"context"`  // tokens, 0 unknown
	Session  string `json:"session"`  // whose prompt is held
	Tokens   int    `json:"tokens"`   // of it, 0 unknown
	Lost     string `json:"lost,omitempty"`
}

// Chats counts the chat requests since the start.
type Chats struct {
	All          int64 `json:"all"`
	Edited       int64 `json:"edited"`
	WithoutTools int64 `json:"without_tools"`
	Overflowing  int64 `json:"overflowing"`   // prompts that were expected not to fit the context
	Truncated    int64 `json:"truncated"`     // prompts that the engine was found to have cut
	HiddenRounds int64 `json:"hidden_rounds"` // times that the engine was asked again within an answer
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
	s.Models = present(s.Models)
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
