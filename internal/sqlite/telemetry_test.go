package sqlite_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/telemetry"
)

// fullTurn has a value in every field.
func fullTurn(session string, number int, at time.Time) telemetry.Turn {
	return telemetry.Turn{
		Session: session, Number: number, At: at, Mode: telemetry.Shadow, Fallback: "small array",
		Account: telemetry.Account{App: "app", Model: "m:latest", Offered: 38, OfferedTokens: 5000, VisibleTokens: 1200, KeptTokens: 900, Changed: true},
		Visible: 12, Truncated: true,
		First:  telemetry.Reading{Answers: 1, PromptTokens: 6000, EvaluatedTokens: 5900, PromptDuration: 41 * time.Second},
		Rest:   telemetry.Reading{Answers: 3, PromptTokens: 18000, EvaluatedTokens: 90, PromptDuration: 3*time.Second + 7},
		Hidden: telemetry.Hidden{Rounds: 3, Guesses: 1, Read: telemetry.Reading{Answers: 2, PromptTokens: 14000, EvaluatedTokens: 700, PromptDuration: 4*time.Second + 1}, Generated: 44, GeneratedDuration: time.Second + 3},
		Use: telemetry.Use{
			Calls: 3, Misses: 1, Written: 1, Asked: 1, Loads: 2, Names: []string{"a \"b\"", "é\x01", "c"}, Missed: []string{"c"}, Sought: []string{"é\x01"},
		},
	}
}

func turnsIn(t *testing.T, db *sqlite.DB, f telemetry.Filter) []telemetry.Turn {
	t.Helper()
	list, err := db.Turns(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(turns []telemetry.Turn) string {
	var list []string
	for _, t := range turns {
		list = append(list, fmt.Sprint(t.Session, t.Number))
	}
	return strings.Join(list, " ")
}

func TestTurnsOutliveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	first := fullTurn("s", 1, at)
	first.Use = telemetry.Use{Calls: 1}
	second := telemetry.Turn{Session: "s", Number: 2, At: at.Add(time.Second)}
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{first, second}); err != nil {
		t.Fatal(err)
	}
	want := fullTurn("s", 1, at) // takes the first one's place
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{want}); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveTurns(t.Context(), nil); err != nil {
		t.Error(err)
	}
	db.Close()
	got := turnsIn(t, mustOpen(t, path), telemetry.Filter{})
	if len(got) != 2 || fmt.Sprintf("%+v", got[0]) != fmt.Sprintf("%+v", want) || fmt.Sprintf("%+v", got[1]) != fmt.Sprintf("%+v", second) {
		t.Errorf("got\n%+v, want\n%+v\n%+v", got, want, second)
	}
}

func TestTurnsAreChosen(t *testing.T) {
	db := mustOpen(t, sqlite.Memory)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	var turns []telemetry.Turn
	for i, app := range []string{"a", "b", "a", "' OR 1=1 --"} {
		turn := fullTurn(fmt.Sprint("s", i), 1, noon.Add(-time.Duration(i)*time.Hour))
		turn.App = app
		turns = append(turns, turn)
	}
	turns = append(turns, fullTurn("never", 1, time.Time{}), fullTurn("far", 1, noon.AddDate(5000, 0, 0)))
	if err := db.SaveTurns(t.Context(), turns); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter telemetry.Filter
		want   string
	}{
		{telemetry.Filter{}, "never1 far1 s31 s21 s11 s01"},
		{telemetry.Filter{From: noon.Add(-time.Hour)}, "s11 s01"},
		{telemetry.Filter{From: noon.Add(-time.Hour), Until: noon}, "s11"},
		{telemetry.Filter{App: "a"}, "s21 s01"},
		{telemetry.Filter{App: "' OR 1=1 --"}, "s31"},
		{telemetry.Filter{App: "nobody"}, ""},
		{telemetry.Filter{From: noon, Until: noon}, ""},
	} {
		if got := ids(turnsIn(t, db, c.filter)); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
		}
	}
}

func TestOldTurnsAreDeleted(t *testing.T) {
	db := mustOpen(t, sqlite.Memory)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	save := func(session string, at time.Time) {
		t.Helper()
		if err := db.SaveTurns(t.Context(), []telemetry.Turn{fullTurn(session, 1, at)}); err != nil {
			t.Fatal(err)
		}
	}
	save("old", noon.AddDate(0, -4, 0))
	save("future", noon.AddDate(10, 0, 0))
	for i := range 5 {
		save(fmt.Sprint("s", i), noon.Add(-time.Duration(i)*time.Minute)) // the clock goes back a little each time
	}
	if n, err := db.PruneTurns(t.Context(), noon.AddDate(0, -3, 0), noon.Add(24*time.Hour), 3); n != 4 || err != nil {
		t.Errorf("deleted %d, %v, want 4", n, err)
	}
	if got := ids(turnsIn(t, db, telemetry.Filter{})); got != "s41 s31 s21" {
		t.Errorf("left are %q, want those saved last", got)
	}
	if n, err := db.PruneTurns(t.Context(), time.Time{}, noon.AddDate(1000, 0, 0), -1); n != 3 || err != nil {
		t.Errorf("deleted %d, %v, want the rest", n, err)
	}
}

func TestATurnThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{fullTurn("s", 1, time.Unix(1, 0)), fullTurn("s", 2, time.Unix(2, 0))}); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, path).Exec("UPDATE telemetry SET names = '{broken' WHERE turn = 1"); err != nil {
		t.Fatal(err)
	}
	if got := ids(turnsIn(t, db, telemetry.Filter{})); got != "s2" {
		t.Errorf("got %q, want the other one", got)
	}
}

func TestTurnsAreSavedAllOrNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	if _, err := raw(t, path).Exec("CREATE TRIGGER full BEFORE INSERT ON telemetry WHEN new.turn = 2 BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	err := db.SaveTurns(t.Context(), []telemetry.Turn{fullTurn("s", 1, time.Unix(1, 0)), fullTurn("s", 2, time.Unix(2, 0))})
	if err == nil || !strings.Contains(err.Error(), "keeping the counts of 2 turns") {
		t.Errorf("got %v", err)
	}
	if got := turnsIn(t, db, telemetry.Filter{}); len(got) != 0 {
		t.Errorf("kept %q", ids(got))
	}
}

func TestTurnsOfAClosedDatabase(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	db.Close()
	if err := db.SaveTurns(t.Context(), []telemetry.Turn{fullTurn("s", 1, time.Unix(1, 0))}); err == nil {
		t.Error("a closed database keeps turns")
	}
	if _, err := db.Turns(t.Context(), telemetry.Filter{}); err == nil {
		t.Error("a closed database gives turns")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustOpen(t, sqlite.Memory).PruneTurns(gone, time.Time{}, time.Now(), 1); err == nil || catalog.KindOf(err) == catalog.Invalid {
		t.Errorf("pruning after its end: %v", err)
	}
}

// TestTurnsAreReadWhileTheyAreWritten is a report beside a daemon.
func TestTurnsAreReadWhileTheyAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	daemon, report := mustOpen(t, path), mustOpen(t, path)
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range 50 {
			turn := fullTurn("s", i, time.Unix(int64(i), 0))
			turn.OfferedTokens = math.MaxInt64
			if err := daemon.SaveTurns(context.Background(), []telemetry.Turn{turn}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 20 {
		turnsIn(t, report, telemetry.Filter{})
	}
	writing.Wait()
	if got := turnsIn(t, report, telemetry.Filter{}); len(got) != 50 || got[49].OfferedTokens != math.MaxInt64 {
		t.Errorf("read %d of 50", len(got))
	}
}

// TestTurnsOfBeforeHiddenTurnsWereCounted has a database of the version that did not: where something was asked for, it is said that nobody counted.
func TestTurnsOfBeforeHiddenTurnsWereCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const before = 8
	scripts, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(scripts) <= before {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts[:before] {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		execRaw(t, path, string(script))
	}
	row := `INSERT INTO telemetry VALUES (NULL, 's', %d, %d, 'on', '', 'a', 'm', 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, %d, NULL, NULL, NULL)`
	execRaw(t, path, fmt.Sprintf("PRAGMA application_id = %d", 0x54424c54), fmt.Sprintf("PRAGMA user_version = %d", before), fmt.Sprintf(row, 1, 1, 0), fmt.Sprintf(row, 2, 2, 1))
	got := turnsIn(t, mustOpen(t, path), telemetry.Filter{})
	if len(got) != 2 || got[0].Hidden != (telemetry.Hidden{}) || got[1].Hidden != (telemetry.Hidden{Rounds: -1}) || got[1].Use.Written != 0 {
		t.Errorf("got %+v", got)
	}
}
