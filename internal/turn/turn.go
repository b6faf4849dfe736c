// Package turn makes the plan for one request: window, embed, select, expand, admit, order, render.
package turn

import (
	"time"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
)

// Request is one chat request to plan for.
type Request struct {
	Body     []byte        // the client's bytes; not kept and not changed
	Chat     *chat.Request // what chat.Decode read from Body
	Identity session.Identity
	Skills   []string // tools required by a skill that the caller names (sidecar); usually nil
}

// Tool is one tool of a plan.
type Tool struct {
	Name   string         `json:"name"`
	Reason session.Reason `json:"reason"`
	Score  float64        `json:"score"` // match units; 0 where nothing was scored
}

// Plan is what was decided for one request.
type Plan struct {
	Body []byte // to send upstream: the request's own bytes (same slice) where nothing changes

	Session string
	Turn    int
	Tools   []Tool   // visible, in the order sent; all of them in fallback
	Order   []string // names in the order sent

	Scores       map[string]float64 // match units, of the tools over the floor and those visible
	Matched      []string           // over the floor, best first
	BundlePulled []string
	Admitted     []string // entered the list on this turn
	Evicted      []string
	Skipped      []string // over the floor, but no slot
	Pinned       []string
	Skill        []string
	Fallback     string // why every tool is visible, "" where a list was made
	Embedder     string // "builtin", "builtin+all-minilm", …
	Threshold    float64
	MaxTools     int
	PrefixKept   int // estimated tokens of the tools block that the engine can reuse
	QuerySHA     string
	Repeated     bool // the turn's list was made by an earlier request of the turn: nothing was selected

	Elapsed time.Duration

	commit func() // see Planner.Commit
	key    string // of the turn, for Observe
}
