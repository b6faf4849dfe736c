package synth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/embed"
	"toolbelt/skills"
	"toolbelt/skills/runs"
	"toolbelt/skills/skillstest"
	"toolbelt/skills/synth"
)

func builtin(t testing.TB) embed.Embedder {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func day(n int) time.Time { return time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

func run(n int, goal string, names ...string) runs.Run {
	r := runs.Run{Key: fmt.Sprintf("%s/%d", goal, n), App: "app", Session: fmt.Sprint(n), Goal: goal, Outcome: runs.Succeeded, Started: day(n), Ended: day(n)}
	for _, name := range names {
		r.Calls = append(r.Calls, runs.Call{Name: name, Arguments: []string{"path"}})
	}
	return r
}

// reports are runs of one job in several wordings.
func reports(first int, names ...string) []runs.Run {
	var list []runs.Run
	for i, goal := range []string{"write the weekly sales report", "I need the sales report of this week", "please do the weekly report on sales", "sales report for the week, as usual"} {
		list = append(list, run(first+i, goal, names...))
	}
	return list
}

func propose(t *testing.T, in synth.Input) synth.Report {
	t.Helper()
	in.Embedder = builtin(t)
	report, err := synth.Propose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// only is the pass's one proposal.
func only(t *testing.T, r synth.Report) synth.Proposal {
	t.Helper()
	if len(r.Proposals) != 1 {
		t.Fatalf("%d proposals: %+v", len(r.Proposals), r.Proposals)
	}
	return r.Proposals[0]
}

func TestAJobDoneOftenBecomesAProcedure(t *testing.T) {
	list := reports(0, "read", "chart", "mail")
	list[2].Calls = append([]runs.Call{{Name: "login"}}, list[2].Calls...) // one run took a detour
	p := only(t, propose(t, synth.Input{Runs: list}))
	got := p.Procedure
	if p.Action != synth.Add || !slices.Equal(got.ToolsRequired, []string{"read", "chart", "mail"}) || !slices.Equal(got.ToolSequence, []string{"read", "chart", "mail"}) {
		t.Errorf("%s: %+v", p.Action, got)
	}
	if got.Validate() != nil || got.Origin.Kind != skills.Learned || got.Origin.Runs != 4 || got.Origin.Succeeded != 4 || !slices.Equal(got.Origin.AlsoUsed, []string{"login"}) || !got.Origin.Last.Equal(day(3)) || len(p.Runs) != 4 {
		t.Errorf("%v: %+v", got.Validate(), got)
	}
	if !strings.Contains(got.WhenToUse, "sales") || !strings.Contains(got.Name, "sales") || !strings.Contains(got.Body, "2. `chart` with path") || len(got.Examples) != 4 {
		t.Errorf("%q %q %q %q", got.Name, got.WhenToUse, got.Body, got.Examples)
	}
}

func TestWhatIsNotLearned(t *testing.T) {
	failing := reports(0, "read", "chart", "mail")
	failing[0].Outcome = runs.Failed
	open := reports(0, "read", "chart", "mail")
	open[0].Outcome, open[1].Outcome = runs.Open, runs.Open
	for name, list := range map[string][]runs.Run{
		"nothing":           nil,
		"seen twice":        reports(0, "read", "chart", "mail")[:2],
		"two calls":         reports(0, "read", "mail"),
		"failed too often":  failing,
		"without an end":    open,
		"one tool only":     reports(0, "read", "read", "read"),
		"unlike requests":   {run(0, "write the weekly sales report", "read", "chart", "mail", "x"), run(1, "how do I get to the airport?", "read", "chart", "mail", "y"), run(2, "water the roses", "read", "chart", "mail", "z")},
		"requests of blank": {run(0, " \n", "a", "b", "c"), run(1, " \n", "a", "b", "c"), run(2, " \n", "a", "b", "c")},
	} {
		for _, p := range propose(t, synth.Input{Runs: list}).Proposals {
			if p.Action != synth.Leave {
				t.Errorf("%s: %s %+v", name, p.Action, p.Procedure)
			}
		}
	}
}

func TestReconcile(t *testing.T) {
	old := reports(0, "read", "chart", "mail")
	known := only(t, propose(t, synth.Input{Runs: old})).Procedure
	edited, disabled, fallen, other := known, known, known, known
	edited.Origin.Edited = true
	disabled.Enabled = false
	fallen.Enabled, fallen.Note, fallen.Updated = false, "did badly", day(10)
	other.Name, other.SupersededBy = "newer", ""
	superseded := known
	superseded.SupersededBy = "newer"
	own := skills.Procedure{Name: "mine", WhenToUse: known.WhenToUse, ToolsRequired: known.ToolsRequired, Enabled: true, Origin: skills.Origin{Kind: skills.Own}}
	changed := append(slices.Clone(old), reports(20, "fetch", "chart", "post")...)
	for range 3 {
		changed = append(changed, reports(30+len(changed), "fetch", "chart", "post")...)
	}
	tests := []struct {
		name     string
		runs     []runs.Run
		existing skills.Procedure
		want     synth.Action
	}{
		{"known", old, known, synth.Leave},
		{"its user's own", old, own, synth.Leave},
		{"edited", changed, edited, synth.Leave},
		{"disabled by its user", append(slices.Clone(old), reports(20, "read", "chart", "mail")...), disabled, synth.Leave},
		{"disabled for doing badly", old, fallen, synth.Leave},
		{"disabled, and did well since", append(slices.Clone(old), reports(20, "read", "chart", "mail")...), fallen, synth.Return},
	}
	for _, test := range tests {
		report := propose(t, synth.Input{Runs: test.runs, Existing: []skills.Procedure{test.existing}})
		for _, p := range report.Proposals {
			if p.Existing == test.existing.Name && p.Action != test.want || p.Existing == "" && test.name != "edited" {
				t.Errorf("%s: %s of %q (%s), want %s", test.name, p.Action, p.Existing, p.Why, test.want)
			}
		}
		if len(report.Proposals) == 0 {
			t.Errorf("%s: no proposal", test.name)
		}
	}
	if p := only(t, propose(t, synth.Input{Runs: old, Existing: []skills.Procedure{superseded, {Name: "newer", WhenToUse: "w", ToolsRequired: []string{"t"}, Enabled: true}}})); p.Action != synth.Leave {
		t.Errorf("superseded: %s", p.Action)
	}
	gone := skills.Removal{Name: "gone", Tools: []string{"chart", "mail", "read"}, At: day(9)}
	if p := only(t, propose(t, synth.Input{Runs: old, Removed: []skills.Removal{gone}})); p.Action != synth.Leave || p.Existing != "gone" {
		t.Errorf("removed by its user: %s of %q", p.Action, p.Existing)
	}
}

func TestWhatIsDoneOtherwiseByNowIsSuperseded(t *testing.T) {
	library := open(t)
	parts := synth.Parts{History: &history{reports(0, "read", "chart", "mail")}, Shelf: library, Embedder: builtin(t)}
	_, done, err := parts.Learn(t.Context())
	if err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	first := done[0].Procedure
	parts.History = &history{append(reports(0, "read", "chart", "mail"), reports(20, "read", "chart", "post", "archive")...)}
	if _, done, err = parts.Learn(t.Context()); err != nil || len(done) != 1 || done[0].Action != synth.Supersede {
		t.Fatalf("%+v, %v", done, err)
	}
	list, _ := library.List(t.Context())
	if len(list) != 2 || !skills.Superseded(list)[first.Name] || done[0].Procedure.Origin.Supersedes != first.Name || !slices.Contains(done[0].Procedure.ToolsRequired, "post") {
		t.Errorf("%+v", list)
	}
	if _, done, err = parts.Learn(t.Context()); err != nil || len(done) != 0 {
		t.Errorf("a second pass over the same history does %+v, %v", done, err)
	}
}

// TestTheSameHistoryGivesTheSameProcedures, in whatever order it is read.
func TestTheSameHistoryGivesTheSameProcedures(t *testing.T) {
	var list []runs.Run
	for i := range 12 {
		for j, r := range reports(100*i, fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i)) {
			r.Goal = strings.ReplaceAll(r.Goal, "sales", strings.Fields("garden kitchen budget holiday school music energy traffic weather stock travel photo")[i])
			r.Key += fmt.Sprint(j)
			list = append(list, r)
		}
	}
	var first []byte
	for i := range 4 {
		report := propose(t, synth.Input{Runs: slices.Clone(list)})
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if first = text; len(report.Proposals) != 10 || report.More != 2 {
				t.Errorf("%d proposals and %d more, want 10 and 2", len(report.Proposals), report.More)
			}
		}
		if string(text) != string(first) {
			t.Fatalf("pass %d differs:\n%s\n%s", i, text, first)
		}
		rand.New(rand.NewPCG(uint64(i), 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}

func TestRequestsOfOtherJobsAreTold(t *testing.T) {
	list := append(reports(0, "read", "chart", "mail"), run(50, "read me the weekly sales report", "speak"), run(51, "where is the garden hose?", "find"))
	p := only(t, propose(t, synth.Input{Runs: list}))
	if !slices.Equal(p.Procedure.NotFor, []string{"read me the weekly sales report"}) {
		t.Errorf("not for %q", p.Procedure.NotFor)
	}
}

// TestLearnedIsRecalled is the whole way: runs, a pass, and a like request.
func TestLearnedIsRecalled(t *testing.T) {
	library := open(t)
	parts := synth.Parts{History: &history{reports(0, "read", "chart", "mail")}, Shelf: library, Embedder: builtin(t)}
	if _, _, err := parts.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	recalled := func(text string) []string {
		v, err := builtin(t).Embed(t.Context(), embed.Query, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		var tools []string
		for _, r := range library.Set().Recall(skills.QueryVectors{builtin(t).Model(): v[0]}, 2, skills.DefaultFloor) {
			tools = append(tools, r.Procedure.ToolsRequired...)
		}
		return tools
	}
	if got := recalled("time for this week's report on our sales"); !slices.Equal(got, []string{"read", "chart", "mail"}) {
		t.Errorf("a like request recalls %q", got)
	}
	if got := recalled("what is the capital of Portugal?"); got != nil {
		t.Errorf("another request recalls %q", got)
	}
}

// scribe is a Writer that says what it is made to.
type scribe string

func (s scribe) Write(context.Context, skills.Procedure) (string, error) {
	if s == "" {
		return "", errors.New("no model")
	}
	return string(s), nil
}

func TestAModelMayWriteTheText(t *testing.T) {
	good := "# The weekly report\n\n1. read\n2. chart\n3. mail"
	for text, own := range map[string]bool{good: false, "": true, "# Something else": true, good + strings.Repeat("\nmore", 1000): false, strings.Repeat("x", 5000): true} {
		library := open(t)
		parts := synth.Parts{History: &history{reports(0, "read", "chart", "mail")}, Shelf: library, Embedder: builtin(t), Writer: scribe(text)}
		_, done, err := parts.Learn(t.Context())
		if err != nil || len(done) != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		body := done[0].Procedure.Body
		if got := strings.HasPrefix(body, "Steps that did the job"); got != own || len(body) > skills.MaxOfferedCharacters {
			t.Errorf("of %.40q the text is %.60q, %d bytes", text, body, len(body))
		}
	}
}

type history struct{ list []runs.Run }

func (h *history) Runs(context.Context, runs.Filter) ([]runs.Run, error) { return h.list, nil }

func open(t *testing.T) *skills.Library {
	t.Helper()
	l, err := skills.Open(t.Context(), skills.Parts{Store: skillstest.NewMemory(), Local: builtin(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// BenchmarkPropose is a pass over 10,000 runs of 400 jobs.
func BenchmarkPropose(b *testing.B) {
	words := strings.Fields("garden kitchen budget holiday school music energy traffic weather stock travel photo invoice ticket letter server engine camera border river")
	var list []runs.Run
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		job := rng.IntN(400)
		goal := fmt.Sprintf("please prepare the %s of the %s for number %d", words[job%20], words[job/20], rng.IntN(1000))
		list = append(list, run(i, goal, fmt.Sprint("a", job%97), fmt.Sprint("b", job%89), fmt.Sprint("c", job%7), "send"))
	}
	e := builtin(b)
	b.ResetTimer()
	for b.Loop() {
		if _, err := synth.Propose(context.Background(), synth.Input{Runs: list, Embedder: e}); err != nil {
			b.Fatal(err)
		}
	}
}
