package session

import (
	"slices"

	"toolbelt/catalog"
)

// What is put into a conversation's requests and is not the app's: it must stand in the same place in every later request, or the
// engine's prefix is lost from there on.

// Anchor is a message of the app's that something of ours stands at.
type Anchor struct {
	Message int          `json:"message"`         // its index when it was noted; the hash decides where the app has shifted its messages
	Hash    catalog.Hash `json:"hash"`            // chat.Message.Hash
	Before  catalog.Hash `json:"before,omitzero"` // that of the message before it, zero for the first one: where messages have shifted, words that are said again and again are told apart by it
}

// Bridged is a tool that the model called through a bridge though nothing had told of it.
type Bridged struct {
	Name   string `json:"name"`
	Anchor Anchor `json:"anchor"` // the message that the first such call stands behind
}

// Own is a tool of ours in the array, as it was made when the session's list was.
type Own struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      string `json:"schema"`          // JSON
	After       string `json:"after,omitempty"` // the tool that it stands behind, "" where it is the first
}

// Note is text of ours at the end of a user or tool message: it tells the model of tools that the array does not hold, or, without Tools, what a skill
// says; the latter is kept in memory alone.
type Note struct {
	Anchor
	Text  string   `json:"text"`
	Tools []string `json:"tools"` // those that it brings
}

// Hidden is a turn that the app never saw: the model called tools of ours, and we answered. It stands after its anchor.
type Hidden struct {
	Anchor
	Said  string // by the model before the calls; the app has it at the beginning of the next message
	Calls []HiddenCall
	Tools []string // that the answers brought and the array lacks
	Break bool     // in the app's answer chat.Break stands behind what was said until then
}

// HiddenCall is one call of a tool of ours.
type HiddenCall struct {
	ID        string
	Name      string
	Arguments string // JSON object
	Result    string
}

// Announced reports whether each tool of the list that is not in the array is told of somewhere.
func (s State) Announced() bool {
	told := map[string]bool{}
	for _, n := range s.Notes {
		for _, name := range n.Tools {
			told[name] = true
		}
	}
	for _, h := range s.Hidden {
		for _, name := range h.Tools {
			told[name] = true
		}
	}
	return !slices.ContainsFunc(s.List, func(v Visible) bool { return v.Late && !told[v.Name] })
}

// HasOwn reports whether the array holds a tool of ours of this name.
func (s State) HasOwn(name string) bool {
	return slices.ContainsFunc(s.Own, func(o Own) bool { return o.Name == name })
}

// Place returns a name's index in the list, -1 where it is not there.
func (s State) Place(name string) int {
	return slices.IndexFunc(s.List, func(v Visible) bool { return v.Name == name })
}

// Lists reports whether the list has a name.
func (s State) Lists(name string) bool { return s.Place(name) >= 0 }

// Array returns the names of the list that the tools array holds, in the order sent: those that a note brought are left out. The slice is the caller's.
func (s State) Array() []string {
	names := make([]string, 0, len(s.List))
	for _, v := range s.List {
		if !v.Late {
			names = append(names, v.Name)
		}
	}
	return names
}

// Joined returns s with a break of ours behind the words of its newest hidden turn.
func (s State) Joined() State {
	if n := len(s.Hidden); n > 0 {
		s.Hidden = slices.Clone(s.Hidden)
		s.Hidden[n-1].Break = true
	}
	return s
}

// Plainly returns s without anything of ours in its requests, from now on.
func (s State) Plainly() State {
	s = s.Forget()
	s.Own, s.Plain = nil, true
	return s
}

// Forget returns s without what stands in its requests that is ours, notes included: the tools that those brought are in the array from now on.
func (s State) Forget() State {
	s.Notes, s.Hidden = nil, nil
	s.List = slices.Clone(s.List)
	for i := range s.List {
		s.List[i].Late = false
	}
	return s
}
