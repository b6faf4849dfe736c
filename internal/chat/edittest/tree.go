package edittest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// node is a JSON value and where it stands, read with the standard library's tokens.
type node struct {
	start, end int
	kind       byte // '{', '[', '"' or 'v' for the rest
	key        string
	text       string // of a string
	kids       []*node
}

func parse(b []byte) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return value(d, b)
}

func value(d *json.Decoder, b []byte) (*node, error) {
	n := &node{start: int(d.InputOffset()), kind: 'v'}
	for n.start < len(b) && bytes.IndexByte([]byte(" \t\r\n,:"), b[n.start]) >= 0 {
		n.start++
	}
	token, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %v", err)
	}
	n.end = int(d.InputOffset())
	switch t := token.(type) {
	case string:
		n.kind, n.text = '"', t
	case json.Delim:
		n.kind = byte(t)
		for d.More() {
			key := ""
			if n.kind == '{' {
				token, err := d.Token()
				if err != nil {
					return nil, fmt.Errorf("reading JSON: %v", err)
				}
				key, _ = token.(string)
			}
			kid, err := value(d, b)
			if err != nil {
				return nil, err
			}
			kid.key = key
			n.kids = append(n.kids, kid)
		}
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("reading JSON: %v", err)
		}
		n.end = int(d.InputOffset())
	}
	return n, nil
}

// get returns an object's last member of this name; an empty node where there is none.
func (n *node) get(key string) *node {
	for i := len(n.kids) - 1; i >= 0; i-- {
		if n.kind == '{' && n.kids[i].key == key {
			return n.kids[i]
		}
	}
	return &node{}
}

func (n *node) raw(b []byte) []byte { return b[n.start:n.end] }

// letters takes the content of a JSON string apart: where each letter, escaped or not, begins, and the bytes it stands for.
func letters(content []byte) (at []int, said [][]byte) {
	for i := 0; i < len(content); {
		size := 1
		if content[i] == '\\' {
			size = 2
			if i+1 < len(content) && content[i+1] == 'u' {
				size = 6
				var pair string
				if i+12 <= len(content) && json.Unmarshal([]byte(`"`+string(content[i:i+12])+`"`), &pair) == nil && utf8.RuneCountInString(pair) == 1 && content[i+6] == '\\' {
					size = 12
				}
			}
		}
		letter := content[i : i+size]
		if size > 1 {
			var text string
			_ = json.Unmarshal([]byte(`"`+string(letter)+`"`), &text)
			letter = []byte(text)
		}
		at, said = append(at, i), append(said, letter)
		i += size
	}
	return append(at, len(content)), said
}

// suffixAt returns where in the content of a JSON string the letters begin that say text at its end, -1 where it does not end so.
func suffixAt(content []byte, text string) int {
	at, said := letters(content)
	rest := text
	for i := len(said); ; i-- {
		if rest == "" {
			return at[i]
		}
		if i == 0 || len(rest) < len(said[i-1]) || rest[len(rest)-len(said[i-1]):] != string(said[i-1]) {
			return -1
		}
		rest = rest[:len(rest)-len(said[i-1])]
	}
}
