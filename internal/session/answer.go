package session

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
	before := node
	before.state = node.state.Forget() // what is ours stands in the history that the engine keeps, not in this request
	if len(id.Chain) == 0 {            // results of the turn's calls
		return Found{Key: after, State: before.state, Same: true, Idle: idle}, true
	}
	base, _ := split(after)
	whole := id
	whole.Explicit = base + id.Previous
	path := keys(whole)
	key := path[len(path)-1]
	if again, ok := m.turns.get(ref(key, node.state.Session)); ok && again.state.Body == id.Body {
		return Found{Key: ref(key, node.state.Session), State: again.state, Same: true, Idle: idle}, true
	}
	return m.next(before, base, key), true
}

// Answered notes the id of an answer to a turn's request, by which a later request may name it in place of its history.
func (m *Manager) Answered(id Identity, key, answer string) {
	if key == "" || answer == "" || len(answer) > maxName {
		return
	}
	id.Chain = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said.Add(keys(id)[0]+answer, key)
}

// maxAnswerID is how long, in bytes, an engine's id of an answer may be that is kept.
const maxAnswerID = 1 << 10

// KeptAs notes that the engine keeps an answer under another id than the one that the app has of it: the app has that of the first of the engine's answers
// that went into it, and the conversation goes on from the last.
func (m *Manager) KeptAs(id Identity, answer, last string) {
	if answer == "" || last == "" || answer == last || len(last) > maxAnswerID {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Add(id.App()+Short(answer), last)
}

// Kept returns the id that the engine keeps the answer under which an app names by answer; "" where it is the same, or not known (any more: it is kept in memory alone).
func (m *Manager) Kept(id Identity, answer string) string {
	if answer == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, _ := m.kept.Get(id.App() + Short(answer))
	return last
}
