package kvcache_test

import (
	"testing"

	"toolbelt/kvcache"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name    string
		facts   kvcache.Facts
		history int
		want    kvcache.Strategy
	}{
		{"nothing is known", kvcache.Facts{}, 5000, kvcache.Append},
		{"tools before the conversation", kvcache.Facts{Placement: kvcache.BeforeConversation}, 5000, kvcache.Append},
		{"tools at the last user message", kvcache.Facts{Placement: kvcache.LastUser}, 0, kvcache.Rebuild},
		{"tools behind everything", kvcache.Facts{Placement: kvcache.AfterHistory}, 0, kvcache.Rebuild},
		{"a sliding window", kvcache.Facts{Placement: kvcache.BeforeConversation, Sliding: true}, 0, kvcache.Frozen},
		{"measured: late, a long history", kvcache.Facts{Strategy: kvcache.Late}, 2000, kvcache.Late},
		{"measured: late, a short history", kvcache.Facts{Strategy: kvcache.Late}, 50, kvcache.Append},
		{"measured: late, a short history, where appending loses all", kvcache.Facts{Strategy: kvcache.Late, Sliding: true}, 50, kvcache.Late},
		{"measured: all", kvcache.Facts{Strategy: kvcache.All, Placement: kvcache.LastUser}, 50, kvcache.All},
	} {
		if got := kvcache.Choose(c.facts, c.history); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTruncated(t *testing.T) {
	for _, c := range []struct {
		name                    string
		facts                   kvcache.Facts
		asked, expected, prompt int
		want                    bool
	}{
		{"exactly the context", kvcache.Facts{Context: 4096}, 0, 5855, 4096, true},
		{"exactly the context, nothing expected", kvcache.Facts{Context: 4096}, 0, 0, 4096, true},
		{"exactly what was asked for", kvcache.Facts{Context: 4096}, 2048, 5855, 2048, true},
		{"what was asked for is more than there is", kvcache.Facts{MaxContext: 2048}, 8192, 5855, 2048, true},
		{"messages were dropped", kvcache.Facts{Context: 4096}, 0, 5855, 3100, true},
		{"it fits", kvcache.Facts{Context: 4096}, 0, 3900, 3100, false},
		{"it fits in more than was known", kvcache.Facts{Context: 4096}, 0, 5855, 5900, false},
		{"as expected, the context unknown", kvcache.Facts{}, 0, 4200, 4096, false},
		{"much less than expected, and a context", kvcache.Facts{}, 0, 5855, 4096, true},
		{"much less than expected, and no context", kvcache.Facts{}, 0, 5855, 4100, false},
		{"much less than expected, and a context of another kind", kvcache.Facts{}, 0, 20000, 6144, true},
		{"much less than expected, and small", kvcache.Facts{}, 0, 5855, 512, false},
		{"no usage", kvcache.Facts{Context: 4096}, 0, 5855, 0, false},
		{"nonsense", kvcache.Facts{Context: 4096}, -5, -7, -4096, false},
	} {
		if got := kvcache.Truncated(c.facts, c.asked, c.expected, c.prompt); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		facts                       kvcache.Facts
		asked, conversation, answer int
		want                        kvcache.Budget
	}{
		{kvcache.Facts{}, 0, 1000, 512, kvcache.Budget{}},
		{kvcache.Facts{Context: 4096}, 0, 1000, 512, kvcache.Budget{Tokens: 2584}},
		{kvcache.Facts{Context: 4096}, 8192, 1000, 512, kvcache.Budget{Tokens: 6680}},
		{kvcache.Facts{Context: 4096, MaxContext: 2048}, 8192, 1000, 512, kvcache.Budget{Tokens: 536}},
		{kvcache.Facts{Context: 4096}, 0, 4000, 512, kvcache.Budget{Tokens: 1}},
		{kvcache.Facts{GrammarBytes: 96_000}, 0, 4000, 512, kvcache.Budget{Bytes: 96_000}},
	} {
		if got := kvcache.Room(c.facts, c.asked, c.conversation, c.answer); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.facts, got, c.want)
		}
	}
}
