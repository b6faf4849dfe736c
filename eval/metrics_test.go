package eval

import (
	"math"
	"testing"
)

func TestJudge(t *testing.T) {
	ks := []int{1, 2}
	log3 := 1 / math.Log2(3)
	for name, c := range map[string]struct {
		needed []string
		ranked []string
		want   []float64 // recall@1, @2, all@1, @2, nDCG@5, MRR
	}{
		"first":             {[]string{"a"}, []string{"a", "b"}, []float64{1, 1, 1, 1, 1, 1}},
		"second":            {[]string{"b"}, []string{"a", "b"}, []float64{0, 1, 0, 1, log3, .5}},
		"nowhere":           {[]string{"z"}, []string{"a", "b"}, []float64{0, 0, 0, 0, 0, 0}},
		"one of two":        {[]string{"b", "z"}, []string{"a", "b"}, []float64{0, .5, 0, 0, log3 / (1 + log3), .5}},
		"a substitute":      {[]string{"s"}, []string{"a", "sub"}, []float64{0, 1, 0, 1, log3, .5}},
		"past five":         {[]string{"f"}, []string{"a", "b", "c", "d", "e", "f"}, []float64{0, 0, 0, 0, 0, 1. / 6}},
		"the list is empty": {[]string{"a"}, nil, []float64{0, 0, 0, 0, 0, 0}},
	} {
		got := judge(Case{Needed: c.needed, Alternatives: map[string][]string{"s": {"sub"}}}, c.ranked, ks)
		for i := range c.want {
			if math.Abs(got.values[i]-c.want[i]) > 1e-9 {
				t.Errorf("%s: value %d is %v, want %v", name, i, got.values[i], c.want[i])
			}
		}
	}
}

func TestIntervalsAreOverConversations(t *testing.T) {
	var apart, together []judged
	for i := range 100 {
		v := float64(i % 2)
		values := []float64{v, v, v, v}
		apart = append(apart, judged{string(rune('A' + i)), values})
		together = append(together, judged{string(rune('A' + i%2)), values})
	}
	_, narrow := summarize(apart, []int{1}, 1)
	m, wide := summarize(together, []int{1}, 1)
	if m.Recall["1"] != .5 || wide.Recall["1"] != (Interval{0, 1}) {
		t.Errorf("two conversations: mean %v, interval %v; want 0.5 and 0 to 1", m.Recall["1"], wide.Recall["1"])
	}
	if in := narrow.Recall["1"]; in[0] < .35 || in[1] > .65 || in[0] >= .5 || in[1] <= .5 {
		t.Errorf("a hundred conversations: interval %v", in)
	}
	if m, in := summarize(nil, []int{1}, 1); m.MRR != 0 || in.MRR != (Interval{}) {
		t.Errorf("nothing judged: %v %v", m, in)
	}
}

func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		needing, none []float64
		want          float64
	}{
		"nothing":   {nil, []float64{1}, 0},
		"no others": {[]float64{1}, nil, 0},
		"always":    {[]float64{3, 4}, []float64{1, 2}, 1},
		"never":     {[]float64{1, 2}, []float64{3, 4}, 0},
		"ties":      {[]float64{1, 1}, []float64{1, 1, 1}, .5},
		"mixed":     {[]float64{1, 3}, []float64{2}, .5},
	} {
		if got := apart(c.needing, c.none); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
