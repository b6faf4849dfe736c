// Package config reads toolbelt's settings: defaults, a YAML file, the environment and flags, each
// stronger than the one before. It holds one small struct for each consumer; only cmd/toolbelt imports it.
package config

import (
	"log/slog"
	"time"

	"toolbelt/bundles"
)

// Config is every setting, validated.
type Config struct {
	Serve     Serve
	Selection Selection
	Prefix    Prefix
	Skills    Skills
	Embed     Embed
	Store     Store
	Log       Log
}

// Serve says where the daemon listens, for whom, and in front of what.
type Serve struct {
	Listen   string   // host:port; port 0 takes a free one; an empty host is every address
	Upstream string   // the engine's address as it was given, never "": proxy.ParseUpstream reads it
	Token    Secret   // what clients must present, "" for none
	Hosts    []string // further Host names that the door accepts: "name" or "*.name", lower case, without a port
	Tools    string   // file with the sidecar's catalog, "" for none

	Grace time.Duration // for answers under way when the daemon is told to stop, 0 to 1 h
}

// Mode is what the proxy does with its plans.
type Mode string

// The modes.
const (
	On     Mode = "on"     // requests are edited as planned
	Shadow Mode = "shadow" // plans are made and logged, every byte passes unchanged
	Off    Mode = "off"    // nothing is planned
)

// DefaultThreshold is the floor in match units over which a tool is admitted, where none is configured.
const DefaultThreshold = 2.1

// Selection says which tools a request keeps.
type Selection struct {
	Mode      Mode
	Memory    bool             // false: every tool goes, as in mode off
	Threshold float64          // match units, 0 to 20
	MaxTools  int              // cap of the visible list, 1 to 1000; pins do not count
	Core      []string         // always visible, in this order; distinct; nil where not configured
	Bundles   []bundles.Bundle // nil where not configured: then the names' server prefixes make them
	Budget    time.Duration    // for one plan, 1 ms to 1 min
	Learn     bool             // false: nothing of what users say is kept

	LoadTools  bool // offer the model load_tools, by which it asks for hidden tools
	ToolSearch int  // and tool_search, where the catalog has more tools than this; 0: never
}

// Strategy is how a tool that is newly needed reaches the model.
type Strategy string

// The strategies. AutoStrategy is what was measured to be best for the model, and appending before anything was.
const (
	AutoStrategy Strategy = "auto"
	Append       Strategy = "append"  // the array grows at its end
	Late         Strategy = "late"    // the array is frozen; a new tool comes as text in the newest message
	Rebuild      Strategy = "rebuild" // as Append, and the list is made anew, best first, when the engine has lost it anyway
	All          Strategy = "all"     // every tool, always
)

// Prefix says how the engine's prefix cache is used.
type Prefix struct {
	Strategy Strategy
	Prewarm  bool // let the engine evaluate what is known of the next prompt while it has nothing to do
}

// Skills says what is done with remembered procedures besides recalling them.
type Skills struct {
	Dir        string // a folder of SKILL.md files that is kept in the library; "" for none
	Writer     string // chat model of the engine that words what was learned; "" for none
	Body       bool   // the model is told what recalled skills say
	KeepValues bool   // of the arguments of observed calls; otherwise only their names are kept
}

// Embedder is a way of making vectors.
type Embedder string

// The embedders. NoEmbedder switches the builtin one off too, and selection with it.
const (
	Auto       Embedder = "auto"
	Builtin    Embedder = "builtin"
	Ollama     Embedder = "ollama"
	Lemonade   Embedder = "lemonade"
	OpenAI     Embedder = "openai"
	NoEmbedder Embedder = "off"
)

// Embed says where vectors come from.
type Embed struct {
	Kind     Embedder
	Model    string        // as the engine calls it; "" where the daemon is to choose
	URL      string        // base of an OpenAI-compatible API, without a slash at its end; set for OpenAI; "" for Lemonade means that it is the upstream
	Key      Secret        // bearer for that URL, "" for none
	Deadline time.Duration // for the query vectors of one plan, at most Selection.Budget
}

// Store says where state is kept.
type Store struct {
	Path string // of the database; "" where there is no home directory to keep it in
}

// Log says what is logged.
type Log struct {
	Level slog.Level
}

// Secret is a value that is never printed: every common way of formatting it says "set" or "not set".
type Secret string

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "set" or "not set".
func (s Secret) String() string {
	if s == "" {
		return "not set"
	}
	return "set"
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, for JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
