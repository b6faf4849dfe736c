package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	yamlLine   = regexp.MustCompile(`^line (\d+): `)
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax turns the YAML reader's error into one sentence with the file and the line. The reader counts lines from 0 in the
// errors of its grammar ("did not find expected …"), from 1 in those of its scanner, and leaves the first line out.
func (d *document) syntax(data []byte, err error) error {
	text := strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "yaml: ")
	if m := yamlAnchor.FindStringSubmatch(text); m != nil {
		// The name may be a secret that begins with an asterisk.
		return d.errorf(lineOf(data, "*"+m[1]), "not valid YAML: a value that begins with * must be quoted")
	}
	line := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
		if strings.HasPrefix(text, "did not find expected") {
			line++
		}
	}
	return d.errorf(line, "not valid YAML: %s", text)
}

// lineOf returns the line, from 1, of the first place of text in data, and 0 where there is none.
func lineOf(data []byte, text string) int {
	at := bytes.Index(data, []byte(text))
	if at < 0 {
		return 0
	}
	return bytes.Count(data[:at], []byte("\n")) + 1
}

// unreadable returns the first line, from 1, with bytes that a YAML text cannot hold, and 0 where there is none.
func unreadable(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		bad := r == utf8.RuneError && size <= 1 || r == 0x7f || r < ' ' && r != '\t' && r != '\n' && r != '\r'
		if bad {
			return bytes.Count(data[:at], []byte("\n")) + 1
		}
		at += size
	}
	return 0
}
