// Package skills remembers ways of doing a job: procedures, recalled by meaning when a user asks for
// something like it, so that the tools which the job requires are there from the start.
package skills

import (
	"context"
	"crypto/sha256"
	"slices"
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

	ToolSequence []string `json:"tool_sequence,omitempty"` // the calls in their usual order, with repeats; nil where no order is known
	Examples     []string `json:"examples,omitempty"`      // requests that it was learned from, the most central first; recalled by as well
	NotFor       []string `json:"not_for,omitempty"`       // requests of other jobs in about its words: what is nearer to one of them is not recalled
	Origin       Origin   `json:"origin,omitzero"`
	Standing
}

// Kind is how a procedure came to be.
type Kind string

// The kinds. The zero Kind is that of procedures which were kept before kinds were: somebody's own.
const (
	Own      Kind = "own"      // added by hand
	Learned  Kind = "learned"  // from runs
	Imported Kind = "imported" // from a SKILL.md
	Folder   Kind = "folder"   // from the watched folder, which goes on owning it
)

// Origin is where a procedure comes from.
type Origin struct {
	Kind    Kind   `json:"kind,omitempty"`
	Edited  bool   `json:"edited,omitempty"` // a user changed it since: nothing else may
	Path    string `json:"path,omitempty"`   // of the SKILL.md
	License string `json:"license,omitempty"`
	Release string `json:"release,omitempty"` // the version that its author gave it
	Extra   string `json:"extra,omitempty"`   // JSON object: what else its front matter said, kept for export

	Runs       int       `json:"runs,omitempty"`       // that it was learned from
	Succeeded  int       `json:"succeeded,omitempty"`  // of those
	First      time.Time `json:"first,omitzero"`       // of them
	Last       time.Time `json:"last,omitzero"`        // of them
	Supersedes string    `json:"supersedes,omitempty"` // name of the one that it took the place of
	AlsoUsed   []string  `json:"also_used,omitempty"`  // tools that some of its runs called and that are not required, those of most runs first
}

// Standing is how a procedure does.
type Standing struct {
	Unused       int       `json:"unused,omitempty"`        // how often it was recalled and none of its tools was called
	LastUsed     time.Time `json:"last_used_at,omitzero"`   // when a run that it was recalled for last called one of its tools
	SupersededBy string    `json:"superseded_by,omitempty"` // name of the procedure that is recalled in its place
	Note         string    `json:"note,omitempty"`          // why it was disabled, where nobody asked for that
}

// Knows reports whether the procedure has to do with a tool: it requires it, or one of its runs called it.
func (p Procedure) Knows(tool string) bool {
	return slices.Contains(p.ToolsRequired, tool) || slices.Contains(p.ToolSequence, tool) || slices.Contains(p.Origin.AlsoUsed, tool)
}

// Alike is the share of both procedures' required tools that is common, in [0, 1]; 1 where neither requires any.
func (p Procedure) Alike(other Procedure) float64 {
	common := 0
	for _, name := range p.ToolsRequired {
		if slices.Contains(other.ToolsRequired, name) {
			common++
		}
	}
	all := len(p.ToolsRequired) + len(other.ToolsRequired) - common
	if all == 0 {
		return 1
	}
	return float64(common) / float64(all)
}

// Automatic reports whether the procedure may be changed without its user: it was learned, and nobody edited it.
func (p Procedure) Automatic() bool { return p.Origin.Kind == Learned && !p.Origin.Edited }

// Use is what became of a recall.
type Use uint8

// What may become of one.
const (
	Failed    Use = iota // its tools were called, and the run came to nothing
	Succeeded            // its tools were called, and the run did the job
	Unused               // none of its tools was called
	Forgive              // not a use: what was counted is forgotten, so that it begins anew
)

// Removal is a learned procedure that a user removed: it is not learned again.
type Removal struct {
	Name  string
	Tools []string // that it required, sorted
	At    time.Time
}

// Archive keeps what Store leaves behind. A Store that has it keeps every former version of a procedure, and with RemoveProcedure of a
// learned one a Removal.
type Archive interface {
	// Versions returns the former versions of the procedure of this name, the newest first; none is no error.
	Versions(ctx context.Context, name string) ([]Procedure, error)
	// Removals returns them by name.
	Removals(ctx context.Context) ([]Removal, error)
}

// Store keeps procedures. Implemented by internal/sqlite; skillstest holds its conformance test and a fake.
type Store interface {
	// Procedures returns all of them by name, disabled ones included.
	Procedures(ctx context.Context) ([]Procedure, error)
	// SaveProcedure inserts or replaces the procedure of this name and returns it as stored, its Version
	// one above the replaced one's (1 for a new one) and Updated set. A replaced one's counts stay as they
	// are in the store: only CountProcedure changes them. A procedure that Validate refuses is that error. Where p.Version is
	// not 0 and there is one of its name with another Version, somebody changed it meanwhile: nothing is saved, and the error is of kind Conflict.
	SaveProcedure(ctx context.Context, p Procedure) (Procedure, error)
	// RemoveProcedure deletes it; an error of kind NotFound names it where there is none.
	RemoveProcedure(ctx context.Context, name string) error
	// CountProcedure adds one attempt, with a success or not, or one Unused; those that used it set LastUsed to at. NotFound as above.
	CountProcedure(ctx context.Context, name string, use Use, at time.Time) error
}

// Recalled is a procedure that fits the user's message.
type Recalled struct {
	Procedure Procedure
	Score     float64 // cosine, in [-1, 1]; the mean where several models answered
	Height    float64 // over the background, in deviations, weighted by Weight: what Floor is compared with
}

// QueryVectors are the last user message's vectors, one for each embedder that answered.
type QueryVectors map[embed.Model]embed.Vector

// DocumentHash is the key under which embed.Neural stores the vectors of a when_to_use text: the hash of the text.
func DocumentHash(whenToUse string) catalog.Hash { return sha256.Sum256([]byte(whenToUse)) }
