package skillmd_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/skills"
	"toolbelt/skills/skillmd"
	"toolbelt/skills/skillstest"
)

func TestWatch(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	var log bytes.Buffer
	library, err := skills.Open(ctx, skills.Parts{Store: skillstest.NewMemory(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := skillmd.NewWatch(dir, library, slog.New(slog.NewTextHandler(&log, nil)))
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name, "SKILL.md")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() {
		t.Helper()
		if err := w.Look(ctx); err != nil {
			t.Fatal(err)
		}
	}
	show := func(name string) skills.Procedure {
		t.Helper()
		p, err := library.Show(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	look()
	if _, err := library.Add(ctx, skills.Procedure{Name: "mine", WhenToUse: "my own", ToolsRequired: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	write("weekly", report)
	write("mine", strings.ReplaceAll(report, "weekly-report", "mine"))
	write("broken", "---\nname: [\n---\n")
	look()
	look()
	if p := show("weekly-report"); p.Origin.Kind != skills.Folder || p.Version != 1 || !p.Enabled || !strings.HasPrefix(p.Origin.Path, dir) {
		t.Errorf("%+v", p)
	}
	if p := show("mine"); p.WhenToUse != "my own" {
		t.Errorf("somebody's own skill is now %+v", p)
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 2 {
		t.Errorf("%d complaints, want one of each of two files: %s", n, log.String())
	}
	write("weekly", strings.ReplaceAll(report, "Send them", "Post them"))
	look()
	if p := show("weekly-report"); p.Version != 2 || !strings.Contains(p.Body, "Post them") {
		t.Errorf("changed: %+v", p)
	}
	if err := os.RemoveAll(filepath.Join(dir, "weekly")); err != nil {
		t.Fatal(err)
	}
	look()
	if p := show("weekly-report"); p.Enabled || !strings.Contains(p.Note, "is gone") {
		t.Errorf("without its file: %+v", p)
	}
	write("weekly", report)
	look()
	p := show("weekly-report")
	if !p.Enabled || p.Note != "" {
		t.Errorf("there again: %+v", p)
	}
	p.Body = "edited here"
	if _, err := library.Save(ctx, p); err != nil {
		t.Fatal(err)
	}
	write("weekly", strings.ReplaceAll(report, "Send them", "Print them"))
	look()
	if p := show("weekly-report"); p.Body != "edited here" {
		t.Errorf("a user's edit was written over: %+v", p)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	look()
	if p := show("weekly-report"); !p.Enabled {
		t.Errorf("the folder is away: %+v", p)
	}
}

// A folder that is not there is said once, and read when it is made.
func TestWatchSaysThatItsFolderIsNotThere(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "skills")
	var log bytes.Buffer
	library, err := skills.Open(ctx, skills.Parts{Store: skillstest.NewMemory(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := skillmd.NewWatch(dir, library, slog.New(slog.NewTextHandler(&log, nil)))
	look := func() {
		t.Helper()
		if err := w.Look(ctx); err != nil {
			t.Fatal(err)
		}
	}
	warned := func() int { return strings.Count(log.String(), "level=WARN") }
	look()
	look()
	if text := log.String(); warned() != 1 || !strings.Contains(text, "path="+dir) || !strings.Contains(text, "does not exist") {
		t.Fatalf("of a folder that is not there: %s", text)
	}
	if err := os.MkdirAll(filepath.Join(dir, "weekly"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "weekly", "SKILL.md"), []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	look()
	if _, err := library.Show(ctx, "weekly-report"); err != nil || warned() != 1 {
		t.Errorf("of a folder that was made meanwhile: %v, %s", err, log.String())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	look()
	if p, err := library.Show(ctx, "weekly-report"); err != nil || !p.Enabled || warned() != 2 {
		t.Errorf("of a folder that is gone: %+v, %v, %s", p, err, log.String())
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w = skillmd.NewWatch(dir, library, slog.New(slog.NewTextHandler(&log, nil)))
	if look(); !strings.Contains(log.String(), "it is no folder") {
		t.Errorf("of a file: %s", log.String())
	}
}
