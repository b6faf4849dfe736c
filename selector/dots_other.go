//go:build !amd64

package selector

// dots2x4 is for machines with AVX2 alone; blocked says so.
func dots2x4(_, _, _ *float32, _ int, _ *[8]float32) { panic("selector: there is no dots2x4 here") }

func blocked(int) bool { return false }
