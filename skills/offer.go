package skills

import (
	"strings"
	"unicode/utf8"
)

// MaxOfferedCharacters bounds what Offer returns.
const MaxOfferedCharacters = 1500

// Offer is what a model may be told of recalled procedures, to stand at the end of a prompt, so that what an engine has read of it stays: the body of each, the best
// first, cut at a line's end. It has at most 1,500 characters; "" where no procedure has a body.
func Offer(recalled []Recalled) string {
	var b strings.Builder
	for _, r := range recalled {
		body := strings.TrimSpace(r.Procedure.Body)
		if body == "" {
			continue
		}
		text := "How " + r.Procedure.Name + " was done before:\n" + body
		if b.Len() > 0 {
			text = "\n\n" + text
		}
		room := MaxOfferedCharacters - utf8.RuneCountInString(b.String())
		if utf8.RuneCountInString(text) > room {
			runes := []rune(text)[:max(0, room)]
			at := strings.LastIndexByte(string(runes), '\n')
			if at <= strings.IndexByte(strings.TrimLeft(text, "\n"), '\n')+2 {
				continue // not one line of it fits
			}
			text = string(runes)[:at]
		}
		b.WriteString(text)
	}
	return b.String()
}
