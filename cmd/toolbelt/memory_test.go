package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// remembered runs "toolbelt memory …" on a database and returns what it prints.
func remembered(t *testing.T, db string, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	err := Run(t.Context(), append([]string{"memory"}, args...), Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log, Environ: []string{"HOME=" + t.TempDir(), "TOOLBELT_DB=" + db}, Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("memory %q: %v\n%s", args, err, &log)
	}
	return out.String()
}

// learnsFrom has a daemon select tools for two messages, and tells it that one call did the job and one did not.
func learnsFrom(t *testing.T, db string, environ ...string) {
	t.Helper()
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	r := start(t, engine.URL, append([]string{"TOOLBELT_DB=" + db, "TOOLBELT_MAX_TOOLS=4"}, environ...)...)
	var tools []string
	for i := range 20 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"op%d","description":"Internal job %d of the machine park, with a long explanation of nothing in particular, so that the array is worth cutting"}}`, i, i))
	}
	post := func(path, body string) {
		t.Helper()
		res, err := http.Post(r.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if answer, _ := io.ReadAll(res.Body); res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", path, res.StatusCode, answer)
		}
	}
	for i, turn := range []struct{ text, called, success string }{
		{"decalcify the espresso machine before Monday", "op7", "true"}, {"play the newest album of my favourite band", "op8", "false"},
	} {
		session := fmt.Sprint("s", i)
		post("/toolbelt/v1/select", fmt.Sprintf(`{"session":%q,"messages":[{"role":"user","content":%q}],"tools":[%s]}`, session, turn.text, strings.Join(tools, ",")))
		post("/toolbelt/v1/outcomes", fmt.Sprintf(`{"session":%q,"called":[%q],"success":%s}`, session, turn.called, turn.success))
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsLearnedIsKeptAndErased(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	learnsFrom(t, db)
	var stats memoryStats
	if err := json.Unmarshal([]byte(remembered(t, db, "stats", "--json")), &stats); err != nil {
		t.Fatal(err)
	}
	if stats.Apps != 1 || stats.Examples != 1 || len(stats.Tools) != 2 || stats.Tools[0] != (toolMemory{"op7", 1, 1, 0, 1}) || stats.Tools[1].Examples != 0 {
		t.Errorf("learned %+v", stats)
	}
	if table := remembered(t, db, "stats"); !strings.Contains(table, "op7") || strings.Contains(table, "espresso") {
		t.Errorf("printed %s", table)
	}
	if got := remembered(t, db, "erase", "--tool", "op8"); got != "erased 0 examples and 1 habit, 1 run and 0 learned skills\n" {
		t.Errorf("erasing op8: %q", got)
	}
	if got := remembered(t, db, "erase", "--all"); got != "erased 1 example and 1 habit, 1 run and 0 learned skills\n" {
		t.Errorf("erasing the rest: %q", got)
	}
	if got := remembered(t, db, "stats"); got != "nothing was learned yet\n" {
		t.Errorf("left is %s", got)
	}
}

func TestNothingIsLearnedWhereItIsOff(t *testing.T) {
	for _, off := range []string{"TOOLBELT_LEARN=off", "TOOLBELT_MEMORY=off", "TOOLBELT_MODE=off"} {
		db := filepath.Join(t.TempDir(), "t.db")
		learnsFrom(t, db, off)
		if off == "TOOLBELT_MEMORY=off" {
			if _, err := os.Stat(db); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is a database, or %v", off, err)
			}
			continue
		}
		if got := remembered(t, db, "stats"); got != "nothing was learned yet\n" {
			t.Errorf("%s: kept is %s", off, got)
		}
	}
}
