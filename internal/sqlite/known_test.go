package sqlite_test

import (
	"path/filepath"
	"slices"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// A tool or a session is known wherever anything is kept of it.
func TestWhatIsKnown(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	if tools, err := db.KnownTools(t.Context()); err != nil || len(tools) != 0 {
		t.Errorf("of an empty database: %q, %v", tools, err)
	}
	at := sessiontest.At(1)
	for what, err := range map[string]error{
		"seen": db.SeeTools(t.Context(), []catalog.Tool{{Name: "seen"}, {Name: "seen", Description: "twice"}}, at),
		"used": db.AddUses(t.Context(), "app", "s-used", []string{"used"}, at),
		"run": db.SaveRun(t.Context(), 0, runs.Run{Key: "k", App: "app", Session: "s-run", Goal: "g", Outcome: runs.Succeeded, Started: at, Ended: at,
			Calls: []runs.Call{{Name: "called", Arguments: []string{"path"}}, {Name: "called_with", Values: `{"a":1}`}, {Name: "seen"}}}),
	} {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if _, err := db.SaveProcedure(t.Context(), skills.Procedure{Name: "p", WhenToUse: "w", ToolsRequired: []string{"required"}, ToolSequence: []string{"in_order"}, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	tools, err := db.KnownTools(t.Context())
	if want := []string{"called", "called_with", "in_order", "required", "seen", "used"}; err != nil || !slices.Equal(tools, want) {
		t.Errorf("tools %q, %v; want %q", tools, err, want)
	}
	sessions, err := db.KnownSessions(t.Context())
	if want := []string{"s-run", "s-used"}; err != nil || !slices.Equal(sessions, want) {
		t.Errorf("sessions %q, %v; want %q", sessions, err, want)
	}
}
