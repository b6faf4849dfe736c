//go:build unix

package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"toolbelt/internal/sqlite"
	"toolbelt/skills"
)

// A database that may only be read is enough for what only reads, and nothing is left beside it.
func TestCommandsThatReadNeedNotWrite(t *testing.T) {
	open := func(folder string) { // to everybody
		t.Helper()
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := program(t)
	open(filepath.Dir(filepath.Dir(binary)))
	for name, folder := range map[string]os.FileMode{"the file": 0o777, "its folder too": 0o555} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(filepath.Dir(dir))
			path := filepath.Join(dir, "tools.db")
			db, err := sqlite.Open(t.Context(), path, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.SaveProcedure(t.Context(), skills.Procedure{Name: "weekly-report", WhenToUse: "the weekly report", ToolsRequired: []string{"a"}, Enabled: true}); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o444); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, folder); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o700) // so that it can be removed
			run := func(args ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), binary, append(args, "--db", path)...)
				cmd.Dir, cmd.Env = "/", []string{"HOME=/nowhere"}
				if os.Geteuid() == 0 { // who may write everywhere
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			for _, c := range []struct {
				args []string
				says string
			}{
				{[]string{"report"}, "No turn was counted"},
				{[]string{"memory", "stats"}, "1 skill"},
				{[]string{"skills", "list"}, "weekly-report"},
			} {
				if out, err := run(c.args...); err != nil || !strings.Contains(out, c.says) {
					t.Errorf("%s: %v, %s", strings.Join(c.args, " "), err, out)
				}
			}
			if out, err := run("skills", "remove", "weekly-report"); err == nil || !strings.Contains(out, "set TOOLBELT_DB to a file that you may write to") {
				t.Errorf("what writes: %v, %s", err, out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("the folder holds %v, %v; want the database alone", left, err)
			}
		})
	}
}
