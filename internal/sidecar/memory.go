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

// memory knows for each session name that an app gave which session it is and which tools came with it last. Safe
// for concurrent use.
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

// put remembers a session. The slice is kept.
func (m *memory) put(name, id string, tools []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.named.Remove(name)
	m.bytes += len(tools)
	m.named.Add(name, remembered{id, tools})
	for m.bytes > maxRememberedBytes && m.named.Len() > 1 {
		m.named.RemoveOldest()
	}
}

// tools returns what came with the session last, nil where nothing is remembered.
func (m *memory) tools(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.named.Get(name)
	return r.tools
}

// id returns the opaque id of a session: name itself where no app gave that name.
func (m *memory) id(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.named.Get(name); ok {
		return r.id
	}
	return name
}
