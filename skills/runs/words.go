package runs

import (
	"slices"
	"strings"
	"unicode"
)

// continueWords is how many words a message may have that only says to go on.
const continueWords = 6

// continues reports whether a message adds nothing but consent: "yes", "ok, go ahead". What it answers goes on.
func continues(text string) bool {
	words := wordsOf(text)
	if len(words) == 0 || len(words) > continueWords {
		return len(words) == 0
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !consent(w) })
}

func consent(word string) bool {
	switch word {
	case "yes", "yeah", "yep", "yup", "ok", "okay", "sure", "please", "do", "it", "that", "go", "ahead", "on", "continue", "proceed", "correct", "right", "exactly", "fine", "good", "sounds", "great", "perfect", "confirm", "confirmed", "agreed", "the", "first", "second", "one", "both", "all", "of", "them":
		return true
	}
	return false
}

// complains tells in a few words how a message shows that the request before it was not met, "" where it does not.
func complains(before, text string) string {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, start := range []string{"no,", "no ", "no.", "nope", "that's wrong", "that is wrong", "that's not", "that is not", "that was not", "that wasn't", "this is wrong", "this is not", "not what i", "wrong", "incorrect", "try again", "again,",
		"you didn't", "you did not", "it didn't", "it did not", "that didn't", "that did not", "still not", "i meant", "i said", "i asked", "undo", "revert"} {
		if strings.HasPrefix(lower, start) && !strings.HasPrefix(lower, "no problem") && !strings.HasPrefix(lower, "no worries") {
			return "the user corrected"
		}
	}
	if alike(wordsOf(before), wordsOf(text)) {
		return "the user asked again"
	}
	return ""
}

// alike reports whether two messages share at least four fifths of their words, of at least three.
func alike(a, b []string) bool {
	if len(a) < 3 || len(b) < 3 {
		return false
	}
	slices.Sort(a)
	slices.Sort(b)
	a, b = slices.Compact(a), slices.Compact(b)
	shared := 0
	for _, w := range a {
		if _, found := slices.BinarySearch(b, w); found {
			shared++
		}
	}
	return 5*shared >= 4*(len(a)+len(b)-shared)
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}
