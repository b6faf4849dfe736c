package chat

// Marks find a few keys among those of a long array, most of which they tell apart without the hash that a map's look-up takes. The keys of such an array are spread over all of the
// memory that holds it: most are told apart by their lengths, which stand in the elements, and nearly all others by three of their bytes.
type Marks struct {
	lengths [64]bool   // by length, its last six bits
	likely  [1024]bool // by mark
	places  map[string]int
}

// MarksOf returns the marks of these keys. Cost: a map's entry a key, and a kilobyte.
func MarksOf(keys []string) *Marks {
	m := &Marks{places: make(map[string]int, len(keys))}
	for i, key := range keys {
		if _, twice := m.places[key]; !twice {
			m.places[key] = i
		}
		m.lengths[len(key)&63], m.likely[mark(key)] = true, true
	}
	return m
}

// May reports whether a key may be one of the few: true for each of them, and for few others.
func (m *Marks) May(key string) bool {
	return m.lengths[len(key)&63] && m.likely[mark(key)]
}

// Place is where a key stands first among the few, from 0; false where it is none of them.
func (m *Marks) Place(key string) (int, bool) {
	if !m.May(key) {
		return 0, false
	}
	i, ok := m.places[key]
	return i, ok
}

// mark is made of a key's length and three of its bytes.
func mark(key string) int {
	if key == "" {
		return 0
	}
	return (len(key)*31 + int(key[len(key)-1])*7 + int(key[len(key)/2])*131 + int(key[len(key)/3])*17) & 1023
}
