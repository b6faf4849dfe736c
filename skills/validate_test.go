package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/skills"
)

func good() skills.Procedure {
	return skills.Procedure{Name: "a-1", WhenToUse: "When asked", ToolsRequired: []string{"t"}, Enabled: true}
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("tool", i)
	}
	return list
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name  string
		field string // that the error names, "" where there is none
		edit  func(p *skills.Procedure)
	}{
		{"good", "", func(p *skills.Procedure) {}},
		{"one letter", "", func(p *skills.Procedure) { p.Name = "x" }},
		{"64 bytes", "", func(p *skills.Procedure) { p.Name = strings.Repeat("x", 64) }},
		{"1,024 characters", "", func(p *skills.Procedure) { p.WhenToUse = strings.Repeat("本", 1024) }},
		{"32 tools of any name", "", func(p *skills.Procedure) { p.ToolsRequired = append(names(31), "ツール/a.b c") }},
		{"64 KB", "", func(p *skills.Procedure) { p.Body = strings.Repeat("x", 64<<10) }},

		{"no name", "name", func(p *skills.Procedure) { p.Name = "" }},
		{"65 bytes", "name", func(p *skills.Procedure) { p.Name = strings.Repeat("x", 65) }},
		{"upper case", "name", func(p *skills.Procedure) { p.Name = "Abc" }},
		{"underscore", "name", func(p *skills.Procedure) { p.Name = "a_b" }},
		{"path", "name", func(p *skills.Procedure) { p.Name = "../a" }},
		{"other letters", "name", func(p *skills.Procedure) { p.Name = "é" }},
		{"not UTF-8 name", "name", func(p *skills.Procedure) { p.Name = "a\xff" }},
		{"begins with -", "name", func(p *skills.Procedure) { p.Name = "-a" }},
		{"ends with -", "name", func(p *skills.Procedure) { p.Name = "a-" }},
		{"only -", "name", func(p *skills.Procedure) { p.Name = "-" }},
		{"no when_to_use", "when_to_use", func(p *skills.Procedure) { p.WhenToUse = "" }},
		{"blank when_to_use", "when_to_use", func(p *skills.Procedure) { p.WhenToUse = " \n\t\u00a0" }},
		{"1,025 characters", "when_to_use", func(p *skills.Procedure) { p.WhenToUse = strings.Repeat("本", 1025) }},
		{"not UTF-8 text", "when_to_use", func(p *skills.Procedure) { p.WhenToUse = "a\xff" }},
		{"no tools", "tools_required", func(p *skills.Procedure) { p.ToolsRequired = nil }},
		{"33 tools", "tools_required", func(p *skills.Procedure) { p.ToolsRequired = names(33) }},
		{"empty tool", "tools_required", func(p *skills.Procedure) { p.ToolsRequired = []string{"a", ""} }},
		{"many also used", "also_used", func(p *skills.Procedure) { p.Origin.AlsoUsed = make([]string, skills.MaxAlsoUsed+1) }},
		{"twice", "tools_required", func(p *skills.Procedure) { p.ToolsRequired = []string{"a", "b", "a"} }},
		{"not UTF-8 tool", "tools_required", func(p *skills.Procedure) { p.ToolsRequired = []string{"\xff"} }},
		{"64 KB and 1", "body", func(p *skills.Procedure) { p.Body = strings.Repeat("x", 64<<10+1) }},
		{"not UTF-8 body", "body", func(p *skills.Procedure) { p.Body = "\xc3\x28" }},
		{"more successes than attempts", "successes", func(p *skills.Procedure) { p.Successes, p.Attempts = 2, 1 }},
		{"negative", "successes", func(p *skills.Procedure) { p.Successes, p.Attempts = -1, 0 }},
	}
	for _, test := range tests {
		p := good()
		test.edit(&p)
		err := p.Validate()
		if test.field == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if err == nil || catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), test.field) {
			t.Errorf("%s: %v, want an Invalid error that names %s", test.name, err, test.field)
		}
	}
}
