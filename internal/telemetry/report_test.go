package telemetry_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"toolbelt/internal/telemetry"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// read is a turn of the app "app", a minute after the one before, with 5,000 tokens of tools of which 1,200 are visible, whose first answer read so much.
type read struct {
	mode              string
	session           string
	number            int
	prompt, evaluated int
	visible, kept     int  // tokens; 0: 1,200 and all of them
	changed           bool //
	change            func(*telemetry.Turn)
}

func turnsOf(reads []read) []telemetry.Turn {
	var list []telemetry.Turn
	for i, r := range reads {
		t := telemetry.Turn{
			Session: r.session, Number: r.number, At: noon.Add(time.Duration(i) * time.Minute), Mode: r.mode,
			Account: telemetry.Account{App: "app", Model: "m", Offered: 38, OfferedTokens: 5000, VisibleTokens: 1200, KeptTokens: 1200, Changed: r.changed || r.number == 1},
			Visible: 10, First: telemetry.Reading{Answers: 1, PromptTokens: r.prompt, EvaluatedTokens: r.evaluated, PromptDuration: time.Duration(r.evaluated) * 10 * time.Millisecond},
		}
		if r.visible > 0 {
			t.VisibleTokens, t.KeptTokens = r.visible, r.kept
		}
		if r.number == 1 {
			t.KeptTokens = 0
		}
		if r.change != nil {
			r.change(&t)
		}
		list = append(list, t)
	}
	return list
}

// hidden gives a turn so many hidden rounds, of some of which it is known what they evaluated.
func hidden(rounds, known, evaluated int) func(*telemetry.Turn) {
	return func(t *telemetry.Turn) {
		t.Hidden = telemetry.Hidden{Rounds: rounds, Read: telemetry.Reading{Answers: known, PromptTokens: known * 1700, EvaluatedTokens: evaluated}}
	}
}

// TestTimeOfHiddenTurns has what they took, to read and to generate, taken off; where the engine does not say how long it read, by the pace.
func TestTimeOfHiddenTurns(t *testing.T) {
	cold := read{mode: telemetry.On, session: "s", number: 1, prompt: 1300, evaluated: 1300}
	without := telemetry.Summarize(turnsOf([]read{cold}), telemetry.Filter{}).Modes[0]
	for _, c := range []struct {
		name     string
		hidden   telemetry.Hidden
		min, max time.Duration // taken off
	}{
		{"said", telemetry.Hidden{Rounds: 1, Read: telemetry.Reading{Answers: 1, PromptTokens: 1700, EvaluatedTokens: 600, PromptDuration: 7 * time.Second}, Generated: 20, GeneratedDuration: 2 * time.Second}, 9 * time.Second, 9 * time.Second},
		{"by the pace", telemetry.Hidden{Rounds: 1, Read: telemetry.Reading{Answers: 1, PromptTokens: 1300, EvaluatedTokens: 1300}}, 12999 * time.Millisecond, 13001 * time.Millisecond},
	} {
		cold.change = func(t *telemetry.Turn) { t.Hidden = c.hidden }
		m := telemetry.Summarize(turnsOf([]read{cold}), telemetry.Filter{}).Modes[0]
		if took := without.Saving.Time - m.Saving.Time; took < c.min || took > c.max {
			t.Errorf("%s: %v taken off, want %v to %v", c.name, took, c.min, c.max)
		}
		if m.Saving.Hidden != -c.hidden.Read.EvaluatedTokens || m.Saving.Tokens != without.Saving.Tokens+m.Saving.Hidden {
			t.Errorf("%s: %+v", c.name, m.Saving)
		}
		if want := (telemetry.HiddenTurns{Turns: 1, Asked: 1, Evaluated: c.hidden.Read.EvaluatedTokens, Generated: c.hidden.Generated}); m.Hidden != want {
			t.Errorf("%s: %+v, want %+v", c.name, m.Hidden, want)
		}
	}
}

func TestSavings(t *testing.T) {
	const on, shadow = telemetry.On, telemetry.Shadow
	cold := read{mode: shadow, session: "s", number: 1, prompt: 5100, evaluated: 5100}
	coldOn := read{mode: on, session: "s", number: 1, prompt: 1300, evaluated: 1300}
	for _, c := range []struct {
		name     string
		reads    []read
		tokens   int
		price    int
		unjudged int
	}{
		{"a new conversation, nothing held", []read{cold}, 3800, 0, 0},
		{"the next turn, the same list", []read{cold, {mode: shadow, session: "s", number: 2, prompt: 5150, evaluated: 50}}, 3800, 0, 0},
		{"a list that would have changed is read again, and what stands behind it",
			[]read{cold, {mode: shadow, session: "s", number: 2, prompt: 5200, evaluated: 50, visible: 1300, kept: 1000, changed: true}}, 3800 - 450, -450, 0},
		{"another conversation of the app, whose tools the engine holds", []read{cold, {mode: shadow, session: "other", number: 1, prompt: 5100, evaluated: 60}}, 3800 - 1240, -1240, 0},
		{"back in the first conversation", []read{cold, {mode: shadow, session: "other", number: 1, prompt: 5100, evaluated: 5100}, {mode: shadow, session: "s", number: 2, prompt: 5200, evaluated: 150}},
			2*3800 - 1250, -1250, 0},
		{"the engine lost it all", []read{cold, {mode: shadow, session: "s", number: 2, prompt: 5200, evaluated: 5200}}, 2 * 3800, 0, 0},
		{"tools that are estimated too high", []read{{mode: shadow, session: "s", number: 1, prompt: 4000, evaluated: 4000}}, 3040, 0, 0},
		{"more evaluated than there is", []read{{mode: shadow, session: "s", number: 1, prompt: 5100, evaluated: 9999}}, 3800, 0, 0},
		{"nothing said of what was read", []read{{mode: shadow, session: "s", number: 1, prompt: 5100}}, 0, 0, 1},
		{"nothing said at all", []read{{mode: on, session: "s", number: 1}}, 0, 0, 1},
		{"a part was read", []read{{mode: shadow, session: "s", number: 1, prompt: 5100, evaluated: 5100, change: func(t *telemetry.Turn) { t.Truncated = true }}}, 0, 0, 1},
		{"every tool visible", []read{{mode: shadow, session: "s", number: 1, prompt: 5100, evaluated: 5100, change: func(t *telemetry.Turn) { t.Fallback = "small array" }}}, 0, 0, 0},

		{"on: a new conversation, nothing held", []read{coldOn}, 3800, 0, 0},
		{"on: the next turn, the same list", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1350, evaluated: 50}}, 3800, 0, 0},
		{"on: a changed list", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1600, evaluated: 600, visible: 1400, kept: 1200, changed: true}}, 3800 - 500, -500, 0},
		{"on: a changed list, behind more answers", []read{
			{mode: on, session: "s", number: 1, prompt: 1300, evaluated: 1300, change: func(t *telemetry.Turn) { t.Rest = telemetry.Reading{Answers: 2, PromptTokens: 2 * 1360} }},
			{mode: on, session: "s", number: 2, prompt: 1600, evaluated: 600, visible: 1400, kept: 1200, changed: true}}, 3800 - 560, -560, 0},
		{"on: a changed list after the engine has forgotten", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1600, evaluated: 1600, visible: 1400, kept: 1200, changed: true, change: func(t *telemetry.Turn) { t.At = t.At.Add(time.Hour) }}},
			3800 + 3600, 0, 0},
		{"on: another conversation of the app just before", []read{coldOn, {mode: on, session: "other", number: 1, prompt: 1300, evaluated: 1300}}, 3800 - 1200, -1200, 0},
		{"on: another app just before", []read{coldOn, {mode: on, session: "other", number: 1, prompt: 1300, evaluated: 1300, change: func(t *telemetry.Turn) { t.App = "b" }}}, 2 * 3800, 0, 0},
		{"on: the clock jumped back", []read{coldOn, {mode: on, session: "other", number: 1, prompt: 1300, evaluated: 1300, change: func(t *telemetry.Turn) { t.At = t.At.Add(-time.Hour) }}}, 2 * 3800, 0, 0},
		{"on: asked for beside other calls", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1350, evaluated: 50, change: func(t *telemetry.Turn) { t.Use.Loads = 1 }}}, 3800, 0, 0},
		{"on: a hidden turn", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1350, evaluated: 50, change: hidden(1, 1, 600)}}, 3800 - 600, 0, 0},
		{"on: hidden turns that cost more than was saved", []read{{mode: on, session: "s", number: 1, prompt: 1300, evaluated: 1300, change: hidden(5, 5, 8500)}}, 3800 - 8500, 0, 0},
		{"on: a hidden turn of which the engine says too little", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1350, evaluated: 50, change: hidden(2, 1, 600)}}, 3800, 0, 1},
		{"on: a turn of an earlier version, which did not count them", []read{coldOn, {mode: on, session: "s", number: 2, prompt: 1350, evaluated: 50, change: hidden(-1, 0, 0)}}, 3800, 0, 1},
		{"on: the turn before told nothing", []read{{mode: on, session: "s", number: 1}, {mode: on, session: "s", number: 2, prompt: 1600, evaluated: 600, visible: 1400, kept: 1200, changed: true}}, 0, 0, 2},
	} {
		turns := turnsOf(c.reads)
		r := telemetry.Summarize(turns, telemetry.Filter{})
		s := r.Modes[0].Saving
		if s.Tokens != c.tokens || s.Price != c.price || s.Unjudged != c.unjudged || s.Judged+s.Unjudged+len(turns)-r.Modes[0].Lists() != len(turns) {
			t.Errorf("%s: %+v, want %d tokens, a price of %d, %d not judged", c.name, s, c.tokens, c.price, c.unjudged)
		}
		if s.Timed && (s.Time > 0) != (c.tokens > 0) {
			t.Errorf("%s: %d tokens are %v", c.name, s.Tokens, s.Time)
		}
	}
}

// TestTimeFollowsThePace: how much longer later tokens of a prompt take is learned from prompts of different lengths; from those of one length each token counts the same.
func TestTimeFollowsThePace(t *testing.T) {
	constant := func(tokens int) time.Duration { return time.Duration(tokens) * 10 * time.Millisecond }
	doubling := func(tokens int) time.Duration { // at 2,048 tokens
		return time.Duration(float64(tokens)*(1+float64(tokens)/4096)*10) * time.Millisecond
	}
	various, alike := []int{1300, 1600, 2000, 2600, 3300}, []int{1290, 1300, 1310}
	for name, c := range map[string]struct {
		prompts []int
		took    func(int) time.Duration
		saved   func(prompt, more int) time.Duration // of more tools before it, each turn's
	}{
		"constant": {various, constant, func(_, more int) time.Duration { return constant(more) }},
		"growing":  {various, doubling, func(prompt, more int) time.Duration { return doubling(prompt+more) - doubling(prompt) }},
		"alike": {alike, doubling, func(prompt, more int) time.Duration {
			return time.Duration(float64(more) / float64(prompt) * float64(doubling(prompt)))
		}},
	} {
		var turns []read
		var want time.Duration
		for i, prompt := range c.prompts {
			turns = append(turns, read{mode: telemetry.On, session: fmt.Sprint(i), number: 1, prompt: prompt, evaluated: prompt,
				change: func(t *telemetry.Turn) { t.First.PromptDuration, t.App = c.took(prompt), fmt.Sprint(i) }})
			want += c.saved(prompt, 3800)
		}
		m := telemetry.Summarize(turnsOf(turns), telemetry.Filter{}).Modes[0]
		if got := m.Saving.Time; m.Saving.Tokens != 3800*len(turns) || math.Abs(float64(got-want)) > .02*float64(want) {
			t.Errorf("%s: %d tokens are %v, want %v", name, m.Saving.Tokens, got, want)
		}
	}
	one := read{mode: telemetry.Shadow, session: "s", number: 1, prompt: 5100, evaluated: 5100, change: func(t *telemetry.Turn) { t.First.PromptDuration = 51 * time.Second }}
	if got := telemetry.Summarize(turnsOf([]read{one}), telemetry.Filter{}).Modes[0].Saving.Time; got != 38*time.Second {
		t.Errorf("of 5,100 tokens in 51 s 3,800 would be %v", got)
	}
}

func TestTimeIsKnownOnlyByAPace(t *testing.T) {
	untimed := read{mode: telemetry.Shadow, session: "s", number: 1, prompt: 5100, evaluated: 5100, change: func(t *telemetry.Turn) { t.First.PromptDuration = 0 }}
	m := telemetry.Summarize(turnsOf([]read{untimed}), telemetry.Filter{}).Modes[0]
	if m.Saving.Timed || m.Saving.Time != 0 || len(m.PerSecond) != 0 || m.Saving.Tokens != 3800 {
		t.Errorf("%+v, paces %v", m.Saving, m.PerSecond)
	}
	timed := untimed
	timed.change, timed.session = nil, "t"
	m = telemetry.Summarize(turnsOf([]read{timed}), telemetry.Filter{}).Modes[0]
	if !m.Saving.Timed || math.Abs(m.PerSecond["m"]-100) > 1 {
		t.Errorf("%+v, paces %v", m.Saving, m.PerSecond)
	}
}

func TestRecallAndItsInterval(t *testing.T) {
	for _, c := range []struct {
		calls, misses, asked int
		share, low, high     float64
	}{
		{0, 0, 0, 0, 0, 1},
		{10, 1, 1, .8, .4902, .9433}, // Wilson's, by hand
		{1, 0, 0, 1, .2065, 1},
		{1, 1, 0, 0, 0, .7935},
		{1000, 20, 0, .98, .9693, .9870},
	} {
		share, low, high := telemetry.Recall{Calls: c.calls, Misses: c.misses, Asked: c.asked}.Share()
		for i, d := range []float64{share - c.share, low - c.low, high - c.high} {
			if math.Abs(d) > 5e-4 {
				t.Errorf("%+v: figure %d is off by %v (%v, %v to %v)", c, i, d, share, low, high)
			}
		}
	}
}

// used is a turn with a list that called these tools; ! marks one that was hidden.
func used(app, session string, number int, calls ...string) telemetry.Turn {
	t := telemetry.Turn{Session: session, Number: number, Mode: telemetry.Shadow, Account: telemetry.Account{App: app, Offered: 20, OfferedTokens: 2000, VisibleTokens: 500}, Visible: 5}
	for _, name := range calls {
		name, hidden := strings.CutPrefix(name, "!")
		if name == "" {
			continue
		}
		t.Use.Calls++
		t.Use.Names = append(t.Use.Names, name)
		if hidden {
			t.Use.Misses++
			t.Use.Missed = append(t.Use.Missed, name)
		}
	}
	return t
}

func TestCountsOfAReport(t *testing.T) {
	fallback := used("b", "x", 1, "mail")
	fallback.Fallback, fallback.Use.Missed, fallback.Use.Misses = "small array", nil, 0
	onTurn := used("a", "y", 1, "mail")
	onTurn.Mode, onTurn.Use.Asked = telemetry.On, 1
	turns := []telemetry.Turn{used("a", "s", 1, "mail", "!files"), used("a", "s", 2), used("a", "t", 1, "!files"), fallback, onTurn}
	r := telemetry.Summarize(turns, telemetry.Filter{})
	if fmt.Sprint(r.Apps) != "[{a 4 3} {b 1 1}]" || fmt.Sprint(r.Missed) != "[{files 2 2}]" || len(r.Modes) != 2 {
		t.Fatalf("apps %v, missed %v, %d modes", r.Apps, r.Missed, len(r.Modes))
	}
	shadow, on := r.Modes[0], r.Modes[1]
	if shadow.Mode != "shadow" || shadow.Turns != 4 || shadow.Sessions != 3 || shadow.Lists() != 3 || shadow.Fallbacks["small array"] != 1 {
		t.Errorf("shadow %+v", shadow)
	}
	if shadow.Recall != (telemetry.Recall{Calls: 3, Misses: 2}) || shadow.Recall.Visible() != 1 {
		t.Errorf("recall %+v", shadow.Recall)
	}
	if on.Recall != (telemetry.Recall{Calls: 1, Asked: 1}) || on.Recall.Visible() != 0 {
		t.Errorf("recall in mode on %+v", on.Recall)
	}
	if tools := shadow.Tools; tools.Offered != 20 || tools.Visible != 5 || tools.OfferedTokens != 2000 || tools.VisibleTokens != 500 || tools.HiddenTokens != 4500 {
		t.Errorf("tools %+v", tools)
	}
}

func TestToolsForCore(t *testing.T) {
	var turns []telemetry.Turn
	for i := range 10 { // ten conversations of "a"
		turns = append(turns, used("a", fmt.Sprint("a", i), 1, []string{"often", "often", "third", "third", "", "", "", "", "", ""}[i]))
	}
	turns[0] = used("a", "a0", 1, "often", "third", "rare")
	turns = append(turns, used("a", "a0", 2, "often"), used("a", "a0", 3, "rare"), used("a", "a0", 4, "rare"), used("a", "a0", 5, "rare"))
	turns = append(turns, used("a", "a4", 2, "!missed"), used("a", "a4", 3, "!missed"), used("a", "a5", 2, "!missed")) // three times in two
	turns = append(turns, used("a", "a6", 2, "!once"), used("a", "a6", 3, "!once"), used("a", "a6", 4, "!once"))       // three times in one
	turns = append(turns, used("b", "b1", 1, "new"), used("b", "b2", 1, "new"))                                        // too few conversations to tell
	for i := range 3 {
		turns = append(turns, used("c", fmt.Sprint("c", i), 1, "all"))
	}
	var got []string
	for _, c := range telemetry.Summarize(turns, telemetry.Filter{}).Core {
		got = append(got, fmt.Sprintf("%s %d %.1f %d", c.Tool, c.Sessions, c.Share, c.Misses))
	}
	if want := []string{"all 3 1.0 0", "third 3 0.3 0", "missed 2 0.2 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	turns = nil
	for i := range 20 {
		for s := range 3 {
			turns = append(turns, used("a", fmt.Sprint(s), 1+i, fmt.Sprint("t", i)))
		}
	}
	if n := len(telemetry.Summarize(turns, telemetry.Filter{}).Core); n != 7 {
		t.Errorf("%d tools for CORE leave no room for others", n)
	}
}

func FuzzCoreYAML(f *testing.F) {
	for _, name := range []string{"read_file", "on", "No", "null", "~", "-", "1", "a: b", "[x]", "x,y", "#", "é", "\x00", "\xff", "", "a\nb", "\u2028", "server.tool", "&a", "<x>", "\x7f", "\u0085", "\ufeff", "\U0001f600"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = strings.ToValidUTF8(name, "?")
		var back struct{ Core []string }
		text := telemetry.CoreYAML([]string{"first", name})
		if strings.Contains(text, "\n") {
			t.Fatalf("%q is not a line", text)
		}
		if err := yaml.Unmarshal([]byte(text), &back); err != nil || !slices.Equal(back.Core, []string{"first", name}) {
			t.Fatalf("%q reads as %q, %v", text, back.Core, err)
		}
	})
}

func TestNoCoreYAML(t *testing.T) {
	if got := telemetry.CoreYAML(nil); got != "" {
		t.Errorf("got %q", got)
	}
	if got := telemetry.CoreYAML([]string{"read_file", "off"}); got != `core: [read_file, "off"]` {
		t.Errorf("got %q", got)
	}
}

func TestAdvice(t *testing.T) {
	many := func(mode string, calls, misses, saved int) []telemetry.Turn {
		list := turnsOf([]read{{mode: mode, session: "s", number: 1, prompt: 5100, evaluated: 5100}, {mode: mode, session: "o", number: 1, prompt: 5100, evaluated: 60}})
		if saved > 0 {
			list = list[:1]
		} else {
			list = list[1:]
		}
		list[0].Use = telemetry.Use{Calls: calls, Misses: misses, Names: []string{"a"}}
		return list
	}
	nameless := many(telemetry.Shadow, 100, 0, 1)
	nameless[0].Use.Names = nil
	for _, c := range []struct {
		name  string
		turns []telemetry.Turn
		core  []string
		want  []string // parts of the sentences
	}{
		{"nothing", nil, nil, []string{"TOOLBELT_MODE=shadow for a day"}},
		{"few calls", many(telemetry.Shadow, 29, 0, 1), nil, []string{"29 calls in shadow mode are too few"}},
		{"one call", many(telemetry.On, 1, 0, 1), nil, []string{"1 call in mode on is too few"}},
		{"good", many(telemetry.Shadow, 100, 0, 1), nil, []string{"Set TOOLBELT_MODE=on"}},
		{"good, but dear", many(telemetry.Shadow, 100, 0, -1), nil, []string{"leave it in shadow mode"}},
		{"misses", many(telemetry.Shadow, 100, 20, 1), nil, []string{"bring recall up"}},
		{"on, good", many(telemetry.On, 100, 0, 1), nil, nil},
		{"on, misses", many(telemetry.On, 100, 20, 1), nil, []string{"Tools are missed"}},
		{"no names", nameless, nil, []string{"Set TOOLBELT_MODE=on", "TOOLBELT_LEARN=off keeps no names"}},
		{"small arrays", []telemetry.Turn{{Session: "s", Number: 1, Mode: telemetry.On, Fallback: "small array"}}, nil, []string{"nothing to save"}},
		{"no embedder", []telemetry.Turn{{Session: "s", Number: 1, Mode: telemetry.On, Fallback: "embedder failed"}, {Session: "s", Number: 2, Mode: telemetry.On, Fallback: "small array"}}, nil, []string{"this reason: embedder failed"}},
		{"core", []telemetry.Turn{used("a", "1", 1, "!x"), used("a", "2", 1, "!x"), used("a", "3", 1, "y")}, []string{"y"}, []string{"Put 1 tool into CORE", "too few", `--tool "x"`}},
		{"core is configured", []telemetry.Turn{used("a", "1", 1, "x"), used("a", "2", 1, "x"), used("a", "3", 1, "y")}, []string{"y", "x"}, []string{"too few"}},
	} {
		got := telemetry.Summarize(c.turns, telemetry.Filter{}).Advice(c.core)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", c.name, got)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: %q lacks %q", c.name, got[i], part)
			}
		}
	}
	r := telemetry.Summarize([]telemetry.Turn{used("a", "1", 1, "x"), used("a", "2", 1, "x"), used("a", "3", 1, "y")}, telemetry.Filter{})
	if got := r.CoreWith([]string{"z", "y"}); !slices.Equal(got, []string{"z", "y", "x"}) {
		t.Errorf("CORE becomes %q", got)
	}
}
