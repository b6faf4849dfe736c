package kvcache

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Bounds of a Belief. Whatever was used longest ago goes first.
const (
	maxSlots    = 32
	maxModels   = 256
	maxSessions = 2048
	maxAsked    = 16 // different num_ctx of one model
	maxPending  = 32 // requests sent whose answer has not ended
)

// defaultKeepAlive is how long an engine that unloads models keeps one that nothing is said about (Ollama).
const defaultKeepAlive = 5 * time.Minute

// Belief is what one engine is believed to hold: one sequence of tokens for each loaded file of weights, which is the last prompt read and the answer
// given to it. It is right as long as it is told of every request; what the engine says of its answers corrects it. Safe for concurrent use, bounded.
type Belief struct {
	now  func() time.Time
	seed maphash.Seed // of the hashes of pieces

	mu                   sync.Mutex
	slots                *simplelru.LRU[string, *slot]     // by file, or by model while that is unknown
	models               *simplelru.LRU[string, *model]    // by canonical name
	sessions             *simplelru.LRU[string, *answered] // by session and model
	pending              []sent                            // oldest first
	contradicted, judged int                               // answers
	unloads              bool                              // the engine has said what is loaded: it may unload
}

// model is what is known of one model.
type model struct {
	facts   Facts
	learned map[int]int // context that an engine was seen to give, by what was asked for
	meter   *meter
	known   *simplelru.LRU[uint64, size] // by a piece's hash
	pace    pace
}

// answered is the last prompt of a session whose tokens the engine counted.
type answered struct {
	pieces  []Piece // nil where they were more than maxCompared
	amounts amounts
	tokens  int // 0 before the first count
}

// maxCompared bounds the pieces that are kept of a session's last prompt: of longer ones only the amounts are.
const maxCompared = 192

// sent is a request on its way.
type sent struct {
	session, model string
	last           Piece
	count          int
	held           int // pieces, of count, when it was sent
	expected       Expected
}

// NewBelief returns one that knows nothing: of an engine just met. now is the clock.
func NewBelief(now func() time.Time) *Belief {
	b := &Belief{now: now, seed: maphash.MakeSeed()}
	// The errors are those of a size below 1.
	b.slots, _ = simplelru.NewLRU[string, *slot](maxSlots, nil)
	b.models, _ = simplelru.NewLRU[string, *model](maxModels, nil)
	b.sessions, _ = simplelru.NewLRU[string, *answered](maxSessions, nil)
	return b
}

// Expect says what a prompt would cost now, and changes nothing. Cost: linear in its pieces, some microseconds for a hundred.
func (b *Belief) Expect(p Prompt) Expected {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, _ := b.expect(p, sequence(p, b.of(p.Model).facts))
	return e
}

// expect returns how many of the pieces are held, too.
func (b *Belief) expect(p Prompt, s []Piece) (e Expected, pieces int) {
	m := b.of(p.Model)
	z := m.sizes()
	session, known := b.sessions.Peek(sessionKey(p))
	e = Expected{Prompt: atLeast(1, z.whole(s, session))}
	held, ok := b.slots.Peek(m.slotKey(p.Model))
	if !ok {
		e.Lost, e.Evaluated = NeverSeen, e.Prompt
		return e, 0
	}
	h := held.holds(p, s, m.facts, b.when(p), z)
	switch e.Lost = h.lost; {
	case !known:
		e.Lost = NeverSeen
	case held.session != p.Session && (e.Lost == "" || e.Lost == Changed || e.Lost == Rewound):
		e.Lost = OtherRequest
	}
	if h.tail >= 0 { // the prompt goes on where the sequence ends: only what is new has to be estimated
		e.Kept, e.Evaluated = atLeast(0, h.kept), atLeast(1, h.tail)
		e.Prompt = e.Kept + e.Evaluated
	} else {
		e.Kept = min(atLeast(0, h.kept), e.Prompt-1)
		e.Evaluated = e.Prompt - e.Kept
	}
	for _, piece := range s[:h.pieces] {
		e.KeptBytes += piece.Bytes + piece.Tools
		if piece.Role == Tool {
			e.KeptTools++
		}
	}
	return e, h.pieces
}

// Sent notes that the engine reads a prompt now. Every chat is to be noted, ours or not.
func (b *Belief) Sent(p Prompt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(p.Model)
	s := sequence(p, m.facts)
	e, held := b.expect(p, s)
	if _, ok := b.sessions.Get(sessionKey(p)); !ok {
		b.sessions.Add(sessionKey(p), &answered{})
	}
	b.pending = append(b.pending, sent{p.Session, canonical(p.Model), lastOf(s), len(s), held, e})
	if len(b.pending) > maxPending {
		b.pending = slices.Delete(b.pending, 0, 1)
	}
	now := newSlot(p, s, b.when(p), b.keeps(p))
	if before, ok := b.slots.Peek(m.slotKey(p.Model)); ok {
		before.before = nil // one is enough
		now.before = before
		if before.loadedFor(p, m.facts) {
			now.context = before.context
		}
	}
	b.slots.Add(m.slotKey(p.Model), now)
}

// Foreign notes a generation that cannot be read (another endpoint): what the model's slot holds is unknown from now on.
func (b *Belief) Foreign(model string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(model)
	if held, ok := b.slots.Get(m.slotKey(model)); ok {
		held.lose(OtherRequest)
		held.at = at
	}
}

// Loaded is what an engine says of a model that it has loaded.
type Loaded struct {
	Context int       // tokens it was loaded with; 0 unknown
	Until   time.Time // by this clock, when it goes if nothing is asked of it; zero: unknown. Far off: never
}

// Loaded notes which models, by name, the engine said were loaded when it was asked at that time. Those that are not have lost what they held, unless
// something was sent to them since; nothing loaded at all counts as well. After the first call, models are taken to be unloaded by their keep-alive.
func (b *Belief) Loaded(at time.Time, models map[string]Loaded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unloads = true
	there := make(map[string]Loaded, len(models)) // by slot
	for name, l := range models {
		m := b.of(name)
		there[m.slotKey(name)] = l
		asked := 0
		if held, ok := b.slots.Peek(m.slotKey(name)); ok {
			asked = held.asked
		}
		switch {
		case l.Context <= 0:
		case asked > 0:
			m.learn(asked, l.Context)
		default:
			m.facts.Context = l.Context
			delete(m.learned, 0)
		}
	}
	for _, key := range b.slots.Keys() {
		held, _ := b.slots.Peek(key)
		l, ok := there[key]
		switch {
		case held.at.After(at):
		case !ok:
			held.lose(Unloaded)
		default:
			held.reloaded(l)
		}
	}
}

// Restarted notes that the engine is a new process, or cannot be reached: it holds nothing.
func (b *Belief) Restarted() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, held := range b.slots.Values() {
		held.lose(Restarted)
	}
	b.pending = nil
}

// SetFacts replaces what is known of a model. A context that was learned from /api/ps or from answers outlives it where f has none.
func (b *Belief) SetFacts(name string, f Facts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(name)
	before := m.slotKey(name)
	if f.Context == 0 {
		f.Context = m.facts.Context
	}
	m.facts = f
	if after := m.slotKey(name); after != before {
		if held, ok := b.slots.Peek(before); ok {
			b.slots.Remove(before)
			if there, both := b.slots.Peek(after); !both || there.at.Before(held.at) {
				b.slots.Add(after, held)
			}
		}
	}
}

// Facts returns what is known of a model, nothing of one never heard of. Context is that of a request which asks for this much (0: none), with what answers have taught.
func (b *Belief) Facts(name string, askedContext int) Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.of(name)
	return m.contextOf(askedContext)
}

// Held is what one slot of the engine is believed to hold, for people to see.
type Held struct {
	Model, Session, App string
	Tokens              int       // 0 unknown
	At, Until           time.Time // last used; when the model goes, zero: not
	Lost                string    // why nothing is held, "" while something is
}

// Held returns all slots, the one used longest ago first.
func (b *Belief) Held() []Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Held
	for _, h := range b.slots.Values() {
		tokens := h.prompt
		if tokens > 0 {
			tokens += h.reply
		}
		list = append(list, Held{h.model, h.session, h.app, tokens, h.at, h.until, h.lost})
	}
	return list
}

// Contradicted returns how many answers contradicted the belief, of how many that could have.
func (b *Belief) Contradicted() (answers, of int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.contradicted, b.judged
}

// Slot is what the model's cache is known by: the digest of its file where that is known, so that models of one file have one.
func (b *Belief) Slot(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(name).slotKey(name)
}

// Rates returns what a model's tokens are worth, as far as it was learned.
func (b *Belief) Rates(name string) Rates {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(name).meter.rates()
}

// of returns the entry of a model, a new one where there is none.
func (b *Belief) of(name string) *model {
	key := canonical(name)
	m, ok := b.models.Get(key)
	if !ok {
		m = &model{meter: newMeter(), known: newSizes(), learned: map[int]int{}}
		b.models.Add(key, m)
	}
	return m
}

func (m *model) sizes() *sizes { return &sizes{m.meter.rates(), m.known} }

func (m *model) slotKey(name string) string { return cmp.Or(m.facts.Digest, canonical(name)) }

func sessionKey(p Prompt) string { return p.Session + "\x00" + canonical(p.Model) }

func (b *Belief) when(p Prompt) time.Time {
	if p.At.IsZero() {
		return b.now()
	}
	return p.At
}

// keeps is how long the model stays after this request, below 0 without end.
func (b *Belief) keeps(p Prompt) time.Duration {
	switch {
	case p.KeepAlive != 0:
		return p.KeepAlive
	case b.unloads:
		return defaultKeepAlive
	}
	return -1
}

func lastOf(s []Piece) Piece {
	if len(s) == 0 {
		return Piece{}
	}
	return s[len(s)-1]
}

func atLeast(low int, x float64) int {
	if math.IsNaN(x) || x > 1<<40 {
		return low
	}
	return max(low, int(math.Round(x)))
}
