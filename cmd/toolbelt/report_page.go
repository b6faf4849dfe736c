package main

import (
	"io"
	"strconv"
	"strings"
	"time"

	"toolbelt/eval"
	"toolbelt/internal/telemetry"
)

// writeReport writes report.json, report.md and report.html into a folder.
func writeReport(dir string, r appReport, core []string) error {
	page := pageOf(r, core)
	return written(dir, map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error { return printJSON(w, documentOf(r, core)) },
		"report.md":   page.WriteMarkdown,
		"report.html": page.WriteHTML,
	})
}

// pageOf is the report as a page. What to do next are its notes.
func pageOf(r appReport, core []string) eval.Page {
	span := spanText(r.Until.Sub(r.From).Round(time.Minute))
	page := eval.Page{Title: "Tool selection on your own requests", Ending: nextTitle, Settings: "The last " + span + ", until " + r.Until.Format(time.DateTime) + "."}
	if len(r.Modes) == 0 {
		page.Settings = "No turn was counted in the last " + span + "."
		page.Notes = []string{telemetry.NoData}
		return page
	}
	apps := eval.Table{Title: "Apps", Head: []string{"app", "protocol", "agent", "tools", "turns", "conversations"}}
	for _, a := range r.Apps {
		l := r.Labels[a.App]
		apps.Rows = append(apps.Rows, []string{a.App, printable(l.Family), printable(l.Agent), printables(l.Tools), strconv.Itoa(a.Turns), strconv.Itoa(a.Sessions)})
	}
	page.Tables = append(page.Tables, apps)
	for _, m := range r.Modes {
		title, about, _ := strings.Cut(wordsOf(m.Mode).title, ": ")
		page.Tables = append(page.Tables, eval.Table{Title: title, About: sentence(about), Head: []string{"", "figures"}, Rows: modeRows(m)})
	}
	if len(r.Missed) > 0 {
		page.Tables = append(page.Tables, eval.Table{Title: missedTitle, Head: []string{"tool", "misses", "turns that called it"}, Rows: missedRows(r.Missed)})
	}
	if len(r.Core) > 0 {
		page.Tables = append(page.Tables, eval.Table{Title: coreTitle, About: sentence(coreAbout), Head: []string{"tool", "conversations", "share", "misses", ""}, Rows: coreRows(r.Core, core)})
		page.Notes = append(page.Notes, "In toolbelt.yaml: "+telemetry.CoreYAML(r.CoreWith(core)))
	}
	page.Notes = append(page.Notes, r.Advice(core)...)
	return page
}

// sentence is text as a sentence of its own.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
