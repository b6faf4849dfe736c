package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joinBytes is the length from which nothing more is joined to a sentence.
const joinBytes = 320

// words estimates the words of a text: what stands between spaces; in scripts that are written without
// spaces, one for every two letters; and never less than one for every eight letters.
func words(text string) int {
	fields, letters, dense, inside := 0, 0, 0, false
	for _, c := range text {
		if unicode.IsSpace(c) {
			inside = false
			continue
		}
		letters++
		if isDense(c) {
			dense++
		}
		if !inside {
			fields++
		}
		inside = true
	}
	return max(fields, dense/2, letters/8)
}

// isDense reports whether c is of a script without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese.
func isDense(c rune) bool {
	switch {
	case c < 0x0e00:
		return false
	case c <= 0x0eff, c >= 0x1000 && c <= 0x109f, c >= 0x1780 && c <= 0x17ff, c >= 0x2e80 && c <= 0x9fff, c >= 0xf900 && c <= 0xfaff:
		return true
	}
	return c >= 0x20000 && c <= 0x3ffff
}

// sentences cuts a text into trimmed sentences, none empty. A sentence ends at a line's
// end, at a full-width stop, or at a stop, question or exclamation mark before white space. One of less
// than minClauseWords words is joined to the one before it, unless that is long.
func sentences(text string) []string {
	var out []string
	add := func(sentence string) {
		sentence = strings.TrimSpace(sentence)
		if !strings.ContainsFunc(sentence, isWord) {
			return
		}
		if n := len(out); n > 0 && len(out[n-1]) < joinBytes && words(sentence) < minClauseWords {
			out[n-1] += " " + sentence
			return
		}
		out = append(out, sentence)
	}
	start := 0
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if ends(c, text[i:]) {
			add(text[start:i])
			start = i
		}
	}
	add(text[start:])
	return out
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }

// ends reports whether c, which is followed by rest, ends a sentence.
func ends(c rune, rest string) bool {
	switch c {
	case '\n', '。', '！', '？', '．':
		return true
	case '.', '?', '!', ';', '…':
		next, _ := utf8.DecodeRuneInString(rest)
		return rest != "" && unicode.IsSpace(next)
	}
	return false
}

// parts cuts a sentence where one clause of it ends and another may begin: after a comma, a semicolon or a colon, and before the
// words that join steps. A part of less than minClauseWords words stays with the one before it, or the next where it is the first.
func parts(sentence string) []string {
	var out []string
	start, from := 0, 0 // of the clause, of its newest part
	short := false      // the clause so far is too short to stand alone
	end := func(at int) {
		if !strings.ContainsFunc(sentence[from:at], isWord) {
			return
		}
		brief := words(sentence[from:at]) < minClauseWords
		switch {
		case len(out) == 0:
			out, short = append(out, sentence[start:at]), brief
		case brief || short:
			out[len(out)-1] = sentence[start:at]
			short = words(out[len(out)-1]) < minClauseWords
		default:
			start = from
			out = append(out, sentence[start:at])
		}
		from = at
	}
	for i := 0; i < len(sentence); {
		c, size := utf8.DecodeRuneInString(sentence[i:])
		i += size
		rest := sentence[i:]
		switch c {
		case ',', ';', ':':
			if next, n := utf8.DecodeRuneInString(rest); n > 0 && unicode.IsSpace(next) {
				end(i)
			}
		case '，', '；', '：':
			end(i)
		case ' ', '\t':
			if joins(rest) && words(sentence[from:i]) > 1 { // "and then" is one
				end(i)
			}
		}
	}
	end(len(sentence))
	for i, piece := range out {
		out[i] = strings.TrimSpace(piece)
	}
	return out
}

// joins reports whether the text begins with a word that joins one step of a request to another.
func joins(text string) bool {
	word, _, found := strings.Cut(head(text, len("before")+1), " ")
	if !found {
		return false
	}
	switch strings.ToLower(word) {
	case "and", "then", "while", "after", "before":
		return true
	}
	return false
}

// cut divides a sentence into runs of at most about clauseWords words, of nearly the same length; between
// words where there are enough of them, else (writing without spaces) between letters.
func cut(sentence string) []string {
	count := words(sentence)
	if count <= clauseWords {
		return []string{sentence}
	}
	fields := strings.Fields(sentence)
	runs := (count + clauseWords - 1) / clauseWords
	out := make([]string, 0, runs)
	if len(fields) >= 4*runs {
		for k := range runs {
			out = append(out, strings.Join(fields[k*len(fields)/runs:(k+1)*len(fields)/runs], " "))
		}
		return out
	}
	letters := []rune(sentence)
	for k := range runs {
		out = append(out, string(letters[k*len(letters)/runs:(k+1)*len(letters)/runs]))
	}
	return out
}
