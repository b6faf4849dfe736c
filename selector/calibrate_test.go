package selector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/selector"
)

// randomVectors are unit vectors that lean in one direction, as an embedder's do. Every fifth is nil where holes is true.
func randomVectors(r *rand.Rand, n, dim int, holes bool) []embed.Vector {
	list := make([]embed.Vector, n)
	for i := range list {
		if holes && i%5 == 4 {
			continue
		}
		v := make(embed.Vector, dim)
		for j := range v {
			v[j] = float32(r.NormFloat64())
		}
		v[0] += 2
		if err := embed.Normalize(v); err != nil {
			panic(err)
		}
		list[i] = v
	}
	return list
}

func someTools(n int) *catalog.Catalog {
	tools := make([]catalog.Tool, n)
	for i := range tools {
		tools[i].Name = string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	return catalog.New(tools)
}

func mustView(t *testing.T, m embed.Model, texts, background []embed.Vector) *selector.View {
	t.Helper()
	v, err := selector.NewView(m, len(texts), [][]embed.Vector{texts}, background)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustIndex(t *testing.T, cat *catalog.Catalog, views ...*selector.View) *selector.Index {
	t.Helper()
	ix, err := selector.NewIndex(cat, views...)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// A request is measured as one that a view without it would measure.
func TestCalibrateLeavesOneOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := embed.Model{Name: "m", Dim: 24}
	for _, holes := range []bool{false, true} {
		texts, background := randomVectors(r, 40, m.Dim, holes), randomVectors(r, 30, m.Dim, holes)
		cat := someTools(len(texts))
		got, err := mustIndex(t, cat, mustView(t, m, texts, background)).Calibrate()
		if err != nil {
			t.Fatal(err)
		}
		var all []float64
		requests := 0
		for j, b := range background {
			if b == nil {
				continue
			}
			requests++
			others := append(append([]embed.Vector{}, background[:j]...), background[j+1:]...)
			s := mustIndex(t, cat, mustView(t, m, texts, others)).Score(selector.Query{Texts: []string{"word"}, Vectors: map[embed.Model][]embed.Vector{m: {b}}})
			for _, x := range s.Match {
				all = append(all, float64(x))
			}
		}
		largest, over := math.Inf(-1), 0
		for _, x := range all {
			largest = max(largest, x)
			if x >= 1 {
				over++
			}
		}
		if got.Requests != requests || got.Tools != 40 || got.Model != m || got.Catalog != cat.Hash() {
			t.Errorf("measured %+v, %d requests", got.Measured, requests)
		}
		if math.Abs(got.Max-largest) > 1e-3 {
			t.Errorf("max %v, views without the request say %v", got.Max, largest)
		}
		if got.Admitted[0].Threshold != 1 || math.Abs(got.Admitted[0].Tools-float64(over)/float64(requests)) > 0.05 {
			t.Errorf("over 1: %+v, want %v", got.Admitted[0], float64(over)/float64(requests))
		}
		admitted := func(tau float64) float64 {
			n := 0
			for _, x := range all {
				if x >= tau {
					n++
				}
			}
			return float64(n) / float64(requests)
		}
		if admitted(got.Floor) > 1 || admitted(got.Floor-0.02) <= 1 {
			t.Errorf("floor %v admits %v tools, a little less %v", got.Floor, admitted(got.Floor), admitted(got.Floor-0.02))
		}
		if !(got.P50 <= got.P95 && got.P95 <= got.P99 && got.P99 <= got.Max) || !(got.Deviation > 0) || !(got.Mean > 0) {
			t.Errorf("%+v", got)
		}
	}
}

// Two views that agree are as one; two that do not are matched by their mean, which strays less.
func TestCalibrateTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a, b := embed.Model{Name: "a", Digest: "x", Dim: 24}, embed.Model{Name: "b", Digest: "y", Dim: 24, Prefix: 1}
	texts, background := randomVectors(r, 50, 24, false), randomVectors(r, 40, 24, false)
	cat := someTools(50)
	same := mustIndex(t, cat, mustView(t, a, texts, background), mustView(t, b, texts, background))
	one, err := same.Calibrate(a)
	if err != nil {
		t.Fatal(err)
	}
	both, err := same.Calibrate()
	if err != nil {
		t.Fatal(err)
	}
	if both.Model.Name != "a+b" || both.Model.Digest != "x+y" || math.Abs(both.Floor-one.Floor) > 0.011 || math.Abs(both.Mean-one.Mean) > 1e-6 || math.Abs(both.P95-one.P95) > 1e-3 {
		t.Errorf("one %+v, both %+v", one, both)
	}
	other := mustIndex(t, cat, mustView(t, a, texts, background), mustView(t, b, randomVectors(r, 50, 24, false), randomVectors(r, 40, 24, false)))
	if both, err = other.Calibrate(); err != nil || both.P95 >= one.P95 {
		t.Errorf("p95 %v alone, %v together, %v", one.P95, both.P95, err)
	}
	if _, err := mustIndex(t, cat, mustView(t, a, texts, background), mustView(t, b, texts, background[1:])).Calibrate(); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("backgrounds of two sizes: %v", err)
	}
}

func TestCalibrateBadInput(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := embed.Model{Name: "m", Dim: 8}
	background := randomVectors(r, 20, 8, false)
	for name, c := range map[string]struct {
		index  *selector.Index
		models []embed.Model
		kind   catalog.Kind
	}{
		"no view":       {index: mustIndex(t, someTools(3)), kind: catalog.Invalid},
		"no tools":      {index: mustIndex(t, someTools(0), mustView(t, m, nil, background)), kind: catalog.Invalid},
		"unknown model": {index: mustIndex(t, someTools(3), mustView(t, m, randomVectors(r, 3, 8, false), background)), models: []embed.Model{{Name: "other"}}, kind: catalog.NotFound},
		"few requests":  {index: mustIndex(t, someTools(3), mustView(t, m, randomVectors(r, 3, 8, false), background[:7])), kind: catalog.Invalid},
	} {
		if _, err := c.index.Calibrate(c.models...); err == nil || catalog.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Tools with nothing to embed, one tool, and equal tools are measured all the same, in finite figures.
	equal := randomVectors(r, 1, 8, false)[0]
	for name, texts := range map[string][]embed.Vector{"nothing to embed": make([]embed.Vector, 4), "one tool": {equal}, "equal tools": {equal, equal, equal}} {
		got, err := mustIndex(t, someTools(len(texts)), mustView(t, m, texts, background)).Calibrate()
		if err != nil || math.IsNaN(got.Floor+got.Max+got.P50+got.Mean+got.Deviation) || got.Floor < 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func BenchmarkCalibrate(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	m := embed.Model{Name: "m", Dim: 256}
	for _, n := range []int{200, 5000} {
		v, err := selector.NewView(m, n, [][]embed.Vector{randomVectors(r, n, m.Dim, false)}, randomVectors(r, 64, m.Dim, false))
		if err != nil {
			b.Fatal(err)
		}
		tools := make([]catalog.Tool, n)
		for i := range tools {
			tools[i].Name = fmt.Sprint(i)
		}
		ix, err := selector.NewIndex(catalog.New(tools), v)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("tools=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := ix.Calibrate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
