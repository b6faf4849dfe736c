package chat

import (
	"strings"
	"unicode"
)

// Keeping is how a message of the app's keeps what the model said before a hidden call.
type Keeping uint8

// The ways.
const (
	Lost    Keeping = iota // nothing of it
	AtStart                // the message begins with it: Cut can take it away
	Within                 // somewhere else, or in other words
)

// Kept tells how a message keeps text, which was said after before, and what is to be cut from the message where it begins with both: before and text, white
// space at the very beginning left out where the app has left it out. Other than AtStart, cut is before. A message that is not there or not the
// model's has lost everything. Cost: linear in the message's text.
func Kept(body []byte, r *Request, index int, before, text string) (k Keeping, cut string) {
	m, f, err := message(body, r, index)
	if err != nil || m.Role != RoleAssistant {
		return Lost, before
	}
	tries := []string{before + text}
	if before == "" {
		tries = append(tries, strings.TrimLeftFunc(text, unicode.IsSpace))
	}
	for _, try := range tries {
		if try != before && (&patch{}).cut(body, r, Cut{Message: index, Text: try}) == nil {
			return AtStart, try
		}
	}
	h := history{Request: r, body: body}
	has := string(h.appendText(nil, f.content))
	if sharesWords(strings.TrimPrefix(has, before), text) {
		return Within, before
	}
	return Lost, before
}

const (
	wordsProbed = 24 // bytes of a text's beginning and end, white space left out, that tell whether another one has it
	wordsAlone  = 16 // bytes of a text that is found within the other, fewer tell nothing
)

// sharesWords reports whether a text has another one's beginning or end, or is a part of it, white space left out.
func sharesWords(has, text string) bool {
	has, text = strings.Join(strings.Fields(has), ""), strings.Join(strings.Fields(text), "")
	if has == "" || text == "" {
		return false
	}
	n := min(len(text), wordsProbed)
	return strings.Contains(has, text[:n]) || strings.Contains(has, text[len(text)-n:]) || len(has) >= wordsAlone && strings.Contains(text, has)
}
