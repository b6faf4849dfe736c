package session_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
)

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// said is the identity of a request of this app whose user messages these are.
func said(messages ...string) session.Identity {
	id := session.Identity{Family: "ollama", Model: "m", Agent: "app"}
	for _, m := range messages {
		id.Chain = append(id.Chain, catalog.Tool{Name: m}.Hash())
		id.Body[0] ^= m[0] + byte(len(id.Chain))
	}
	return id
}

// turn finds the request's turn and commits a list of these tools for it.
func turn(m *session.Manager, id session.Identity, tools ...string) session.Found {
	f := m.Find(id)
	s := f.State
	s.List, s.Body = nil, id.Body
	for _, t := range tools {
		s.List = append(s.List, session.Visible{Name: t, Admitted: s.Turn})
	}
	m.Commit(f.Key, s)
	return f
}

func listed(s session.State) []string {
	var names []string
	for _, v := range s.List {
		names = append(names, v.Name)
	}
	return names
}

func TestAConversationGoesOn(t *testing.T) {
	m := session.New(newClock().now)
	first := turn(m, said("a"), "x")
	if !first.New || first.State.Turn != 1 {
		t.Fatalf("first request: %+v", first)
	}
	second := m.Find(said("a", "b"))
	if second.New || second.Same || second.State.Turn != 2 || second.State.Session != first.State.Session || !slices.Equal(listed(second.State), []string{"x"}) {
		t.Errorf("second turn: %+v", second)
	}
}

func TestRequestsOfOneTurnAreTheSameTurn(t *testing.T) {
	m := session.New(newClock().now)
	first := turn(m, said("a"), "x")
	tool := said("a")
	tool.Continues = true
	tool.Body[5] = 9
	if f := m.Find(tool); !f.Same || f.State.Session != first.State.Session || f.State.Turn != 1 {
		t.Errorf("a request that ends in a tool result: %+v", f)
	}
	turn(m, said("a", "b"), "x", "y")
	again := said("a", "b")
	again.Body[5] = 9 // regenerated with other options
	if f := m.Find(again); !f.Same || !slices.Equal(listed(f.State), []string{"x", "y"}) {
		t.Errorf("a regenerated answer: %+v", f)
	}
}

func TestOneUserMessageBeginsANewConversation(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	first := turn(m, said("hello"), "x")
	if f := m.Find(said("hello")); !f.Same || f.State.Session != first.State.Session {
		t.Errorf("a byte-identical repeat is a retry: %+v", f)
	}
	other := said("hello")
	other.Body[7] = 1 // another system prompt, say
	if f := m.Find(other); !f.New || f.State.Session == first.State.Session {
		t.Errorf("the same words in another body: %+v", f)
	}
	c.pass(11 * time.Minute)
	if f := m.Find(said("hello")); !f.New {
		t.Errorf("a repeat after 11 minutes: %+v", f)
	}
}

// replied is an identity whose model has answered this to each of its user messages; the last one may be open.
func replied(id session.Identity, replies ...string) session.Identity {
	id.Replies = replies
	return id
}

func TestConversationsThatBeginAlikeAreToldApartByTheAnswers(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	var sessions []string
	for i, answer := range []string{"one", "two", "three"} {
		id := said("hello")
		id.Body[7] = byte(i)
		c.pass(time.Second)
		f := turn(m, id, answer)
		m.Replied(f.Key, answer)
		sessions = append(sessions, f.State.Session)
	}
	if len(m.List()) != 3 {
		t.Errorf("sessions %v", m.List())
	}
	for i, answer := range []string{"one", "two", "three", "one", "two"} {
		c.pass(time.Second)
		f := turn(m, replied(said("hello", "go on"), answer), answer)
		if f.State.Session != sessions[i%3] || f.State.Turn != 2 {
			t.Errorf("the conversation that was answered %q goes on as %+v", answer, f)
		}
	}
	if f := m.Find(replied(said("hello", "go on", "and on"), "two")); f.State.Session != sessions[1] || f.State.Turn != 3 {
		t.Errorf("its third turn is %+v", f)
	}
	if f := m.Find(replied(said("hello", "go on"), "unseen")); f.New {
		t.Error("an app that keeps answers in its own words has a new conversation")
	}
}

// TestTheSameConversationOnceMore: word for word, answers included, after the first one has ended.
func TestTheSameConversationOnceMore(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	first := turn(m, said("a"), "x")
	m.Replied(first.Key, "r")
	turn(m, replied(said("a", "b"), "r"), "x")
	c.pass(time.Hour)
	second := turn(m, said("a"), "y")
	m.Replied(second.Key, "r")
	if f := m.Find(replied(said("a", "b"), "r")); f.Same || f.State.Session != second.State.Session || f.State.Turn != 2 {
		t.Errorf("its second turn is %+v, want one of session %s", f, second.State.Session)
	}
}

func TestAppsModelsAndCredentialsNeverMix(t *testing.T) {
	base := said("a", "b")
	for name, change := range map[string]func(*session.Identity){
		"family":     func(id *session.Identity) { id.Family = "openai" },
		"model":      func(id *session.Identity) { id.Model = "other" },
		"credential": func(id *session.Identity) { id.Credential = "c" },
		"agent":      func(id *session.Identity) { id.Agent = "other" },
	} {
		m := session.New(newClock().now)
		turn(m, said("a"), "x")
		id := base
		change(&id)
		if f := m.Find(id); !f.New {
			t.Errorf("another %s found the conversation", name)
		}
	}
}

func TestEditingForksAtTheCommonHistory(t *testing.T) {
	m := session.New(newClock().now)
	first := turn(m, said("a"), "x")
	turn(m, said("a", "b"), "x", "y")
	turn(m, said("a", "b", "c"), "x", "y", "z")
	fork := turn(m, said("a", "edited"), "x", "e")
	if fork.State.Session == first.State.Session || fork.State.Turn != 2 || !slices.Equal(listed(fork.State), []string{"x"}) {
		t.Errorf("fork: %+v", fork)
	}
	if f := m.Find(said("a", "b", "c", "d")); f.State.Session != first.State.Session || !slices.Equal(listed(f.State), []string{"x", "y", "z"}) {
		t.Errorf("the old branch goes on with %+v", f)
	}
	if f := m.Find(said("a", "edited", "more")); f.State.Session != fork.State.Session || !slices.Equal(listed(f.State), []string{"x", "e"}) {
		t.Errorf("the new branch goes on with %+v", f)
	}
}

func TestFortyConversationsAtOnce(t *testing.T) {
	m := session.New(newClock().now)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			own := fmt.Sprintf("%c conversation %d", 'A'+i, i)
			messages := []string{own}
			for n := range 10 {
				id := said(messages...)
				unlock := m.Lock(id)
				f := m.Find(id)
				if n > 0 && !slices.Equal(listed(f.State), []string{fmt.Sprintf("%s-%d", own, n-1)}) {
					t.Errorf("conversation %d, turn %d continues %v", i, n+1, listed(f.State))
				}
				s := f.State
				s.List = []session.Visible{{Name: fmt.Sprintf("%s-%d", own, n)}}
				m.Commit(f.Key, s)
				unlock()
				messages = append(messages, fmt.Sprintf("message %d", n))
			}
		})
	}
	wait.Wait()
	if n := len(m.List()); n != 40 {
		t.Errorf("%d sessions", n)
	}
}

func TestAnExplicitSessionIsFollowedWhateverItsMessages(t *testing.T) {
	m := session.New(newClock().now)
	at := func(messages ...string) session.Identity {
		id := said(messages...)
		id.Explicit = "mine"
		return id
	}
	first := turn(m, at("a"), "x")
	second := turn(m, at("only the newest message"), "x", "y")
	if second.New || second.State.Session != first.State.Session || second.State.Turn != 2 {
		t.Errorf("second: %+v", second)
	}
	if f := m.Find(at("only the newest message")); !f.Same {
		t.Errorf("a retry: %+v", f)
	}
	if s, ok := m.Get(first.State.Session); !ok || s.Turn != 2 {
		t.Errorf("Get: %+v, %v", s, ok)
	}
}

func TestARequestWithoutUserMessagesIsKeptNowhere(t *testing.T) {
	m := session.New(newClock().now)
	turn(m, said(), "x")
	if f := m.Find(said()); !f.New || len(m.List()) != 0 {
		t.Errorf("%+v, %d sessions", f, len(m.List()))
	}
}

func TestObserve(t *testing.T) {
	m := session.New(newClock().now)
	f := turn(m, said("a"), "x", "y")
	exists := func(name string) bool { return name != "unknown" }
	s, hidden := m.Observe(f.Key, []string{"y", "hidden", "unknown", "hidden"}, exists)
	if !slices.Equal(hidden, []string{"hidden", "hidden"}) || s.Escapes != 2 || !slices.Equal(s.Called, []string{"hidden"}) {
		t.Errorf("hidden %q, state %+v", hidden, s)
	}
	if s.List[0].Used != 0 || s.List[1].Used != 1 {
		t.Errorf("uses %+v", s.List)
	}
	if got := m.MostUsed(said("a").App(), 5); !slices.Equal(got, []string{"hidden", "y"}) {
		t.Errorf("most used %q", got)
	}
}

func TestCallsDuringFallbackAreNotEscapeHatches(t *testing.T) {
	m := session.New(newClock().now)
	f := m.Find(said("a"))
	s := f.State
	s.Fallback = "embedder off"
	m.Commit(f.Key, s)
	after, hidden := m.Observe(f.Key, []string{"x"}, nil)
	if len(hidden) > 0 || after.Escapes > 0 {
		t.Errorf("hidden %q, escapes %d", hidden, after.Escapes)
	}
	if got := m.MostUsed(f.State.App, 5); !slices.Equal(got, []string{"x"}) {
		t.Errorf("the use itself does not count: %q", got)
	}
}

func TestAutomaticCore(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	for i := range 4 {
		id := said(fmt.Sprintf("%c first words", 'a'+i))
		f := turn(m, id, "always", "once")
		if i < 3 && len(f.State.Core) > 0 {
			t.Errorf("session %d has the CORE %q", i+1, f.State.Core)
		}
		if i == 3 && !slices.Equal(f.State.Core, []string{"always"}) {
			t.Errorf("after three sessions the CORE is %q", f.State.Core)
		}
		called := []string{"always"}
		m.Observe(f.Key, called, nil)
	}
	f := m.Find(said("z other words"))
	for range 9 {
		m.Observe(f.Key, []string{"late"}, nil)
	}
	if got := m.AutomaticCores(); len(got) != 1 {
		t.Errorf("cores %v", got)
	}
}

func TestAutomaticCoreStaysWhileThePrefixIsWarm(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	begin := func(i int, tool string) session.Found {
		f := turn(m, said(fmt.Sprintf("%c words", 'a'+i)), tool)
		m.Observe(f.Key, []string{tool}, nil)
		return f
	}
	for i := range 3 {
		begin(i, "first")
	}
	for i := range 9 {
		if f := begin(3+i, "second"); !slices.Equal(f.State.Core, []string{"first"}) {
			t.Fatalf("session %d of one sitting has the CORE %q", 4+i, f.State.Core)
		}
	}
	c.pass(6 * time.Minute)
	if f := begin(20, "second"); !slices.Equal(f.State.Core, []string{"second"}) {
		t.Errorf("after a pause the CORE is %q", f.State.Core)
	}
}

func TestEnded(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	turn(m, said("a"), "x")
	if got := m.Ended(false); len(got) > 0 {
		t.Errorf("ended at once: %v", got)
	}
	c.pass(3 * time.Hour)
	if got := m.Ended(false); len(got) != 1 {
		t.Errorf("after three quiet hours: %v", got)
	}
	if got := m.Ended(true); len(got) > 0 {
		t.Errorf("ended twice: %v", got)
	}
	turn(m, said("a", "b"), "x")
	if got := m.Ended(true); len(got) != 1 || got[0].Turn != 2 {
		t.Errorf("a resumed session at shutdown: %v", got)
	}
}

func TestRestartKeepsSessions(t *testing.T) {
	c := newClock()
	store := sessiontest.NewMemory()
	m, err := session.Open(store, c.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	first := turn(m, said("a"), "x", "y")
	m.Observe(first.Key, []string{"y"}, nil)
	m.Close()
	m.Close()

	again, err := session.Open(store, c.now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	f := again.Find(said("a", "b"))
	if f.New || f.State.Session != first.State.Session || !slices.Equal(listed(f.State), []string{"x", "y"}) || f.State.List[1].Used != 1 {
		t.Errorf("after a restart: %+v", f)
	}
	if got := again.MostUsed(first.State.App, 1); !slices.Equal(got, []string{"y"}) {
		t.Errorf("most used after a restart: %q", got)
	}
}

func TestARequestThatNamesAnAnswer(t *testing.T) {
	m := session.New(newClock().now)
	id := said("a")
	first := turn(m, id, "x")
	owed := []session.Owed{{ID: "c1", Name: "load_tools", Result: "y is there now"}}
	m.Answered(id, first.Key, session.Answer{ID: "resp_1", Owed: owed})
	if f := m.Find(id); f.Owed != nil {
		t.Errorf("a request with its whole history owes %+v", f.Owed)
	}
	next := said("b")
	next.Previous = "resp_1"
	if f := m.Find(next); !reflect.DeepEqual(f.Owed, owed) {
		t.Errorf("the next request owes %+v", f.Owed)
	}
	second := turn(m, next, "x", "y")
	if second.State.Session != first.State.Session || second.State.Turn != 2 || !slices.Equal(listed(second.State), []string{"x"}) {
		t.Fatalf("the next turn is %+v", second)
	}
	m.Answered(next, second.Key, session.Answer{ID: "resp_2", Last: ""})
	if f := m.Find(next); !f.Same || f.Key != second.Key || !reflect.DeepEqual(f.Owed, owed) {
		t.Errorf("a retry is %+v", f)
	}
	result := said()
	result.Previous, result.Continues = "resp_2", true
	if f := m.Find(result); !f.Same || f.Key != second.Key || f.State.Turn != 2 {
		t.Errorf("a tool's result is %+v", f)
	}
	branch := said("other")
	branch.Previous = "resp_1"
	if f := m.Find(branch); f.State.Session == first.State.Session || f.State.Turn != 2 || !slices.Equal(listed(f.State), []string{"x"}) {
		t.Errorf("a branch is %+v", f)
	}
	for name, change := range map[string]func(*session.Identity){
		"an answer that was never seen": func(id *session.Identity) { id.Previous = "resp_9" },
		"another app's":                 func(id *session.Identity) { id.Agent = "other" },
	} {
		id := next
		change(&id)
		if f := m.Find(id); !f.New {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestANamedSessionThatNamesAnAnswer: what the engine is owed goes with the request, whichever way the conversation was found.
func TestANamedSessionThatNamesAnAnswer(t *testing.T) {
	m := session.New(newClock().now)
	id := said("find the order")
	id.Family, id.Explicit = "responses", "mine"
	f := turn(m, id, "a")
	owed := []session.Owed{{ID: "c1", Name: "load_tools", Result: "ok"}}
	m.Answered(id, f.Key, session.Answer{ID: "resp_1", Owed: owed})
	result := said()
	result.Family, result.Explicit, result.Previous, result.Continues = id.Family, id.Explicit, "resp_1", true
	if got := m.Find(result); !got.Same || got.Key != f.Key || !reflect.DeepEqual(got.Owed, owed) {
		t.Errorf("results of calls: %+v", got)
	}
	next := said("and cancel it")
	next.Family, next.Explicit, next.Previous = id.Family, id.Explicit, "resp_1"
	if got := m.Find(next); got.Same || got.State.Session != f.State.Session || got.State.Turn != 2 || !reflect.DeepEqual(got.Owed, owed) {
		t.Errorf("another message: %+v", got)
	}
}

// TestAppsWithoutEnd: of a client that shows another token with each request the oldest are forgotten, and of nobody else.
func TestAppsWithoutEnd(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	use := func(id session.Identity) {
		f := turn(m, id, "a")
		m.Observe(f.Key, []string{"a"}, nil)
		c.pass(time.Second)
	}
	first, last := said("hi"), said("hi")
	first.Credential = "first"
	for i := range 6000 {
		if i%1000 == 0 {
			use(first)
		}
		last.Credential = fmt.Sprint(i)
		use(last)
	}
	gone := last
	gone.Credential = "7"
	for id, want := range map[*session.Identity]int{&first: 1, &last: 1, &gone: 0} {
		if got := m.MostUsed(id.App(), 5); len(got) != want {
			t.Errorf("of %q is known %q", id.Credential, got)
		}
	}
}

// TestWhatTheEngineKeepsIsNotPutIntoTheNextRequest: the history that a named answer stands for holds what is ours, at messages that this request may repeat.
func TestWhatTheEngineKeepsIsNotPutIntoTheNextRequest(t *testing.T) {
	m := session.New(newClock().now)
	id := said("yes")
	f := m.Find(id)
	s := f.State
	s.List = []session.Visible{{Name: "x"}, {Name: "y", Late: true}}
	s.Notes = []session.Note{{Text: "more", Tools: []string{"y"}}}
	s.Hidden = []session.Hidden{{Said: "hm"}}
	m.Commit(f.Key, s)
	m.Answered(id, f.Key, session.Answer{ID: "resp_1", Last: ""})
	next, result := said("yes"), said()
	next.Previous, result.Previous = "resp_1", "resp_1"
	for _, id := range []session.Identity{next, result} {
		if got := m.Find(id).State; len(got.Notes)+len(got.Hidden) > 0 || len(got.List) != 2 || got.List[1].Late {
			t.Errorf("with %d messages: %+v", len(id.Chain), got)
		}
	}
}

func TestAnAnswerIsKeptUnderAnotherID(t *testing.T) {
	m := session.New(newClock().now)
	id, other, model := said("a"), said("a"), said("b")
	other.Agent, model.Model = "other", "another"
	m.Answered(id, "a turn", session.Answer{ID: "resp_1", Last: "resp_3"})
	m.Answered(id, "a turn", session.Answer{ID: "resp_4", Last: "resp_4"})
	m.Answered(id, "a turn", session.Answer{ID: "", Last: "resp_5"})
	m.Answered(id, "a turn", session.Answer{ID: "resp_6", Last: ""})
	m.Answered(id, "a turn", session.Answer{ID: "resp_7", Last: strings.Repeat("x", 2<<10)})
	long := strings.Repeat("l", 300)
	m.Answered(id, "a turn", session.Answer{ID: long, Last: long + "2"})
	for _, c := range []struct {
		id           session.Identity
		answer, want string
	}{
		{id, "resp_1", "resp_3"}, {model, "resp_1", "resp_3"}, {id, long, long + "2"},
		{other, "resp_1", ""}, {id, "resp_3", ""}, {id, "resp_4", ""}, {id, "", ""}, {id, "resp_6", ""}, {id, "resp_7", ""},
	} {
		if got := m.Kept(c.id, c.answer); got != c.want {
			t.Errorf("%q of %q is kept as %q, want %q", c.answer, c.id.Agent, got, c.want)
		}
	}
	for i := range 5000 {
		m.Answered(id, "a turn", session.Answer{ID: fmt.Sprint("r", i), Last: "last"})
	}
	if m.Kept(id, "resp_1") != "" || m.Kept(id, "r4999") != "last" {
		t.Error("what is remembered is not bounded, or not the newest")
	}
}

// A request that its client has given up may be committed when the next one is already: WroteRequest is told by a goroutine of the transport.
func TestALateCommitTakesNothingBack(t *testing.T) {
	m := session.New(newClock().now)
	f := m.Find(said("a"))
	older, newer := f.State, f.State
	older.Serial, newer.Serial = 1, 2
	older.List, newer.List = []session.Visible{{Name: "x"}}, []session.Visible{{Name: "x"}, {Name: "y"}}
	m.Commit(f.Key, newer)
	m.Commit(f.Key, older)
	if s, _ := m.Get(f.State.Session); !slices.Equal(listed(s), []string{"x", "y"}) {
		t.Errorf("the turn has %q", listed(s))
	}
}

// Of two plans of one request that no list was there for yet, the one given up may be committed last: the conversation goes on from the other.
func TestALateCommitOfANewConversationIsOlder(t *testing.T) {
	c := newClock()
	m := session.New(c.now)
	given, asked := m.Find(said("a")), m.Find(said("a"))
	given.State.Serial, asked.State.Serial = 1, 2
	m.Commit(asked.Key, asked.State)
	c.pass(time.Second)
	m.Commit(given.Key, given.State)
	on := said("a")
	on.Continues = true
	if f := m.Find(on); !f.Same || f.State.Session != asked.State.Session {
		t.Errorf("it goes on as %+v, want session %s", f, asked.State.Session)
	}
	if f := m.Find(said("a", "b")); f.State.Session != asked.State.Session {
		t.Errorf("its next turn is of session %s, want %s", f.State.Session, asked.State.Session)
	}
}
