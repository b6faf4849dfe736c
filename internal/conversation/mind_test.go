package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"toolbelt/internal/enginetest"
)

// The tools of the daemon's own, as this package knows them.
const (
	loadTools  = "load_tools"
	toolSearch = "tool_search"
	callTool   = "call_tool"
)

// catalogue is the tools of an app.
type catalogue struct {
	names, descriptions, schemas []string
}

func words() []string {
	return strings.Fields("mail calendar file photo music weather ticket invoice order user note timer light door map route translate search upload chart price stock report room train")
}

func verbs() []string {
	return strings.Fields("list create delete update find send move copy open close")
}

func newCatalogue(r *rand.Rand, n int) *catalogue {
	c := &catalogue{}
	for i := range n {
		noun, verb := words()[i%len(words())], verbs()[r.IntN(len(verbs()))]
		name := fmt.Sprintf("%s_%s", verb, noun)
		if i%3 == 0 {
			name = fmt.Sprintf("%s__%s", noun, verb)
		}
		if slices.Contains(c.names, name) {
			name = fmt.Sprintf("%s_%d", name, i)
		}
		c.names = append(c.names, name)
		c.descriptions = append(c.descriptions, fmt.Sprintf("%s a %s <of> the \u00e9tat & more, %s", verb, noun, strings.Repeat(noun+" details ", 1+r.IntN(6))))
		c.schemas = append(c.schemas, fmt.Sprintf(`{"type":"object","properties":{"q":{"type":"string","description":"which %s"}},"required":["q"]}`, noun))
	}
	return c
}

// elements writes the tools as an app sends them.
func (c *catalogue) elements(a *app) []string {
	var list []string
	for i := range c.names {
		name, text, schema := a.str(c.names[i]), a.str(c.descriptions[i]), c.schemas[i]
		var more []string
		if a.deferred != nil && a.deferred(c.names[i]) {
			more = []string{"defer_loading", "true"}
		}
		switch a.protocol {
		case enginetest.Responses:
			list = append(list, a.obj(append([]string{"type", `"function"`, "name", name, "description", text, "parameters", schema}, more...)...))
		case enginetest.Messages:
			list = append(list, a.obj(append([]string{"name", name, "description", text, "input_schema", schema}, more...)...))
		default:
			list = append(list, a.obj(append([]string{"type", `"function"`, "function", a.obj("name", name, "description", text, "parameters", schema)}, more...)...))
		}
	}
	return list
}

// said is one request to the engine and what it was answered.
type said struct {
	request *enginetest.Request
	round   enginetest.Round
}

// mind is the model in one conversation. All that it says holds its tag, but for calls of nothing but nonsense.
type mind struct {
	name    string // of its conversation, which the engine's requests tell
	tag     string
	tools   []string
	llama   bool
	failing bool // it may fail
	terse   bool // it says nothing before calls of the daemon's tools
	alike   bool // others are asked with the same words: an answer that leaves the app with nothing could not be told from theirs
	apart   bool // it calls tools of the daemon's alone, not beside those of the app

	mu     sync.Mutex
	r      *rand.Rand
	n      int
	rounds []said // of the app's request under way
	quiet  bool   // it calls no tools of the app any more
	calm   bool   // it does not fail
	drop   int    // the round in which the client gives up, from 1; 0 for none
	giveUp func() // what it does then
}

// begin forgets the rounds of the request before. quiet: the model is to come to an end.
func (m *mind) begin(quiet, calm bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rounds, m.quiet, m.calm = nil, quiet, calm || !m.failing
	m.drop, m.giveUp = 0, nil
}

// beGivenUp has the client of the request that is to come go away in this round, if there is one.
func (m *mind) beGivenUp(round int, giveUp func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop, m.giveUp = round, giveUp
}

func (m *mind) heard() []said {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rounds)
}

func (m *mind) say(request *enginetest.Request) enginetest.Round {
	m.mu.Lock()
	defer m.mu.Unlock()
	round := m.think(request)
	if m.drop > 0 && len(m.rounds)+1 == m.drop {
		round.Error, round.Status, round.CutAfter = "", 0, 0
		round.Stall, round.StallAt = make(chan struct{}), []int{0, 1, 100}[m.r.IntN(3)] // until the client is gone
		m.giveUp()
	}
	m.rounds = append(m.rounds, said{request, round})
	return round
}

func (m *mind) chance(percent int) bool { return m.r.IntN(100) < percent }

func (m *mind) pick(list []string) string { return list[m.r.IntN(len(list))] }

func (m *mind) think(request *enginetest.Request) enginetest.Round {
	var round enginetest.Round
	var metas []string
	for _, name := range request.Tools {
		if name == loadTools || name == toolSearch {
			metas = append(metas, name)
		}
	}
	bridged := slices.Contains(request.Tools, callTool)
	more := 45
	if len(m.rounds) > 0 {
		more = 30
	}
	if m.chance(20) {
		round.Thinking = m.words(1)
	}
	if m.chance(50) {
		round.Text = m.words(1 + m.r.IntN(3))
	}
	switch {
	case len(metas) > 0 && len(m.rounds) < 6 && m.chance(more):
		for range 1 + m.r.IntN(2) {
			round.Calls = append(round.Calls, m.ask(m.pick(metas), bridged))
		}
		if m.terse {
			round.Text = ""
		}
	case m.chance(8):
		round = enginetest.Round{Tokens: 5}
	case !m.quiet && m.chance(60):
		for range 1 + m.r.IntN(3) {
			round.Calls = append(round.Calls, m.use(request.Tools, bridged))
		}
		if len(metas) > 0 && !m.apart && m.chance(25) {
			round.Calls = append(round.Calls, m.ask(m.pick(metas), bridged))
		}
		m.r.Shuffle(len(round.Calls), func(i, j int) { round.Calls[i], round.Calls[j] = round.Calls[j], round.Calls[i] })
	case round.Text == "":
		round.Text = m.words(3)
	}
	if len(round.Calls) > 0 && round.Text == "" && request.Protocol == enginetest.Messages {
		round.Thinking = "" // Ollama gives a call behind a thought the thought's index
	}
	if m.chance(5) && (round.Text != "" || !m.alike) {
		round.Reason = "length"
	}
	return m.fail(round)
}

func (m *mind) fail(round enginetest.Round) enginetest.Round {
	if m.calm || !m.chance(12) {
		return round
	}
	switch m.r.IntN(3) {
	case 0:
		return enginetest.Round{Status: []int{400, 500, 503}[m.r.IntN(3)], Error: "it broke"}
	case 1:
		round.Error = "it broke"
	default:
		round.CutAfter = []int{-1, 1, 40, 200, 500}[m.r.IntN(5)]
	}
	return round
}

// words are some that hold the tag.
func (m *mind) words(n int) string {
	m.n++
	list := []string{fmt.Sprintf("<%s.%d>", m.tag, m.n)}
	for range n {
		list = append(list, m.pick([]string{"yes", "the \"file\"", "\u00e9t\u00e9", "tool_calls", "a\nline", "&", "{\"name\":"}))
	}
	before, behind := []string{"", "", "", "\n\n"}[m.n%4], []string{" ", ""}[m.n%2] // white space where rounds meet, and none
	return before + strings.Join(list, " ") + behind
}

func (m *mind) id() string {
	m.n++
	return fmt.Sprintf("call_%s_%d", m.tag, m.n)
}

// use calls a tool of the app's, whether it is visible or not.
func (m *mind) use(listed []string, bridged bool) enginetest.Call {
	name := m.pick(m.tools)
	if m.chance(60) {
		visible := slices.DeleteFunc(slices.Clone(listed), func(n string) bool { return !slices.Contains(m.tools, n) })
		if len(visible) > 0 {
			name = m.pick(visible)
		}
	}
	arguments := fmt.Sprintf(`{"q":"%s \u00e9 %d"}`, m.tag, m.r.IntN(9))
	if bridged && !slices.Contains(listed, name) && m.chance(80) {
		return enginetest.Call{Name: callTool, ID: m.id(), Arguments: fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)}
	}
	return enginetest.Call{Name: name, ID: m.id(), Arguments: arguments}
}

// ask calls a tool of the daemon's.
func (m *mind) ask(meta string, bridged bool) enginetest.Call {
	some := m.pick(m.tools)
	arguments := m.pick([]string{
		fmt.Sprintf(`{"name":%q}`, some), fmt.Sprintf(`{"name":%q}`, strings.ToUpper(some)), fmt.Sprintf(`{"name":%q}`, strings.Split(some, "_")[0]),
		`{"name":"no such thing"}`, `{}`, `{"name":7}`, `{"foo":["bar"]}`, fmt.Sprintf(`{"query":"select:%s,%s"}`, some, m.pick(m.tools)), `{"query":"weather report"}`,
		fmt.Sprintf(`{"name":%q}`, some), fmt.Sprintf(`{"name":%q}`, some),
	})
	if m.llama && m.chance(10) {
		arguments = `{"name": "cut of`
	}
	if bridged && m.chance(10) {
		return enginetest.Call{Name: callTool, ID: m.id(), Arguments: fmt.Sprintf(`{"name":%q,"arguments":{"name":%q}}`, meta, some)}
	}
	return enginetest.Call{Name: meta, ID: m.id(), Arguments: arguments}
}
