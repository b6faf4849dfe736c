package slip_test

import (
	"strings"
	"testing"

	"toolbelt/internal/slip"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "xabc", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3},
		{long, long, 0}, {long, long + "b", 1}, {"b" + long, long + "b", 2},
	} {
		for limit := range 6 {
			want := min(c.want, limit+1)
			if got := slip.Distance(c.a, c.b, limit); got != want || slip.Distance(c.b, c.a, limit) != want {
				t.Errorf("%.20q and %.20q within %d: %d, want %d", c.a, c.b, limit, got, want)
			}
		}
	}
}
