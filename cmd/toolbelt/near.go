package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"toolbelt/internal/slip"
)

// maxNear is how many names a suggestion holds.
const maxNear = 3

// near are the names that name may have been meant for, the nearest first, at most maxNear: a third of its letters may be wrong, and one more than in
// the nearest. Where none is that near, those that hold it.
func near(name string, known []string) []string {
	type candidate struct {
		name string
		away int
	}
	var slips, parts []candidate
	folded := fold(name)
	limit := min(3, max(1, len(folded)/3))
	for _, k := range known {
		other := fold(k)
		if d := slip.Distance(folded, other, limit); d <= limit {
			slips = append(slips, candidate{k, d})
		} else if len(folded) >= 3 && strings.Contains(other, folded) {
			parts = append(parts, candidate{k, len(other)})
		}
	}
	if len(slips) == 0 {
		slips = parts
	}
	slices.SortStableFunc(slips, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.away, b.away), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, c := range slips[:min(len(slips), maxNear)] {
		if c.away <= slips[0].away+1 {
			names = append(names, c.name)
		}
	}
	return names
}

// fold is a name as it is compared: at most 200 bytes, in lower case, with one kind of dash.
func fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(name[:min(len(name), 200)]), "_", "-")
}

// meant asks "; did you mean a or b?" for the names near to name; "" where there is none. spell writes a name as it is typed.
func meant(name string, known []string, spell func(string) string) string {
	names := near(name, known)
	if len(names) == 0 {
		return ""
	}
	for i := range names {
		names[i] = spell(names[i])
	}
	return "; did you mean " + strings.Join(names, " or ") + "?"
}

// count is a number of things as a person says it: "1 turn", "2 turns". noun has a regular plural.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
