package chat_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"toolbelt/internal/chat"
)

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		" \t\n":                   "",
		"plain":                   "plain",
		"  two\r\n\twords ":       "two words",
		"a\u00a0b\u2003c\u3000d":  "a b c d",
		"e\u0301":                 "é",
		"\u1100\u1161":            "\uac00",
		"ＡBC":                     "ＡBC", // compatibility forms stay what they are
		"bad\xff byte":            "bad\xff byte",
		"bad\xff  byte":           "bad\xff byte",
		"Case Matters, so. Does!": "Case Matters, so. Does!",
	} {
		if got := chat.Normalize(text); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestChain(t *testing.T) {
	if got := chat.Chain(&chat.Request{}); got != nil {
		t.Errorf("nothing said: %v", got)
	}
	a := chat.Chain(&chat.Request{Users: []string{"café  au lait", "", "more"}})
	b := chat.Chain(&chat.Request{Users: []string{" cafe\u0301 au\nlait", " ", "more", "and more"}})
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("link %d differs", i)
		}
	}
	if a[0] != sha256.Sum256([]byte("café au lait")) || a[0] == a[1] || a[1] == a[2] || len(a) != 3 || len(b) != 4 {
		t.Errorf("chains %v and %v", a, b)
	}
	if c := chat.Chain(&chat.Request{Users: []string{"Café au lait"}}); c[0] == a[0] {
		t.Error("another text has the same link")
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add(" a \u0301\n\xff b")
	f.Add(strings.Repeat("\u0301", 70))
	f.Fuzz(func(t *testing.T, text string) {
		got := chat.Normalize(text)
		if chat.Normalize(got) != got {
			t.Fatalf("not idempotent: %q, then %q", got, chat.Normalize(got))
		}
		if strings.TrimFunc(got, unicode.IsSpace) != got || strings.Contains(got, "  ") || !norm.NFC.IsNormalString(got) {
			t.Fatalf("%q of %q", got, text)
		}
	})
}
