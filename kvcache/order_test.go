package kvcache

import (
	"slices"
	"testing"
	"testing/quick"
)

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name             string
		previous, wanted []string
		want             []string
	}{
		{"a new list keeps its own order", nil, []string{"core", "z", "a"}, []string{"core", "z", "a"}},
		{"an unchanged list is the same", []string{"c", "z", "a"}, []string{"a", "c", "z"}, []string{"c", "z", "a"}},
		{"a newcomer goes last, whatever its name", []string{"c", "z"}, []string{"a", "c", "z"}, []string{"c", "z", "a"}},
		{"what is gone leaves no hole", []string{"c", "z", "b"}, []string{"c", "b"}, []string{"c", "b"}},
		{"nothing wanted, nothing sent", []string{"c"}, nil, []string{}},
		{"a duplicate counts once", []string{"c"}, []string{"a", "a", "c"}, []string{"c", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Order(c.previous, c.wanted); !slices.Equal(got, c.want) {
				t.Errorf("Order(%q, %q) = %q, want %q", c.previous, c.wanted, got, c.want)
			}
		})
	}
}

// TestOrderAppendsOnly is the rule the package exists for: whatever is wanted, the kept part of the previous list leads, unmoved.
func TestOrderAppendsOnly(t *testing.T) {
	appendsOnly := func(previous, wanted []byte) bool {
		p, w := distinct(previous), distinct(wanted)
		order := Order(p, w)
		kept := slices.DeleteFunc(slices.Clone(p), func(k string) bool { return !slices.Contains(w, k) })
		if CommonPrefix(kept, order) != len(kept) || len(order) != len(w) {
			return false
		}
		return slices.Equal(Order(order, w), order) // and is stable from then on
	}
	if err := quick.Check(appendsOnly, nil); err != nil {
		t.Error(err)
	}
}

func distinct(b []byte) []string {
	var out []string
	for _, x := range b {
		if s := string(rune('a' + x%40)); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func TestInsertFixed(t *testing.T) {
	for _, c := range []struct {
		name   string
		order  []string
		fixed  []string
		before []int
		want   []string
	}{
		{"none", []string{"a"}, nil, nil, []string{"a"}},
		{"leading stays leading", []string{"a", "b"}, []string{"x"}, []int{0}, []string{"x", "a", "b"}},
		{"between", []string{"a", "b"}, []string{"x", "y"}, []int{1, 1}, []string{"a", "x", "y", "b"}},
		{"past the end goes last", []string{"a"}, []string{"x"}, []int{7}, []string{"a", "x"}},
		{"alone", nil, []string{"x"}, []int{0}, []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := InsertFixed(c.order, c.fixed, c.before); !slices.Equal(got, c.want) {
				t.Errorf("InsertFixed(%q, %q, %v) = %q, want %q", c.order, c.fixed, c.before, got, c.want)
			}
		})
	}
}

func TestPrefixTokens(t *testing.T) {
	cost := func(k string) int { return len(k) }
	for _, c := range []struct {
		previous, next []string
		want           int
	}{
		{nil, []string{"aa"}, 0},
		{[]string{"aa", "b"}, []string{"aa", "b", "ccc"}, 3},
		{[]string{"aa", "b"}, []string{"b", "aa"}, 0},
		{[]string{"aa", "b", "c"}, []string{"aa", "c"}, 2},
	} {
		if got := PrefixTokens(c.previous, c.next, cost); got != c.want {
			t.Errorf("PrefixTokens(%q, %q) = %d, want %d", c.previous, c.next, got, c.want)
		}
	}
}
