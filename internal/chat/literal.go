package chat

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnquoted adds the content of a JSON string, quotes included in raw, to dst. A lone surrogate becomes U+FFFD.
func appendUnquoted(dst, raw []byte) []byte {
	raw = raw[1 : len(raw)-1]
	for {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:n]...)
		c, size := unescape(raw[n:])
		dst = utf8.AppendRune(dst, c)
		raw = raw[n+size:]
	}
}

// unescape reads the escape that b begins with, a surrogate pair as one, and returns its rune and length. What is no
// escape of JSON is U+FFFD.
func unescape(b []byte) (c rune, size int) {
	if len(b) < 2 {
		return utf8.RuneError, len(b)
	}
	switch b[1] {
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
	default:
		return rune(b[1]), 2
	}
	first, ok := hex4(b)
	if !ok {
		return utf8.RuneError, min(6, len(b))
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if second, ok := hex4(b[6:]); ok {
		if c := utf16.DecodeRune(first, second); c != utf8.RuneError {
			return c, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var c rune
	for _, h := range b[2:6] {
		switch {
		case '0' <= h && h <= '9':
			c = c<<4 | rune(h-'0')
		case 'a' <= h|0x20 && h|0x20 <= 'f':
			c = c<<4 | rune(h|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return c, true
}

// appendQuoted adds text as a JSON string: one spelling for each text. What is not UTF-8 becomes U+FFFD.
func appendQuoted[T string | []byte](dst []byte, text T) []byte {
	return append(appendEscaped(append(dst, '"'), text), '"')
}

// appendEscaped is appendQuoted without the quotes.
func appendEscaped[T string | []byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			end := i + 1
			for end < len(text) && text[end] >= utf8.RuneSelf {
				end++
			}
			dst = append(dst, bytes.ToValidUTF8([]byte(text[i:end]), []byte("\uFFFD"))...)
			i = end
			continue
		}
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// prefixLength returns how many bytes of a JSON string's content, quotes left out, spell text; false where it does not
// begin with text, or text ends within one of its runes.
func prefixLength(content []byte, text string) (int, bool) {
	at := 0
	for len(text) > 0 {
		if at >= len(content) {
			return 0, false
		}
		if content[at] != '\\' {
			if content[at] != text[0] {
				return 0, false
			}
			at, text = at+1, text[1:]
			continue
		}
		c, size := unescape(content[at:])
		var rune4 [utf8.UTFMax]byte
		spelt := utf8.AppendRune(rune4[:0], c)
		if len(text) < len(spelt) || text[:len(spelt)] != string(spelt) {
			return 0, false
		}
		at, text = at+size, text[len(spelt):]
	}
	return at, at == len(content) || utf8.RuneStart(content[at])
}

// appendCanonical adds JSON without its white space and with its strings unescaped, each after its length, to dst: the same for
// every spelling of the value but those of numbers and the order of members. What is not JSON gives something all the same.
func appendCanonical(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		switch b[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end := skipString(b, i)
			if b[end-1] != '"' || end-i < 2 {
				return append(dst, b[i:]...)
			}
			dst = append(dst, '"', 0, 0, 0, 0)
			at := len(dst)
			dst = appendUnquoted(dst, b[i:end])
			binary.LittleEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
			i = end
		default:
			dst = append(dst, b[i])
			i++
		}
	}
	return dst
}
