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
