package turn

import (
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

// arrayPart is how much of an array is hashed at a time: what stays in a core's own cache between the two seeds.
const arrayPart = 128 << 10

// arrayHash names a tools array within this process: 128 bits under seeds that nobody knows, ten times as fast as SHA-256 on the megabytes
// that some arrays have. Of a long one it is the hash of its parts' hashes, which are taken on all cores.
func (p *Planner) arrayHash(array []byte) catalog.Hash {
	if len(array) <= arrayPart {
		return p.hash(array)
	}
	parts := (len(array) + arrayPart - 1) / arrayPart
	sums := make([]byte, parts*len(catalog.Hash{}))
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < parts; i = int(next.Add(1)) - 1 {
			h := p.hash(array[i*arrayPart : min((i+1)*arrayPart, len(array))])
			copy(sums[i*len(h):], h[:])
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), parts/8) - 1 { // a goroutine is not worth less than a megabyte
		group.Go(work)
	}
	work()
	group.Wait()
	return p.hash(sums)
}

func (p *Planner) hash(content []byte) catalog.Hash {
	var h catalog.Hash
	for i, seed := range p.seeds {
		binary.LittleEndian.PutUint64(h[8*i:], maphash.Bytes(seed, content))
	}
	return h
}

// among finds a few keys among those of a long array, which are spread over all of the memory that holds the array: most are told apart without being read.
type among struct {
	keys    map[string]int // a key's place
	lengths [64]bool       // by length, the last six bits
	likely  [1024]bool     // by mark
}

func amongKeys(keys []string) *among {
	a := &among{keys: make(map[string]int, len(keys))}
	for i, key := range keys {
		a.keys[key] = i
		a.lengths[len(key)&63], a.likely[mark(key)] = true, true
	}
	return a
}

// mark is made of a key's length and three of its bytes.
func mark(key string) int {
	if key == "" {
		return 0
	}
	return (len(key)*31 + int(key[len(key)-1])*7 + int(key[len(key)/2])*131 + int(key[len(key)/3])*17) & 1023
}

// place is that of the key, false where it is none of the few.
func (a *among) place(key string) (int, bool) {
	if !a.lengths[len(key)&63] || !a.likely[mark(key)] {
		return 0, false
	}
	i, ok := a.keys[key]
	return i, ok
}

// elements are those of the array that have these keys, at the keys' places; of several with one key the last, and of none an empty one.
func elements(all []chat.Element, keys []string) []chat.Element {
	few, found := amongKeys(keys), make([]chat.Element, len(keys))
	for _, e := range all {
		if i, ok := few.place(e.Key); ok {
			found[i] = e
		}
	}
	for i, key := range keys { // a key may be there twice
		found[i] = found[few.keys[key]]
	}
	return found
}
