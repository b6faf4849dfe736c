package eval_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolbelt/eval"
)

// What is to be reached is only held against a run that could judge it.
func TestGoalsAreThoseThatTheRunCanJudge(t *testing.T) {
	const (
		cold     = "cold first turn, 60 compact tools, of all tools cold"
		same     = "turn 2, list unchanged, over the same request by hand, compact"
		foretold = "evaluated tokens foretold within 10 % or 32"
	)
	for _, tc := range []struct {
		name, catalog       string
		scenarios, variants []string
		noLog               bool
		want                []string
	}{
		{name: "one scenario", catalog: "compact", scenarios: []string{"cold"}, want: []string{cold, foretold}},
		{name: "two", catalog: "compact", scenarios: []string{"cold", "turn2_same"}, want: []string{cold, same, foretold}},
		{name: "one of a ratio's variants", catalog: "compact", scenarios: []string{"cold"}, variants: []string{"append"}, want: []string{foretold}},
		{name: "nothing of ours", catalog: "compact", scenarios: []string{"cold"}, variants: []string{"all", "gaia"}},
		{name: "an engine without a log", catalog: "compact", scenarios: []string{"cold"}, noLog: true, want: []string{cold}},
		{name: "tools of a user's own", catalog: "tools.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := small(t)
			w.Name = tc.catalog
			engine := &cachingEngine{}
			if !tc.noLog {
				engine.log = filepath.Join(t.TempDir(), "engine.log")
			}
			options := eval.TTFTOptions{Scenarios: tc.scenarios, Variants: tc.variants}
			report, err := measure(t, engine, w, options).Run(context.Background(), []*eval.Workload{w})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, g := range report.Targets {
				got = append(got, g.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the goals are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			var text strings.Builder
			if err := report.WriteTable(&text); err != nil {
				t.Fatal(err)
			}
			figures, goals := strings.Index(text.String(), "Catalog "+tc.catalog), strings.Index(text.String(), "To reach")
			if (goals >= 0) != (len(tc.want) > 0) || goals >= 0 && goals < figures {
				t.Errorf("the goals stand at %d, the figures at %d:\n%s", goals, figures, text.String())
			}
		})
	}
}

// A run of everything also says what only another command measures; a figure that could not be taken says why.
func TestARunOfEverythingHasEveryGoal(t *testing.T) {
	gaia, compact := small(t), small(t)
	gaia.Name, compact.Name = "gaia", "compact"
	engine := &cachingEngine{log: filepath.Join(t.TempDir(), "engine.log")}
	report, err := measure(t, engine, gaia, eval.TTFTOptions{Every: true}).Run(context.Background(), []*eval.Workload{gaia, compact})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Targets) != 14 {
		t.Errorf("%d goals, want 14: %+v", len(report.Targets), report.Targets)
	}
	if last := report.Targets[len(report.Targets)-1]; last.Met != nil || !strings.Contains(last.Why, "eval recall --replay") {
		t.Errorf("the last goal is %+v, want the one that another command measures", last)
	}
}
