package main

import (
	"database/sql"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"toolbelt/config"
	"toolbelt/internal/loaderlog"
	"toolbelt/internal/telemetry"
)

// A daemon that cannot write goes on, is ready, and says that nothing is kept, until something is.
func TestReadyzSaysThatNothingIsKept(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "tools.db")
	cfg, _, err := config.Load(config.Sources{Dir: dir, Environ: []string{"TOOLBELT_UPSTREAM=" + engine.URL, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_DB=" + path}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	w := &wiring{service: &service{}, cfg: cfg, log: log, lines: loaderlog.New(&lines{}, time.Now)}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.close()
	reasons := func() string {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/toolbelt/readyz", nil)
		answer := httptest.NewRecorder()
		w.handler.ServeHTTP(answer, r)
		var s struct {
			Ready   bool
			Reasons []string
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &s); err != nil || answer.Code != http.StatusOK || !s.Ready {
			t.Fatalf("status %d, %s", answer.Code, answer.Body)
		}
		return strings.Join(s.Reasons, "\n")
	}
	change := func(statement string) {
		t.Helper()
		raw, err := sql.Open("sqlite3", path)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		if _, err := raw.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	turns := []telemetry.Turn{{Session: "s", Number: 1, At: time.Now(), Mode: telemetry.On}}
	if got := reasons(); got != "" {
		t.Fatalf("to begin with: %s", got)
	}
	change("ALTER TABLE telemetry RENAME TO elsewhere")
	if err := w.db.SaveTurns(t.Context(), turns); err == nil {
		t.Fatal("the turn was kept")
	}
	if got := reasons(); !strings.HasPrefix(got, "what happens is not being kept") || !strings.Contains(got, "keeping the counts of 1 turns") {
		t.Errorf("where nothing is kept: %q", got)
	}
	change("ALTER TABLE elsewhere RENAME TO telemetry")
	if err := w.db.SaveTurns(t.Context(), turns); err != nil {
		t.Fatal(err)
	}
	if got := reasons(); got != "" {
		t.Errorf("once it is kept again: %s", got)
	}
}
