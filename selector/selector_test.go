package selector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

func catalogOf(tools ...catalog.Tool) *catalog.Catalog { return catalog.New(tools) }

func household() *catalog.Catalog {
	return catalogOf(
		catalog.Tool{Name: "lights_on", Description: "Switch the lamps of a room on"},
		catalog.Tool{Name: "lights_off", Description: "Switch the lamps of a room off"},
		catalog.Tool{Name: "sendEmail", Description: "Send an email to a person"},
		catalog.Tool{Name: "playMusic", Description: "Play a song on a loudspeaker", Schema: catalog.Schema(`{"properties":{"artist":{"type":"string"}}}`)},
		catalog.Tool{Name: "天気", Description: "今日の天気予報を調べる"},
	)
}

// indexBy makes an index with a view by e, and asks it.
func indexBy(t testing.TB, cat *catalog.Catalog, embedders ...embed.Embedder) *Index {
	t.Helper()
	var views []*View
	for _, e := range embedders {
		texts := make([][]embed.Vector, 3)
		for i := range cat.Len() {
			for j, text := range cat.Tool(catalog.ID(i)).Texts() {
				texts[j] = append(texts[j], vectorsOf(t, e, embed.Document, text)...)
			}
		}
		v, err := NewView(e.Model(), cat.Len(), texts, vectorsOf(t, e, embed.Query, Background()...))
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	ix, err := NewIndex(cat, views...)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func vectorsOf(t testing.TB, e embed.Embedder, kind embed.Kind, texts ...string) []embed.Vector {
	t.Helper()
	v, err := e.Embed(context.Background(), kind, texts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func builtin(t testing.TB) embed.Embedder {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ask(t testing.TB, ix *Index, text string, embedders ...embed.Embedder) Scores {
	t.Helper()
	q := Query{Texts: []string{text}, Vectors: map[embed.Model][]embed.Vector{}}
	for _, e := range embedders {
		q.Vectors[e.Model()] = vectorsOf(t, e, embed.Query, text)
	}
	return ix.Score(q)
}

func best(ix *Index, s Scores) string { return ix.Catalog().Tool(Top(s, 1)[0].ID).Name }

func TestTheToolThatIsMeantRanksFirst(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	for request, want := range map[string]string{
		"switch on the lamps in the kitchen":    "lights_on",
		"write an email to Anna":                "sendEmail",
		"play something by my favourite singer": "playMusic",
		"artist":                                "playMusic",
		"天気予報":                                  "天気",
		"send email":                            "sendEmail",
	} {
		if got := best(ix, ask(t, ix, request, e)); got != want {
			t.Errorf("%q ranks %q first, want %q", request, got, want)
		}
	}
}

func TestWithoutAViewWordsDecide(t *testing.T) {
	ix := indexBy(t, household())
	s := ask(t, ix, "email")
	if best(ix, s) != "sendEmail" || len(s.Used) != 0 {
		t.Errorf("best %q, used %v", best(ix, s), s.Used)
	}
	if got := Select(s, Floor{Threshold: 1, Words: 0.9}, 5); len(got) != 1 || got[0].Score != 1 {
		t.Errorf("over the floor: %v", got)
	}
}

func TestWhatMatchesNothingIsUnderTheFloor(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	for _, request := range []string{"", "the of and", "!!!", "qwzx"} {
		if got := Select(ask(t, ix, request, e), Floor{Threshold: 3, Words: 0.6}, 5); len(got) > 0 {
			t.Errorf("%q matches %v", request, got)
		}
	}
}

func TestVectorsOfAnotherModelAreNeverCompared(t *testing.T) {
	e := embedtest.NewFake("a", 32)
	ix := indexBy(t, household(), e)
	v := vectorsOf(t, e, embed.Query, "send an email")
	for name, m := range map[string]embed.Model{
		"another name":   {Name: "b", Dim: 32},
		"another digest": {Name: "a", Digest: "x", Dim: 32},
		"another length": {Name: "a", Dim: 31},
	} {
		if s := ix.Score(Query{Texts: []string{"x"}, Vectors: map[embed.Model][]embed.Vector{m: v}}); len(s.Used) > 0 {
			t.Errorf("%s was compared", name)
		}
	}
	short := embed.Vector{1, 0}
	if s := ix.Score(Query{Texts: []string{"x"}, Vectors: map[embed.Model][]embed.Vector{e.Model(): {short}}}); len(s.Used) > 0 {
		t.Error("a short vector was compared")
	}
}

func TestViewRefusesVectorsOfAnotherLength(t *testing.T) {
	m := embed.Model{Name: "m", Dim: 3}
	good, short := embed.Vector{1, 0, 0}, embed.Vector{1, 0}
	for name, try := range map[string]func() (*View, error){
		"tool":          func() (*View, error) { return NewView(m, 1, [][]embed.Vector{{short}}, []embed.Vector{good}) },
		"background":    func() (*View, error) { return NewView(m, 1, [][]embed.Vector{{good}}, []embed.Vector{short}) },
		"count":         func() (*View, error) { return NewView(m, 2, [][]embed.Vector{{good}}, []embed.Vector{good}) },
		"no background": func() (*View, error) { return NewView(m, 1, [][]embed.Vector{{good}}, nil) },
	} {
		if _, err := try(); catalog.KindOf(err) != catalog.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTwoViewsAreFused(t *testing.T) {
	a, b := builtin(t), embedtest.NewFake("b", 64)
	ix := indexBy(t, household(), a, b)
	s := ask(t, ix, "send an email to a person", a, b)
	if len(s.Used) != 2 || best(ix, s) != "sendEmail" {
		t.Errorf("used %v, best %q", s.Used, best(ix, s))
	}
	alone := ask(t, ix, "send an email to a person", a)
	if len(alone.Used) != 1 {
		t.Errorf("used %v where one answered", alone.Used)
	}
	if again, err := ix.With(ix.views[0]); err != nil || again.Views() != 2 {
		t.Errorf("a view of the same model is not replaced: %d views, %v", again.Views(), err)
	}
}

func TestOddCatalogs(t *testing.T) {
	e := builtin(t)
	same := make([]catalog.Tool, 20)
	empty := make([]catalog.Tool, 20)
	for i := range same {
		same[i] = catalog.Tool{Name: fmt.Sprint("t", i), Description: "the very same"}
		empty[i] = catalog.Tool{Name: fmt.Sprint("x", i)}
	}
	for name, cat := range map[string]*catalog.Catalog{
		"none": catalogOf(), "one": catalogOf(catalog.Tool{Name: "only"}), "identical": catalogOf(same...), "no descriptions": catalogOf(empty...),
		"long":      catalogOf(catalog.Tool{Name: "long", Description: strings.Repeat("word ", 20000)}, catalog.Tool{Name: "b"}),
		"RTL":       catalogOf(catalog.Tool{Name: "בית", Description: "הדלק את האור בבית"}, catalog.Tool{Name: "b", Description: "\u202eabc\u202c"}),
		"emoji":     catalogOf(catalog.Tool{Name: "😀", Description: "🎵🎵 play 🎵"}, catalog.Tool{Name: "b"}),
		"huge":      catalogOf(catalog.Tool{Name: "huge", Description: strings.Repeat("x", 100_000)}, catalog.Tool{Name: "b"}),
		"not UTF-8": catalogOf(catalog.Tool{Name: "bad\xff", Description: "\xfe\x00"}, catalog.Tool{Name: "b"}),
	} {
		ix := indexBy(t, cat, e)
		for _, request := range []string{"", "a", "the very same", strings.Repeat("many words here ", 7000), "\xff\xfe", "שלום עולם", "😀", "the of and", "東"} {
			s := ask(t, ix, request, e)
			for i := range s.Rank {
				if x := float64(s.Rank[i] + s.Match[i] + s.Words[i]); math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%s, %.20q: tool %d scores %v", name, request, i, x)
				}
			}
			if got := len(Top(s, 14)); got != min(14, cat.Len()) {
				t.Fatalf("%s: %d on top", name, got)
			}
		}
	}
}

// TestSelectAgainstSorting compares the heap with the plain way.
func TestSelectAgainstSorting(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := rng.IntN(40)
		s := Scores{Rank: make([]float32, n), Match: make([]float32, n), Words: make([]float32, n)}
		for i := range n {
			s.Rank[i], s.Match[i], s.Words[i] = float32(rng.IntN(5)), float32(rng.IntN(6)), rng.Float32()
		}
		f, limit := Floor{Threshold: 3, Words: 0.9}, rng.IntN(12)
		var want []catalog.ID
		for i := range n {
			if s.Match[i] >= 3 || s.Words[i] >= 0.9 {
				want = append(want, catalog.ID(i))
			}
		}
		slices.SortStableFunc(want, func(a, b catalog.ID) int { return int(s.Rank[b] - s.Rank[a]) })
		want = want[:min(limit, len(want))]
		var got []catalog.ID
		for _, m := range Select(s, f, limit) {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

// TestSelectWhereRankDecides compares a turn that clearly needs a tool with the plain way: what is beyond doubt, and of the rest the best by rank until
// there are as many as reach the threshold.
func TestSelectWhereRankDecides(t *testing.T) {
	f := Floor{Threshold: 2, Words: 0.9, Clear: 3, Low: 0.5}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 1 + rng.IntN(40)
		s := Scores{Rank: make([]float32, n), Match: make([]float32, n), Words: make([]float32, n)}
		for i := range n {
			s.Rank[i], s.Match[i], s.Words[i] = float32(rng.IntN(9)), 4*rng.Float32()-1, rng.Float32()
		}
		if rng.IntN(2) == 0 {
			s.Sure = []catalog.ID{catalog.ID(rng.IntN(n))}
		}
		s.Match[rng.IntN(n)] = 3 + rng.Float32()
		byRank := make([]catalog.ID, n)
		for i := range byRank {
			byRank[i] = catalog.ID(i)
		}
		slices.SortStableFunc(byRank, func(a, b catalog.ID) int { return int(s.Rank[b] - s.Rank[a]) })
		want := map[catalog.ID]bool{}
		sure := func(id catalog.ID) bool { return s.Match[id] >= 3 || s.Words[id] >= 0.9 || slices.Contains(s.Sure, id) }
		open := 0
		for _, id := range byRank {
			if want[id] = sure(id); !sure(id) && s.Match[id] >= 2 {
				open++
			}
		}
		for _, id := range byRank {
			if open > 0 && !sure(id) && s.Match[id] >= 0.5 {
				want[id] = true
				open--
			}
		}
		list := slices.DeleteFunc(slices.Clone(byRank), func(id catalog.ID) bool { return !want[id] })
		if len(list) != f.Count(s) {
			t.Fatalf("seed %d: %d tools, and %d reach the floor", seed, len(list), f.Count(s))
		}
		limit := rng.IntN(15)
		var got []catalog.ID
		for _, m := range Select(s, f, limit) {
			got = append(got, m.ID)
		}
		if list = list[:min(limit, len(list))]; !slices.Equal(got, list) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, list)
		}
	}
}

// Where no match is beyond doubt, or none is said to be, a floor with the lower threshold is the same as one without.
func TestNothingIsLoweredOnATurnThatNeedsNoTool(t *testing.T) {
	s := Scores{Rank: []float32{9, 5, 1}, Match: []float32{1, 2.9, 2.5}, Words: make([]float32, 3)}
	for name, f := range map[string]Floor{
		"none stands so high": {Threshold: 2, Words: 0.9, Clear: 3, Low: 0.5}, "no such height": {Threshold: 2, Words: 0.9, Low: 0.5}, "not lower": {Threshold: 2, Words: 0.9, Clear: 2.5, Low: 2},
	} {
		got := Select(s, f, 9)
		if len(got) != 2 || got[0].ID != 1 || got[1].ID != 2 || f.Least(s) != 2 {
			t.Errorf("%s: %v, the least is %v", name, got, f.Least(s))
		}
	}
	if f := (Floor{Threshold: 2, Words: 0.9, Clear: 2.5, Low: 0.5}); f.Least(Scores{}) != 2 || len(Select(Scores{}, f, 9)) != 0 {
		t.Error("an empty catalog matches something")
	}
}

// A tool that the caller is sure of is over any floor, at the threshold's score at least.
func TestWhatIsSureIsOverAnyFloor(t *testing.T) {
	s := Scores{Rank: []float32{0, 5, 7, 6}, Match: []float32{-1, 4, 1, 2.1}, Words: make([]float32, 4), Sure: []catalog.ID{0}}
	for _, f := range []Floor{{Threshold: 2, Words: 0.9}, {Threshold: 2, Words: 0.9, Clear: 3, Low: 0.5}} {
		got := Select(s, f, 9)
		if last := got[len(got)-1]; len(got) != 3 || last.ID != 0 || last.Score != 2 || !f.Over(s, 0) {
			t.Errorf("floor %+v: %v", f, got)
		}
	}
}

func FuzzLexical(f *testing.F) {
	f.Add("lights_on", "Switch the lamps on", "switch lamps")
	f.Add("\xff", "検索 camelCaseWord HTTPServer", "検索")
	f.Fuzz(func(t *testing.T, name, description, request string) {
		cat := catalogOf(catalog.Tool{Name: name, Description: description}, catalog.Tool{Name: "other", Description: request})
		lx := newLexical(cat)
		out, coverage := make([]float32, cat.Len()), make([]float32, cat.Len())
		lx.score(request, out, coverage)
		for i := range out {
			if !(out[i] >= 0) || !(coverage[i] >= 0) || coverage[i] > 1.0001 {
				t.Fatalf("score %v, coverage %v", out[i], coverage[i])
			}
		}
	})
}
