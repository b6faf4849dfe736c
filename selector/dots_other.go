//go:build !amd64

package selector

func dots(row0, row1 []int16, vectors []int16, out *products) { dotsScalar(row0, row1, vectors, out) }
