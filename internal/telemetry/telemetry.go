// Package telemetry counts what selection does on a user's own traffic: a bounded store of turns for "toolbelt report", and counters for
// /toolbelt/metrics. It is told by the planner, waits for nobody, and keeps nothing that a user or a model said: numbers, the ids of sessions and
// apps, names of models, and names of tools called, those only where learning from use is on.
package telemetry

import (
	"context"
	"time"

	"toolbelt/internal/turn"
)

// Modes of a turn.
const (
	On     = "on"     // the engine got the visible tools
	Shadow = "shadow" // the engine got all of them; what would have been visible was only noted
)

// Bounds of what one turn keeps.
const (
	MaxNameBytes = 256 // of a name; a longer one is cut
	maxNames     = 64  // different tools called
)

// Account is what a plan comes to.
type Account = turn.Account

// Reading is what the engine read for some answers, as far as it says.
type Reading struct {
	Answers         int
	PromptTokens    int // the whole prompts
	EvaluatedTokens int // of them, what was not reused: as the engine said, as follows from its time, or as was expected; 0 where nothing is known
	PromptDuration  time.Duration
}

func (r Reading) plus(o Reading) Reading {
	return Reading{r.Answers + o.Answers, r.PromptTokens + o.PromptTokens, r.EvaluatedTokens + o.EvaluatedTokens, r.PromptDuration + o.PromptDuration}
}

// Hidden is what the engine did within answers that the client saw nothing of.
type Hidden struct {
	Rounds  int     // times that it was asked again within an answer; -1 where an earlier version kept the turn, which did not count them
	Guesses int     // of them, those that showed hidden tools since it had dropped a call; the others answered calls of load_tools and tool_search
	Read    Reading // of those times; Answers: of which it is known how much was evaluated

	Generated         int           // tokens before it was asked again
	GeneratedDuration time.Duration // for these, as far as it says
}

// Use is what the answers of a turn called. Each tool counts once a turn, as it was when it was first called.
type Use struct {
	Calls   int // different tools called
	Misses  int // of them, hidden when they were called: an escape in mode on, a would-be miss in shadow
	Written int // of those, called in writing, which the engine took for text: it ran nothing
	Asked   int // of them, visible only since the model had asked for them in this turn
	Loads   int // calls of load_tools and tool_search

	Names  []string // the tools called, in order; nil where names are not kept
	Missed []string // likewise
	Sought []string // those asked for, likewise
}

// Turn is one turn.
type Turn struct {
	Session string // opaque id
	Number  int    // from 1
	At      time.Time
	Mode    string // On or Shadow
	Account
	Visible   int    // tools in the plan
	Fallback  string // why all of them were visible, in a few words without details; "" where a list was made
	Truncated bool   // the engine read only a part of a prompt
	First     Reading
	Rest      Reading // of the turn's answers after the first
	Hidden    Hidden  // beside those: First and Rest are of the first time that the engine was asked for each answer
	Use       Use
}

// Filter chooses turns.
type Filter struct {
	From, Until time.Time // Until is left out; zero: no bound
	App         string    // "": all
}

// Store keeps turns over restarts. Implemented by internal/sqlite. Methods may block on a disk.
type Store interface {
	// SaveTurns inserts or replaces turns, each known by its session and number; all of them or none.
	SaveTurns(ctx context.Context, turns []Turn) error
	// Turns returns those that the filter chooses, oldest first.
	Turns(ctx context.Context, f Filter) ([]Turn, error)
	// PruneTurns deletes what happened before or after these times, and of the rest all but the keep that were saved last. It returns how many.
	PruneTurns(ctx context.Context, before, after time.Time, keep int) (int, error)
}
