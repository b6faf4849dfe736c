package telemetry

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Report is what turns come to.
type Report struct {
	From, Until time.Time
	Apps        []App  // by turns, most first
	Modes       []Mode // shadow, then on; those with turns
	Missed      []Missed
	Core        []CoreTool // what should be in CORE, best first

	called, named int // tools in all turns, and those with a name
}

// App is one app's turns.
type App struct {
	App      string `json:"app"`
	Turns    int    `json:"turns"`
	Sessions int    `json:"sessions"`
}

// Mode is the turns of one mode.
type Mode struct {
	Mode      string
	Turns     int
	Sessions  int
	Fallbacks map[string]int // turns on which every tool was visible, by reason
	Truncated int            // turns of which the engine read only a part of the prompt
	Recall    Recall
	Tools     Means // of the turns with a list
	Saving    Saving
	Hidden    HiddenTurns
	PerSecond map[string]float64 // prompt tokens that each model reads in a second, where it is known
}

// Lists are the turns for which a list was made.
func (m Mode) Lists() int {
	n := m.Turns
	for _, f := range m.Fallbacks {
		n -= f
	}
	return n
}

// HiddenTurns are what clients saw nothing of.
type HiddenTurns struct {
	Turns     int // of users, that had some
	Asked     int // times that calls of load_tools and tool_search were answered
	Guesses   int // times that hidden tools were shown since the engine had dropped a call
	Evaluated int // tokens of prompts that these times cost, as far as the engine says
	Generated int // tokens that were generated before it was asked again
}

func (h *HiddenTurns) add(t Hidden) {
	if t.Rounds <= 0 {
		return
	}
	h.Turns++
	h.Asked += t.Rounds - t.Guesses
	h.Guesses += t.Guesses
	h.Evaluated += t.Read.EvaluatedTokens
	h.Generated += t.Generated
}

// Means are of the turns with a list.
type Means struct {
	Offered, Visible             float64 // tools
	OfferedTokens, VisibleTokens float64 // estimated
	HiddenTokens                 int     // in all turns
}

// Recall is the share of the tools called that were visible, or would have been, on turns with a list.
type Recall struct {
	Calls   int // different tools a turn
	Misses  int // hidden
	Written int // of those, called in writing, which the engine took for text
	Asked   int // visible only since the model had asked for them
}

// Visible is how many were visible without anybody asking.
func (r Recall) Visible() int { return max(0, r.Calls-r.Misses-r.Asked) }

// Share is Visible of Calls with its 95 % interval (Wilson's, as if calls did not depend on each other). Without calls it is all of 0 to 1.
func (r Recall) Share() (share, low, high float64) {
	if r.Calls <= 0 {
		return 0, 0, 1
	}
	const z = 1.959964
	n, p := float64(r.Calls), float64(r.Visible())/float64(r.Calls)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return p, max(0, middle-half), min(1, middle+half)
}

// Missed is a tool that was called while hidden.
type Missed struct {
	Tool   string `json:"tool"`
	Misses int    `json:"misses"` // turns
	Calls  int    `json:"calls"`  // turns that called it, seen or hidden
}

// CoreTool is a tool that should always be visible.
type CoreTool struct {
	Tool     string  `json:"tool"`
	Sessions int     `json:"sessions"` // that called it, of the app that uses it most
	Share    float64 `json:"share"`    // of that app's sessions
	Misses   int     `json:"misses"`   // turns on which it was hidden when called, in all apps
}

// Summarize makes the report of turns, oldest first.
func Summarize(turns []Turn, f Filter) Report {
	r := Report{From: f.From, Until: f.Until, Apps: apps(turns), Missed: missed(turns), Core: core(turns)}
	for _, t := range turns {
		r.called += t.Use.Calls
		r.named += len(t.Use.Names)
	}
	for _, mode := range []string{Shadow, On} {
		var of []Turn
		for _, t := range turns {
			if t.Mode == mode {
				of = append(of, t)
			}
		}
		if len(of) > 0 {
			r.Modes = append(r.Modes, summarize(mode, of))
		}
	}
	return r
}

func summarize(mode string, turns []Turn) Mode {
	m := Mode{Mode: mode, Turns: len(turns), Fallbacks: map[string]int{}, PerSecond: map[string]float64{}}
	sessions := map[string]bool{}
	for _, t := range turns {
		sessions[t.Session] = true
		if t.Truncated {
			m.Truncated++
		}
		if t.Fallback != "" {
			m.Fallbacks[t.Fallback]++
			continue
		}
		m.Recall.Calls += t.Use.Calls
		m.Recall.Misses += t.Use.Misses
		m.Recall.Written += t.Use.Written
		m.Hidden.add(t.Hidden)
		m.Recall.Asked += t.Use.Asked
		m.Tools.add(t)
	}
	m.Sessions = len(sessions)
	m.Tools.divide(m.Lists())
	rates := paces(turns)
	for model, p := range rates {
		if rate := p.perSecond(); rate > 0 {
			m.PerSecond[model] = rate
		}
	}
	m.Saving = savings(turns, rates)
	return m
}

func (m *Means) add(t Turn) {
	m.Offered += float64(t.Offered)
	m.Visible += float64(t.Visible)
	m.OfferedTokens += float64(t.OfferedTokens)
	m.VisibleTokens += float64(t.VisibleTokens)
	m.HiddenTokens += t.hidden()
}

func (m *Means) divide(n int) {
	for _, sum := range []*float64{&m.Offered, &m.Visible, &m.OfferedTokens, &m.VisibleTokens} {
		*sum /= float64(max(1, n))
	}
}

func apps(turns []Turn) []App {
	byApp, sessions := map[string]*App{}, map[[2]string]bool{}
	for _, t := range turns {
		a := byApp[t.App]
		if a == nil {
			a = &App{App: t.App}
			byApp[t.App] = a
		}
		a.Turns++
		if s := [2]string{t.App, t.Session}; !sessions[s] {
			sessions[s] = true
			a.Sessions++
		}
	}
	list := make([]App, 0, len(byApp))
	for _, a := range byApp {
		list = append(list, *a)
	}
	slices.SortFunc(list, func(a, b App) int { return cmp.Or(cmp.Compare(b.Turns, a.Turns), cmp.Compare(a.App, b.App)) })
	return list
}

func missed(turns []Turn) []Missed {
	calls, misses := map[string]int{}, map[string]int{}
	for _, t := range turns {
		for _, name := range t.Use.Names {
			calls[name]++
		}
		for _, name := range t.Use.Missed {
			misses[name]++
		}
	}
	list := []Missed{}
	for name, n := range misses {
		list = append(list, Missed{name, n, calls[name]})
	}
	slices.SortFunc(list, func(a, b Missed) int { return cmp.Or(cmp.Compare(b.Misses, a.Misses), cmp.Compare(a.Tool, b.Tool)) })
	return list
}
