package sidecar

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// What is remembered of sessions, the oldest forgotten first.
const (
	maxRemembered      = 1024
	maxRememberedBytes = 32 << 20
)

// memory knows for each session name that an app (a User-Agent product) gave which session it is and which tools came with it last: two
// apps may use one name. Safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	named *lru.Cache[string, remembered]
	bytes int
}

type remembered struct {
	id    string // opaque
	tools []byte // JSON array, never changed; nil where none ever came
}

func newMemory() *memory {
	m := &memory{}
	m.named, _ = lru.NewWithEvict(maxRemembered, func(_ string, r remembered) { m.bytes -= len(r.tools) })
	return m
}

// put remembers a session, and by its name alone which one had that name last. The slice is kept.
func (m *memory) put(agent, name, id string, tools []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.named.Add(anyone+name, remembered{id, nil})
	name = agent + "\x00" + name
	m.named.Remove(name)
	m.bytes += len(tools)
	m.named.Add(name, remembered{id, tools})
	for m.bytes > maxRememberedBytes && m.named.Len() > 1 {
		m.named.RemoveOldest()
	}
}

// tools returns what came with the session last, nil where nothing is remembered.
func (m *memory) tools(agent, name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.named.Get(agent + "\x00" + name)
	return r.tools
}

// anyone stands before names that another app may have given; no User-Agent has a zero byte.
const anyone = "\x00\x00"

// id returns the opaque id of a session: the app's own of that name, else the last of that name, else name itself.
func (m *memory) id(agent, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range []string{agent + "\x00" + name, anyone + name} {
		if r, ok := m.named.Get(key); ok {
			return r.id
		}
	}
	return name
}
