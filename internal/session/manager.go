package session

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// How much a Manager remembers, and for how long.
const (
	maxTurns    = 4096
	maxActive   = 1024
	repeatAfter = 10 * time.Minute // a byte-identical first message within this, before it was answered, is a retry, not a new conversation
	quietAfter  = 2 * time.Hour    // a session that was quiet this long has ended; it may still be resumed
)

// Manager finds the conversation of a request and keeps its turns. In memory, bounded, written behind to
// a Store. Safe for concurrent use.
type Manager struct {
	now   func() time.Time
	store *writer

	mu    sync.Mutex
	turns tree
	heads *lru.Cache[string, head]   // by session id
	said  *lru.Cache[string, string] // the turn that an answer belongs to, by the root of its app and model and the answer's id
	kept  *lru.Cache[string, string] // the id that the engine keeps an answer under, by the app and the id that the client has of it
	apps  map[string]*app
	locks [64]sync.Mutex
}

// head is the newest turn of a session.
type head struct {
	key   string
	ended bool
}

// Found is what a Manager knows of a request's conversation.
type Found struct {
	Key   string        // of this request's turn; "" where the request has no user message and is kept nowhere
	State State         // of this very turn where Same, else of the turn before it; without a list for a new session
	Same  bool          // an earlier request of the same turn was committed
	New   bool          // the conversation begins here
	Idle  time.Duration // since the conversation was last seen; 0 for a new one
	Owed  []Owed        // results that the engine is to have with this request
}

// Find looks the conversation up; it changes nothing. State.Session, App, Turn and Core are already those of this request's turn.
func (m *Manager) Find(id Identity) Found {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id.Explicit != "" {
		return m.findExplicit(id)
	}
	path := keys(id)
	if f, ok := m.findAfter(id, path[0]); ok {
		return f
	}
	last := len(path) - 1
	if last == 0 {
		return m.begin(id, "")
	}
	now := m.now()
	var differing *Found // the deepest whose answers differ, in case that there is no better one
	for i := last; i > 0; i-- {
		node, agree, ok := m.turns.find(path, i, id)
		if !ok {
			continue
		}
		var f Found
		if i == last {
			retry := node.state.Body == id.Body && now.Sub(node.touched) < repeatAfter && (last > 1 || node.state.Reply == "")
			if !retry && !id.Continues && (last == 1 || m.turns.newer(node, path, id)) {
				continue
			}
			f = Found{Key: ref(path[last], node.state.Session), State: node.state, Same: true, Idle: now.Sub(node.touched)}
		} else {
			f = m.next(node, path[i], path[last])
		}
		if agree >= 0 {
			return f
		}
		if differing == nil {
			if m.turns.siblings(path[i]) { // the list is a good one; what the model was told in another conversation is not
				f.State = f.State.Forget()
			}
			differing = &f
		}
	}
	if differing != nil {
		return *differing
	}
	return m.begin(id, path[last])
}

// findExplicit follows the session that the client named, whatever its messages: a client may send only the newest.
func (m *Manager) findExplicit(id Identity) Found {
	root := id
	root.Chain = nil
	session := "x" + keys(root)[0][:15]
	path := keys(id)
	key := path[len(path)-1]
	after, ok := m.findAfter(id, path[0])
	if ok && len(id.Chain) == 0 { // results of the turn's calls
		return after
	}
	h, _ := m.heads.Get(session)
	node, ok := m.turns.get(h.key) // no turn has the key of no head, ""
	if !ok {
		f := m.begin(id, key)
		f.State.Session, f.Key = session, ref(key, session)
		return f
	}
	if h.key == ref(key, session) && (id.Continues || node.state.Body == id.Body) {
		return Found{Key: h.key, State: node.state, Same: true, Idle: m.now().Sub(node.touched), Owed: after.Owed}
	}
	base, _ := split(h.key)
	f := m.next(node, base, key)
	f.State.Session, f.Key, f.Owed = session, ref(key, session), after.Owed
	return f
}

// next is a new turn after node, which is of the key parent. A turn that is not its session's newest was edited or branched from: the conversation forks.
func (m *Manager) next(node turnNode, parent, key string) Found {
	state := node.state
	state.Turn++
	state.Parent, state.Reply, state.Answers = ref(parent, state.Session), "", nil
	if h, ok := m.heads.Peek(state.Session); ok && h.key != state.Parent {
		state.Session = newID()
		state.Escapes, state.Loads = 0, 0
	}
	return Found{Key: ref(key, state.Session), State: state, Idle: m.now().Sub(node.touched)}
}

func (m *Manager) begin(id Identity, key string) Found {
	state := State{Session: newID(), App: id.App(), Turn: 1}
	if a := m.apps[state.App]; a != nil {
		state.Core = slices.Clone(a.coreAt(m.now()))
	}
	f := Found{State: state, New: true}
	if key != "" {
		f.Key = ref(key, state.Session)
	}
	return f
}

// Commit keeps what a turn made visible. The state must not be changed afterwards. A key of "" keeps nothing, nor does a state of an older plan than the one that
// the turn has: it is of a request that its client has given up.
func (m *Manager) Commit(key string, s State) {
	if key == "" {
		return
	}
	m.mu.Lock()
	now := m.now()
	_, known := m.heads.Peek(s.Session)
	if old, ok := m.turns.get(key); ok {
		if old.state.Serial > s.Serial {
			m.mu.Unlock()
			return
		}
		s = s.withUses(old.state)
	}
	m.turns.put(key, turnNode{s, now})
	m.heads.Add(s.Session, head{key: key})
	a := m.app(s.App)
	a.seen = now
	if !known {
		a.sessions++
	}
	m.mu.Unlock()
	m.store.save(Record{key, s, now})
}

// Observe notes the tools that the model called on a turn. It returns those that were hidden when they were
// called: they count as escape hatches and are visible from the next request on. During a fallback nothing is hidden. exists says
// whether the catalog has a name; calls of other names are the client's own affair.
func (m *Manager) Observe(key string, called []string, exists func(string) bool) (State, []string) {
	m.mu.Lock()
	node, ok := m.turns.get(key)
	if !ok || len(called) == 0 {
		m.mu.Unlock()
		return State{}, nil
	}
	now := m.now()
	s, hidden, used := node.state.withCalls(called, exists)
	m.turns.put(key, turnNode{s, now})
	m.app(s.App).count(s.Session, used)
	m.mu.Unlock()
	m.store.save(Record{key, s, now})
	m.store.uses(s.App, s.Session, used, now)
	return s, hidden
}

// Bridged notes tools that the model called through a bridge in its answer to this message, before Observe is told of the calls. Those that the list has were told of.
func (m *Manager) Bridged(key string, names []string, behind Anchor) {
	m.amend(key, func(s State) State {
		for _, name := range names {
			if !s.Lists(name) && !slices.ContainsFunc(s.Bridged, func(b Bridged) bool { return b.Name == name }) {
				s.Bridged = append(slices.Clip(s.Bridged), Bridged{name, behind})
			}
		}
		return s
	})
}

// amend changes what is known of a turn that is known, and saves nothing of it.
func (m *Manager) amend(key string, change func(State) State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.turns.get(key)
	if !ok {
		return
	}
	node.state = change(node.state)
	m.turns.put(key, node)
}

// Replied notes what the model answered first on a turn (chat.Signature): of conversations that began with the same words, it tells which one a
// later request belongs to. Only the first answer of a turn counts.
func (m *Manager) Replied(key, signature string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.turns.get(key)
	if !ok || node.state.Reply != "" || signature == "" {
		return
	}
	node.state.Reply = signature
	m.turns.put(key, node)
	m.store.save(Record{key, node.state, node.touched})
}

// Joined notes that the words of a turn's newest hidden turn are followed by a break of ours in the app's answer.
func (m *Manager) Joined(key string) { m.amend(key, State.Joined) }

// Plainly notes that the engine refused this turn's request for what is ours in it.
func (m *Manager) Plainly(key string) { m.amend(key, State.Plainly) }

// Load notes tools that the model asked for on a turn beside calls of the app's: they are visible from the next request on.
func (m *Manager) Load(key string, names []string) {
	m.mu.Lock()
	node, ok := m.turns.get(key)
	if !ok {
		m.mu.Unlock()
		return
	}
	s := node.state
	s.Called = slices.Clone(s.Called)
	s.Loads++
	for _, name := range names {
		if !slices.Contains(s.Called, name) && !s.Lists(name) {
			s.Called = append(s.Called, name)
		}
	}
	now := m.now()
	m.turns.put(key, turnNode{s, now})
	m.mu.Unlock()
	m.store.save(Record{key, s, now})
}

// withCalls is the state after these calls.
func (s State) withCalls(called []string, exists func(string) bool) (next State, hidden, used []string) {
	next = s
	next.List = slices.Clone(s.List)
	next.Called = slices.Clone(s.Called)
	for _, name := range called {
		if i := next.Place(name); i >= 0 {
			next.List[i].Used = s.Turn
			used = append(used, name)
			continue
		}
		if exists != nil && !exists(name) {
			continue
		}
		used = append(used, name)
		if s.Fallback != "" || !s.HasList() {
			continue
		}
		if !slices.Contains(next.Called, name) {
			next.Called = append(next.Called, name)
		}
		next.Escapes++
		hidden = append(hidden, name)
	}
	return next, hidden, used
}

// withUses is s with the uses that were noted on the same turn while s was in the making.
func (s State) withUses(noted State) State {
	if s.Turn != noted.Turn {
		return s
	}
	s.List = slices.Clone(s.List)
	for _, old := range noted.List {
		if i := s.Place(old.Name); i >= 0 {
			s.List[i].Used = max(s.List[i].Used, old.Used)
		}
	}
	for _, name := range noted.Called {
		if !slices.Contains(s.Called, name) && !s.Lists(name) {
			s.Called = append(slices.Clone(s.Called), name)
		}
	}
	if len(s.Answers) < len(noted.Answers) {
		s.Answers = noted.Answers
	}
	s.Escapes, s.Loads = max(s.Escapes, noted.Escapes), max(s.Loads, noted.Loads)
	if s.Reply == "" {
		s.Reply = noted.Reply
	}
	return s
}

// Lock makes plans of one conversation wait for each other; the caller unlocks when the plan is made. Conversations share 64 locks.
func (m *Manager) Lock(id Identity) (unlock func()) {
	if id.Explicit != "" {
		id.Chain = nil
	}
	if id.Previous != "" {
		id.Chain = nil // one lock for all that go on from answers
	}
	if len(id.Chain) > 1 {
		id.Chain = id.Chain[:1]
	}
	path := keys(id)
	last := path[len(path)-1]
	l := &m.locks[(hexDigit(last[0])<<4|hexDigit(last[1]))%len(m.locks)]
	l.Lock()
	return l.Unlock
}

func hexDigit(c byte) int {
	if c >= 'a' {
		return int(c-'a') + 10
	}
	return int(c - '0')
}

// List returns the newest state of each session in memory, the most recently committed first.
func (m *Manager) List() []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []State
	for _, id := range slices.Backward(m.heads.Keys()) {
		if s, ok := m.get(id); ok {
			list = append(list, s)
		}
	}
	return list
}

// Get returns the newest state of a session by its id.
func (m *Manager) Get(session string) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(session)
}

func (m *Manager) get(session string) (State, bool) {
	h, ok := m.heads.Peek(session)
	if !ok {
		return State{}, false
	}
	node, ok := m.turns.get(h.key)
	return node.state, ok
}

// Key returns the key of a session's newest turn, for Observe.
func (m *Manager) Key(session string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.heads.Peek(session)
	return h.key, ok
}

// Ended returns the sessions that have been quiet for two hours, each once; all that have not ended yet where all is true (at shutdown).
func (m *Manager) Ended(all bool) []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ended []State
	for _, id := range m.heads.Keys() {
		h, _ := m.heads.Peek(id)
		node, ok := m.turns.get(h.key)
		if !ok || h.ended || !all && m.now().Sub(node.touched) < quietAfter {
			continue
		}
		m.heads.Add(id, head{key: h.key, ended: true})
		ended = append(ended, node.state)
	}
	return ended
}

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

// New returns a Manager that keeps nothing over a restart. now is the clock.
func New(now func() time.Time) *Manager {
	heads, _ := lru.New[string, head](maxActive)
	said, _ := lru.New[string, string](maxTurns)
	kept, _ := lru.New[string, string](maxTurns)
	return &Manager{now: now, store: &writer{}, turns: newTree(), heads: heads, said: said, kept: kept, apps: map[string]*app{}}
}

// Open returns a Manager that starts with what the store holds and writes behind to it. Close it to write the rest.
func Open(store Store, now func() time.Time, log *slog.Logger) (*Manager, error) {
	m := New(now)
	if err := m.load(store); err != nil {
		return nil, err
	}
	m.store = newWriter(store, log)
	return m, nil
}

// Close writes what is waiting and stops.
func (m *Manager) Close() { m.store.close() }
