package chat

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// span is a piece of a body: body[start:end].
type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

// The functions below walk JSON that is known to be valid; each is linear in what it passes over and
// none recurses.

// skipSpace returns the index of the first byte at or after i that is not JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string whose opening quote is b[i].
func skipString(b []byte, i int) int {
	i++
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		end := i + n
		slashes := 0
		for end-slashes > i && b[end-slashes-1] == '\\' {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// skipValue returns the index after the value that begins at b[i].
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			if depth > 0 { // a comma, a colon, white space or part of a literal: all alike in here
				i++
				continue
			}
			for i < len(b) && !endsLiteral(b[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

func endsLiteral(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// walkObject calls visit for each member of the object that begins at b[at], in order. key is the member's
// name without quotes, unescaped; it may alias b. visit gets the index where the value begins and returns
// the one after its end; len(b) ends the walk. The result is the index after the object.
func walkObject(b []byte, at int, visit func(key []byte, at int) int) int {
	i := skipSpace(b, at+1)
	for i < len(b) && b[i] == '"' {
		end := skipString(b, i)
		key := unquote(b[i:end])
		i = skipSpace(b, skipSpace(b, end)+1) // over the colon
		i = skipSpace(b, visit(key, i))
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return i + 1
}

// walkArray is walkObject for the elements of an array.
func walkArray(b []byte, at int, visit func(at int) int) int {
	i := skipSpace(b, at+1)
	for i < len(b) && b[i] != ']' {
		i = skipSpace(b, visit(i))
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return i + 1
}

// eachField calls visit for each member of the object that begins at b[at], in order, until visit
// returns false. The value has no white space around it.
func eachField(b []byte, at int, visit func(key []byte, value span) bool) {
	walkObject(b, at, func(key []byte, i int) int {
		value := span{i, skipValue(b, i)}
		if !visit(key, value) {
			return len(b)
		}
		return value.end
	})
}

// eachElement is eachField for the elements of an array.
func eachElement(b []byte, at int, visit func(value span) bool) {
	walkArray(b, at, func(i int) int {
		value := span{i, skipValue(b, i)}
		if !visit(value) {
			return len(b)
		}
		return value.end
	})
}

// fieldOf returns an object's field of this name, the last of several, and the zero span where there is none.
func fieldOf(b []byte, object span, name string) span {
	var field span
	eachField(b, object.start, func(key []byte, value span) bool {
		if string(key) == name {
			field = value
		}
		return true
	})
	return field
}

// unquote returns the content of a JSON string, quotes included in raw. It aliases raw where nothing is escaped.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	return []byte(gjson.ParseBytes(raw).Str)
}

// isString, isArray and isObject tell the kind of a value that is not empty.
func (s span) isString(b []byte) bool { return s.end > s.start && b[s.start] == '"' }
func (s span) isArray(b []byte) bool  { return s.end > s.start && b[s.start] == '[' }
func (s span) isObject(b []byte) bool { return s.end > s.start && b[s.start] == '{' }

// isAbsent reports whether the value was not there at all or is null.
func (s span) isAbsent(b []byte) bool { return s.end <= s.start || b[s.start] == 'n' }

// text returns the content of a string value and "" for any other. It does not alias b.
func (s span) text(b []byte) string {
	if !s.isString(b) {
		return ""
	}
	return string(unquote(s.of(b)))
}

// tooDeep reports whether b nests arrays and objects more than limit deep. Brackets in strings do not count.
func tooDeep(b []byte, limit int) bool {
	if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) <= limit {
		return false
	}
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return false
}
