package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What tells a text that Builtin reads from one that it does not. Small words that only one language has count most; where there are none, the share of
// words that fall into pieces decides. None of 3,494 public requests in English is taken for another language; of 75 short ones with names and jargon that were written for it,
// three are. Of 128 short ones in sixteen other languages six are taken for English; of the 65 that were not looked at while this was made, one and five.
const (
	fewWords   = 3   // fewer say nothing: a name, an abbreviation
	fewPieces  = 3   // ordinary words that fall into pieces, below which English is likelier: it has typing mistakes and jargon too
	leastWhole = 0.4 // share of ordinary words that are whole, where no small word speaks for another language
)

// Reads reports whether the text is in a language that the table was made of: English. In any other most words fall into pieces, whose
// vectors mean nothing together. What is in quotes, names, file names, identifiers and abbreviations say nothing about the language; a text of one
// or two other words in Latin letters is taken for readable, as is one without words. Cost: that of a tokenisation.
func (b *Builtin) Reads(text string) bool {
	text = tailBytes(text, languageBytes)
	if !mostlyLatin(text) {
		return false
	}
	var c languageCount
	ordinaryWords(text, func(word string) {
		c.add(word, b.Tokens(word) == 1)
	})
	return c.english()
}

// languageCount counts ordinary words.
type languageCount struct {
	all, whole    int
	ours, foreign int // small words of English, and of other languages
}

func (c *languageCount) add(word string, whole bool) {
	c.all++
	if whole {
		c.whole++
	}
	switch lower := strings.ToLower(word); {
	case englishWords[lower]:
		c.ours++
	case foreignWords[lower] || strings.ContainsFunc(lower, accented):
		c.foreign++
	}
}

func (c *languageCount) english() bool {
	pieces := c.all - c.whole
	switch {
	case c.ours > 0 && c.ours >= c.foreign:
		return true
	case c.foreign > 0:
		return c.foreign+pieces < 2
	}
	return c.all < fewWords || pieces < fewPieces || float64(c.whole) >= leastWhole*float64(c.all)
}

func accented(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.Latin, r) }

func mostlyLatin(text string) bool {
	latin, letters := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	return 2*latin >= letters
}

// ordinaryWords calls yield with each word of the text that is neither in quotes nor a name, a file name, an identifier or an abbreviation.
func ordinaryWords(text string, yield func(string)) {
	first := true
	for field := range strings.FieldsSeq(unquoted(text)) {
		field = strings.TrimFunc(field, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
		if field == "" {
			continue
		}
		if !isCode(field) && (first || !unicode.IsUpper(firstRune(field))) {
			for _, word := range strings.FieldsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
				yield(word)
			}
		}
		first = false
	}
}

// isCode reports whether a field is written as no ordinary word is.
func isCode(field string) bool {
	for i, r := range field {
		if unicode.IsDigit(r) || i > 0 && unicode.IsUpper(r) || strings.ContainsRune("./\\_@:=<>{}()[]#$", r) {
			return true
		}
	}
	return false
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// unquoted is the text without what stands between quotation marks; a mark that is not closed opens nothing.
func unquoted(text string) string {
	for _, marks := range [][2]string{{`"`, `"`}, {"“", "”"}, {"`", "`"}, {"«", "»"}, {"„", "“"}} {
		for {
			open := strings.Index(text, marks[0])
			if open < 0 {
				break
			}
			end := strings.Index(text[open+len(marks[0]):], marks[1])
			if end < 0 {
				break
			}
			text = text[:open] + " " + text[open+len(marks[0])+end+len(marks[1]):]
		}
	}
	return text
}

// languageBytes is how much of a text's end is looked at.
const languageBytes = 2 << 10

func tailBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-n:], "")
}

// Multilingual reports whether the model is of a family that was made for many languages.
func (m Model) Multilingual() bool {
	name := strings.ToLower(m.Name)
	for _, family := range []string{"embeddinggemma", "embedding-gemma", "qwen3-embed", "bge-m3", "multilingual", "nomic-embed-text-v2", "arctic-embed2", "granite-embedding:278m"} {
		if strings.Contains(name, family) {
			return true
		}
	}
	return false
}
