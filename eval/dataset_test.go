package eval_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

func TestReadDataset(t *testing.T) {
	d := household(t)
	if d.Name != "household" || len(d.Tools) != 10 || len(d.Cases) != 5 || !slices.Equal(d.Core, []string{"remember"}) {
		t.Errorf("%q: %d tools, %d cases, CORE %q", d.Name, len(d.Tools), len(d.Cases), d.Core)
	}
	if len(d.Bundles) != 2 || d.Bundles[0].Name != "lights" || len(d.Bundles[0].Members) != 3 {
		t.Errorf("bundles %+v", d.Bundles)
	}
	if !slices.Equal(d.Unknown, []string{"no_such_tool"}) {
		t.Errorf("needed tools that are unknown: %q", d.Unknown)
	}
	if d.Cases[0].Turn != 1 || d.Cases[3].Alternatives["play_music"][0] != "radio" || len(d.Cases[1].Steps) != 2 {
		t.Errorf("cases %+v", d.Cases)
	}
}

func TestBundlesFileStandsAboveTheCatalogsMarks(t *testing.T) {
	dir := writeSet(t, t.TempDir(), "s", map[string]string{
		"catalog.jsonl": householdCatalog, "cases.jsonl": householdCases,
		"bundles.json": `{"core":["get_weather"],"bundles":[{"name":"x","members":["send_email","play_music"]}]}`,
	})
	d, err := eval.ReadDataset(filepath.Join(dir, "s"), "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Core, []string{"get_weather"}) || len(d.Bundles) != 1 || len(d.Cases) != 5 {
		t.Errorf("CORE %q, bundles %+v, %d cases from cases.jsonl", d.Core, d.Bundles, len(d.Cases))
	}
}

func TestBrokenDataIsNamedByFileAndLine(t *testing.T) {
	good := map[string]string{"catalog.jsonl": householdCatalog, "cases.dev.jsonl": householdCases}
	for name, c := range map[string]struct {
		file, text, want string
		kind             catalog.Kind
	}{
		"no JSON":             {"cases.dev.jsonl", householdCases + "{\"id\":\n", "cases.dev.jsonl:6", catalog.Invalid},
		"a string":            {"cases.dev.jsonl", householdCases + "\n\n\"x\"\n", "cases.dev.jsonl:8", catalog.Invalid},
		"no messages":         {"cases.dev.jsonl", `{"id":"x"}`, "cases.dev.jsonl:1", catalog.Invalid},
		"no role":             {"cases.dev.jsonl", `{"messages":[{"content":"x"}]}`, "cases.dev.jsonl:1", catalog.Invalid},
		"needed is no list":   {"cases.dev.jsonl", `{"messages":[{"role":"user"}],"needed":"x"}`, "cases.dev.jsonl:1", catalog.Invalid},
		"a tool without name": {"catalog.jsonl", householdCatalog + `{"description":"x"}`, "catalog.jsonl:11", catalog.Invalid},
		"not UTF-8":           {"catalog.jsonl", householdCatalog + "\xff\xfe", "catalog.jsonl:11", catalog.Invalid},
		"no tools":            {"catalog.jsonl", "\n", `"s" has no tools`, catalog.Invalid},
		"no cases":            {"cases.dev.jsonl", "\n\n", `"s" has no cases`, catalog.Invalid},
		"bundles no JSON":     {"bundles.json", "[", "bundles.json", catalog.Invalid},
		"bundles no name":     {"bundles.json", `{"bundles":[{"members":["x"]}]}`, "bundles.json", catalog.Invalid},
	} {
		dir := writeSet(t, t.TempDir(), "s", good)
		writeSet(t, dir, "s", map[string]string{c.file: c.text})
		_, err := eval.ReadDataset(filepath.Join(dir, "s"), "dev", false)
		if catalog.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", name, err, c.want)
		}
		for _, file := range []string{"catalog.jsonl", "cases.dev.jsonl"} {
			missing := writeSet(t, t.TempDir(), "s", good)
			if err := os.Remove(filepath.Join(missing, "s", file)); err != nil {
				t.Fatal(err)
			}
			if _, err := eval.ReadDataset(filepath.Join(missing, "s"), "dev", true); catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), file) {
				t.Errorf("%s missing: %v", file, err)
			}
		}
	}
}

func TestBrokenLinesCanBeSkipped(t *testing.T) {
	dir := writeSet(t, t.TempDir(), "s", map[string]string{"catalog.jsonl": "{\n" + householdCatalog + "[]\n", "cases.dev.jsonl": householdCases + "{\"id\":\"x\"}\n"})
	d, err := eval.ReadDataset(filepath.Join(dir, "s"), "dev", true)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Tools) != 10 || len(d.Cases) != 5 || len(d.Skipped) != 3 || !strings.Contains(d.Skipped[0].Error(), "catalog.jsonl:1") {
		t.Errorf("%d tools, %d cases, skipped %v", len(d.Tools), len(d.Cases), d.Skipped)
	}
	r := recall(t, options(t), d)
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "3 broken lines") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestFindDatasets(t *testing.T) {
	files := map[string]string{"catalog.jsonl": householdCatalog}
	dir := t.TempDir()
	writeSet(t, dir, "beta", files)
	writeSet(t, dir, "alpha", files)
	writeSet(t, dir, "other", map[string]string{"readme.txt": "no set"})
	for _, c := range []struct {
		data  string
		names []string
		want  []string
	}{
		{dir, nil, []string{"alpha", "beta"}},
		{dir, []string{"beta"}, []string{"beta"}},
		{dir, []string{"beta", "alpha", "beta"}, []string{"beta", "alpha"}},
		{filepath.Join(dir, "alpha"), nil, []string{"alpha"}},
		{filepath.Join(dir, "alpha") + "/", []string{"alpha"}, []string{"alpha"}},
	} {
		dirs, err := eval.FindDatasets(c.data, c.names)
		var got []string
		for _, d := range dirs {
			got = append(got, filepath.Base(d))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("FindDatasets(%q, %q) = %q, %v; want %q", c.data, c.names, got, err, c.want)
		}
	}
	for _, c := range []struct {
		data  string
		names []string
		want  string
	}{
		{dir, []string{"gamma"}, "there are alpha, beta"},
		{filepath.Join(dir, "alpha"), []string{"beta"}, `is itself the set "alpha"`},
		{filepath.Join(dir, "other"), nil, "no sets"},
		{filepath.Join(dir, "nowhere"), nil, "nowhere"},
	} {
		if _, err := eval.FindDatasets(c.data, c.names); catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), c.want) {
			t.Errorf("FindDatasets(%q, %q): %v, want one with %q", c.data, c.names, err, c.want)
		}
	}
}

func FuzzReadDataset(f *testing.F) {
	f.Add(householdCatalog, householdCases)
	f.Add("{}", "{\"messages\":[1]}")
	f.Add("\xef\xbb\xbf{\"name\":\"a\"}", "{\"messages\":[{\"role\":\"user\"}],\"needed\":[null]}\x00")
	f.Fuzz(func(t *testing.T, tools, cases string) {
		dir := writeSet(t, t.TempDir(), "s", map[string]string{"catalog.jsonl": tools, "cases.dev.jsonl": cases})
		d, err := eval.ReadDataset(filepath.Join(dir, "s"), "dev", true)
		if err != nil {
			if catalog.KindOf(err) == catalog.Internal {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		for _, turns := range eval.Conversations(d.Cases) {
			if len(turns) == 0 {
				t.Fatal("a conversation without turns")
			}
		}
	})
}
