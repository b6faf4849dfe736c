// Package learn learns from use: what a user said before a tool was called is an example of what that tool is for, and which tool follows
// which is a habit. What was learned belongs to one app and to one content of a tool (catalog.Tool.Hash): another app, or a tool whose
// description changed, begins anew.
//
// A Learner is told what was asked and what was called, works in the background, and publishes immutable snapshots; whoever
// recalls waits for nobody.
package learn

import (
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// MaxTextBytes is how much of a request an example keeps: a longer one is not learned, since no later request repeats it.
const MaxTextBytes = 2 << 10

// Ask is what a turn asks for. Nothing in it is changed.
type Ask struct {
	App     string                         // opaque
	Text    string                         // the last user message
	Vectors map[embed.Model][]embed.Vector // of the turn's window: the last message, then previous and last where there is a previous one; more are ignored
	Tools   *catalog.Catalog               // that can be chosen from
	Array   catalog.Hash                   // identifies Tools
	After   []string                       // tools called on the session's last turn that called any; none where there was none
}

// Recalled is what bears on an ask. The slices have a number for each tool of the ask's catalog, by ID; they are the
// caller's, and nil where nothing is known.
type Recalled struct {
	// Near is how far the nearest example stands above what requests in general give it, in deviations, discounted: to raise a tool's rank by. ≥ 0.
	Near []float32
	// Match is how far it stands above what this app's requests for other tools give it, in deviations, discounted: in match units, for the floor. ≥ 0.
	Match []float32
	// Habit is how much more likely the tool is after those called before than at any other time, as a natural logarithm in [0, 3].
	Habit []float32
	// Sure are the tools that followed those called before more often than not.
	Sure []catalog.ID
}

// Example is one request that a tool was called for.
type Example struct {
	App     string
	Tool    string       // name
	Hash    catalog.Hash // of the tool
	Text    string       // the request; identifies the example within its app and tool
	Hits    int          // requests like it that the tool was called for, from 1
	Fails   int          // those of them that came to nothing
	Last    time.Time    // the newest of them
	Vectors map[embed.Model]embed.Vector
}

// Follow is how often a turn that called one tool was followed by a turn that called another.
type Follow struct {
	App   string
	From  string // the tool before; "" for the first turn of a session that calls any
	To    string
	Count int
	Last  time.Time
}

// None is a learner that learns nothing.
type None struct{}

// Recall returns nothing.
func (None) Recall(Ask) Recalled { return Recalled{} }

// Asked does nothing.
func (None) Asked(string, Ask) {}

// Used does nothing.
func (None) Used(string, []string) {}

// Failed does nothing.
func (None) Failed(string, []string) {}
