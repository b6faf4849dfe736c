// Package turn makes the plan for one request: window, embed, select, expand, admit, order, render.
package turn

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/selector"
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

	Session  string
	Turn     int
	Tools    []Tool // visible, in the order sent; all of them in fallback
	Fallback string // why every tool is visible, "" where a list was made
	Embedder string // "builtin", "builtin+all-minilm", …; "" where nothing was embedded
	Repeated bool   // the turn's list was made by an earlier request of the turn: nothing was selected
	QuerySHA string // 12 hex digits of a keyed hash of the last user message, "" without one
	Elapsed  time.Duration
	Changes

	threshold float64
	maxTools  int
	state     session.State
	ask       learn.Ask // what to learn from the outcome; without Tools where nothing was selected
	key       string    // of the turn; "" where nothing is kept
	exists    func(name string) bool
}

// Changes is what a plan did to the list, each by name.
type Changes struct {
	Scores       map[string]float64 // match units, of the tools over the floor and those visible
	Matched      []string           // over the floor, best first
	BundlePulled []string
	Admitted     []string // entered the list on this turn
	Evicted      []string
	Skipped      []string // over the floor, but no slot
	Pinned       []string
	Skill        []string // tools that recalled skills require
	Kept         string   // why the list of the turn before was kept unjudged, "" where it was not
	PrefixKept   int      // estimated tokens of the tools block that an engine which held the previous list can reuse
}

// Order returns the visible names in the order sent.
func (p *Plan) Order() []string {
	names := make([]string, len(p.Tools))
	for i, t := range p.Tools {
		names[i] = t.Name
	}
	return names
}

// Threshold is τ, in match units, and MaxTools the cap that the plan was made with.
func (p *Plan) Threshold() float64 { return p.threshold }

// MaxTools is the cap that the plan was made with.
func (p *Plan) MaxTools() int { return p.maxTools }

// Snapshot is a tools array made ready to choose from. Immutable.
type Snapshot struct {
	Index   *selector.Index
	Bundles *bundles.Set
}

// Catalog is what the snapshot is of.
func (s *Snapshot) Catalog() *catalog.Catalog { return s.Index.Catalog() }

// Policy is the settings of a Planner.
type Policy struct {
	Off          string   // why every tool is always visible ("mode off", …); "" where tools are chosen
	Shadow       bool     // plans are made and logged, and every request goes on byte for byte
	Core         []string // always visible, in this order; none: the app's own most used
	MaxTools     int
	Overflow     int           // how many tools are appended past MaxTools before any is evicted
	Strict       bool          // the list is never longer than MaxTools: pins and hatches count, for comparing lists of equal size
	Threshold    float64       // τ, match units
	Words        float64       // or this share of the request's word weight, (0, 1]
	Newcomer     float64       // share of the turn's best score that a match must reach to enter a list that exists, [0, 1]
	Delta        float64       // hysteresis, match units
	MateDiscount float64       // what a bundle mate scores less than the match that brings it, match units
	SmallTokens  int           // an array of at most MaxTools tools and this many estimated tokens goes as it is: hiding saves nothing there
	Budget       time.Duration // for what a plan waits for, which is the engine's embedder alone; 0 for no bound here
}

// DefaultPolicy is what a user gets who configures nothing.
func DefaultPolicy() Policy {
	return Policy{MaxTools: 14, Overflow: 4, Threshold: 2, Words: 0.6, Newcomer: 0.5, Delta: 0.5, MateDiscount: 2, SmallTokens: 800, Budget: 150 * time.Millisecond}
}

// name tells policies apart that choose differently.
func (p Policy) name() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v %d %d %v %v %v %v %v %d", p.Off, p.Core, p.Shadow, p.MaxTools, p.Overflow, p.Threshold, p.Words, p.Newcomer, p.Delta, p.MateDiscount, p.SmallTokens)
	return strconv.FormatUint(h.Sum64(), 16)
}

// small reports whether the catalog goes as it is.
func (p Policy) small(c *catalog.Catalog) bool {
	return c.Len() <= p.MaxTools && c.EstimatedTokens() <= p.SmallTokens
}
