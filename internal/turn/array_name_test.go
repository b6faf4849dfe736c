package turn

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"toolbelt/catalog"
)

// Arrays of any length get names of their own, whatever part of them differs, and the same name on one core as on several.
func TestArraysAreNamedByAllOfThem(t *testing.T) {
	p := NewPlanner(DefaultPolicy(), Parts{})
	seen := map[catalog.Hash]string{}
	name := func(what string, array []byte) {
		t.Helper()
		h := p.arrayHash(array)
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the name of %s", what, other)
		}
		seen[h] = what
		before := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(before)
		if p.arrayHash(bytes.Clone(array)) != h {
			t.Errorf("%s has another name on one core", what)
		}
	}
	for _, n := range []int{0, 1, 2, 1000, arrayPart - 1, arrayPart, arrayPart + 1, 2*arrayPart + 7, 9 * arrayPart} {
		array := make([]byte, n)
		name(fmt.Sprintf("%d zeros", n), array)
		places := []int{0, n / 2, arrayPart - 1, arrayPart, n - 1}
		slices.Sort(places)
		for _, at := range slices.Compact(places) {
			if at >= 0 && at < n {
				array[at] = 1
				name(fmt.Sprintf("%d zeros but for a one at %d", n, at), array)
				array[at] = 0
			}
		}
	}
	long := append(bytes.Repeat([]byte("a"), arrayPart), bytes.Repeat([]byte("b"), arrayPart)...)
	name("a and b", long)
	name("b and a", append(bytes.Clone(long[arrayPart:]), long[:arrayPart]...))
	if NewPlanner(DefaultPolicy(), Parts{}).arrayHash(long) == p.arrayHash(long) {
		t.Error("another planner gives the same name: its seeds can be known")
	}
}
