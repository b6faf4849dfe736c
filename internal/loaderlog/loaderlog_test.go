package loaderlog

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// The three expressions with which other tools read these lines.
var (
	planLine    = regexp.MustCompile(`TOOL_LOADER (\{.*\})\s*$`)
	sessionLine = regexp.MustCompile(`TOOL_LOADER_SESSION (\{.*\})\s*$`)
	hatchLine   = regexp.MustCompile(`"event"\s*:\s*"TOOL_LOADER_ESCAPE_HATCH"`)
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func written(t *testing.T, write func(*Logger)) string {
	t.Helper()
	var b bytes.Buffer
	write(New(&b, clock))
	if strings.Count(b.String(), "\n") != 1 || !strings.HasSuffix(b.String(), "\n") {
		t.Fatalf("not one line: %q", b.String())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestPlanLine(t *testing.T) {
	p := &turn.Plan{
		Session: "s1", Turn: 2, QuerySHA: "0123456789ab", Embedder: "builtin", Elapsed: 42 * time.Microsecond,
		Tools: []turn.Tool{{Name: "zeta"}, {Name: "検索"}, {Name: "alpha"}},
		Changes: turn.Changes{
			Scores: map[string]float64{"zeta": 3.14159, "alpha": 4}, Matched: []string{"zeta", "alpha"},
			Admitted: []string{"zeta"}, Skill: []string{"alpha"}, PrefixKept: 7,
		},
	}
	line := written(t, func(l *Logger) { l.Planned(p) })
	m := planLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no reader would find %q", line)
	}
	const want = `{"turn": 2, "query_sha": "0123456789ab", "threshold": 0.0, "max_tools": 0, "scores": {"alpha": 4.0, "zeta": 3.1416}, ` +
		`"matched": ["alpha", "zeta"], "bundle_pulled": [], "admitted": ["zeta"], "evicted": [], "skipped_at_cap": [], ` +
		`"loaded": ["alpha", "zeta", "\u691c\u7d22"], "skill": ["alpha"], "order": ["zeta", "\u691c\u7d22", "alpha"], "pinned": [], "fallback": null, ` +
		`"embedder": "builtin", "plan_us": 42, "prefix_kept": 7, "session": "s1"}`
	if m[1] != want {
		t.Errorf("got  %s\nwant %s", m[1], want)
	}
	if sessionLine.MatchString(line) || hatchLine.MatchString(line) {
		t.Error("a plan's line is taken for another")
	}
}

func TestPlanLineLeavesOutNoSkill(t *testing.T) {
	line := written(t, func(l *Logger) { l.Planned(&turn.Plan{Fallback: "mode off"}) })
	if strings.Contains(line, `"skill"`) || !strings.Contains(line, `"fallback": "mode off"`) {
		t.Errorf("unexpected line %s", line)
	}
}

func TestEscapeLine(t *testing.T) {
	line := written(t, func(l *Logger) { l.Escaped(session.State{Session: "s1", Turn: 3}, `odd "name"`) })
	var got struct {
		Event, Tool, Note string
		Turn              int
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%q is no bare JSON: %v", line, err)
	}
	if !hatchLine.MatchString(line) || got.Tool != `odd "name"` || got.Turn != 3 || got.Note == "" {
		t.Errorf("unexpected line %s", line)
	}
	if planLine.MatchString(line) || sessionLine.MatchString(line) {
		t.Error("an escape's line is taken for another")
	}
}

// TestShadowEscapeLine has the same line say that nothing was hidden.
func TestShadowEscapeLine(t *testing.T) {
	var b bytes.Buffer
	NewShadow(&b, clock).Escaped(session.State{Session: "s1", Turn: 3}, "t")
	var got struct{ Event, Tool, Note string }
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !hatchLine.Match(b.Bytes()) {
		t.Fatalf("%q: %v", b.String(), err)
	}
	if got.Tool != "t" || !strings.HasPrefix(got.Note, "shadow: ") {
		t.Errorf("unexpected line %s", b.String())
	}
	if line := written(t, func(l *Logger) { l.Escaped(session.State{}, "t") }); strings.Contains(line, "shadow") {
		t.Errorf("a call of a hidden tool is said to be shadow's: %s", line)
	}
}

func TestSessionLine(t *testing.T) {
	for _, c := range []struct {
		state session.State
		want  string
	}{
		{session.State{Session: "s", Turn: 8, Escapes: 1, Loads: 1}, `{"turns": 8, "escape_hatch_count": 1, "load_tools_count": 1, "escape_hatch_rate": 0.25, "session": "s"}`},
		{session.State{Session: "s"}, `{"turns": 0, "escape_hatch_count": 0, "load_tools_count": 0, "escape_hatch_rate": 0.0, "session": "s"}`},
	} {
		line := written(t, func(l *Logger) { l.Ended(c.state) })
		m := sessionLine.FindStringSubmatch(line)
		if m == nil || m[1] != c.want {
			t.Errorf("got %q, want %s", line, c.want)
		}
		if planLine.MatchString(line) {
			t.Error("a session's line is taken for a plan's")
		}
	}
}

func TestNilLoggerWritesNothing(t *testing.T) {
	var l *Logger
	l.Planned(&turn.Plan{})
	l.Escaped(session.State{}, "x")
	l.Ended(session.State{})
}

func FuzzObject(f *testing.F) {
	f.Add("plain", 1.5)
	f.Add("\x00\"\\\n\u2028😀", math.NaN())
	f.Add("\xff\xfe", math.Inf(1))
	f.Fuzz(func(t *testing.T, s string, x float64) {
		var o object
		o.text(s, s)
		o.number("x", x)
		b := o.end()
		for _, c := range b {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("%q holds the byte %#x", b, c)
			}
		}
		var back map[string]any
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if got, ok := back[s].(string); s != "x" && utf8.ValidString(s) && (!ok || got != s) {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
