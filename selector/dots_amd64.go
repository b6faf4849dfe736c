package selector

import "golang.org/x/sys/cpu"

var accelerated = cpu.X86.HasAVX2

// dots fills out as dotsScalar does, by AVX2 where the machine has it. Of four vectors each number is read once for all products that it is part of.
func dots(row0, row1 []int16, vectors []int16, out *products) {
	n := len(row0)
	switch {
	case !accelerated:
		dotsScalar(row0, row1, vectors, out)
	case len(vectors) == fourfold*n:
		_ = row1[n-1] // as long as the first
		dots2x4(&row0[0], &row1[0], &vectors[0], n, out)
	default:
		_, _ = row1[n-1], vectors[n-1]
		dots2x1(&row0[0], &row1[0], &vectors[0], n, out)
	}
}

// dots2x4 is dots for four vectors of n numbers, a multiple of lanes and not 0.
//
//go:noescape
func dots2x4(row0, row1 *int16, vectors *int16, n int, out *products)

// dots2x1 is dots for one vector of n numbers, a multiple of lanes and not 0.
//
//go:noescape
func dots2x1(row0, row1 *int16, vector *int16, n int, out *products)
