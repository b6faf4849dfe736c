package proxy

import "sync/atomic"

// hintAfter is how many chats in a row come without tools before the log says what to do about it.
const hintAfter = 20

// counters are of the daemon's life.
type counters struct {
	chats   atomic.Int64
	edited  atomic.Int64
	without atomic.Int64
	hidden  atomic.Int64

	toolless atomic.Int64 // in a row
	hinted   atomic.Bool
}

// Counts is how many chat requests came since the start.
type Counts struct {
	Chats        int64 // on the paths of chats
	Edited       int64 // sent with fewer or reordered tools
	WithoutTools int64 // that had no tools, or an empty array of them
	HiddenRounds int64 // times that the engine was asked again within an answer
}

// Counts returns the counts so far.
func (h *Handler) Counts() Counts {
	return Counts{Chats: h.counters.chats.Load(), Edited: h.counters.edited.Load(), WithoutTools: h.counters.without.Load(), HiddenRounds: h.counters.hidden.Load()}
}

// countTools notes whether a chat brought tools, and says once why nothing is saved where none does.
func (h *Handler) countTools(has bool) {
	if has {
		h.counters.toolless.Store(0)
		return
	}
	h.counters.without.Add(1)
	if h.counters.toolless.Add(1) >= hintAfter && h.counters.hinted.CompareAndSwap(false, true) {
		h.log.Warn("nothing is saved: the last 20 chats came without a \"tools\" array, so the app does not send its tools to the model. " +
			"Its native function calling is probably off (in Open WebUI: Advanced Params, Function Calling, Native), or it has no tools. See doc/apps.md")
	}
}
