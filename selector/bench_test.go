package selector

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// BenchmarkCosines is one vector's cosines with every tool.
func BenchmarkCosines(b *testing.B) {
	for _, n := range []int{38, 1000, 5000} {
		view, queries := randomView(b, "static", n, 256, 1)
		out := make([]float32, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				view.cosines(queries[0], out)
			}
		})
	}
}

// BenchmarkDots is the products of two rows with one vector and with four, by SIMD and by the scalar reference.
func BenchmarkDots(b *testing.B) {
	for _, dim := range []int{256, 384} {
		row0, row1, vectors := make([]int16, dim), make([]int16, dim), make([]int16, fourfold*dim)
		for i := range dim {
			row0[i], row1[i], vectors[i] = int16(i), int16(3*i), int16(i)
		}
		for name, f := range map[string]func(_, _ []int16, _ []int16, _ *products){"simd": dots, "scalar": dotsScalar} {
			for _, count := range []int{1, fourfold} {
				b.Run(fmt.Sprintf("%s/%d/%dvectors", name, dim, count), func(b *testing.B) {
					var out products
					for b.Loop() {
						f(row0, row1, vectors[:count*dim], &out)
					}
				})
			}
		}
	}
}

// inventedTools are n tools of invented words; a few words are common, most are rare.
func inventedTools(n int) *catalog.Catalog {
	rng := rand.New(rand.NewPCG(7, 7))
	word := func() string { return fmt.Sprintf("w%d", int(3000*rng.Float64()*rng.Float64()*rng.Float64())) }
	tools := make([]catalog.Tool, n)
	for i := range tools {
		t := catalog.Tool{Name: fmt.Sprintf("%s_%s_%d", word(), word(), i)}
		for range 25 {
			t.Description += word() + " "
		}
		t.Schema = catalog.Schema(fmt.Sprintf(`{"type":"object","properties":{"%s":{"type":"string"},"%s":{"type":"string"}}}`, word(), word()))
		tools[i] = t
	}
	return catalog.New(tools)
}

// randomView is a view of n tools in dim dimensions, and query vectors in its space.
func randomView(b *testing.B, name string, n, dim, queries int) (*View, []embed.Vector) {
	b.Helper()
	rng := rand.New(rand.NewPCG(uint64(dim), 1))
	vectors := make([]embed.Vector, n+queries)
	for i := range vectors {
		v := make(embed.Vector, dim)
		for j := range v {
			v[j] = rng.Float32() - .4
		}
		if err := embed.Normalize(v); err != nil {
			b.Fatal(err)
		}
		vectors[i] = v
	}
	view, err := NewView(embed.Model{Name: name, Dim: dim}, n, [][]embed.Vector{vectors[:n]}, vectors[:8])
	if err != nil {
		b.Fatal(err)
	}
	return view, vectors[n:]
}

// inventedTexts are a window's: a request of twelve words, the same behind the one before it, and its four clauses.
func inventedTexts() []string {
	const request, before = "w1 w20 w300 w41 w5 w600 w7 w80 w9 w10 w1100 w12", "w100 w2 w3"
	return []string{request, before + "\n" + request, "w1 w20 w300", "w41 w5 w600", "w7 w80 w9", "w10 w1100 w12"}
}

// BenchmarkScoreAndSelect is the selector's whole part of a plan, vectors in hand: a request of twelve words with one before it, with
// one view and with two, and with four clauses beside.
func BenchmarkScoreAndSelect(b *testing.B) {
	texts := inventedTexts()
	for _, n := range []int{38, 200, 3438, 100_000} {
		cat := inventedTools(n)
		static, a := randomView(b, "static", n, 256, len(texts))
		neural, c := randomView(b, "neural", n, 384, len(texts))
		ix, err := NewIndex(cat, static, neural)
		if err != nil {
			b.Fatal(err)
		}
		for _, count := range []int{1, 2, len(texts)} {
			for views := 1; views <= 2; views++ {
				q := Query{Texts: texts[:count], Vectors: map[embed.Model][]embed.Vector{static.model: a[:count]}}
				if views > 1 {
					q.Vectors[neural.model] = c[:count]
				}
				b.Run(fmt.Sprintf("%d/%dtexts/%dviews", n, count, views), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						Select(ix.Score(q), Floor{Threshold: 1, Words: .5}, 64)
					}
				})
			}
		}
	}
}

// BenchmarkScoreCold is a plan's scoring where the rows are in no cache, as after a request of several megabytes was read: two views, one text and six.
func BenchmarkScoreCold(b *testing.B) {
	const n, cacheLine = 3438, 64
	texts := inventedTexts()
	static, a := randomView(b, "static", n, 256, len(texts))
	neural, c := randomView(b, "neural", n, 384, len(texts))
	ix, err := NewIndex(inventedTools(n), static, neural)
	if err != nil {
		b.Fatal(err)
	}
	other := make([]byte, 128<<20)
	for _, count := range []int{1, len(texts)} {
		q := Query{Texts: texts[:count], Vectors: map[embed.Model][]embed.Vector{static.model: a[:count], neural.model: c[:count]}}
		b.Run(fmt.Sprintf("%dtexts", count), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				for i := 0; i < len(other); i += cacheLine {
					other[i]++
				}
				b.StartTimer()
				ix.Score(q)
			}
		})
	}
}

// BenchmarkLexicalIndex is what a new catalog costs in words.
func BenchmarkLexicalIndex(b *testing.B) {
	for _, n := range []int{200, 100_000} {
		cat := inventedTools(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newLexical(cat)
			}
		})
	}
}
