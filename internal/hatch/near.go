package hatch

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"toolbelt/catalog"
	"toolbelt/internal/slip"
)

// folded is a name without what people and models write differently: case, and everything that is no letter or digit. Bytes outside
// ASCII are lower-cased as characters and kept. A name that is too long has only its beginning folded.
func folded(name string) string {
	var b strings.Builder
	name = lowered(name)
	for i := range len(name) {
		if c := symbol(name[i]); c != 0 {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// lowered clips a name and lower-cases what symbol does not.
func lowered(name string) string {
	name = clip(name, maxNameBytes)
	if ascii(name) {
		return name
	}
	return clip(strings.ToLower(name), maxNameBytes)
}

// symbol is the folded byte, 0 for one that is dropped.
func symbol(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= utf8.RuneSelf:
		return c
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	}
	return 0
}

// pattern is a folded name made ready to be compared with many others.
type pattern struct {
	text  string
	codes [256]uint8     // six bits for each byte's symbol, 0 for one that is dropped
	pairs [1 << 12]uint8 // by the codes of two neighbours: 1 where the text has them
}

func newPattern(name string) *pattern {
	p := &pattern{text: folded(name)}
	for c := range p.codes {
		switch s := symbol(byte(c)); {
		case s >= utf8.RuneSelf:
			p.codes[c] = 37 + s%27 // shared by a few bytes: a pair too many is found at times, none is missed
		case s >= 'a':
			p.codes[c] = s - 'a' + 1
		case s > 0:
			p.codes[c] = s - '0' + 27
		}
	}
	for i := 1; i < len(p.text); i++ {
		p.pairs[uint(p.codes[p.text[i-1]])<<6|uint(p.codes[p.text[i]])] = 1
	}
	return p
}

// compare folds a name and returns its length, how many of its pairs of neighbouring bytes the pattern has, and whether both are equal. No allocation for
// a name in ASCII.
func (p *pattern) compare(name string) (length, hits int, equal bool) {
	if len(name) > maxNameBytes {
		name = lowered(name)
	}
	length, hits, wide := p.count(name)
	if wide {
		name = lowered(name)
		length, hits, _ = p.count(name)
	}
	return length, hits, length == len(p.text) && hits == max(length-1, 0) && p.text == folded(name)
}

// count returns how many symbols and how many of the pattern's pairs a name has, and whether it has bytes outside ASCII.
func (p *pattern) count(name string) (length, hits int, wide bool) {
	var last uint // 0 is half of no pair
	var all byte
	for i := range len(name) {
		b := name[i]
		all |= b
		c := uint(p.codes[b])
		if c == 0 {
			continue
		}
		hits += int(p.pairs[(last<<6|c)&(1<<12-1)])
		last = c
		length++
	}
	return length, hits, all >= utf8.RuneSelf
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// candidate is a name that a pattern was compared with.
type candidate struct {
	at       int // in the list of names
	likeness int // share of the pairs that both have, in thousandths (Dice's coefficient)
}

// likeness is Dice's coefficient over pairs, in thousandths; 1000 where both are one and the same byte.
func (p *pattern) likeness(length, hits int, equal bool) int {
	if equal {
		return 1000
	}
	pairs := max(len(p.text)-1, 0) + max(length-1, 0)
	if pairs == 0 {
		return 0
	}
	return min(2000*hits/pairs, 999)
}

// slips is how many slips a spelling may have: one from four folded bytes on, two from eight.
func slips(length int) int {
	switch {
	case length < 4:
		return 0
	case length < 8:
		return 1
	}
	return 2
}

// Bounds of one scan.
const (
	maxListed   = 30   // names in an answer
	maxEqual    = 4    // names that one spelling may stand for
	maxMeasured = 2000 // edit distances that are computed
)

// scan is what the names of a list are to a pattern.
type scan struct {
	equal   []int       // folded alike, in order, at most maxEqual+1
	slipped []int       // at the smallest edit distance that slips allows, in order, at most two
	worded  []int       // all the pattern's words are in the name, at most maxEqual+1
	nearest []candidate // best first, at most maxListed, all with some likeness
}

// scanNames compares a name with n others. Cost: some ten nanoseconds a name of ordinary length, and bounded work on those that are near.
func scanNames(query string, n int, name func(int) string) scan {
	p := newPattern(query)
	words := contentWords(query)
	wordPairs := 0 // fewer a name that has all the words cannot share, its plurals and the query's aside
	for _, w := range words {
		wordPairs += len(w) - 2
	}
	var s scan
	best, measured, worded := slips(len(p.text))+1, 0, 0
	for i := range n {
		other := name(i)
		length, hits, equal := p.compare(other)
		if length == 0 || len(p.text) == 0 {
			continue
		}
		if equal && len(s.equal) <= maxEqual {
			s.equal = append(s.equal, i)
		}
		s.keep(candidate{i, p.likeness(length, hits, equal)})
		// Two texts at distance k share all but 2k of the longer one's pairs (the q-gram lemma of Ukkonen, 1992).
		if k := min(best, slips(len(p.text))); k > 0 && max(length, len(p.text))-1-2*k <= hits && abs(length-len(p.text)) <= k && measured < maxMeasured {
			measured++
			s.slip(i, slip.Distance(p.text, folded(other), k), &best)
		}
		if len(words) > 0 && hits >= wordPairs && len(s.worded) <= maxEqual && worded < maxMeasured {
			worded++
			if hasWords(other, words) {
				s.worded = append(s.worded, i)
			}
		}
	}
	if measured == maxMeasured {
		s.slipped = nil // not all were looked at: none is known to be the only one
	}
	return s
}

// slip notes a name at distance d from the pattern, where none is nearer.
func (s *scan) slip(i, d int, best *int) {
	switch {
	case d < *best:
		*best, s.slipped = d, []int{i}
	case d == *best && len(s.slipped) == 1:
		s.slipped = append(s.slipped, i)
	}
}

// keep inserts c among the nearest; of equal ones the earlier stands first.
func (s *scan) keep(c candidate) {
	full := len(s.nearest) == maxListed
	if c.likeness == 0 || full && s.nearest[maxListed-1].likeness >= c.likeness {
		return
	}
	at, _ := slices.BinarySearchFunc(s.nearest, c, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), -1) // behind its equals
	})
	if full {
		s.nearest = s.nearest[:maxListed-1]
	}
	s.nearest = slices.Insert(s.nearest, at, c)
}

// contentWords returns the words of a query that say something, at most eight.
func contentWords(query string) []string {
	var words []string
	catalog.Words(clip(query, maxNameBytes), func(w string) {
		if len(w) >= 3 && !among(empty, w) && len(words) < 8 && !slices.Contains(words, w) {
			words = append(words, w)
		}
	})
	return words
}

// hasWords reports whether each of words is among the name's, a plural counting as its singular.
func hasWords(name string, words []string) bool {
	found := 0
	var has []string
	catalog.Words(clip(name, maxNameBytes), func(w string) { has = append(has, singular(w)) })
	for _, w := range words {
		if slices.Contains(has, singular(w)) {
			found++
		}
	}
	return found == len(words)
}

// singular drops the one s at the end of an English plural.
func singular(word string) string {
	if n := len(word); n > 3 && word[n-1] == 's' && word[n-2] != 's' {
		return word[:n-1]
	}
	return word
}

func abs(x int) int { return max(x, -x) }
