package turn

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"toolbelt/catalog"
)

// nearEnough is the least likeness of a name that is worth naming, in [0, 1].
const nearEnough = 0.4

// nearNames returns at most limit names of tools that are written much like name, the likest first.
func nearNames(name string, tools []catalog.Tool, limit int) []string {
	type near struct {
		name  string
		likes float64
	}
	wanted := pairs(name)
	var found []near
	for _, t := range tools {
		if likes := likeness(wanted, pairs(t.Name)); likes >= nearEnough && !slices.ContainsFunc(found, func(n near) bool { return n.name == t.Name }) {
			found = append(found, near{t.Name, likes})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(b.likes, a.likes) })
	var names []string
	for _, n := range found[:min(limit, len(found))] {
		names = append(names, n.name)
	}
	return names
}

// pairs counts the pairs of neighbouring letters and digits of a name, in small letters, with a blank at either end.
func pairs(name string) map[[2]rune]int {
	counts := map[[2]rune]int{}
	before := ' '
	for _, r := range strings.ToLower(name) + " " {
		if r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		counts[[2]rune{before, r}]++
		before = r
	}
	return counts
}

// likeness is Dice's coefficient of two bags of pairs.
func likeness(a, b map[[2]rune]int) float64 {
	both, all := 0, 0
	for pair, n := range a {
		all += n
		both += min(n, b[pair])
	}
	for _, n := range b {
		all += n
	}
	return 2 * float64(both) / float64(max(1, all))
}
