package synth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolbelt/skills"
)

const (
	maxTerms      = 6   // that a group's requests share, in its when_to_use
	maxGoalRunes  = 800 // of the central request there
	nameWords     = 4
	minTermLength = 3 // bytes
)

// terms are the words that at least half of the group's requests have, those of most requests first.
func (c *cluster) terms() []string {
	counts := map[string]int{}
	goals := map[string]bool{}
	for _, it := range c.items {
		if goals[it.run.Goal] {
			continue
		}
		goals[it.run.Goal] = true
		words := wordsOf(it.run.Goal)
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			counts[w]++
		}
	}
	var list []string
	for w, n := range counts {
		if 2*n >= len(goals) && len(w) >= minTermLength && !common(w) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return list[:min(maxTerms, len(list))]
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// common reports whether a word says nothing of a job.
func common(word string) bool {
	switch word {
	case "the", "and", "for", "with", "that", "this", "from", "into", "our", "your", "you", "can", "could", "would", "should", "please", "need", "want", "have", "has", "had", "are", "was", "were", "will", "all", "any", "its", "it's", "then", "than", "them", "they", "their",
		"what", "which", "when", "where", "who", "how", "why", "let", "lets", "just", "now", "also", "some", "make", "sure", "help", "get", "got", "give", "like", "about", "there", "here", "out", "off", "not", "but", "too", "very", "before", "after", "while", "once", "him", "her", "his", "she", "one", "every", "each", "been", "being", "does", "did", "done", "may", "might", "must", "i'd", "i'm", "i've", "i'll", "thanks":
		return true
	}
	return false
}

// whenToUse is the most central request and the terms that all share.
func whenToUse(goal string, terms []string) string {
	goal = strings.Join(strings.Fields(goal), " ")
	if utf8.RuneCountInString(goal) > maxGoalRunes {
		runes := []rune(goal)[:maxGoalRunes]
		goal = string(runes)
		if at := strings.LastIndexByte(goal, ' '); at > 0 {
			goal = goal[:at]
		}
		goal += " …"
	}
	if len(terms) == 0 {
		return goal
	}
	return goal + " (" + strings.Join(terms, ", ") + ")"
}

// name makes a free name of the shared terms, as they stand in the central request.
func (r *reconciler) name(terms []string, goal string) string {
	words := wordsOf(goal)
	ordered := slices.Clone(terms)
	place := func(w string) int {
		if i := slices.Index(words, w); i >= 0 {
			return i
		}
		return len(words)
	}
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	if len(ordered) < 2 {
		for _, w := range words {
			if len(w) >= minTermLength && !common(w) && !slices.Contains(ordered, w) {
				ordered = append(ordered, w)
			}
		}
	}
	base := slug(ordered)
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		if !r.names[name] {
			return name
		}
	}
}

// slug joins words to a name with room for a number behind it; of words without a Latin letter or digit it makes "learned".
func slug(words []string) string {
	const room = 8
	var parts []string
	length := 0
	for _, w := range words {
		part := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, w)
		if part == "" || length+len(part)+1 > skills.MaxNameBytes-room || len(parts) >= nameWords {
			continue
		}
		parts = append(parts, part)
		length += len(part) + 1
	}
	if len(parts) == 0 {
		return "learned"
	}
	return strings.Join(parts, "-")
}
