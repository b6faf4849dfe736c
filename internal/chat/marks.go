package chat

// Marks tell most keys of a long array from a few that are looked for, without the hash that a map's look-up takes. The keys of such an array are spread over all of the
// memory that holds it: most are told apart by their lengths, which stand in the elements, and nearly all others by three of their bytes.
type Marks struct {
	lengths [64]bool   // by length, its last six bits
	likely  [1024]bool // by mark
}

// MarksOf returns the marks of these keys. Cost: a few nanoseconds a key, one allocation of a kilobyte.
func MarksOf(keys []string) *Marks {
	m := &Marks{}
	for _, key := range keys {
		m.lengths[len(key)&63], m.likely[mark(key)] = true, true
	}
	return m
}

// May reports whether a key may be one of the few: true for each of them, and for few others.
func (m *Marks) May(key string) bool {
	return m.lengths[len(key)&63] && m.likely[mark(key)]
}

// mark is made of a key's length and three of its bytes.
func mark(key string) int {
	if key == "" {
		return 0
	}
	return (len(key)*31 + int(key[len(key)-1])*7 + int(key[len(key)/2])*131 + int(key[len(key)/3])*17) & 1023
}
