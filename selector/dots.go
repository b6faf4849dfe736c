package selector

import (
	"toolbelt/catalog"
	"toolbelt/embed"
)

// fewestBlocked is the number of vectors from which they are compared in blocks. A block of four takes about as long as one or two alone.
const fewestBlocked = 3

// queryBlock is a query's vectors, one behind the other, in fours: first those of the whole texts, the last of which fills their last four, then the pieces in the same way.
type queryBlock struct {
	dim     int
	numbers []float32
	wholes  int // fours of whole texts; the others are of pieces
}

func newQueryBlock(dim int, wholes, parts []embed.Vector) queryBlock {
	q := queryBlock{dim: dim, wholes: (len(wholes) + 3) / 4}
	q.numbers = make([]float32, 0, 4*dim*(q.wholes+(len(parts)+3)/4))
	for _, kind := range [][]embed.Vector{wholes, parts} {
		for i := range (len(kind) + 3) / 4 * 4 {
			q.numbers = append(q.numbers, kind[min(i, len(kind)-1)]...)
		}
	}
	return q
}

// bestByBlocks is best for the tools in [from, to), two tools and four vectors at a time.
func (v *View) bestByBlocks(q queryBlock, whole, pieces []float32, from, to int) {
	var dots [8]float32
	for i := from; i < to; i += 2 {
		j := min(i+1, to-1) // the last of an odd number is compared twice
		row0, row1 := v.row(catalog.ID(i)), v.row(catalog.ID(j))
		for k, at := 0, 0; at < len(q.numbers); k, at = k+1, at+4*q.dim {
			dots2x4(&row0[0], &row1[0], &q.numbers[at], q.dim, &dots)
			best0, best1 := max(dots[0], dots[1], dots[2], dots[3]), max(dots[4], dots[5], dots[6], dots[7])
			out, first := whole, k == 0
			if k >= q.wholes {
				out, first = pieces, k == q.wholes
			}
			if !first {
				best0, best1 = max(best0, out[i]), max(best1, out[j])
			}
			out[i], out[j] = best0, best1
		}
	}
}
