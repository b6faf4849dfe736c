package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/eval"
	"toolbelt/skills"
)

func skillsOptions(t *testing.T) eval.SkillsOptions {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return eval.SkillsOptions{Cases: "dev", Cap: 14, Folds: 5, Seed: 1, Floor: skills.DefaultFloor, Recalled: skills.MostRecalled, Embedders: eval.Embedders{First: builtin}}
}

// TestRepeatedJobs holds what is promised of jobs that come again: half of what selection alone leaves hidden is found, and hardly anything loses its place.
func TestRepeatedJobs(t *testing.T) {
	d, err := eval.RepeatedJobs()
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]int{}
	for _, c := range d.Cases {
		ways[c.Group]++
		if len(c.Steps) < 3 {
			t.Errorf("%s has %d steps", c.ID, len(c.Steps))
		}
	}
	if len(d.Tools) < 100 || len(ways) != 30 || len(d.Cases) != 150 || len(d.Unknown) > 0 {
		t.Errorf("%d tools, %d jobs, %d ways to ask", len(d.Tools), len(ways), len(d.Cases))
	}
	o := skillsOptions(t)
	o.Sizes = []int{10}
	report, err := eval.Skills(t.Context(), []*eval.Dataset{d}, o)
	if err != nil {
		t.Fatal(err)
	}
	row := report.Rows[0]
	if row.OfJobs.Closed == nil || *row.OfJobs.Closed < 0.5 || row.Harmed > 0.01 || row.Turns != 300 {
		t.Errorf("%+v", row)
	}
	if len(report.Times) != 1 || report.Times[0].Agree != 1 {
		t.Errorf("%+v", report.Times)
	}
	var table, page strings.Builder
	if err := report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "repeated") {
		t.Errorf("%s, %v", table.String(), err)
	}
	if err := report.WriteMarkdown(&page); err != nil || !strings.Contains(page.String(), "| repeated |") {
		t.Errorf("%s, %v", page.String(), err)
	}
}

// TestSkillsOfASetThatRepeatsItself learns from some conversations and is tested on others.
func TestSkillsOfASetThatRepeatsItself(t *testing.T) {
	dir := t.TempDir()
	var tools, cases strings.Builder
	for i := range 40 {
		fmt.Fprintf(&tools, "{\"name\":\"tool_%d\",\"description\":\"does the thing number %d with %s\"}\n", i, i, strings.Fields("engines doors brakes letters parcels lamps")[i%6])
	}
	asks := []string{"start the engine of the car", "please start my car's engine", "get the engine started", "start the engine now please", "could you start the car engine"}
	for i, ask := range asks {
		steps, _ := json.Marshal([]string{"tool_1", "tool_20", "tool_33"})
		fmt.Fprintf(&cases, "{\"id\":\"c%d\",\"conversation\":\"c%d\",\"group\":\"g\",\"messages\":[{\"role\":\"user\",\"content\":%q}],\"needed\":%s,\"steps\":%s}\n", i, i, ask, steps, steps)
	}
	fmt.Fprint(&cases, "{\"id\":\"none\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"needed\":[]}\n")
	for name, text := range map[string]string{"catalog.jsonl": tools.String(), "cases.dev.jsonl": cases.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := eval.ReadDataset(dir, "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	o := skillsOptions(t)
	report, err := eval.Skills(t.Context(), []*eval.Dataset{d}, o)
	if err != nil {
		t.Fatal(err)
	}
	if row := report.Rows[0]; row.Jobs != 5 || row.Turns != 5 || row.OfJobs.With < 0.8 || row.OfJobs.With < row.OfJobs.Without || row.Coverage < 0.8 || *row.Precision != 1 {
		t.Errorf("by conversation: %+v", row)
	}
	o.ByGroup = true
	if report, err = eval.Skills(t.Context(), []*eval.Dataset{d}, o); err != nil {
		t.Fatal(err)
	}
	if row := report.Rows[0]; row.Coverage != 0 || row.Precision != nil {
		t.Errorf("by group, of which there is one, something was recalled: %+v", row)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err = eval.Skills(ended, []*eval.Dataset{d}, o); err == nil || report.Partial == "" {
		t.Errorf("interrupted: %+v, %v", report, err)
	}
}

func TestSkillsOptions(t *testing.T) {
	for name, spoil := range map[string]func(o *eval.SkillsOptions){
		"cap":      func(o *eval.SkillsOptions) { o.Cap = 0 },
		"folds":    func(o *eval.SkillsOptions) { o.Folds = 1 },
		"floor":    func(o *eval.SkillsOptions) { o.Floor = 0 },
		"recalled": func(o *eval.SkillsOptions) { o.Recalled = 17 },
		"cases":    func(o *eval.SkillsOptions) { o.Cases = "../x" },
		"embedder": func(o *eval.SkillsOptions) { o.Embedders.First = nil },
		"sizes":    func(o *eval.SkillsOptions) { o.Sizes = []int{0} },
	} {
		o := skillsOptions(t)
		spoil(&o)
		if report, err := eval.Skills(t.Context(), nil, o); catalog.KindOf(err) != catalog.Invalid || report.Partial == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
