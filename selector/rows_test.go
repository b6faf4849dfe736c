package selector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
)

func TestDotsEqualTheScalarReference(t *testing.T) {
	for n := lanes; n <= 70*lanes; n += lanes {
		compareDots(t, n, uint64(n))
	}
}

func FuzzDots(f *testing.F) {
	f.Add(16, uint64(1))
	f.Fuzz(func(t *testing.T, blocks int, seed uint64) { compareDots(t, (1+abs(blocks)%300)*lanes, seed) })
}

func compareDots(t *testing.T, n int, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	rows, vectors := make([]int16, 2*n), make([]int16, fourfold*n)
	for i := range rows {
		rows[i] = int16(rng.IntN(2*math.MaxInt16) - math.MaxInt16)
	}
	for i := range vectors {
		vectors[i] = int16(rng.IntN(2*math.MaxInt16) - math.MaxInt16)
	}
	for _, count := range []int{1, fourfold} {
		var fast, slow products
		dots(rows[:n], rows[n:], vectors[:count*n], &fast)
		dotsScalar(rows[:n], rows[n:], vectors[:count*n], &slow)
		if fast != slow {
			t.Fatalf("%d numbers, %d vectors: %v, %v by the reference", n, count, fast, slow)
		}
	}
}

func TestRowsInAnyNumberOfDimensions(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 384, 768, 5000} {
		for count := range 9 {
			compareRows(t, dim, 9, 1+count, uint64(dim))
		}
	}
}

// A vector that is all one number adds up to the most that a sum has to hold.
func TestNoSumOverflows(t *testing.T) {
	for _, dim := range []int{1, 384, 516, 517, 1024, 4096, 8192, 16_384} {
		same := make(embed.Vector, dim)
		for i := range same {
			same[i] = float32(1 / math.Sqrt(float64(dim)))
		}
		r := newRows(1, dim)
		r.set(0, same)
		r.each(0, 1, []embed.Vector{same}, func(_ int, products []float32) {
			if math.Abs(float64(products[0]-1)) > 1e-3 {
				t.Errorf("%d dimensions: a vector's product with itself is %v", dim, products[0])
			}
		})
	}
}

// The parts of a size that is split are the same as the whole.
func TestManyRowsAreTheSameInParallel(t *testing.T) {
	compareRows(t, 8, 2*parallelWork/(3*lanes)+7, 3, 1)
}

func FuzzRows(f *testing.F) {
	f.Add(256, 5, 4, uint64(1))
	f.Add(1, 1, 1, uint64(2))
	f.Fuzz(func(t *testing.T, dim, n, vectors int, seed uint64) {
		compareRows(t, 1+abs(dim)%1024, 1+abs(n)%32, 1+abs(vectors)%9, seed)
	})
}

func abs(x int) int { return max(x, -max(x, -math.MaxInt)) }

// units are vectors of the length 1, each in its own direction.
func units(n, dim int, seed uint64) []embed.Vector {
	rng := rand.New(rand.NewPCG(seed, 3))
	list := make([]embed.Vector, n)
	for i := range list {
		v := make(embed.Vector, dim)
		for j := range v {
			v[j] = float32(rng.NormFloat64())
		}
		if embed.Normalize(v) != nil {
			v[0] = 1
		}
		list[i] = v
	}
	return list
}

// compareRows compares the products with those of what was rounded.
func compareRows(t *testing.T, dim, n, count int, seed uint64) {
	t.Helper()
	original, vectors := units(n, dim, seed), units(count, dim, seed+1)
	r := newRows(n, dim)
	for i, v := range original {
		r.set(i, v)
	}
	visited := make([]int, n)
	r.each(0, n, vectors, func(i int, products []float32) {
		visited[i]++
		if len(products) != count {
			t.Errorf("%d products of %d vectors", len(products), count)
			return
		}
		for k, got := range products {
			if want := vek32.Dot(original[i], vectors[k]); math.Abs(float64(got-want)) > 1e-4 {
				t.Errorf("%d dimensions, row %d: %v, %v before it was rounded", dim, i, got, want)
			}
		}
	})
	if slices.Min(visited) != 1 || slices.Max(visited) != 1 {
		t.Errorf("%d rows of %d dimensions: some were not visited once", n, dim)
	}
}

func TestOddRows(t *testing.T) {
	r := newRows(6, 3)
	inf, nan, huge := float32(math.Inf(1)), float32(math.NaN()), float32(math.MaxFloat32)
	for i, v := range [][]float32{{-6, 3, 2}, {0, 0, 0}, {1e-30, -1e-30, 0}, {inf, 1, 0}, {1, nan, 0}, {huge, -huge, 0}} {
		r.set(i, v)
		if i > 0 && (r.length(i) != 0 || !slices.Equal(r.row(i), make([]int16, lanes))) {
			t.Errorf("row %d is not empty: %v × %v", i, r.scale[i], r.row(i))
		}
	}
	if want := []int16{-28086, 14043, 9362}; !slices.Equal(r.row(0)[:3], want) || math.Abs(float64(r.length(0)-7)) > 1e-3 {
		t.Errorf("row %v, want %v", r.row(0), want)
	}
	sum := make([]float32, 3)
	r.add(0, 2, sum)
	if math.Abs(float64(sum[0]+12)) > 1e-3 || math.Abs(float64(sum[2]-4)) > 1e-3 {
		t.Errorf("twice the row: %v", sum)
	}
	r.set(0, []float32{0, 0, 0})
	if r.length(0) != 0 {
		t.Error("a row that was set anew keeps what it had")
	}
	r.set(0, []float32{1, 0, 0})
	r.each(0, 1, []embed.Vector{{nan, 1, 0}, {inf, 0, 0}, {0, 0, 0}, {-3, 4, 0}}, func(_ int, products []float32) {
		if !slices.Equal(products[:3], make([]float32, 3)) || math.Abs(float64(products[3]+3)) > 1e-3 {
			t.Errorf("products of odd vectors: %v", products)
		}
	})
	r.each(0, 0, []embed.Vector{{1, 1, 1}}, func(int, []float32) { t.Error("no row is visited") })
}
