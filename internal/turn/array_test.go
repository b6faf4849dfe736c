package turn_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// An array of several megabytes is told from one that differs from it in a single byte, wherever that stands, and is recognised when it comes again.
func TestALongArrayIsKnownByAllOfIt(t *testing.T) {
	tools := append(demoTools(t), numbered(40, strings.Repeat("lorem ipsum ", 5_000))...)
	h := newHarness(t, setup{})
	b := body(t, tools, "", user("where is my parcel?"), called("track_parcel"), result())
	first := h.plan(body(t, tools, "", user("where is my parcel?")))
	if got := h.plan(b); !got.Repeated || !slices.Equal(sent(t, got), sent(t, first)) {
		t.Fatalf("the same array is another: %q was sent, then %q", sent(t, first), sent(t, got))
	}
	for _, at := range []int{len(demoTools(t)), len(tools) / 2, len(tools) - 1} {
		other := slices.Clone(tools)
		other[at] = strings.Replace(other[at], "lorem ipsum", "lorem ipsus", 1)
		changed := body(t, other, "", user("where is my parcel?"), called("track_parcel"), result())
		if len(changed) != len(b) || bytes.Equal(changed, b) {
			t.Fatal("the bodies do not differ in one byte")
		}
		if got := h.plan(changed); got.Repeated {
			t.Errorf("tool %d differs, and the list of the other array was sent", at)
		}
		h.plan(b)
	}
}
