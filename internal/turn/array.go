package turn

import (
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
)

// arrayPart is how much of an array is hashed at a time: small enough that the cores that share a long one end at about the same time.
const arrayPart = 256 << 10

// arrayHash names a tools array within this process: its length, and 64 bits under seeds that nobody knows, which takes a seventh of SHA-256's time on the megabytes that
// some arrays have. Two of a million arrays of one length get the same name with a chance of less than one in ten million. The array is read once: it is the hash of
// its parts' hashes, which are taken on all cores where it is long.
func (p *Planner) arrayHash(array []byte) (name catalog.Hash) {
	parts := (len(array) + arrayPart - 1) / arrayPart
	sums := make([]byte, 8*parts)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < parts; i = int(next.Add(1)) - 1 {
			part := array[i*arrayPart : min((i+1)*arrayPart, len(array))]
			binary.LittleEndian.PutUint64(sums[8*i:], maphash.Bytes(p.seeds[0], part))
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), parts/4) - 1 { // a goroutine is not worth less than a megabyte
		group.Go(work)
	}
	work()
	group.Wait()
	binary.LittleEndian.PutUint64(name[:], maphash.Bytes(p.seeds[1], sums))
	binary.LittleEndian.PutUint64(name[8:], uint64(len(array)))
	return name
}

// nameSet are the names of an array's elements. It keeps nothing of a request.
type nameSet map[string]struct{}

func (s nameSet) has(name string) bool {
	_, ok := s[name]
	return ok
}

// unmet are the names of CORE that no array had so far.
type unmet struct {
	mu    sync.Mutex
	names []string
	any   bool // an array was seen
}

func (u *unmet) meet(set nameSet) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.any = true
	u.names = slices.DeleteFunc(u.names, set.has)
}

// UnmetCore are the names of the configured CORE that no request has had a tool of, none before the first request with tools.
func (p *Planner) UnmetCore() []string {
	p.unmet.mu.Lock()
	defer p.unmet.mu.Unlock()
	if !p.unmet.any {
		return nil
	}
	return slices.Clone(p.unmet.names)
}

// namesOf are the names in the array of the plan's request.
func (p *Planner) namesOf(plan *Plan) nameSet {
	if plan.draft == nil {
		return nil
	}
	hash := plan.draft.hash
	set, ok := p.names.Get(hash)
	if !ok {
		set = make(nameSet, len(plan.draft.request.Chat.Elements))
		for _, e := range plan.draft.request.Chat.Elements {
			set[strings.Clone(e.Key)] = struct{}{}
		}
		p.names.Add(hash, set)
		p.unmet.meet(set)
	}
	return set
}

// elements are those of the array that have these keys, at the keys' places; of several with one key the last, and of none an empty one.
func elements(all []chat.Element, keys []string) []chat.Element {
	marks, last := chat.MarksOf(keys), make([]int, len(keys)) // by the key's place, where the last one stands, from 1
	for i := range all {
		if place, ok := marks.Place(all[i].Key); ok {
			last[place] = i + 1
		}
	}
	found := make([]chat.Element, len(keys))
	for i, key := range keys {
		if place, _ := marks.Place(key); last[place] > 0 {
			found[i] = all[last[place]-1]
		}
	}
	return found
}
