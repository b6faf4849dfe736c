package sidecar

import (
	"context"
	"io"
	"net/http"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills/runs"
)

// Memory is what was learned, to count, to take away and to erase. Implemented by *sqlite.DB.
type Memory interface {
	MemoryStats(ctx context.Context) (runs.Stats, error)
	// ExportMemory writes JSON lines, as of one moment.
	ExportMemory(ctx context.Context, w io.Writer) error
	// EraseMemory removes what f chooses, of everything where f is zero.
	EraseMemory(ctx context.Context, f runs.Filter) (runs.Erased, error)
}

func (a *api) memoryStats(w http.ResponseWriter, r *http.Request) error {
	if a.Memory == nil {
		return off("memory")
	}
	stats, err := a.Memory.MemoryStats(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, stats)
	return nil
}

// exportMemory streams; where it fails after the first byte, the connection is cut, so that nobody takes a part for all.
func (a *api) exportMemory(w http.ResponseWriter, r *http.Request) error {
	if a.Memory == nil {
		return off("memory")
	}
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	out := &began{Writer: w}
	err := a.Memory.ExportMemory(r.Context(), out)
	if err == nil {
		return nil
	}
	if !out.any {
		return err
	}
	a.Log.Error("an export was cut off", "why", err.Error())
	panic(http.ErrAbortHandler)
}

// began knows whether anything was written.
type began struct {
	io.Writer
	any bool
}

func (b *began) Write(p []byte) (int, error) {
	b.any = true
	return b.Writer.Write(p)
}

type eraseRequest struct {
	All     bool      `json:"all"`
	Tool    string    `json:"tool"`
	Session string    `json:"session"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

func (a *api) eraseMemory(w http.ResponseWriter, r *http.Request) error {
	if a.Memory == nil {
		return off("memory")
	}
	var in eraseRequest
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	f := runs.Filter{Tool: in.Tool, Session: in.Session, From: in.Since, Until: in.Until}
	if in.All == (f != runs.Filter{}) {
		return catalog.NewError(catalog.Invalid, "say \"all\": true, or one or more of \"tool\", \"session\", \"since\" and \"until\": what is to be erased?", nil)
	}
	erased, err := a.Memory.EraseMemory(r.Context(), f)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, erased)
	return nil
}
