package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/telemetry"
)

// reported runs "toolbelt report …" on a database and returns what it prints.
func reported(t *testing.T, db string, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	err := Run(t.Context(), append([]string{"report"}, args...), Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log, Environ: []string{"HOME=" + t.TempDir(), "TOOLBELT_DB=" + db}, Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("report %q: %v\n%s", args, err, &log)
	}
	return out.String()
}

// counted makes a database that holds 40 shadow conversations of one app, of a cold turn and one that goes on with it, and a turn of another app's.
// files_read is called by all, mail_send missed by every tenth.
func counted(t *testing.T) (path string, db *sqlite.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "t.db")
	db, err := sqlite.Open(t.Context(), path, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var turns []telemetry.Turn
	at := time.Now().Add(-3 * time.Hour)
	for i := range 40 {
		for number := 1; number <= 2; number++ {
			turn := telemetry.Turn{
				Session: fmt.Sprint("s", i), Number: number, At: at.Add(time.Duration(2*i+number) * time.Minute), Mode: telemetry.Shadow,
				Account: telemetry.Account{App: "app1", Model: "m", Offered: 38, OfferedTokens: 5000, VisibleTokens: 1000, KeptTokens: 1000, Changed: number == 1},
				Visible: 10, First: telemetry.Reading{Answers: 1, PromptTokens: 5100, EvaluatedTokens: 5100, PromptDuration: 51 * time.Second},
			}
			if number == 2 {
				turn.First = telemetry.Reading{Answers: 1, PromptTokens: 5200, EvaluatedTokens: 100, PromptDuration: time.Second}
			}
			turn.Use = telemetry.Use{Calls: 1, Names: []string{"files_read"}}
			if i%10 == 0 && number == 1 {
				turn.Use = telemetry.Use{Calls: 2, Misses: 1, Names: []string{"files_read", "mail_send"}, Missed: []string{"mail_send"}}
			}
			turns = append(turns, turn)
		}
	}
	turns = append(turns, telemetry.Turn{Session: "x", Number: 1, At: at, Mode: telemetry.Shadow, Fallback: "small array", Account: telemetry.Account{App: "app2"}, Use: telemetry.Use{Calls: 1, Names: []string{"odd\x1b[31m"}}})
	if err := db.SaveTurns(t.Context(), turns); err != nil {
		t.Fatal(err)
	}
	return path, db
}

// TestReport reads a database that a daemon has open.
func TestReport(t *testing.T) {
	path, _ := counted(t)
	text := reported(t, path)
	for _, line := range []string{
		"The last 7 days.", "app app1 (files_read, mail_send): 80 turns in 40 conversations", `app app2 ("odd\x1b[31m"): 1 turn in 1 conversation`,
		"Shadow: every request went on as it came; this is what selection would have done",
		"81 in 41 conversations, 80 with a list, the others with every tool (small array 1)",
		"95.2 % of 84 tools called would have been visible (95 % interval 88.4 to 98.1)", "4 hidden when called, 0 visible since the model asked for them",
		"38.0 a turn, 10.0 of them visible", "5000 a turn, 1000 of them visible (estimated); 320000 hidden in all",
		"about 160000 tokens of reading on 80 turns (estimated; 0 lost on turns whose list changed are taken off)", "about 26m40s (estimated: m reads 100 tokens a second)",
		"mail_send  4", "files_read  40             100 %  0", "mail_send   4              10 %   4",
		"In toolbelt.yaml:\ncore: [files_read, mail_send]\n",
		"- Put 2 tools into CORE", "- Before TOOLBELT_MODE=on, bring recall up",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestReportInJSON(t *testing.T) {
	path, _ := counted(t)
	var d reportDocument
	if err := json.Unmarshal([]byte(reported(t, path, "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Modes) != 1 || len(d.Apps) != 2 || len(d.Next) == 0 || d.CoreYAML == nil || *d.CoreYAML != "core: [files_read, mail_send]" {
		t.Fatalf("got %+v", d)
	}
	m := d.Modes[0]
	if m.Recall.Share == nil || math.Abs(*m.Recall.Share-80./84) > 1e-9 || m.Saving.Tokens == nil || *m.Saving.Tokens != 160000 || m.Saving.Seconds == nil || *m.Saving.Seconds != 1600 {
		t.Errorf("got %+v", m)
	}
	var only reportDocument
	if err := json.Unmarshal([]byte(reported(t, path, "--json", "--app", "app2", "--since", "4h")), &only); err != nil {
		t.Fatal(err)
	}
	if m := only.Modes[0]; len(only.Apps) != 1 || m.Turns != 1 || m.Recall.Share != nil || m.Saving.Tokens != nil || m.Saving.Seconds != nil {
		t.Errorf("of one app: %+v", only)
	}
}

// TestReportIsNetOfHiddenTurns has what clients saw nothing of, and takes off what it cost.
func TestReportIsNetOfHiddenTurns(t *testing.T) {
	path, db := counted(t)
	err := db.SaveTurns(t.Context(), []telemetry.Turn{{
		Session: "on", Number: 1, At: time.Now().Add(-time.Hour), Mode: telemetry.On, Visible: 10,
		Account: telemetry.Account{App: "app3", Model: "m", Offered: 38, OfferedTokens: 5000, VisibleTokens: 1000, Changed: true},
		First:   telemetry.Reading{Answers: 1, PromptTokens: 1100, EvaluatedTokens: 1100, PromptDuration: 11 * time.Second},
		Hidden:  telemetry.Hidden{Rounds: 3, Guesses: 1, Read: telemetry.Reading{Answers: 3, PromptTokens: 4500, EvaluatedTokens: 700, PromptDuration: 7 * time.Second}, Generated: 60, GeneratedDuration: 2 * time.Second},
		Use:     telemetry.Use{Calls: 2, Misses: 2, Written: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := reported(t, path, "--app", "app3")
	for _, line := range []string{
		"2 hidden when called (1 in writing, which the engine took for text), 0 visible",
		"on 1 of the turns; calls of load_tools and tool_search answered: 2, guesses after the engine had dropped a call: 1",
		"they cost 700 tokens of reading and 60 of generating",
		"about 3300 tokens of reading on 1 turn (estimated; 0 lost on turns whose list changed and 700 read for hidden turns are taken off)",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("%s\nlacks %q", text, line)
		}
	}
}

// TestReportKnowsWhatIsConfigured has a CORE already.
func TestReportKnowsWhatIsConfigured(t *testing.T) {
	path, _ := counted(t)
	file := filepath.Join(t.TempDir(), "toolbelt.yaml")
	if err := os.WriteFile(file, []byte("core: [mine, mail_send]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := reported(t, path, "--config", file)
	for _, part := range []string{"core: [mine, mail_send, files_read]\n", "4       configured", "Put 1 tool into CORE"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %q", text, part)
		}
	}
}

func TestReportOfAnAppThatIsNotThere(t *testing.T) {
	path, _ := counted(t)
	var log bytes.Buffer
	err := Run(t.Context(), []string{"report", "--app", "nobody"}, Process{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log, Environ: []string{"TOOLBELT_DB=" + path}, Dir: t.TempDir()})
	if ExitStatus(err) != 1 || !strings.Contains(log.String(), `no turn of the app "nobody" is counted in this time; there are those of app1 (files_read, mail_send), app2 ("odd\x1b[31m")`) {
		t.Errorf("%v: %s", err, &log)
	}
}

// TestReportTellsAppsApart has two that call themselves the same, and one of which nothing is known but its tools.
func TestReportTellsAppsApart(t *testing.T) {
	path, db := counted(t)
	turn := telemetry.Turn{Session: "z", Number: 1, At: time.Now().Add(-time.Minute), Mode: telemetry.Shadow, Account: telemetry.Account{App: "b0c1"}}
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{turn}); err != nil {
		t.Fatal(err)
	}
	for _, l := range []session.Label{
		{App: "app1", Family: "ollama", Agent: "open-webui", Tools: []string{"first"}}, {App: "b0c1", Family: "openai", Agent: "Open-WebUI\x1b[31m", Tools: []string{"first"}},
		{App: "unseen", Family: "ollama", Agent: "jan"},
	} {
		if err := db.SaveLabel(t.Context(), l, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all := reported(t, path)
	for _, line := range []string{
		"\napp app1 (ollama, open-webui; files_read, mail_send): 80 turns in 40 conversations\n", `app app2 ("odd\x1b[31m"): 1 turn in`,
		`app b0c1 (openai, "Open-WebUI\x1b[31m"; first): 1 turn in`,
	} {
		if !strings.Contains(all, line) {
			t.Errorf("%s\nlacks %q", all, line)
		}
	}
	for want, id := range map[string]string{"app2": "app2", "b": "b0c1", "OPEN-webui": "app1"} {
		if text := reported(t, path, "--app", want); !strings.Contains(text, "\napp "+id) || strings.Count(text, "\napp ") != 1 {
			t.Errorf("--app %s: %s", want, text)
		}
	}
	var d reportDocument
	if err := json.Unmarshal([]byte(reported(t, path, "--json", "--app", "open-webui")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Apps) != 1 || d.Apps[0].App.App != "app1" || d.Apps[0].Turns != 80 || d.Apps[0].Family != "ollama" || d.Apps[0].Agent != "open-webui" || fmt.Sprint(d.Apps[0].Tools) != "[files_read mail_send]" {
		t.Errorf("got %+v", d.Apps)
	}
	for want, says := range map[string]string{
		"app": `--app "app" may mean 2 apps, so give more of an id: app1 (ollama, open-webui; files_read, mail_send), app2 ("odd\x1b[31m")`,
		"jan": `no turn of the app "jan" is counted in this time; there are those of app1 (ollama, open-webui; files_read, mail_send), `,
	} {
		var log bytes.Buffer
		err := Run(t.Context(), []string{"report", "--app", want}, Process{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &log, Environ: []string{"TOOLBELT_DB=" + path}, Dir: t.TempDir()})
		if ExitStatus(err) != 1 || !strings.Contains(log.String(), says) {
			t.Errorf("--app %s: %v: %s", want, err, &log)
		}
	}
}

// TestReportAsAPage writes all three files, beside what is printed.
func TestReportAsAPage(t *testing.T) {
	path, db := counted(t)
	turn := telemetry.Turn{Session: "y", Number: 1, At: time.Now().Add(-time.Minute), Mode: telemetry.On, Account: telemetry.Account{App: "app1"},
		Use: telemetry.Use{Calls: 1, Misses: 1, Names: []string{"<b>|x"}, Missed: []string{"<b>|x"}}}
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{turn}); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveLabel(t.Context(), session.Label{App: "app1", Family: "ollama", Agent: "open-webui"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", "report")
	printed := reported(t, path, "--json", "--out", dir)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if read("report.json") != printed {
		t.Error("report.json is not what --json prints")
	}
	for name, parts := range map[string][]string{
		"report.md": {
			"# Tool selection on your own requests\n", "| app1 | ollama | open-webui | files_read, mail_send, &lt;b>\\|x | 81 | 41 |", "## Shadow\n", "Every request went on as it came; this is",
			"| recall | 95.2 % of 84 tools called would have been visible", "## On\n", "| mail_send | 4 | 4 |", "## Tools for CORE\n", "\n## What to do next\n\n", "- Put ", "core: [files_read, mail_send",
		},
		"report.html": {"<title>Tool selection on your own requests</title>", "&lt;b&gt;|x", "open-webui", "95.2 % of 84 tools", "core: [files_read, mail_send", "<h2>What to do next</h2>"},
	} {
		text := read(name)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s\nlacks %q", text, part)
			}
		}
	}
	if text := read("report.html"); strings.Contains(text, "<b>|x") {
		t.Error("a tool's name is not escaped")
	}
	dir = t.TempDir()
	reported(t, path, "--since", "1s", "--out", dir)
	if text := read("report.md"); !strings.Contains(text, "No turn was counted in the last ") || !strings.Contains(text, "TOOLBELT_MODE=shadow for a day") {
		t.Errorf("of nothing: %s", text)
	}
}

// TestReportPrintsNoControlCharacters has a tool of a name that would colour the terminal.
func TestReportPrintsNoControlCharacters(t *testing.T) {
	path, db := counted(t)
	turn := telemetry.Turn{Session: "y", Number: 1, At: time.Now(), Mode: telemetry.Shadow, Account: telemetry.Account{App: "app1"},
		Use: telemetry.Use{Calls: 1, Misses: 1, Names: []string{"red\x1b[31m"}, Missed: []string{"red\x1b[31m"}}}
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{turn}); err != nil {
		t.Fatal(err)
	}
	if text := reported(t, path); strings.Contains(text, "\x1b") || !strings.Contains(text, `"red\x1b[31m"`) {
		t.Errorf("printed %q", text)
	}
}
