package chat

import (
	"strings"
	"unicode/utf8"
)

const (
	windowBytes = 8 << 10 // of one query text

	longWords     = 60
	longSentences = 4

	maxClauses     = 6
	clauseWords    = 40 // of one clause: a longer sentence is cut
	minClauseWords = 4  // a shorter one goes with what stands before it
)

// Window returns the texts that stand for the request's turn when tools are looked for, most telling first:
//
//  1. the last user message;
//  2. where there is a user message before it: that one and the last, joined by a newline;
//  3. where the last message is long (over 60 words or 4 sentences): up to 6 clauses of it, the last
//     sentence first, then the one before it, then the first, then others spread evenly in between.
//
// Messages without a word (images only) are passed over. Without any text the result is nil. No text is
// longer than 8 KB: of a longer one the end is kept, from a rune boundary. Clauses are looked for in the first
// and the last 8 KB of the message, so the cost is bounded however long it is. The same request gives the same texts.
func Window(r *Request) []string {
	var texts [2]string // the last, the previous
	found := 0
	for i := len(r.Users) - 1; i >= 0 && found < len(texts); i-- {
		if text := strings.TrimSpace(r.Users[i]); text != "" {
			texts[found] = text
			found++
		}
	}
	if found == 0 {
		return nil
	}
	last := texts[0]
	window := append(make([]string, 0, 2+maxClauses), tail(last, windowBytes))
	if found > 1 {
		window = append(window, tail(tail(texts[1], windowBytes)+"\n"+tail(last, windowBytes), windowBytes))
	}
	return append(window, clauses(last)...)
}

// tail returns the last n bytes of s at most, from a rune boundary.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for i := range min(utf8.UTFMax, len(s)) {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s // not UTF-8 here: any boundary is as good
}

// head returns the first n bytes of s at most, up to a rune boundary.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// clauses returns the clauses of a long message, and nil for any other.
func clauses(message string) []string {
	var pieces []string
	if len(message) <= 2*windowBytes {
		pieces = sentences(message)
	} else {
		pieces = append(sentences(head(message, windowBytes)), sentences(tail(message, windowBytes))...)
	}
	if len(pieces) < 2 || len(pieces) <= longSentences && len(message) <= windowBytes && words(message) <= longWords {
		return nil
	}
	chosen := make([]string, 0, maxClauses)
	seen := make(map[string]bool, maxClauses)
	for _, i := range spread(len(pieces)) {
		if !seen[pieces[i]] {
			seen[pieces[i]] = true
			chosen = append(chosen, pieces[i])
		}
	}
	return chosen
}

// spread picks up to maxClauses of n pieces: the last, the one before it, the first, then evenly in between.
func spread(n int) []int {
	picked := make([]int, 0, maxClauses)
	for _, i := range []int{n - 1, n - 2, 0} {
		if i >= 0 && !(i == 0 && n <= 2 && len(picked) == n) {
			picked = append(picked, i)
		}
	}
	between := n - 3 // pieces 1 … n-3
	if between <= 0 {
		return picked
	}
	rest := min(maxClauses-len(picked), between)
	for k := range rest {
		picked = append(picked, 1+(2*k+1)*between/(2*rest))
	}
	return picked
}
