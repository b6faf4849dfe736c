package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words splits text into lower-case words the way tools are named and people ask: at everything that is
// no letter or digit, where camelCase and HTTPServer turn, and between letters and digits not at all. Runs of Han, Hiragana, Katakana or
// Hangul, which carry no spaces, become overlapping pairs of characters (a single one stands alone). Invalid UTF-8 separates words.
// Each word is passed to yield; the walk is linear in len(text) and allocates only the words.
func Words(text string, yield func(word string)) {
	start := 0
	for start < len(text) {
		r, size := utf8.DecodeRuneInString(text[start:])
		switch {
		case unspaced(r):
			start = pairs(text, start, yield)
		case wordRune(r, size):
			start = run(text, start, yield)
		default:
			start += size
		}
	}
}

// run yields the words of one run of letters and digits and returns where it ends.
func run(text string, start int, yield func(string)) int {
	i := start
	var previous rune
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r, size) || unspaced(r) {
			break
		}
		if i > start && turns(previous, r, text[i+size:]) {
			yield(strings.ToLower(text[start:i]))
			start = i
		}
		previous = r
		i += size
	}
	yield(strings.ToLower(text[start:i]))
	return i
}

// turns reports whether a new word begins at r: "fileName" before N, "HTTPServer" before S.
func turns(previous, r rune, rest string) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if !unicode.IsUpper(previous) {
		return true
	}
	next, size := utf8.DecodeRuneInString(rest)
	return size > 0 && unicode.IsLower(next) && !strings.HasPrefix(rest, "s") // "URLs" is one word
}

// pairs yields the overlapping pairs of one unspaced run and returns where it ends.
func pairs(text string, start int, yield func(string)) int {
	previous, i := -1, start
	yielded := false
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unspaced(r) {
			break
		}
		if previous >= 0 {
			yield(text[previous : i+size])
			yielded = true
		}
		previous = i
		i += size
	}
	if !yielded {
		yield(text[start:i])
	}
	return i
}

func wordRune(r rune, size int) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	if r == utf8.RuneError && size <= 1 {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func unspaced(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// SplitServer splits "server__tool" and "server.tool"; the server of a name that has none is "", and the rest the whole name.
func SplitServer(name string) (server, rest string) {
	for _, separator := range [...]string{"__", "."} {
		if server, rest, ok := strings.Cut(name, separator); ok && server != "" && rest != "" {
			return server, rest
		}
	}
	return "", name
}
