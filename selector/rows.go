package selector

import (
	"math"
	"runtime"
	"sync"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
)

// rows are vectors in whole numbers of 16 bits and one scale a row, one behind the other: half of float32's memory, and of what a plan has to read.
// The rounding moves the product of two vectors of the length 1 by some hundred thousandths.
type rows struct {
	dim    int
	stride int       // dim, filled up with zeros to a multiple of lanes
	cells  []int16   // rows × stride
	scale  []float32 // a row's numbers are its cells × its scale, which is not below 0
}

const (
	lanes    = 16 // of so many numbers dots takes a multiple
	fourfold = 4  // and so many vectors
)

func newRows(n, dim int) rows {
	stride := (dim + lanes - 1) / lanes * lanes
	return rows{dim: dim, stride: stride, cells: make([]int16, n*stride), scale: make([]float32, n)}
}

func (r *rows) row(i int) []int16 { return r.cells[i*r.stride : (i+1)*r.stride] }

// set rounds a vector of dim numbers into row i, measured by its own length, which no number can exceed; nor can the products of two such rows,
// or any part of them, add up to more than the square of the longest, which 31 bits hold. A vector that is next to nothing, or not finite, is all zeros.
func (r *rows) set(i int, vector []float32) {
	cells := r.row(i)
	clear(cells)
	r.scale[i] = 0
	length := vek32.Norm(vector)
	if !(length > minDeviation && length <= math.MaxFloat32) {
		return
	}
	r.scale[i] = length / math.MaxInt16
	const shift = 1 << 16 // makes a number positive, since a conversion cuts towards 0
	by := math.MaxInt16 / length
	for j, x := range vector {
		cells[j] = int16(int32(x*by+(shift+0.5)) - shift)
	}
}

// add adds weight × row i to sum, which has dim numbers.
func (r *rows) add(i int, weight float32, sum []float32) {
	weight *= r.scale[i]
	for j, c := range r.row(i)[:r.dim] {
		sum[j] += weight * float32(c)
	}
}

// length is the Euclidean length of row i, by which it is measured.
func (r *rows) length(i int) float32 { return r.scale[i] * math.MaxInt16 }

// each calls use with the dot products of every row in [from, to) with all the vectors, of which there is at least one, all of dim
// numbers; at the same time for several rows where there is much to do. products is overwritten when use returns. Every row is read once.
func (r *rows) each(from, to int, vectors []embed.Vector, use func(i int, products []float32)) {
	q := newRows(len(vectors)+fourfold-2, r.dim) // the last two are empty
	for k, vector := range vectors {
		q.set(k, vector)
	}
	inParallel(to-from, len(vectors)*r.stride, func(a, b int) { r.walk(from+a, from+b, len(vectors), &q, use) })
}

// products are those of two rows with up to four vectors: the first row's, then, from fourfold on, the second's.
type products [2 * fourfold]int32

// walk is each for one goroutine: two rows at a time.
func (r *rows) walk(from, to, count int, q *rows, use func(i int, products []float32)) {
	both := make([]float32, 2*count)
	first, second := both[:count], both[count:]
	var out products
	for i := from; i < to; i += 2 {
		j := min(i+1, to-1) // the last of an odd number is compared twice
		for k := 0; k < count; {
			n := together(count - k)
			dots(r.row(i), r.row(j), q.cells[k*r.stride:(k+n)*r.stride], &out)
			for m, scale := range q.scale[k:min(k+n, count)] {
				first[k+m] = float32(out[m]) * scale * r.scale[i]
				second[k+m] = float32(out[fourfold+m]) * scale * r.scale[j]
			}
			k += n
		}
		use(i, first)
		if j > i {
			use(j, second)
		}
	}
}

// together is how many of the vectors that are left are compared at once: two or three take as long one by one as four together, some of them empty.
func together(left int) int {
	if left == 1 {
		return 1
	}
	return fourfold
}

// dotsScalar fills out with the products of two rows with one vector or with four, which lie one behind the other. The rows have the same number of
// cells, a multiple of lanes and not 0, and each vector as many numbers. It is the reference of dots, which gives the same numbers on every machine.
func dotsScalar(row0, row1 []int16, vectors []int16, out *products) {
	n := len(row0)
	row1 = row1[:n]
	for k := range len(vectors) / n {
		vector := vectors[k*n:][:n]
		var a, b int32
		for i, x := range vector {
			a += int32(row0[i]) * int32(x)
			b += int32(row1[i]) * int32(x)
		}
		out[k], out[fourfold+k] = a, b
	}
}

// parallelWork is how many multiplications are worth a goroutine of their own: about a tenth of a millisecond.
const parallelWork = 1 << 23

// inParallel calls work for parts of [0, n) that together are all of it, and returns when all are done; at the same time
// where there is much to do: each of the n costs so many multiplications.
func inParallel(n, cost int, work func(from, to int)) {
	parts := min(n*cost/parallelWork, runtime.GOMAXPROCS(0), n)
	if parts < 2 {
		work(0, n)
		return
	}
	var group sync.WaitGroup
	for k := 1; k < parts; k++ {
		group.Go(func() { work(k*n/parts, (k+1)*n/parts) })
	}
	work(0, n/parts)
	group.Wait()
}
