package config

import (
	"log/slog"
	"time"
)

// Source is the layer that a value came from.
type Source uint8

// The sources, the weakest first.
const (
	Default Source = iota
	File
	Environment
	Flag
)

// Origin is where a value came from.
type Origin struct {
	Source Source
	Name   string // path of the file, name of the variable, or the flag with its dashes
}

// String returns "default", "file PATH", "environment NAME" or "flag --name".
func (o Origin) String() string {
	switch o.Source {
	case File:
		return "file " + o.Name
	case Environment:
		return "environment " + o.Name
	case Flag:
		return "flag " + o.Name
	}
	return "default"
}

// Provenance tells how a Config came to be.
type Provenance struct {
	Origins  map[string]Origin // by key, for every key
	File     string            // the file that was read, "" where there was none
	Warnings []string          // sentences about variables that nobody reads
}

// Setting is one effective value, for people.
type Setting struct {
	Key    string // as in the file
	Value  any    // string, bool, int, float64, []string or []bundles.Bundle; a Secret's is "set" or "not set"
	Origin Origin
}

// Settings lists every setting of c in the order of the documentation. p must be of the same Load.
func (c Config) Settings(p Provenance) []Setting {
	var list []Setting
	for _, s := range settings() {
		list = append(list, Setting{Key: s.key, Value: plain(s.get(&c)), Origin: p.Origins[s.key]})
	}
	return list
}

func plain(v any) any {
	switch v := v.(type) {
	case Secret:
		return v.String()
	case time.Duration:
		return v.String()
	case slog.Level:
		return levelName(v)
	case Mode:
		return string(v)
	case Embedder:
		return string(v)
	}
	return v
}
