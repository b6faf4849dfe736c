package engine

import (
	"regexp"
	"slices"
	"strings"
)

// renderable reports whether a Jinja template surely comes to an end in the stack's sense: a macro that calls itself without end, which the
// renderer does not notice, would take the whole process down. It is cautious: macros that might lead back to themselves, or that are used other than by a plain
// call, loops that call themselves, and very deep nesting are refused.
func renderable(text string) bool {
	if !shallow(text) {
		return false
	}
	words := wordPattern().FindAllStringIndex(text, -1)
	macros := macrosOf(text)
	calls := map[string][]string{} // of each macro, which it calls
	for _, w := range words {
		word := text[w[0]:w[1]]
		if word == "recursive" || word == "caller" {
			return false
		}
		if _, ok := macros[word]; !ok {
			continue
		}
		if !strings.HasPrefix(strings.TrimLeft(text[w[1]:], " \t"), "(") {
			return false // it has another name somewhere
		}
		for name, m := range macros {
			if w[0] >= m.body && w[0] < m.end {
				calls[name] = append(calls[name], word)
			}
		}
	}
	return !circular(calls)
}

func wordPattern() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_]\w*`) }

// macro is where a macro's body begins and ends.
type macro struct{ body, end int }

// macrosOf returns the macros of a template by name. Of two with one name, both bodies count as one.
func macrosOf(text string) map[string]macro {
	macros := map[string]macro{}
	for _, at := range regexp.MustCompile(`\{%[-+]?\s*macro\s+([A-Za-z_]\w*)`).FindAllStringSubmatchIndex(text, -1) {
		end := len(text)
		if close := regexp.MustCompile(`\{%[-+]?\s*endmacro`).FindStringIndex(text[at[1]:]); close != nil {
			end = at[1] + close[0]
		}
		m := macro{at[1], end}
		if before, twice := macros[text[at[2]:at[3]]]; twice {
			m.body = before.body
		}
		macros[text[at[2]:at[3]]] = m
	}
	return macros
}

// circular reports whether any macro leads back to itself.
func circular(calls map[string][]string) bool {
	for name := range calls {
		reached := slices.Clone(calls[name])
		for i := 0; i < len(reached); i++ {
			if reached[i] == name {
				return true
			}
			for _, next := range calls[reached[i]] {
				if !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
	}
	return false
}

// maxNesting bounds brackets and blocks within each other; templates in use stay below a fifth of it.
const maxNesting = 100

func shallow(text string) bool {
	depth, blocks := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return false
		}
	}
	for _, tag := range regexp.MustCompile(`\{%[-+]?\s*(end)?(if|for|macro|call|filter|set|generation)\b`).FindAllStringSubmatchIndex(text, -1) {
		switch {
		case tag[2] >= 0:
			blocks = max(0, blocks-1)
		case text[tag[4]:tag[5]] != "set": // most have no end
			blocks++
		}
		if blocks > maxNesting {
			return false
		}
	}
	return strings.Count(text, "not not ") < maxNesting && strings.Count(text, "- - ") < maxNesting
}
