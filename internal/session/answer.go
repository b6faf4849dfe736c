package session

import "slices"

// findAfter follows the answer that the client names in place of its history.
func (m *Manager) findAfter(id Identity, root string) (Found, bool) {
	if id.Previous == "" {
		return Found{}, false
	}
	after, _ := m.said.Get(root + id.Previous)
	node, ok := m.turns.get(after)
	if !ok {
		return Found{}, false
	}
	idle := m.now().Sub(node.touched)
	owed := node.state.owed(id.Previous)
	before := node
	before.state = node.state.Forget() // what is ours stands in the history that the engine keeps, not in this request
	if len(id.Chain) == 0 {            // results of the turn's calls
		return Found{Key: after, State: before.state, Same: true, Idle: idle, Owed: owed}, true
	}
	base, _ := split(after)
	whole := id
	whole.Explicit = base + id.Previous
	path := keys(whole)
	key := path[len(path)-1]
	if again, ok := m.turns.get(ref(key, node.state.Session)); ok && again.state.Body == id.Body {
		return Found{Key: ref(key, node.state.Session), State: again.state, Same: true, Idle: idle, Owed: owed}, true
	}
	f := m.next(before, base, key)
	f.Owed = owed
	return f, true
}

// owed are the results that go with a request which names an answer.
func (s State) owed(answer string) []Owed {
	for _, a := range s.Answers {
		if answer == a.ID || answer == Short(a.Last) {
			return a.Owed
		}
	}
	return nil
}

// maxAnswerID is how long, in bytes, an engine's id of an answer may be that is kept.
const maxAnswerID = 1 << 10

// Answered notes the id that a client has of an answer to a turn's request, by which a later request may name it in place of its history, and the id that the engine keeps
// the answer under: of an answer that several of the engine's went into, the client has that of the first, and the conversation goes on from the last. Either
// may be empty, and Last the same. Root is not read.
func (m *Manager) Answered(id Identity, key string, a Answer) {
	if key == "" || a.ID == "" {
		return
	}
	id.Chain = nil
	if a.Last == a.ID || len(a.Last) > maxAnswerID {
		a.Last = ""
	}
	a.Root, a.ID = keys(id)[0], Short(a.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	node, ok := m.turns.get(key)
	m.answered(a, key, id.App())
	if !ok {
		return
	}
	node.state.Answers = append(slices.Clone(node.state.Answers), a)
	node.state.Answers = node.state.Answers[max(0, len(node.state.Answers)-maxAnswers):]
	m.turns.put(key, node)
	m.store.save(Record{key, node.state, node.touched})
}

// answered makes an answer one that can be named. m.mu is held.
func (m *Manager) answered(a Answer, key, app string) {
	m.said.Add(a.Root+a.ID, key)
	if a.Last != "" {
		m.said.Add(a.Root+Short(a.Last), key)
		m.kept.Add(app+a.ID, a.Last)
	}
}

// Kept returns the id that the engine keeps the answer under which an app names by answer; "" where it is the same, or not known (any more).
func (m *Manager) Kept(id Identity, answer string) string {
	if answer == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, _ := m.kept.Get(id.App() + Short(answer))
	return last
}
