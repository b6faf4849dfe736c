package chat

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	windowBytes = 8 << 10 // of one query text

	reachWords    = 30 // the earlier messages go back until there are so many words
	reachMessages = 6  // and to no more messages, the last included

	maxClauses     = 6
	clauseWords    = 40 // of one clause: a longer one is cut
	minClauseWords = 4  // a shorter one goes with what stands before it
)

// Window returns the texts that stand for the request's turn when tools are looked for, most telling first:
//
//  1. the last user message;
//  2. where there are user messages before it: those and the last, joined by newlines; as many of them as it takes to have 30 words,
//     at least one, at most 5: what "yes, please" is about was said some messages ago;
//  3. where the last message has several clauses: up to 6 of them, the last first, then the longest of the others. Each is shorter than the
//     first text;
//  4. where the last message names a file by its path: that a file is to be read or written, as one more clause.
//
// Messages without a word (images only) are passed over. Without any text the result is nil. No text is
// longer than 8 KB: of a longer one the end is kept, from a rune boundary. Clauses are looked for in the first
// and the last 8 KB of the message, so the cost is bounded however long it is. The same request gives the same texts.
func Window(r *Request) []string {
	last, before := reach(r.Users)
	if last == "" {
		return nil
	}
	window := append(make([]string, 0, 3+maxClauses), tail(last, windowBytes))
	if before != "" {
		window = append(window, tail(before+"\n"+window[0], windowBytes))
	}
	for _, clause := range clauses(last) {
		if len(clause) < len(window[0]) {
			window = append(window, clause)
		}
	}
	if len(fileClause) < len(window[0]) && hasPath(window[0]) {
		window = append(window, fileClause)
	}
	return window
}

// reach returns the last message that has text, and those before it that belong to the window, joined.
func reach(users []string) (last, before string) {
	count, messages := 0, 0
	for i := len(users) - 1; i >= 0; i-- {
		text := strings.TrimSpace(users[i])
		if text == "" {
			continue
		}
		if messages >= reachMessages || messages >= 2 && count >= reachWords {
			break
		}
		switch messages {
		case 0:
			last = text
		case 1:
			before = tail(text, windowBytes)
		default:
			before = tail(tail(text, windowBytes)+"\n"+before, windowBytes)
		}
		messages++
		count += words(tail(text, windowBytes))
	}
	return last, before
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

// clauses returns the chosen clauses of a message that has several, and nil for any other.
func clauses(message string) []string {
	var pieces []string
	if len(message) <= 2*windowBytes {
		pieces = split(message)
	} else {
		pieces = append(split(head(message, windowBytes)), split(tail(message, windowBytes))...)
	}
	if len(pieces) < 2 {
		return nil
	}
	return choose(pieces)
}

// split cuts a text into the clauses of its sentences.
func split(text string) []string {
	var pieces []string
	for _, sentence := range sentences(text) {
		for _, piece := range parts(sentence) {
			pieces = append(pieces, cut(piece)...)
		}
	}
	return pieces
}

// choose picks up to maxClauses of the pieces, each text once: the last, where what is wanted is often said, then those of the most words, which say most; of
// equally long ones the first. There is at least one piece.
func choose(pieces []string) []string {
	last := len(pieces) - 1
	order := make([]int, last)
	length := make([]int, last)
	for i := range order {
		order[i], length[i] = i, words(pieces[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(length[b], length[a]) })
	chosen := append(make([]string, 0, maxClauses), pieces[last])
	for _, i := range order {
		if len(chosen) == maxClauses {
			break
		}
		if !slices.Contains(chosen, pieces[i]) {
			chosen = append(chosen, pieces[i])
		}
	}
	return chosen
}
