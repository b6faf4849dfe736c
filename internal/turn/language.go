package turn

import (
	"errors"

	"toolbelt/selector"
)

// reader is an embedder that knows which texts it can read.
type reader interface{ Reads(text string) bool }

// someWords is the share of a message's word weight that a tool must have for the words alone to be relied on.
const someWords = 0.2

// errLanguage is a message in a language that no embedder at hand was made for: its vectors mean nothing, which is a failure like any other of
// theirs, and not "no match".
var errLanguage = errors.New("no embedder at hand reads the language of the message")

// understood reports whether the scores mean anything: the builtin embedder reads the last message, or one for many languages has answered, or
// tools have a good part of its words.
func (p *Planner) understood(q selector.Query, s selector.Scores) bool {
	builtin, ok := p.Builtin.(reader)
	if !ok || len(q.Texts) == 0 || builtin.Reads(q.Texts[0]) {
		return true
	}
	for model := range q.Vectors {
		if model.Multilingual() {
			return true
		}
	}
	for _, share := range s.Words {
		if share >= someWords {
			return true
		}
	}
	return false
}
