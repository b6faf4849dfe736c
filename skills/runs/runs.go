// Package runs observes how jobs are done: a run is what a user asked for and the tools that were called for it, in order, until the user
// asks for something else. Of a call's arguments the names are kept, and the values only where that was switched on.
//
// A Recorder is told of turns by their keys, works in the background and writes behind; whoever tells it waits for nobody.
package runs

import (
	"context"
	"time"
)

// The bounds of a run: what is past them is not kept.
const (
	MaxGoalBytes     = 2 << 10 // of a goal; a longer one is cut at its end
	MaxCalls         = 64
	MaxArgumentNames = 32
	MaxNameBytes     = 256 // of a tool or an argument
	MaxValuesBytes   = 2 << 10
)

// Call is one call of a tool.
type Call struct {
	Name      string   `json:"name"`
	Arguments []string `json:"arguments,omitempty"` // names, in the order given
	Values    string   `json:"values,omitempty"`    // the arguments as the model wrote them; "" unless they are kept
}

// Outcome is what became of a run.
type Outcome string

// The outcomes. Open is a run that goes on, or whose end nobody saw.
const (
	Open      Outcome = "open"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
)

// Run is one observation.
type Run struct {
	Key     string    `json:"key"` // of the turn that began it, opaque and unique
	App     string    `json:"app"` // opaque
	Session string    `json:"session"`
	Goal    string    `json:"goal"` // the user's request that began it
	Calls   []Call    `json:"calls"`
	Outcome Outcome   `json:"outcome"`
	Why     string    `json:"why,omitempty"`    // in a few fixed words, never the user's
	Skills  []string  `json:"skills,omitempty"` // recalled for it
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero while it is open
}

// Names are the tools called, in order, with repeats.
func (r Run) Names() []string {
	names := make([]string, len(r.Calls))
	for i, c := range r.Calls {
		names[i] = c.Name
	}
	return names
}

// Filter chooses runs; each field that is not zero narrows the choice.
type Filter struct {
	Session string
	Tool    string    // that was called
	From    time.Time // started then or later
	Until   time.Time // started before
	Steps   int       // at least so many calls
	Newest  int       // no more than so many, the newest
}

// Store keeps runs over restarts. Implemented by internal/sqlite; several processes may share one.
type Store interface {
	// SaveRun inserts the run or replaces the one of its key. Where something was erased since erasures, nothing is saved and the error is of
	// kind Conflict: what was erased must not come back.
	SaveRun(ctx context.Context, erasures int, r Run) error
	// Runs returns the runs that f chooses, by Started, then Key.
	Runs(ctx context.Context, f Filter) ([]Run, error)
	// PruneRuns deletes runs started before the time, and all but the newest keep, and returns how many.
	PruneRuns(ctx context.Context, before time.Time, keep int) (int, error)
	// Erasures is how often something was erased.
	Erasures(ctx context.Context) (int, error)
}

// Erased counts what an erasure removed.
type Erased struct {
	Runs     int `json:"runs"`
	Examples int `json:"examples"`
	Habits   int `json:"habits"`
	Skills   int `json:"skills"` // learned ones, which nobody had edited
	Kept     int `json:"kept"`   // learned ones that a user had edited: of those only what users had said is gone
}

// Stats counts what is kept.
type Stats struct {
	Runs      int `json:"runs"`
	Open      int `json:"open"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Skills    int `json:"skills"`
	Learned   int `json:"learned_skills"`
	Versions  int `json:"former_versions"`
}

// Began says how a turn began.
type Began struct {
	App     string
	Session string
	Goal    string   // the last user message
	Skills  []string // recalled for it, by name
}

// None observes nothing.
type None struct{}

// Began does nothing.
func (None) Began(string, Began) {}

// Called does nothing.
func (None) Called(string, []Call) {}

// Failed does nothing.
func (None) Failed(string, []string) {}

// Ended does nothing.
func (None) Ended(string, bool, string) {}
