package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// charClass says what the tokenizer does with a character.
type charClass uint8

const (
	partOfWord charClass = iota
	separator            // ends a word
	alone                // is a word of its own
	dropped              // as if it were not there
)

// asciiClass and asciiLower are the classes and lower-case forms of the characters below 0x80.
var asciiClass, asciiLower = asciiTables()

func asciiTables() (class [utf8.RuneSelf]charClass, lower [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		lower[c] = c
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			class[c] = separator
		case c < ' ' || c == 0x7f:
			class[c] = dropped
		case c >= 'A' && c <= 'Z':
			lower[c] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		default:
			class[c] = alone
		}
	}
	return class, lower
}

// wordScanner cuts a text into words: lower-cased, decomposed, without combining marks and controls.
// It does not allocate. Set text; everything else starts at zero.
type wordScanner struct {
	text string
	pos  int // of what was not read yet

	start, end int    // the word came from text[start:end], dropped characters beside it left out
	special    uint16 // one more than the word's id where it is a special token, else 0
	chars      int    // of the word; more than maxWordChars: word holds only the first of them

	size int // bytes of the word
	buf  [maxWordChars*utf8.UTFMax + utf8.UTFMax]byte
}

// word is the word that next found. It is overwritten by the following call.
func (s *wordScanner) word() []byte { return s.buf[:s.size] }

// unknown reports whether the word is too long to be looked up.
func (s *wordScanner) unknown() bool { return s.chars > maxWordChars }

// next finds the next word. It reports false at the end of the text.
func (s *wordScanner) next() bool {
	s.size, s.chars, s.special = 0, 0, 0
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c >= utf8.RuneSelf {
			if s.wideRune() {
				return true
			}
			continue
		}
		switch asciiClass[c] {
		case partOfWord:
			s.add(asciiLower[c])
		case separator:
			s.pos++
			if s.chars > 0 {
				return true
			}
		case dropped:
			s.pos++
		case alone:
			if s.chars > 0 {
				return true
			}
			s.start = s.pos
			if s.special = specialAt(s.text[s.pos:]); s.special != 0 {
				s.chars = 1
				s.pos += strings.IndexByte(s.text[s.pos:], ']') + 1
				s.end = s.pos
				return true
			}
			s.add(c)
			return true
		}
	}
	return s.chars > 0
}

func (s *wordScanner) add(c byte) {
	if s.chars == 0 {
		s.start = s.pos
	}
	s.pos++
	s.end = s.pos
	s.chars++
	if s.chars <= maxWordChars {
		s.buf[s.size] = c
		s.size++
	}
}

// wideRune reads one character of two bytes or more. It reports true where the word is complete.
func (s *wordScanner) wideRune() bool {
	r, width := utf8.DecodeRuneInString(s.text[s.pos:])
	class := classOf(r)
	switch class {
	case dropped:
		s.pos += width
		return false
	case separator:
		s.pos += width
		return s.chars > 0
	}
	if l, v, t, ok := hangul(r); ok {
		s.addRune(l, width)
		s.addRune(v, 0)
		if t != 0 {
			s.addRune(t, 0)
		}
		return false
	}
	parts := norm.NFD.PropertiesString(s.text[s.pos:]).Decomposition()
	if base, _ := utf8.DecodeRune(parts); len(parts) > 0 && class == partOfWord {
		class = classOf(base) // as of the = in ≠
	}
	if class == alone && s.chars > 0 {
		return true
	}
	if parts == nil {
		s.addLower(r, width)
	}
	for len(parts) > 0 {
		part, n := utf8.DecodeRune(parts)
		parts = parts[n:]
		s.addLower(part, width)
		width = 0
	}
	return class == alone
}

// addLower moves on by width, and adds the lower-case form of r where it is not a combining mark.
func (s *wordScanner) addLower(r rune, width int) {
	if r >= utf8.RuneSelf && unicode.Is(unicode.Mn, r) {
		s.pos += width
		return
	}
	s.addRune(unicode.ToLower(r), width)
}

func (s *wordScanner) addRune(r rune, width int) {
	if s.chars == 0 {
		s.start = s.pos
	}
	s.pos += width
	s.end = s.pos
	s.chars++
	if s.chars <= maxWordChars {
		s.size += utf8.EncodeRune(s.buf[s.size:], r)
	}
}

// classOf is the class of a character. Invalid UTF-8 (read as U+FFFD) is dropped.
func classOf(r rune) charClass {
	switch {
	case r < utf8.RuneSelf:
		return asciiClass[r]
	case isCJK(r):
		return alone
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return dropped
	case unicode.Is(unicode.Z, r):
		return separator
	case unicode.Is(unicode.P, r):
		return alone
	}
	return partOfWord
}

// isCJK reports whether r is an ideograph that the vocabulary treats as a word.
func isCJK(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4dbf, r >= 0x4e00 && r <= 0x9fff, r >= 0xf900 && r <= 0xfaff:
		return true
	}
	return r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}

// hangul decomposes a syllable by arithmetic; t is 0 where it has no final consonant.
func hangul(r rune) (l, v, t rune, ok bool) {
	const first, last, vowels, finals = 0xac00, 0xd7a3, 21, 28
	if r < first || r > last {
		return 0, 0, 0, false
	}
	i := r - first
	if t = i % finals; t != 0 {
		t += 0x11a7
	}
	return 0x1100 + i/(vowels*finals), 0x1161 + i/finals%vowels, t, true
}

// specialAt returns one more than the id of the special token that the text begins with, or 0.
func specialAt(text string) uint16 {
	if len(text) < len("[CLS]") || text[0] != '[' {
		return 0
	}
	switch text[:len("[CLS]")] {
	case "[PAD]":
		return idPad + 1
	case "[UNK]":
		return idUnk + 1
	case "[CLS]":
		return idCls + 1
	case "[SEP]":
		return idSep + 1
	}
	if strings.HasPrefix(text, "[MASK]") {
		return idMask + 1
	}
	return 0
}
