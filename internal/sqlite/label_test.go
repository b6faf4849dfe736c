package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/internal/telemetry"
)

// TestALabelStaysWhileItsTurnsAreCounted prunes two apps, of one of which there is a turn in the report.
func TestALabelStaysWhileItsTurnsAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	for _, app := range []string{"counted", "forgotten"} {
		if err := db.SaveLabel(t.Context(), session.Label{App: app, Family: "ollama", Tools: []string{"read"}}, sessiontest.At(1)); err != nil {
			t.Fatal(err)
		}
	}
	turn := telemetry.Turn{Session: "s", Number: 1, At: sessiontest.At(1), Mode: telemetry.On, Account: telemetry.Account{App: "counted"}}
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{turn}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Prune(t.Context(), sessiontest.At(2)); err != nil {
		t.Fatal(err)
	}
	if labels, err := db.Labels(t.Context()); err != nil || len(labels) != 1 || labels[0].App != "counted" || fmt.Sprint(labels[0].Tools) != "[read]" {
		t.Errorf("left are %+v, %v", labels, err)
	}
	execRaw(t, path, `UPDATE apps SET tools = '{'`)
	if labels, err := db.Labels(t.Context()); err != nil || len(labels) != 1 || labels[0].Family != "ollama" || labels[0].Tools != nil {
		t.Errorf("with tools that cannot be read: %+v, %v", labels, err)
	}
}
