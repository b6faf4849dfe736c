package embed

import (
	"unicode/utf8"
)

// maxReadBytes bounds what is read of one text to embed it: enough for 512 tokens of anything but blank space and
// words of thousands of characters. A text that has fewer tokens in its first (or last) 64 KiB is embedded by those.
const maxReadBytes = 64 << 10

// firstTailBytes is how much of a Query's end is tried first.
const firstTailBytes = 4 << 10

// head returns the start of text that is read at all.
func head(text string) string {
	if len(text) <= maxReadBytes {
		return text
	}
	end := maxReadBytes
	for end > maxReadBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// tail returns an end of text of about size bytes that begins where a word begins, so that its tokens are the
// last tokens of the whole; whole reports that it is all of text. At maxReadBytes it begins at any character.
func tail(text string, size int) (end string, whole bool) {
	from := len(text) - size
	if from <= 0 {
		return text, true
	}
	for i := from; i < len(text); i++ {
		if mayCutBefore(text, i) {
			return text[i:], false
		}
	}
	if size < maxReadBytes {
		return "", false
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:], false
}

// mayCutBefore reports whether tokens before text[i] and from it on do not depend on each other: it is white space, punctuation
// that no special token holds, or an ideograph.
func mayCutBefore(text string, i int) bool {
	c := text[i]
	if c < utf8.RuneSelf {
		return asciiClass[c] == separator || asciiClass[c] == alone && c != '[' && c != ']'
	}
	if !utf8.RuneStart(c) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	return isCJK(r)
}

// cost estimates the tokens of the scanner's word for any model: the vocabulary's own count n, and a quarter of its
// bytes where the word is unknown, as other vocabularies spell such words out.
func (s *wordScanner) cost(n int) int {
	if s.special == 0 && n == 1 && (s.unknown() || s.end-s.start > maxTokenBytes) {
		return max(1, (s.end-s.start+3)/4)
	}
	return n
}

// estimateTokens is the summed cost of all words of text.
func (v *vocab) estimateTokens(text string) int {
	s := wordScanner{text: text}
	var ids [maxWordChars]uint16
	sum := 0
	for s.next() {
		sum += s.cost(v.wordIDs(&ids, &s))
	}
	return sum
}

// cut returns the part of text that fits a window of so many tokens by estimate: the end of a Query, the start of a
// Document, cut between words where it can be. It reads little more than it returns.
func (v *vocab) cut(kind Kind, text string, tokens int) string {
	if len(text) <= tokens { // no token is shorter than a byte
		return text
	}
	if kind == Query {
		return v.cutEnd(text, tokens)
	}
	s := wordScanner{text: head(text)}
	var ids [maxWordChars]uint16
	for left := tokens; s.next(); {
		cost := s.cost(v.wordIDs(&ids, &s))
		if cost > left {
			return text[:runeStart(text, min(s.end, s.start+4*left))]
		}
		left -= cost
	}
	return s.text
}

func (v *vocab) cutEnd(text string, tokens int) string {
	end, over := "", 0
	for size := max(firstTailBytes, 8*tokens); ; size *= 4 {
		part, whole := tail(text, min(size, maxReadBytes))
		end, over = part, v.estimateTokens(part)-tokens
		if over >= 0 || whole || size >= maxReadBytes {
			break
		}
	}
	s := wordScanner{text: end}
	var ids [maxWordChars]uint16
	for over > 0 && s.next() {
		cost := s.cost(v.wordIDs(&ids, &s))
		if cost > over && cost > 1 && s.end-s.start > 4*over {
			return end[runeStart(end, s.start+4*over):]
		}
		over -= cost
	}
	return end[s.end:]
}

// runeStart returns the place of the character that covers text[at], at most a character before at.
func runeStart(text string, at int) int {
	for back := 0; back < utf8.UTFMax && at > 0 && at < len(text) && !utf8.RuneStart(text[at]); back++ {
		at--
	}
	return at
}
