package selector

import (
	"slices"
	"strings"

	"toolbelt/catalog"
)

// phraseWords is how many words of a description are its first phrase, and of a name are read; phraseBytes how far the description is read for it.
const (
	phraseWords = 4
	phraseBytes = 256
)

// handedOut is what a parameter asks for, where that is something by which machines know a thing and people do not: the words for whose it is, in
// stems, sorted, each once. Its name says so ("order_id": order), or, where the name is no such thing, how its description begins ("The ID of the order"). Nil where people say such things
// themselves, where a call can do without it, where the schema lists the values, and where nothing says whose it is.
func handedOut(p catalog.Parameter) []string {
	if !p.Required || p.Closed {
		return nil
	}
	var words []string
	catalog.Words(p.Name, func(w string) {
		if s := stem(w); !stopWord(w) && !stopWord(s) {
			words = append(words, s)
		}
	})
	if len(words) == 0 || !handle(words[len(words)-1]) {
		words = phrase(p.Description)
		if len(words) == 0 || !handle(words[0]) && !handle(words[len(words)-1]) {
			return nil
		}
	}
	words = slices.DeleteFunc(words, bareHandle)
	if len(words) > phraseWords {
		return nil
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// handle reports whether the stem is for something by which machines know a thing.
func handle(word string) bool {
	switch word {
	case "guid", "hash", "id", "identifier", "ids", "key", "slug", "token", "uuid":
		return true
	}
	return strings.HasSuffix(word, "code") // zipcode
}

// bareHandle reports whether the stem, of a handle's name, does not say whose it is.
func bareHandle(word string) bool {
	switch word {
	case "code", "guid", "id", "identifier", "ids", "key", "number", "uuid", "value":
		return true
	}
	return false
}

// phrase is what a description begins with, in stems: of "The ID of the user to book for" id and user, of "The zipcode of the first city" zipcode.
func phrase(description string) []string {
	description = strings.TrimSpace(description[:min(len(description), phraseBytes)])
	if i := strings.IndexAny(description, ".,;:(\n"); i >= 0 {
		description = description[:i]
	}
	var words []string
	bare, over := true, false // nothing says whose it is so far; the phrase is over
	catalog.Words(description, func(w string) {
		s := stem(w)
		switch {
		case over:
		case stopWord(w) || stopWord(s):
			over = len(words) > 0 && !(bare && (w == "of" || w == "the" || w == "a" || w == "an"))
		default:
			words = append(words, s)
			bare = bare && bareHandle(s)
			over = len(words) == phraseWords || handle(s) && !bareHandle(s)
		}
	})
	return words
}
