// Package turn makes the plan for one request: window, embed, select, expand, admit, order, render.
package turn

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/hatch"
	"toolbelt/internal/learn"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
	"toolbelt/selector"
)

// Request is one chat request to plan for.
type Request struct {
	Body     []byte        // the client's bytes; not kept and not changed
	Chat     *chat.Request // what chat.Decode read from Body
	Identity session.Identity
	Skills   []string // tools required by a skill that the caller names (sidecar); usually nil
	Answers  bool     // the caller can answer calls of our own tools (Again), so that they may stand in the array
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
	Tools    []Tool   // visible, in the order sent; all of them in fallback
	Fallback string   // why every tool is visible, "" where a list was made
	Embedder string   // "builtin", "builtin+all-minilm", …; "" where nothing was embedded
	Own      []string // tools of ours in the array, which the app has not sent
	Repeated bool     // the turn's list was made by an earlier request of the turn: nothing was selected
	QuerySHA string   // 12 hex digits of a keyed hash of the last user message, "" without one
	Elapsed  time.Duration
	Changes

	Expected kvcache.Expected // what the request is expected to cost the engine

	made
	course
}

// made is what a plan was made with and from.
type made struct {
	threshold float64
	maxTools  int
	draft     *draft
	state     session.State
	prompt    kvcache.Prompt
	ask       learn.Ask // what to learn from the outcome; without Tools where nothing was selected
	key       string    // of the turn; "" where nothing is kept
	shadow    bool      // the request goes on byte for byte
}

// course is what became of a plan within its answer.
type course struct {
	loads   []string // what the model asked for in the round that the plan answers
	guessed bool     // hidden tools were shown since a call was dropped
	later   bool     // it is of a round after an answer's first
	reply   string   // what the answer said, where that was words alone; "" before it ended
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

// Speaks reports whether messages of ours, or words in the app's, are in the plan's body.
func (p *Plan) Speaks() bool { return len(p.state.Hidden)+len(p.state.Notes) > 0 }

// Filter is what the answer to the plan's request passes through: calls of our own tools do not reach the client.
func (p *Plan) Filter() chat.FilterConfig {
	held := map[string]bool{}
	cfg := chat.FilterConfig{
		Held: func(name string) bool { return held[name] },
		Prefix: func(begun string) bool {
			return slices.ContainsFunc(p.Own, func(own string) bool { return strings.HasPrefix(own, begun) })
		},
	}
	for _, name := range p.Own {
		if name == hatch.CallTool {
			cfg.Bridge = name
		} else {
			held[name] = true
		}
	}
	if d := p.draft; d != nil {
		cfg.Tools = d.request.Body[d.request.Chat.ToolsStart:d.request.Chat.ToolsEnd]
	}
	return cfg
}

// Snapshot is a tools array made ready to choose from. Immutable.
type Snapshot struct {
	Index   *selector.Index
	Bundles *bundles.Set

	loader atomic.Pointer[hatch.Loader]
}

// Loader finds what the model asks for by name or by words.
func (s *Snapshot) Loader() *hatch.Loader {
	if l := s.loader.Load(); l != nil {
		return l
	}
	l := hatch.NewLoader(s.Catalog(), s.Bundles.List(s.Catalog()))
	s.loader.Store(l)
	return l
}

// Catalog is what the snapshot is of.
func (s *Snapshot) Catalog() *catalog.Catalog { return s.Index.Catalog() }

// Policy is the settings of a Planner.
type Policy struct {
	Off          string   // why every tool is always visible ("mode off", …); "" where tools are chosen
	Shadow       bool     // plans are made and logged, and every request goes on byte for byte
	Core         []string // always visible, in this order; none: the app's own most used
	MaxTools     int
	Overflow     int              // how many tools are appended past MaxTools before any is evicted
	Strict       bool             // the list is never longer than MaxTools: pins and hatches count, for comparing lists of equal size
	Threshold    float64          // τ, match units
	Words        float64          // or this share of the request's word weight, (0, 1]
	Newcomer     float64          // share of the turn's best score that a match must reach to enter a list that exists, where it is below 2.5 τ, [0, 1]
	Delta        float64          // hysteresis, match units or rank
	MateDiscount float64          // what a bundle mate scores less than the match that brings it, match units
	SmallTokens  int              // an array of at most MaxTools tools and this many estimated tokens goes as it is: hiding saves nothing there
	LoadTools    bool             // offer the model load_tools
	ToolSearch   int              // and tool_search, where the catalog has more tools than this; 0: never
	SkillBody    bool             // tell the model what recalled skills say, at the end of the user's message
	Strategy     kvcache.Strategy // "": what is best for the model, as far as that was measured
	Budget       time.Duration    // for what a plan waits for, which is the engine's embedder alone; 0 for no bound here
}

// DefaultPolicy is what a user gets who configures nothing.
func DefaultPolicy() Policy {
	return Policy{MaxTools: 14, Overflow: 4, Threshold: 2.1, Words: 0.6, Newcomer: 0.5, Delta: 0.15, MateDiscount: 2, SmallTokens: 800, LoadTools: true, ToolSearch: 100, Budget: 150 * time.Millisecond}
}

// name tells policies apart that choose differently.
func (p Policy) name() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %v %d %d %v %v %v %v %v %d", p.Off, p.Core, p.Shadow, p.MaxTools, p.Overflow, p.Threshold, p.Words, p.Newcomer, p.Delta, p.MateDiscount, p.SmallTokens)
	fmt.Fprintf(h, " %v %d %q", p.LoadTools, p.ToolSearch, p.Strategy)
	if p.SkillBody {
		fmt.Fprint(h, " body")
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// small reports whether the catalog goes as it is.
func (p Policy) small(c *catalog.Catalog) bool {
	return c.Len() <= p.MaxTools && c.EstimatedTokens() <= p.SmallTokens
}
