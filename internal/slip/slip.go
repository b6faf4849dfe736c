// Package slip measures how far a name is from the one that it may have been meant for.
package slip

// usual is how long, in bytes, texts may be whose distance is found without allocating.
const usual = 256

// Distance is the number of insertions, deletions, replacements and swaps of neighbouring bytes that lead from a to b (optimal string
// alignment), or limit+1 where it is more than limit. Cost: len(a)·len(b) at most, nothing where their lengths differ by more than limit.
func Distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	width := len(b) + 1
	var backing [3 * (usual + 2)]int
	all := backing[:]
	if 3*width > len(all) {
		all = make([]int, 3*width)
	}
	rows := [3][]int{all[:width], all[width : 2*width], all[2*width : 3*width]}
	for j := range width {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, before := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		least := i
		for j := 1; j < width; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > limit {
			return limit + 1
		}
	}
	return min(rows[len(a)%3][len(b)], limit+1)
}
