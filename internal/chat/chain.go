package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"toolbelt/catalog"
)

// Normalize returns text in Unicode NFC with each run of white space as one space and none at either end, so
// that apps which re-wrap or trim what was said are still known. It is idempotent, and returns text
// itself where nothing changes.
func Normalize(text string) string {
	text = norm.NFC.String(text)
	if isCollapsed(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		if unicode.IsSpace(c) {
			gap = b.Len() > 0
		} else {
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteString(text[i : i+size]) // an invalid byte stays what it is
		}
		i += size
	}
	return b.String()
}

// isCollapsed reports whether all white space in text is single spaces between other runes.
func isCollapsed(text string) bool {
	before := ' '
	for _, c := range text {
		if unicode.IsSpace(c) && (c != ' ' || before == ' ') {
			return false
		}
		before = c
	}
	return text == "" || before != ' '
}

// Chain returns the hash of each user message's normalised text, in order: what tells one conversation
// from another whatever the model answered. Nil without user messages.
func Chain(r *Request) []catalog.Hash {
	if len(r.Users) == 0 {
		return nil
	}
	chain := make([]catalog.Hash, len(r.Users))
	for i, text := range r.Users {
		chain[i] = sha256.Sum256([]byte(Normalize(text)))
	}
	return chain
}

// Signature names what a model said: its calls (Call.Signature), or where it made none its text without any space, as some engines and apps leave out
// what is said beside calls. "" for nothing at all.
func Signature(text string, calls []string) string {
	h := sha256.New()
	for _, call := range calls {
		h.Write([]byte("\x00" + call))
	}
	words := strings.Fields(text)
	if len(calls) == 0 {
		for _, word := range words {
			h.Write([]byte(word))
		}
	}
	if len(calls) == 0 && len(words) == 0 {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
