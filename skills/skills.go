// Package skills remembers ways of doing a job: procedures, recalled by meaning when a user asks for
// something like it, so that the tools which the job requires are there from the start.
package skills

import (
	"context"
	"crypto/sha256"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Procedure is one remembered way to do a job. Validate says what its fields may hold.
type Procedure struct {
	Name          string    `json:"name"`        // unique, 1 to 64 of a-z 0-9 -
	WhenToUse     string    `json:"when_to_use"` // what is matched against the user's message, ≤ 1,024 characters
	ToolsRequired []string  `json:"tools_required"`
	Body          string    `json:"body,omitempty"` // the steps, Markdown, ≤ 64 KB
	Successes     int       `json:"successes"`
	Attempts      int       `json:"attempts"`
	Enabled       bool      `json:"enabled"`
	Version       int       `json:"version"` // from 1, one higher at each change
	Updated       time.Time `json:"updated"` // of the last change; counting is none
}

// Store keeps procedures. Implemented by internal/sqlite; skillstest holds its conformance test and a fake.
type Store interface {
	// Procedures returns all of them by name, disabled ones included.
	Procedures(ctx context.Context) ([]Procedure, error)
	// SaveProcedure inserts or replaces the procedure of this name and returns it as stored, its Version
	// one above the replaced one's (1 for a new one) and Updated set. A replaced one's counts stay as they
	// are in the store: only CountProcedure changes them. A procedure that Validate refuses is that error.
	SaveProcedure(ctx context.Context, p Procedure) (Procedure, error)
	// RemoveProcedure deletes it; an error of kind NotFound names it where there is none.
	RemoveProcedure(ctx context.Context, name string) error
	// CountProcedure adds one attempt, and one success where success is true. NotFound as above.
	CountProcedure(ctx context.Context, name string, success bool) error
}

// Recalled is a procedure that fits the user's message.
type Recalled struct {
	Procedure Procedure
	Score     float64 // cosine, in [-1, 1]; the mean where several models answered
}

// QueryVectors are the last user message's vectors, one for each embedder that answered.
type QueryVectors map[embed.Model]embed.Vector

// DocumentHash is the key under which embed.Neural stores the vectors of a when_to_use text: the hash of the text.
func DocumentHash(whenToUse string) catalog.Hash { return sha256.Sum256([]byte(whenToUse)) }
