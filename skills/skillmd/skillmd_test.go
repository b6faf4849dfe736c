package skillmd_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/skills"
	"toolbelt/skills/skillmd"
)

const report = `---
name: weekly-report
description: "Write the weekly report: numbers, chart, mail"
license: MIT
compatibility: needs a spreadsheet
metadata:
  author: Ann
  version: "1.2"
  toolbelt:
    format: 1
    tools_required: [read_file, send_mail, read_file]
    tool_sequence: [read_file, read_file, send_mail]
---

1. Read the numbers.
2. Send them.
`

func TestParse(t *testing.T) {
	d, err := skillmd.Parse([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	p := d.Procedure
	if p.Name != "weekly-report" || p.WhenToUse != "Write the weekly report: numbers, chart, mail" || !slices.Equal(p.ToolsRequired, []string{"read_file", "send_mail"}) ||
		!slices.Equal(p.ToolSequence, []string{"read_file", "read_file", "send_mail"}) || p.Body != "1. Read the numbers.\n2. Send them." || !p.Enabled {
		t.Errorf("%+v", p)
	}
	if o := p.Origin; o.Kind != skills.Imported || o.License != "MIT" || o.Release != "1.2" || !strings.Contains(o.Extra, `"compatibility":"needs a spreadsheet"`) || !strings.Contains(o.Extra, `"author":"Ann"`) {
		t.Errorf("%+v", o)
	}
	windows := strings.ReplaceAll("\ufeff"+report, "\n", "\r\n")
	if again, err := skillmd.Parse([]byte(windows)); err != nil || !reflect.DeepEqual(again.Procedure, p) {
		t.Errorf("with Windows line ends: %+v, %v", again, err)
	}
}

func TestTools(t *testing.T) {
	for fields, want := range map[string][]string{
		"metadata: {gaia: {tools_required: [a, b]}}":                               {"a", "b"},
		"metadata: {toolbelt: {tools_required: [x]}, gaia: {tools_required: [a]}}": {"x"},
		"tools_required: [a]":                    {"a"},
		"allowed-tools: Read Bash(git:*) Write":  {"Read", "Bash", "Write"},
		"allowed-tools: [Read, 'Bash(git log)']": {"Read", "Bash"},
		"other: 1":                               nil,
	} {
		d, err := skillmd.Parse([]byte("---\nname: x\ndescription: y\n" + fields + "\n---\ntext\n"))
		if err != nil || !slices.Equal(d.Procedure.ToolsRequired, want) || (want == nil) != (len(d.Warnings) > 0) {
			t.Errorf("%s: %q, %v, %v", fields, d.Procedure.ToolsRequired, d.Warnings, err)
		}
	}
}

func TestBroken(t *testing.T) {
	head := func(fields string) string { return "---\n" + fields + "\n---\ntext\n" }
	for name, test := range map[string]struct {
		text, want string
		kind       catalog.Kind
	}{
		"empty":            {"", "does not begin with front matter", catalog.Invalid},
		"no front matter":  {"# Hello\n", "does not begin", catalog.Invalid},
		"no end":           {"---\nname: x\n", "does not end", catalog.Invalid},
		"empty matter":     {"---\n---\ntext", "empty", catalog.Invalid},
		"broken YAML":      {head("name: [x"), "broken", catalog.Invalid},
		"a list":           {head("- x"), "broken", catalog.Invalid},
		"tabs":             {head("name:\n\t- x"), "broken", catalog.Invalid},
		"a path as name":   {head("name: ../../etc/passwd\ndescription: y\ntools_required: [a]"), "name", catalog.Invalid},
		"no name":          {head("description: y\ntools_required: [a]"), "name", catalog.Invalid},
		"no description":   {head("name: x\ntools_required: [a]"), "when_to_use", catalog.Invalid},
		"nothing in it":    {"---\nname: x\ndescription: y\n---\n", "neither tools nor a text", catalog.Invalid},
		"10 MB":            {"---\nname: x\n---\n" + strings.Repeat("x", 10<<20), "at most", catalog.Invalid},
		"a long text":      {head("name: x\ndescription: y\ntools_required: [a]") + strings.Repeat("x", 65<<10), "body", catalog.Invalid},
		"not UTF-8":        {"---\nname: \xff\n---\n", "UTF-8", catalog.Invalid},
		"aliases":          {head("a: &a [x, x]\nb: [*a, *a]\nname: x\ndescription: y"), "aliases", catalog.Invalid},
		"a newer version":  {head("name: x\ndescription: y\nmetadata: {toolbelt: {format: 2, tools_required: [a]}}"), "newer", catalog.Conflict},
		"tools are a text": {head("name: x\ndescription: y\nmetadata: {toolbelt: {tools_required: a}}"), "broken", catalog.Invalid},
	} {
		_, err := skillmd.Parse([]byte(test.text))
		if err == nil || catalog.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want kind %d and %q", name, err, test.kind, test.want)
		}
	}
}

func TestWriteIsReadBack(t *testing.T) {
	d, err := skillmd.Parse([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	odd := skills.Procedure{Name: "odd", WhenToUse: "- a: \"b\" # c\n\ttwo lines — 日本語 'q' ---", ToolsRequired: []string{"a b", "c: d", "ツール", "- x", "yes", "1"}, Body: "---\n# Title\n---\ntext", Enabled: true, Origin: skills.Origin{Kind: skills.Imported}}
	for _, p := range []skills.Procedure{d.Procedure, odd} {
		text, err := skillmd.Write(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := skillmd.Parse(text)
		if err != nil || !reflect.DeepEqual(again.Procedure, p) {
			t.Errorf("%s is read back as %+v, %v", text, again.Procedure, err)
		}
	}
}

// pack makes a zip of files, by name and text in turns.
func pack(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestZip(t *testing.T) {
	other := strings.ReplaceAll(report, "weekly-report", "other")
	found, err := skillmd.ReadZip(pack(t, "a/SKILL.md", report, "a/scripts/run.sh", "rm -rf /", "b/skill.md", other, "c/SKILL.md", "broken", "__MACOSX/a/SKILL.md", "x"))
	if err != nil || len(found) != 3 || found[0].Procedure.Name != "weekly-report" || found[1].Procedure.Name != "other" || found[2].Err == nil {
		t.Errorf("%+v, %v", found, err)
	}
	bomb := pack(t, "a/SKILL.md", strings.Repeat("a", 4<<20))
	if found, err := skillmd.ReadZip(bomb); err != nil || found[0].Err == nil || !strings.Contains(found[0].Err.Error(), "unpacks to more") {
		t.Errorf("a bomb of %d bytes: %+v, %v", len(bomb), found, err)
	}
	for name, data := range map[string][]byte{
		"slip": pack(t, "../SKILL.md", report), "deeper slip": pack(t, "a/../../SKILL.md", report), "absolute": pack(t, "/etc/SKILL.md", report), "windows": pack(t, `..\SKILL.md`, report), "drive": pack(t, `C:\SKILL.md`, report),
		"no zip": []byte("PK nothing"), "cut": pack(t, "a/SKILL.md", report)[:50], "no skill": pack(t, "readme.md", "x"), "empty": nil,
	} {
		if found, err := skillmd.ReadZip(data); err == nil {
			t.Errorf("%s: read as %+v", name, found)
		}
	}
	twins, err := skillmd.ReadZip(pack(t, "a/SKILL.md", report, "b/SKILL.md", report))
	if err != nil || len(twins) != 2 || catalog.KindOf(twins[0].Err) != catalog.Conflict || catalog.KindOf(twins[1].Err) != catalog.Conflict {
		t.Errorf("twins: %+v, %v", twins, err)
	}
}

func TestFolder(t *testing.T) {
	d, err := skillmd.Parse([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := skillmd.Folder(dir, d.Procedure, false)
	if err != nil || path != filepath.Join(dir, "weekly-report", "SKILL.md") {
		t.Fatalf("%q, %v", path, err)
	}
	found, err := skillmd.Read(dir)
	if err != nil || len(found) != 1 || found[0].Err != nil || found[0].Path != path {
		t.Errorf("%+v, %v", found, err)
	}
	changed := d.Procedure
	changed.Body = "another"
	if _, err := skillmd.Folder(dir, changed, false); catalog.KindOf(err) != catalog.Conflict {
		t.Errorf("written over without asking: %v", err)
	}
	if _, err := skillmd.Folder(dir, changed, true); err != nil {
		t.Error(err)
	}
	archive := filepath.Join(dir, "x.zip")
	var out bytes.Buffer
	if err := skillmd.Zip(&out, []skills.Procedure{changed}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := skillmd.Read(archive); err != nil || len(found) != 1 || found[0].Procedure.Body != "another" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := skillmd.Read(filepath.Join(dir, "missing")); catalog.KindOf(err) != catalog.NotFound {
		t.Errorf("a missing folder: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(report))
	f.Add([]byte("---\nname: x\ndescription: y\nmetadata: {toolbelt: {tools_required: [a]}}\n---\n"))
	f.Add([]byte("---\n? [a]\n: b\nname: x\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := skillmd.Parse(data)
		if err != nil {
			return
		}
		text, err := skillmd.Write(d.Procedure)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		if again, err := skillmd.Parse(text); err != nil || again.Procedure.Name != d.Procedure.Name || !slices.Equal(again.Procedure.ToolsRequired, d.Procedure.ToolsRequired) {
			t.Fatalf("written as %q, read back as %+v, %v", text, again, err)
		}
	})
}

func FuzzReadZip(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, found := range func() []skillmd.Found { list, _ := skillmd.ReadZip(data); return list }() {
			if found.Err == nil && found.Procedure.Validate() != nil {
				t.Errorf("%+v", found)
			}
		}
	})
}
