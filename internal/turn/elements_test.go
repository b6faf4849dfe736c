package turn

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"toolbelt/internal/chat"
)

// TestElementsAgainstAMap compares finding a few keys among many with the plain way: keys that are there twice, not at all, empty, or of equal marks.
func TestElementsAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []chat.Element
		last := map[string]chat.Element{}
		for i := range rng.IntN(60) {
			e := chat.Element{Start: i, End: i + 1, Key: fmt.Sprint(rng.IntN(40))[:rng.IntN(2)] + fmt.Sprint(rng.IntN(12))}
			if rng.IntN(20) == 0 {
				e.Key = ""
			}
			all, last[e.Key] = append(all, e), e
		}
		var keys []string
		var want []chat.Element
		for range rng.IntN(12) {
			key := fmt.Sprint(rng.IntN(50))
			if rng.IntN(10) == 0 {
				key = ""
			}
			keys, want = append(keys, key), append(want, last[key])
		}
		if got := elements(all, keys); !slices.Equal(got, want) {
			t.Fatalf("of %v the elements %q are %v, want %v", all, keys, got, want)
		}
	}
}
