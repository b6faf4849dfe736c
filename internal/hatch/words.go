package hatch

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// verbs say how a tool works rather than on what, and so do not tell tools apart.
const verbs = " get set list add new create make update edit delete remove find search fetch read write run execute send show open close start stop " +
	"use check query call tool tools all for the and from with into "

// empty are the words of a query that say nothing.
const empty = " a an and are can do find for from have help how i in is it like me my need of on or please some something that the this to tool tools use want what which with you "

// among reports whether word is one of a list of words that has a space before and behind each.
func among(list, word string) bool { return word != "" && strings.Contains(list, " "+word+" ") }

func firstLine(s string) string {
	s = strings.TrimSpace(s[:min(len(s), 4096)])
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	return s
}

// plain makes s fit to stand in a text as it is, in at most limit bytes: what JSON escapes, control characters and bytes that are no
// UTF-8 become spaces, runs of spaces one. What is cut ends in "…".
func plain(s string, limit int) string {
	var b strings.Builder
	space := false
	for i, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune("\"\\<>&\u2028\u2029", r) || !unicode.IsGraphic(r) {
			space = true
			continue
		}
		need := utf8.RuneLen(r)
		if space && b.Len() > 0 {
			need++
		}
		if b.Len()+need > limit-len("…") && b.Len()+need+trailing(s[i:]) > limit {
			b.WriteString("…")
			return b.String()
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// trailing is how many bytes follow the first character of s.
func trailing(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return len(s) - size
}

// maxNameBytes is how long a name may be to be taken for one and written out in an answer.
const maxNameBytes = 256

// written is a name as an answer writes it: as it is, or as a JSON string where it would be mistaken for something else. A name that
// is too long is cut.
func written(name string) string {
	cut := ""
	if len(name) > maxNameBytes {
		name, cut = clip(name, maxNameBytes), "…"
	}
	odd := name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r == utf8.RuneError || r == ',' || r == '"' || r == '\\' || unicode.IsSpace(r) || !unicode.IsGraphic(r)
	})
	if !odd {
		return name + cut
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return strconv.Quote(name) + cut
	}
	return string(quoted) + cut
}

// clip cuts s to at most n bytes without cutting a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// listed writes the first limit names with commas, and how many more there are.
func listed(names []string, limit int) string {
	var b strings.Builder
	for i, name := range names {
		if i == limit {
			b.WriteString(" and ")
			b.WriteString(strconv.Itoa(len(names) - limit))
			b.WriteString(" more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(written(name))
	}
	return b.String()
}
