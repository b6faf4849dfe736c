package main

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	known := []string{"send_mail", "send_message", "read_file", "read_files", "list", "web_search", "get_weather"}
	for name, want := range map[string][]string{
		"send_mial": {"send_mail"}, "Send-Mail": {"send_mail"}, "read_fil": {"read_file", "read_files"}, "lsit": {"list"}, "search": {"web_search"},
		"zzzzzzzz": nil, "": nil, "we": nil, "mail": {"send_mail"}, "get-weather": {"get_weather"}, strings.Repeat("a", 100_000): nil, "получить": nil,
	} {
		if got := near(name, known); !slices.Equal(got, want) {
			t.Errorf("near %.20q: %q, want %q", name, got, want)
		}
	}
	if got := near("tool_1", []string{"tool_2", "tool_3", "tool_4", "tool_5"}); len(got) != maxNear {
		t.Errorf("of many %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "xabc", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
