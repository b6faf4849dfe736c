package selector

import (
	"slices"
	"strings"

	"toolbelt/catalog"
)

const (
	sharedBy     = 3 // tools whose descriptions have a sentence: it says nothing of one of them
	maxSentences = 8 // of a description that are looked at
)

// sentences counts the tools whose descriptions begin with a sentence, or have it among their first.
type sentences map[string]int

func sentencesOf(cat *catalog.Catalog) sentences {
	s := sentences{}
	for i := range cat.Len() {
		var own []string
		eachSentence(cat.Tool(catalog.ID(i)).Description, func(sentence string) bool {
			if !slices.Contains(own, sentence) {
				own = append(own, sentence)
				s[sentence]++
			}
			return true
		})
	}
	return s
}

// first is the description's first sentence that is not shared by many, "" where there is none.
func (s sentences) first(description string) string {
	found := ""
	eachSentence(description, func(sentence string) bool {
		if s[sentence] < sharedBy {
			found = sentence
		}
		return found == ""
	})
	return found
}

// eachSentence passes the first sentences to yield while it says so. A sentence ends with a line, and with a mark that space follows.
func eachSentence(text string, yield func(string) bool) {
	for range maxSentences {
		text = strings.TrimSpace(text)
		if text == "" {
			return
		}
		end := sentenceEnd(text)
		if !yield(strings.TrimSpace(text[:end])) {
			return
		}
		text = text[end:]
	}
}

func sentenceEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return i
		case '.', '!', '?', ':':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n') {
				return i + 1
			}
		}
	}
	return len(text)
}
