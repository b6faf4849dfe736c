package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
)

// TestConfigSaysWhoseCoreItShows has an app with a CORE of its own.
func TestConfigSaysWhoseCoreItShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := sqlite.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now()
	for i := range 4 {
		id := fmt.Sprint("s", i)
		if err := db.SaveRecord(t.Context(), session.Record{Key: fmt.Sprintf("%032d.%s", i, id), Updated: now, State: session.State{Session: id, App: "abc", Turn: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := db.AddUses(t.Context(), "abc", id, []string{"read_file"}, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SaveLabel(t.Context(), session.Label{App: "abc", Family: "openai", Agent: "jan", Tools: []string{"first"}}, now); err != nil {
		t.Fatal(err)
	}
	printed := func(args ...string) []byte {
		var out, log bytes.Buffer
		p := Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log, Environ: []string{"HOME=" + t.TempDir(), "TOOLBELT_DB=" + path}, Dir: t.TempDir()}
		if err := Run(t.Context(), append([]string{"config"}, args...), p); err != nil {
			t.Fatalf("config %q: %v\n%s", args, err, &log)
		}
		return out.Bytes()
	}
	if text := printed(); !regexp.MustCompile(`(?m)^core of app abc \(openai, jan; read_file\) +read_file +what it uses most$`).Match(text) {
		t.Errorf("printed %s", text)
	}
	var r configReport
	if err := json.Unmarshal(printed("--json"), &r); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(r.AutomaticCore) != "map[abc:[read_file]]" || fmt.Sprint(r.Apps) != "map[abc:{openai jan [read_file]}]" {
		t.Errorf("got %v of %v", r.AutomaticCore, r.Apps)
	}
}
