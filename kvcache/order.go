// Package kvcache keeps the visible list in an order that leaves the engine's prefix cache whole. An
// engine reuses exactly the longest common token prefix of two prompts, so what stands early must stay, and what is new goes last.
package kvcache

// Order returns wanted in the order to send: first what previous already had, in previous's order, then
// the rest in wanted's own. Nothing is ever sorted or inserted. Duplicates in wanted count once. Neither slice is changed or kept.
// Cost: linear.
func Order(previous, wanted []string) []string {
	pending := make(map[string]bool, len(wanted))
	for _, key := range wanted {
		pending[key] = true
	}
	order := make([]string, 0, len(wanted))
	for _, list := range [][]string{previous, wanted} {
		for _, key := range list {
			if pending[key] {
				order = append(order, key)
				pending[key] = false
			}
		}
	}
	return order
}

// InsertFixed returns order with elements that are not ours to choose at their own places: fixed[i] stands behind
// before[i] of the others, where the list is new. Those that previous already held are in order by themselves (see Order) and must not be given again.
func InsertFixed(order, fixed []string, before []int) []string {
	if len(fixed) == 0 {
		return order
	}
	out := make([]string, 0, len(order)+len(fixed))
	next := 0
	for i := 0; i <= len(order); i++ {
		for next < len(fixed) && (before[next] <= i || i == len(order)) {
			out = append(out, fixed[next])
			next++
		}
		if i < len(order) {
			out = append(out, order[i])
		}
	}
	return out
}

// CommonPrefix returns how many leading elements two lists share.
func CommonPrefix(previous, next []string) int {
	n := min(len(previous), len(next))
	for i := range n {
		if previous[i] != next[i] {
			return i
		}
	}
	return n
}

// PrefixTokens sums the cost of the leading elements that two lists share: what an engine that still holds the previous
// list need not evaluate again. tokens gives one element's cost.
func PrefixTokens(previous, next []string, tokens func(key string) int) int {
	sum := 0
	for _, key := range next[:CommonPrefix(previous, next)] {
		sum += tokens(key)
	}
	return sum
}
