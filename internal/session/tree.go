package session

import (
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// tree holds turns: those that the same words lead to, one of each conversation, beside each other.
type tree struct {
	by *lru.Cache[string, []turnNode]
}

// turnNode is one turn of one conversation.
type turnNode struct {
	state   State
	touched time.Time
}

// after reports whether n is of a later request than o. Within one process the order of the plans says so: one whose client has given it up may be committed
// behind the one that followed it.
func (n turnNode) after(o turnNode) bool {
	if n.state.Serial > 0 && o.state.Serial > 0 {
		return n.state.Serial > o.state.Serial
	}
	return n.touched.After(o.touched)
}

// maxSiblings is how many conversations that have said the same so far are told apart; the one touched longest ago goes first.
const maxSiblings = 64

func newTree() tree {
	by, _ := lru.New[string, []turnNode](maxTurns) // fails for sizes below 1 only
	return tree{by}
}

// ref names the turn of one conversation: by the words that lead to it, and its session.
func ref(key, session string) string { return key + "/" + session }

// split is ref's inverse. What is kept from versions without sessions in it has none.
func split(ref string) (key, session string) {
	key, session, _ = strings.Cut(ref, "/")
	return key, session
}

// get returns the turn of this name.
func (t tree) get(ref string) (turnNode, bool) {
	key, session := split(ref)
	nodes, _ := t.by.Get(key)
	i := slices.IndexFunc(nodes, func(n turnNode) bool { return n.state.Session == session })
	if i < 0 {
		return turnNode{}, false
	}
	return nodes[i], true
}

// put inserts or replaces the turn of this name.
func (t tree) put(ref string, node turnNode) {
	key, _ := split(ref)
	old, _ := t.by.Get(key)
	nodes := make([]turnNode, 0, len(old)+1)
	for _, n := range old {
		if n.state.Session != node.state.Session {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) >= maxSiblings {
		oldest := 0
		for i, n := range nodes {
			if nodes[oldest].after(n) {
				oldest = i
			}
		}
		nodes = slices.Delete(nodes, oldest, oldest+1)
	}
	t.by.Add(key, append(nodes, node))
}

// siblings reports whether more than one conversation has said the same so far.
func (t tree) siblings(key string) bool {
	nodes, _ := t.by.Peek(key)
	return len(nodes) > 1
}

// find returns, of the turns that the first i messages of a request lead to, the one whose model has answered what the request says that it has: the one with
// most answers that agree, of equal ones the newest; one with an answer that differs comes last.
func (t tree) find(path []string, i int, id Identity) (found turnNode, agree int, ok bool) {
	nodes, _ := t.by.Get(path[i])
	for _, n := range nodes {
		if a := t.agreement(n, path[:i+1], id); !ok || a > agree || a == agree && n.after(found) {
			found, agree, ok = n, a, true
		}
	}
	return found, agree, ok
}

// agreement compares the answers of a conversation, up to a turn that path leads to, with those of a request: how many are the same, and -1 where one differs.
// An answer that was not seen, on either side, tells nothing.
func (t tree) agreement(n turnNode, path []string, id Identity) int {
	agree := 0
	for i := len(path) - 1; i > 0; {
		said := ""
		if i-1 < len(id.Replies) {
			said = id.Replies[i-1]
		}
		switch {
		case said == "" || n.state.Reply == "":
		case said == n.state.Reply:
			agree++
		default:
			return -1
		}
		key, _ := split(n.state.Parent) // more than one message up where the ones between were edited
		parent, ok := t.get(n.state.Parent)
		if i = slices.Index(path[:i], key); !ok {
			break
		}
		n = parent
	}
	return agree
}

// newer reports whether the turn before this request's belongs to a conversation that has been seen later than node and agrees with the request as well: one that
// has begun with the same words and now says the same next.
func (t tree) newer(node turnNode, path []string, id Identity) bool {
	before, agree, ok := t.find(path, len(path)-2, id)
	if !ok || before.state.Session == node.state.Session || !before.after(node) {
		return false
	}
	return agree >= t.agreement(node, path, id)
}
