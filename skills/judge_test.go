package skills_test

import (
	"strings"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/skills"
	"toolbelt/skills/skillstest"
)

func TestASkillThatDoesBadlyIsDisabledAndCanComeBack(t *testing.T) {
	ctx, local := t.Context(), builtin(t)
	now := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: local, Now: func() time.Time { return now }})
	p, err := l.Add(ctx, named("payments"))
	if err != nil {
		t.Fatal(err)
	}
	judge := func(success bool, called ...string) skills.Procedure {
		t.Helper()
		if err := l.Judge(ctx, []string{"payments", "gone"}, called, success); err != nil {
			t.Fatal(err)
		}
		p, err := l.Show(ctx, "payments")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p = judge(true, "run"); p.Attempts != 1 || p.Successes != 1 || !p.LastUsed.Equal(now) {
		t.Errorf("used with success: %+v", p)
	}
	uses := 0
	for p.Enabled && uses < 50 {
		p, uses = judge(true, "other"), uses+1
	}
	if p.Unused != uses || p.Trust() >= skills.TrustFloor || !strings.Contains(p.Note, "not used") || uses < 5 {
		t.Errorf("after %d recalls for nothing: %+v", uses, p)
	}
	if got := recalls(t, l, local, p.WhenToUse); got != nil {
		t.Errorf("disabled, it is recalled: %v", got)
	}
	if p, err = l.Enable(ctx, "payments"); err != nil || !p.Enabled || p.Note != "" || p.Unused != 0 {
		t.Errorf("enabled: %+v, %v", p, err)
	}
	for uses = 0; p.Enabled && uses < 50; uses++ {
		p = judge(false, "run")
	}
	if p.Enabled || p.Attempts != uses || p.LastUsed.IsZero() {
		t.Errorf("after %d failures: %+v", uses, p)
	}
	if p, err = l.Return(ctx, "payments"); err != nil || !p.Enabled {
		t.Errorf("returned: %+v, %v", p, err)
	}
	if _, err = l.Disable(ctx, "payments"); err != nil {
		t.Fatal(err)
	}
	if p, err = l.Return(ctx, "payments"); err != nil || p.Enabled {
		t.Errorf("what its user disabled came back: %+v, %v", p, err)
	}
}

func TestWhatIsLearnedNeverWritesOverItsUser(t *testing.T) {
	ctx, local := t.Context(), builtin(t)
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: local})
	old := named("payments")
	old.Origin.Kind = skills.Learned
	if _, err := l.Learn(ctx, old, ""); err != nil {
		t.Fatal(err)
	}
	_, err := l.Learn(ctx, old, "")
	wantKind(t, err, catalog.Conflict, `"payments"`)
	next := named("payments")
	next.Name, next.Origin.Kind = "payments-2", skills.Learned
	if _, err := l.Learn(ctx, next, "payments"); err != nil {
		t.Fatal(err)
	}
	if got := recalls(t, l, local, old.WhenToUse); len(got) != 1 || got[0] != "payments-2" {
		t.Errorf("recalled %v", got)
	}
	mine, err := l.Show(ctx, "payments-2")
	if err != nil {
		t.Fatal(err)
	}
	mine.Body = "my own way"
	if _, err := l.Save(ctx, mine); err != nil {
		t.Fatal(err)
	}
	third := next
	third.Name = "payments-3"
	_, err = l.Learn(ctx, third, "payments-2")
	wantKind(t, err, catalog.Conflict, `"payments-2"`)
	if p, err := l.Show(ctx, "payments-2"); err != nil || p.Body != "my own way" || p.SupersededBy != "" || !p.Origin.Edited {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := l.Enable(ctx, "payments"); err != nil || p.SupersededBy != "" {
		t.Errorf("a superseded one that is enabled: %+v, %v", p, err)
	}
}

func TestSuperseded(t *testing.T) {
	p := func(name, by string) skills.Procedure {
		return skills.Procedure{Name: name, Standing: skills.Standing{SupersededBy: by}}
	}
	got := skills.Superseded([]skills.Procedure{p("a", "b"), p("b", "c"), p("c", ""), p("x", "y"), p("y", "x"), p("z", "x"), p("lost", "gone"), p("self", "self")})
	if len(got) != 2 || !got["a"] || !got["b"] {
		t.Errorf("superseded are %v, want a and b", got)
	}
}

func TestWeight(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	fresh := skills.Procedure{Updated: now}
	old, failing, unused, future := fresh, fresh, fresh, fresh
	old.Updated = now.AddDate(-2, 0, 0)
	failing.Attempts = 4
	unused.Unused = 4
	future.Updated = now.AddDate(1, 0, 0)
	if fresh.Weight(now) != 1 || future.Weight(now) != 1 || fresh.Weight(time.Time{}) != 1 {
		t.Errorf("fresh %v, of the future %v, without a clock %v", fresh.Weight(now), future.Weight(now), fresh.Weight(time.Time{}))
	}
	if o, f, u := old.Weight(now), failing.Weight(now), unused.Weight(now); !(o < 1 && o >= 0.75 && f < u && u < 1 && f > 0) {
		t.Errorf("old %v, failing %v, unused %v", o, f, u)
	}
	used := old
	used.LastUsed = now
	if used.Weight(now) != 1 {
		t.Errorf("old, but used just now: %v", used.Weight(now))
	}
}

func TestRecallByExamplesAndWhatItIsNotFor(t *testing.T) {
	m := plane("a")
	procedures := enabled("x", "y")
	procedures[1].ToolsRequired = []string{"u"}
	set := newSet(procedures, []skills.View{{
		Model: m, Vectors: []embed.Vector{at(0), at(170)}, Background: around(),
		Examples: [][]embed.Vector{{at(60), nil, {1, 0}}, nil}, NotFor: [][]embed.Vector{{at(-30)}, nil},
	}})
	for degrees, want := range map[float64]int{0: 1, 62: 1, -5: 1, -32: 0} {
		if got := set.Recall(skills.QueryVectors{m: at(degrees)}, 2, 8); len(got) != want {
			t.Errorf("at %v degrees: %v", degrees, recalledNames(got))
		}
	}
	none := func(tool string) bool { return tool == "u" }
	if got := recalledNames(set.RecallOf(skills.QueryVectors{m: at(0)}, 2, -1000, none)); len(got) != 1 || got[0] != "y" {
		t.Errorf("of those with the tool u: %v", got)
	}
}

func TestWhy(t *testing.T) {
	ctx := t.Context()
	l := open(t, skills.Parts{Store: skillstest.NewMemory(), Local: builtin(t)})
	for _, name := range []string{"payments", "gardening"} {
		if _, err := l.Add(ctx, named(name)); err != nil {
			t.Fatal(err)
		}
	}
	yes, err := l.Why(ctx, "payments", "deploy the payments service to staging please")
	if err != nil || yes.Recalled == nil || !*yes.Recalled || *yes.Height < yes.Floor || yes.Rank != 1 {
		t.Errorf("%+v, %v", yes, err)
	}
	no, err := l.Why(ctx, "payments", "what is the capital of Portugal?")
	if err != nil || *no.Recalled || no.Rank != 0 || !strings.Contains(no.Reason, "is wanted") {
		t.Errorf("%+v, %v", no, err)
	}
	if w, err := l.Why(ctx, "payments", ""); err != nil || w.Recalled != nil || len(w.Lines()) < 3 {
		t.Errorf("%+v, %v", w, err)
	}
	_, err = l.Why(ctx, "nope", "")
	wantKind(t, err, catalog.NotFound, `"nope"`)
	if _, err := l.Disable(ctx, "payments"); err != nil {
		t.Fatal(err)
	}
	if w, err := l.Why(ctx, "payments", "deploy the payments service"); err != nil || *w.Recalled || !strings.Contains(w.Reason, "disabled") {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestAlikeAndKnows(t *testing.T) {
	p := func(tools ...string) skills.Procedure { return skills.Procedure{ToolsRequired: tools} }
	for _, c := range []struct {
		a, b skills.Procedure
		want float64
	}{
		{p("a", "b"), p("b", "a"), 1}, {p("a", "b"), p("b", "c"), 1.0 / 3}, {p("a"), p("b"), 0}, {p(), p(), 1}, {p("a"), p(), 0},
	} {
		if got := c.a.Alike(c.b); got != c.want || c.b.Alike(c.a) != got {
			t.Errorf("%q and %q are alike by %v, want %v", c.a.ToolsRequired, c.b.ToolsRequired, got, c.want)
		}
	}
	job := skills.Procedure{ToolsRequired: []string{"a"}, ToolSequence: []string{"a", "b"}, Origin: skills.Origin{AlsoUsed: []string{"c"}}}
	if !job.Knows("a") || !job.Knows("b") || !job.Knows("c") || job.Knows("d") {
		t.Error("it knows what it required, what its steps call and what its runs called, and nothing else")
	}
}
