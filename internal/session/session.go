// Package session knows which conversation a request belongs to and what that conversation sees: its
// visible list, in order, with each tool's uses. State is an immutable value a turn; the conversation is a tree of turns, so
// that an edited or branched conversation goes on from the last turn that it shares.
package session

import (
	"context"
	"time"

	"toolbelt/catalog"
)

// Reason is why a tool is visible.
type Reason string

// The reasons, in the order of the tiers of admission.
const (
	Pin      Reason = "pin"
	Core     Reason = "core"
	Skill    Reason = "skill"
	Semantic Reason = "semantic"
	Bundle   Reason = "bundle"
	Seed     Reason = "seed"
	Kept     Reason = "kept"
	Hatch    Reason = "hatch" // called while hidden
)

// Visible is one place of the visible list.
type Visible struct {
	Name     string `json:"name"` // or the key of an element that is not ours to choose (chat.Element)
	Reason   Reason `json:"reason"`
	Admitted int    `json:"admitted"`          // turn of entry, from 1
	Matched  int    `json:"matched,omitempty"` // last turn on which it was over the floor, 0 never
	Used     int    `json:"used,omitempty"`    // last turn on which it was called, 0 never
	Late     bool   `json:"late,omitempty"`    // a note brought it: it is not in the tools array
}

// Answer is an answer that a later request may name in place of its history.
type Answer struct {
	Root string `json:"root"`           // of the app and model, opaque
	ID   string `json:"id"`             // that the client has of it, Short
	Last string `json:"last,omitempty"` // that the engine keeps it under; "": the same
	Owed []Owed `json:"owed,omitempty"`
}

// Owed is the result of a call of one of our tools that stood beside calls of the app's: the engine has kept the call, and gets the result with theirs.
type Owed struct {
	ID     string `json:"id"` // of the call
	Name   string `json:"name"`
	Result string `json:"result"`
}

// maxAnswers is how many answers of one turn are kept: a turn with calls has one to each request.
const maxAnswers = 8

// State is what one conversation sees after one turn. It is never changed once committed; the zero
// State is a conversation that has no list yet.
type State struct {
	Session  string       `json:"session"`            // opaque id
	App      string       `json:"app"`                // opaque id of the app (family, credential, User-Agent product)
	Parent   string       `json:"parent,omitempty"`   // names the turn before
	Reply    string       `json:"reply,omitempty"`    // chat.Signature of what the model answered first on this turn; "" while unknown
	Turn     int          `json:"turn"`               // from 1
	List     []Visible    `json:"list"`               // in the order sent; empty where the turn was a fallback
	Core     []string     `json:"core"`               // the CORE of this session, fixed at its first turn
	Bridged  []Bridged    `json:"bridges,omitempty"`  // tools called through a bridge before anything had told of them
	Called   []string     `json:"called,omitempty"`   // hidden tools called since the list was made: visible from the next request on
	Embedder string       `json:"embedder"`           // which embedders scored the list; match scores of different ones are not compared
	Catalog  catalog.Hash `json:"-"`                  // of the tools array that the list was made from, comparable within one process only; zero where an earlier one made it
	Body     catalog.Hash `json:"-"`                  // of the request that began the turn
	Serial   uint64       `json:"-"`                  // of the request whose plan made it, rising within one process
	Policy   string       `json:"policy,omitempty"`   // names the settings that the list was made under
	Fallback string       `json:"fallback,omitempty"` // why everything was visible, "" where a list was made

	Strategy string   `json:"strategy,omitempty"` // how newly needed tools reach the model (kvcache.Strategy); fixed while the engine holds the list
	Own      []Own    `json:"own,omitempty"`      // tools of ours in the array, behind CORE
	Notes    []Note   `json:"notes,omitempty"`    // in the order made
	Hidden   []Hidden `json:"-"`                  // likewise; kept in memory alone, since they hold the model's words
	Plain    bool     `json:"plain,omitempty"`    // the engine has refused a request for what was ours in it: nothing is put into this conversation's any more

	// Answers are those of this turn that later requests may name, the newest last, at most maxAnswers.
	Answers []Answer `json:"answers,omitempty"`

	Escapes int `json:"escapes"` // hidden tools called, in the whole conversation
	Loads   int `json:"loads"`   // load_tools calls, likewise
}

// HasList reports whether a list was ever made for this conversation.
func (s State) HasList() bool { return len(s.List) > 0 }

// Names returns the names of the list, in the order sent. The slice is the caller's.
func (s State) Names() []string {
	names := make([]string, len(s.List))
	for i, v := range s.List {
		names[i] = v.Name
	}
	return names
}

// Identity is what a request tells of the conversation that it belongs to.
type Identity struct {
	Family     string         // API family: "ollama", "openai"
	Model      string         //
	Credential string         // opaque hash of the client's Authorization, "" without one
	Agent      string         // product of the User-Agent
	Explicit   string         // X-Toolbelt-Session, or ""
	Previous   string         // id of the answer that the request goes on from, "" where it brings its whole history
	Chain      []catalog.Hash // of each user message's normalised text, in order
	Replies    []string       // chat.Signature of the model's first answer to each user message, "" where there is none; may be shorter than Chain
	Continues  bool           // the request goes on with the turn of the last user message
	Body       catalog.Hash   // of the request's bytes
}

// Record is one turn as it is stored.
type Record struct {
	Key     string // of the turn in its tree, opaque
	State   State
	Updated time.Time
}

// Store keeps sessions over restarts. Implemented by internal/sqlite. Methods may block on a disk; the Manager
// calls them from a goroutine of its own, never while a request waits.
type Store interface {
	// Records returns the newest records, at most limit, oldest first.
	Records(ctx context.Context, limit int) ([]Record, error)
	// SaveRecord inserts or replaces the record of r.Key.
	SaveRecord(ctx context.Context, r Record) error
	// AddUses counts calls of tools by an app's session.
	AddUses(ctx context.Context, app, session string, tools []string, at time.Time) error
	// Uses returns, for an app, in how many sessions each tool was used and how often, most sessions first. The apps' own session count comes with it.
	Uses(ctx context.Context, app string) (AppUses, error)
	// Prune deletes records and use rows last touched before the time, and returns how many.
	Prune(ctx context.Context, before time.Time) (int, error)
}

// AppUses is what an app has used so far.
type AppUses struct {
	Sessions int // distinct sessions of the app that were ever recorded, with or without a use
	Tools    []ToolUses
}

// ToolUses is how one tool was used.
type ToolUses struct {
	Name     string
	Sessions int // distinct sessions that called it
	Calls    int
}
