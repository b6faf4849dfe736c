// Package bundles groups tools that belong together, so that a matched tool can bring its mates.
package bundles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"toolbelt/catalog"
)

// Bundle is a named group of tools.
type Bundle struct {
	Name        string   `json:"name" yaml:"name" koanf:"name"`
	Description string   `json:"description,omitempty" yaml:"description" koanf:"description"`
	Members     []string `json:"members" yaml:"members" koanf:"members"`
}

// Validate reports the first thing wrong with a list of bundles, as an error of kind Invalid that names the bundle: no name, a name twice,
// no members, an empty or repeated member. A member that no catalog has is no error: catalogs come and go.
func Validate(list []Bundle) error {
	names := map[string]bool{}
	for i, b := range list {
		invalid := func(what string) error {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("bundle %d (%q) %s", i+1, b.Name, what), nil)
		}
		switch {
		case strings.TrimSpace(b.Name) == "":
			return invalid("has no name")
		case names[b.Name]:
			return invalid("has the name of an earlier bundle")
		case len(b.Members) == 0:
			return invalid("has no members")
		}
		names[b.Name] = true
		members := map[string]bool{}
		for _, m := range b.Members {
			if m == "" || members[m] {
				return invalid(fmt.Sprintf("has an empty or repeated member %q", m))
			}
			members[m] = true
		}
	}
	return nil
}

// Set is the bundles of one catalog, resolved to its tools. Immutable.
type Set struct {
	names   []string
	about   []string       // descriptions, by bundle
	members [][]catalog.ID // by bundle
	of      [][]int        // by tool: the bundles it is in
}

// NewSet resolves configured bundles against a catalog; members that it lacks are left out. Tools that are in no configured
// bundle are grouped by the prefix of their names, "server__" or "server.", where two or more share it.
func NewSet(cat *catalog.Catalog, configured []Bundle) *Set {
	s := &Set{of: make([][]int, cat.Len())}
	for _, b := range configured {
		var ids []catalog.ID
		for _, m := range b.Members {
			if id, ok := cat.Lookup(m); ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		s.add(b.Name, b.Description, ids)
	}
	groups, order := map[string][]catalog.ID{}, []string(nil)
	for i := range cat.Len() {
		if len(s.of[i]) > 0 {
			continue
		}
		if prefix, ok := Prefix(cat.Tool(catalog.ID(i)).Name); ok {
			if groups[prefix] == nil {
				order = append(order, prefix)
			}
			groups[prefix] = append(groups[prefix], catalog.ID(i))
		}
	}
	for _, prefix := range order {
		s.add(prefix, "", groups[prefix])
	}
	return s
}

func (s *Set) add(name, description string, ids []catalog.ID) {
	if len(ids) < 2 {
		return
	}
	for _, id := range ids {
		s.of[id] = append(s.of[id], len(s.names))
	}
	s.names, s.about = append(s.names, name), append(s.about, description)
	s.members = append(s.members, ids)
}

// List returns the bundles, configured ones first, each with the names of those members that the catalog has. cat must be the one that the set was made for.
// The nil set has none. The slices are the caller's.
func (s *Set) List(cat *catalog.Catalog) []Bundle {
	if s == nil {
		return nil
	}
	list := make([]Bundle, len(s.names))
	for i, ids := range s.members {
		list[i] = Bundle{Name: s.names[i], Description: s.about[i]}
		for _, id := range ids {
			list[i].Members = append(list[i].Members, cat.Tool(id).Name)
		}
	}
	return list
}

// Prefix returns the server part of "server__tool" or "server.tool", and false where the name has none.
func Prefix(name string) (string, bool) {
	server, _ := catalog.SplitServer(name)
	return server, server != ""
}

// Opener is a matched tool that may bring its mates.
type Opener struct {
	ID    catalog.ID
	Score float64 // match units
}

// Mate is a tool that another one brought.
type Mate struct {
	ID    catalog.ID
	Score float64 // the opener's, less the discount
}

// Expand returns the mates of the openers, best first: each at the score of its best opener less discount, and only where that
// still reaches floor. The openers are of the set's catalog, and themselves are never mates; equal scores keep the order of openers, then of members. Cost: linear in the members, and a byte for each tool of the catalog.
func (s *Set) Expand(openers []Opener, discount, floor float64) []Mate {
	if s == nil || len(openers) == 0 {
		return nil
	}
	seen := make([]bool, len(s.of)) // by id
	for _, o := range openers {
		seen[o.ID] = true
	}
	strongest := slices.Clone(openers)
	slices.SortStableFunc(strongest, func(a, b Opener) int { return cmp.Compare(b.Score, a.Score) })
	var mates []Mate
	for _, o := range strongest {
		if o.Score-discount < floor {
			break
		}
		for _, b := range s.of[o.ID] {
			for _, id := range s.members[b] {
				if !seen[id] {
					seen[id] = true
					mates = append(mates, Mate{id, o.Score - discount})
				}
			}
		}
	}
	return mates
}
