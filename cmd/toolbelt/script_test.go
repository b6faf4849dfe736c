package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expectations of the scripts by what the program prints")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toolbelt": main})
}

// TestScripts runs the specification of the command line: testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	dir := filepath.Join("testdata", "script")
	if scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar")); err != nil || len(scripts) == 0 {
		t.Fatalf("found no scripts in %s: %v", dir, err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "examples": examples, "readme": readme},
	})
}

// examples runs, in a shell, each example in a command's help text but those that hold one of the words: examples calibrate ollama. Each must succeed and print
// something.
func examples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: examples COMMAND [WORD…]")
	}
	ts.Check(ts.Exec("toolbelt", append(strings.Fields(args[0]), "--help")...))
	_, help, _ := strings.Cut(ts.ReadFile("stdout"), "\nExamples:\n")
	help, _, _ = strings.Cut(help, "\n\n")
	runLines(ts, strings.Split(help, "\n"), args[1:])
}

// readme runs, in a shell, the README's lines that begin with bin/toolbelt and one of these commands: readme select explain.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: readme COMMAND…")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	ts.Check(err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "bin/toolbelt" && slices.Contains(args, words[1]) {
			lines = append(lines, strings.TrimPrefix(line, "bin/"))
		}
	}
	runLines(ts, lines, nil)
}

func runLines(ts *testscript.TestScript, lines, without []string) {
	ran := 0
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || slices.ContainsFunc(without, func(word string) bool { return strings.Contains(line, word) }) {
			continue
		}
		if err := ts.Exec("sh", "-c", line); err != nil {
			ts.Fatalf("the example %s: %v", line, err)
		}
		if ts.ReadFile("stdout") == "" {
			ts.Fatalf("the example %s prints nothing", line)
		}
		ran++
	}
	if ran == 0 {
		ts.Fatalf("there is no example to run")
	}
}

// status runs a command that must end with an exit status: status 2 toolbelt …
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status NUMBER COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("running %q: %v", args[1:], err)
		}
		got = string(rune('0' + exit.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("%q ended with status %s, want %s", args[1:], got, args[0])
	}
}
