package selector

import "github.com/viterin/vek/vek32"

// dots2x4 fills out with the dot products of two rows with four queries, which lie one behind the other: the first row's four, then the second's. All are of
// dim numbers, a multiple of 8 and not 0. Each number is read once for all products that it is part of, which takes two thirds of the time of the same products
// one by one (BenchmarkBest).
//
//go:noescape
func dots2x4(row0, row1, queries *float32, dim int, out *[8]float32)

// blocked reports whether dots2x4 may be used for vectors of dim numbers on this machine.
func blocked(dim int) bool { return dim > 0 && dim%8 == 0 && accelerated }

var accelerated = vek32.Info().Acceleration // AVX2 and FMA
