package chat

import "unicode/utf8"

// fileClause stands for a path in a message. Whoever names one wants a file read or written, and says so in a word such as "save" that is
// lost among what the file is about.
const fileClause = "read or write a file"

// hasPath reports whether text names a file or folder by its path: "/srv/notes.md", "~/notes", "./run.sh". A path begins at
// the beginning of a word; one that begins at the root has two names at least, so that "/help" is none. What stands in an address ("https://a.b/c/d") or between two
// words ("and/or") is none, and "C:\notes" is left out: played turn by turn, a clause for it gained nothing. Linear in len(text).
func hasPath(text string) bool {
	inside := false // a word that does not begin as a path does
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		if inside {
			inside = isWord(c) || c == '/' || c == ':' || c == '.'
			i += size
			continue
		}
		if beginsPath(text[i:]) {
			return true
		}
		inside = isWord(c) || c == '/' || c == '.' || c == '~'
		i += size
	}
	return false
}

// beginsPath reports whether text begins with a path.
func beginsPath(text string) bool {
	rooted := true
	for _, start := range []string{"~", "..", "."} {
		if len(text) > len(start) && text[:len(start)] == start && text[len(start)] == '/' {
			text, rooted = text[len(start):], false
			break
		}
	}
	if text[0] != '/' {
		return false
	}
	first := nameLength(text[1:])
	if first == 0 || !rooted {
		return first > 0
	}
	text = text[1+first:]
	return len(text) > 1 && text[0] == '/' && nameLength(text[1:]) > 0
}

// nameLength is the length of the file's or folder's name that text begins with.
func nameLength(text string) int {
	n := 0
	for n < len(text) {
		c, size := utf8.DecodeRuneInString(text[n:])
		if !isWord(c) && c != '.' && c != '_' && c != '-' {
			break
		}
		n += size
	}
	return n
}
