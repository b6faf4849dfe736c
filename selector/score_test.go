package selector

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

// askAll is ask with several texts, as a window has them.
func askAll(t testing.TB, ix *Index, texts []string, embedders ...embed.Embedder) Scores {
	t.Helper()
	return ix.Score(queryOf(t, texts, embedders...))
}

func queryOf(t testing.TB, texts []string, embedders ...embed.Embedder) Query {
	t.Helper()
	q := Query{Texts: texts, Vectors: map[embed.Model][]embed.Vector{}}
	for _, e := range embedders {
		q.Vectors[e.Model()] = vectorsOf(t, e, embed.Query, texts...)
	}
	return q
}

func TestAStepOfALongRequestCountsBesideTheWhole(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	long := "I am home again after a long and tiring day, dinner is in the oven, the guests come at eight, the table is laid and the candles burn, and by the way write an email to Anna"
	piece := "and by the way write an email to Anna"
	place := func(texts ...string) int { return ix.Explain(queryOf(t, texts, e), 2).Place }
	if before, after := place(long), place(long, piece); after > before || after != 1 {
		t.Errorf("the tool of a step stands at %d, without the step at %d", after, before)
	}
}

func TestAnEarlierMessageCountsLess(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	last, earlier := "and now an email to Anna", "switch the lamps on"
	s := askAll(t, ix, []string{last, earlier + "\n" + last}, e)
	if got := best(ix, s); got != "sendEmail" {
		t.Errorf("%q is first", got)
	}
	if s.Rank[0] <= s.Rank[4] {
		t.Error("the earlier message is not heard at all")
	}
	if s.Words[0] > 0 {
		t.Errorf("a word of the earlier message counts for the floor: %v", s.Words[0])
	}
}

func TestWhatMatchesNothingSaysSo(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	for request, want := range map[string]bool{
		"": true, "!!!": true, "of the and": true, "email": false, "write to Anna": false, "switch on the lamps": false,
	} {
		s := ask(t, ix, request, e)
		if s.Nothing() != want {
			t.Errorf("%q: nothing is %v, known %v, match %v", request, s.Nothing(), s.Known, s.Match)
		}
	}
	if s := ask(t, indexBy(t, household()), "qwzx vrrb"); s.Known != 0 || !s.Nothing() {
		t.Error("unknown words match something without a view")
	}
	if s := ask(t, ix, "email qwzx", e); !(s.Known > 0 && s.Known < 1) {
		t.Errorf("one known word of two: %v", s.Known)
	}
}

func TestUnknownWordsLeaveTheViewsToDecide(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	s := ask(t, ix, "brighten bedroom", e)
	if s.Known != 0 || !strings.HasPrefix(best(ix, s), "lights_") {
		t.Errorf("known %v, best %q", s.Known, best(ix, s))
	}
}

func TestStopWordsCountOnlyWhereThereIsNothingElse(t *testing.T) {
	cat := catalogOf(catalog.Tool{Name: "help"}, catalog.Tool{Name: "email"}, catalog.Tool{Name: "get"})
	ix := indexBy(t, cat)
	for request, want := range map[string]string{"help": "help", "get it": "get", "help me with the email": "email"} {
		if got := best(ix, ask(t, ix, request)); got != want {
			t.Errorf("%q ranks %q first, want %q", request, got, want)
		}
	}
	if s := ask(t, ix, "help"); s.Words[0] != 0 {
		t.Error("a word of no content passes the floor")
	}
}

func TestAWordOfTheNameWeighsMost(t *testing.T) {
	filler := "something else for other purposes entirely"
	cat := catalogOf(
		catalog.Tool{Name: "alpha_x", Description: filler, Schema: catalog.Schema(`{"properties":{"invoice":{"type":"string"}}}`)},
		catalog.Tool{Name: "beta_x", Description: filler + " invoice"},
		catalog.Tool{Name: "invoice_x", Description: filler},
		catalog.Tool{Name: "delta_x", Description: filler})
	s := ask(t, indexBy(t, cat), "invoice")
	if !(s.Rank[2] > s.Rank[1] && s.Rank[1] > s.Rank[0] && s.Rank[0] > s.Rank[3]) {
		t.Errorf("name, description, parameter, none: %v", s.Rank)
	}
	for _, deep := range []string{`{"properties":{"a":{"items":{"properties":{"invoiceNumber":{}}}}}}`, `{"anyOf":[{"properties":{"invoice_id":{}}}]}`} {
		ix := indexBy(t, catalogOf(catalog.Tool{Name: "a"}, catalog.Tool{Name: "b", Schema: catalog.Schema(deep)}))
		if got := best(ix, ask(t, ix, "the invoice")); got != "b" {
			t.Errorf("%s is not found", deep)
		}
	}
}

func TestToolsLikeTheBestRiseAmongEquals(t *testing.T) {
	dim := 16
	axis := func(i int, share float64) embed.Vector {
		v := make(embed.Vector, dim)
		v[i] = float32(share)
		v[dim-1] = float32(math.Sqrt(1 - share*share))
		return v
	}
	var vectors []embed.Vector
	for i := range 14 {
		vectors = append(vectors, axis(i, 1))
	}
	vectors[1] = embed.Vector(slices.Clone(vectors[0]))
	vectors[1][0], vectors[1][1] = 0.9, float32(math.Sqrt(1-0.81))
	query := axis(0, 1)
	query[0], query[5] = 0.9, float32(math.Sqrt(1-0.81))
	m := embed.Model{Name: "m", Dim: dim}
	tools := make([]catalog.Tool, len(vectors))
	for i := range tools {
		tools[i].Name = fmt.Sprint("t", i)
	}
	v, err := NewView(m, len(vectors), [][]embed.Vector{vectors}, []embed.Vector{axis(3, 0.1)})
	if err != nil {
		t.Fatal(err)
	}
	ix, err := NewIndex(catalog.New(tools), v)
	if err != nil {
		t.Fatal(err)
	}
	s := ix.Score(Query{Texts: []string{"x"}, Vectors: map[embed.Model][]embed.Vector{m: {query}}})
	plain := make([]float32, len(vectors))
	whole := make([]float32, len(vectors))
	v.cosines(query, whole)
	addStandardized(plain, whole, 1)
	if !(s.Rank[1]-s.Rank[5] > plain[1]-plain[5]) {
		t.Errorf("the tool like the best one gains nothing on the other: %v, %v", s.Rank[1]-s.Rank[5], plain[1]-plain[5])
	}
}

func TestTopIDs(t *testing.T) {
	for name, test := range map[string]struct {
		rank []float32
		k    int
		want []catalog.ID
	}{
		"none":   {nil, 3, []catalog.ID{}},
		"fewer":  {[]float32{1, 2}, 3, []catalog.ID{1, 0}},
		"equal":  {[]float32{1, 1, 1, 1}, 2, []catalog.ID{0, 1}},
		"sorted": {[]float32{1, 5, 3, 4, 2}, 3, []catalog.ID{1, 3, 2}},
	} {
		if got := topIDs(test.rank, test.k); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestExamplesRaiseTheirTool(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	request := "let there be darkness in the study"
	example := vectorsOf(t, e, embed.Query, "make it dark in the study")[0]
	taught, err := ix.WithExamples(e.Model(), map[catalog.ID][]embed.Vector{1: {nil, example}})
	if err != nil {
		t.Fatal(err)
	}
	before, after := ask(t, ix, request, e), ask(t, taught, request, e)
	if !(after.Match[1] > before.Match[1]) || best(taught, after) != "lights_off" {
		t.Errorf("match %v before, %v after; best %q", before.Match[1], after.Match[1], best(taught, after))
	}
	for i := range before.Match {
		if i != 1 && before.Match[i] != after.Match[i] {
			t.Errorf("tool %d changed too", i)
		}
	}
	if got := taught.Explain(queryOf(t, []string{request}, e), 1).Views[0]; !got.Example {
		t.Errorf("the example is not told: %+v", got)
	}
	forgotten, err := taught.WithExamples(e.Model(), nil)
	if err != nil || !slices.Equal(ask(t, forgotten, request, e).Match, before.Match) {
		t.Errorf("examples stay: %v", err)
	}
}

func TestExamplesThatDoNotFitAreRefused(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, household(), e)
	good := vectorsOf(t, e, embed.Query, "hello")[0]
	for name, examples := range map[string]map[catalog.ID][]embed.Vector{
		"no such tool": {5: {good}}, "negative": {-1: {good}}, "short": {0: {good[:3]}},
	} {
		if _, err := ix.WithExamples(e.Model(), examples); err == nil || catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ix.WithExamples(embed.Model{Name: "other"}, nil); err == nil || catalog.KindOf(err) != catalog.NotFound {
		t.Errorf("another model: %v", err)
	}
}

func TestExplainAgreesWithScore(t *testing.T) {
	a, b := builtin(t), embedtest.NewFake("b", 64)
	ix := indexBy(t, household(), a, b)
	texts := []string{"please write an email to Anna, and switch on the lamps", "and switch on the lamps", "!!"}
	q := queryOf(t, texts, a, b)
	s := ix.Score(q)
	places := map[int]bool{}
	for id := range catalog.ID(ix.Catalog().Len()) {
		x := ix.Explain(q, id)
		places[x.Place] = true
		if x.Rank != float64(s.Rank[id]) || x.Match != float64(s.Match[id]) || x.Words != float64(s.Words[id]) || len(x.Views) != 2 {
			t.Fatalf("tool %d: %+v", id, x)
		}
		z := 0.0
		for _, v := range x.Views {
			z += v.Z / 2
			if v.Text != texts[0] && v.Text != texts[1] {
				t.Errorf("tool %d: the text that won is %q", id, v.Text)
			}
		}
		if math.Abs(z-x.Match) > 1e-3 {
			t.Errorf("tool %d: views %v, match %v", id, z, x.Match)
		}
		if x.Over(Floor{Threshold: 1, Words: .5}) != (Floor{Threshold: 1, Words: .5}).Over(s, id) {
			t.Errorf("tool %d: another floor", id)
		}
	}
	if len(places) != ix.Catalog().Len() {
		t.Errorf("places %v", places)
	}
	if x := ix.Explain(q, 2); !(x.BM25 > 0) {
		t.Errorf("BM25 of the email tool: %v", x.BM25)
	}
	if x := ix.Explain(Query{}, 0); len(x.Views) != 0 || x.Place != 1 {
		t.Errorf("nothing asked: %+v", x)
	}
}

func FuzzScore(f *testing.F) {
	f.Add("send an email", "an email\nsend an email", "email")
	f.Add("", "\xff", "שלום 😀")
	e, err := embed.NewBuiltin()
	if err != nil {
		f.Fatal(err)
	}
	ix := indexBy(f, household(), e)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		s := askAll(t, ix, []string{a, b, c}, e)
		for i := range s.Rank {
			if x := float64(s.Rank[i] + s.Match[i] + s.Words[i]); math.IsNaN(x) || math.IsInf(x, 0) || s.Words[i] > 1.0001 {
				t.Fatalf("tool %d: %v %v %v", i, s.Rank[i], s.Match[i], s.Words[i])
			}
		}
		if s.Known < 0 || s.Known > 1.0001 {
			t.Fatalf("known %v", s.Known)
		}
	})
}
