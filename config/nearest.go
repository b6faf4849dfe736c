package config

import "strings"

// suggestion asks `; did you mean "key"?` for the known key nearest to name, spelt by spell; "" where none is near.
func suggestion(name string, spell func(key string) string) string {
	best, bestDistance := "", 4
	folded := strings.ReplaceAll(strings.ToLower(clip(name)), "-", "_")
	for _, s := range settings() {
		if d := distance(folded, s.key); d < bestDistance && d < max(len(s.key)-1, 2) {
			best, bestDistance = s.key, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + spell(best) + `"?`
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
