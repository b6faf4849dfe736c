package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// oldDB makes a database as the first version wrote it, with a skill in it.
func oldDB(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	script, err := os.ReadFile("migrations/0001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, string(script), "PRAGMA application_id = 0x54424c54", "PRAGMA user_version = 1",
		`INSERT INTO procedures VALUES ('old', 'when', '["t"]', 'body', 1, 2, 1, 3, x'00', 4)`)
	return path
}

// A migration that breaks off in its middle leaves the version before it, whole, and the next start goes on from there.
func TestAnInterruptedMigrationGoesOnLater(t *testing.T) {
	path := oldDB(t)
	// The last statement of the fifth migration fails: its first ones have been done by then.
	execRaw(t, path, "CREATE TABLE removals (x TEXT)")
	if db, err := sqlite.Open(t.Context(), path, quiet()); err == nil {
		db.Close()
		t.Fatal("it was migrated all the same: the test does not interrupt it")
	}
	other := raw(t, path)
	var version, columns int
	var body string
	if err := other.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 4 {
		t.Fatalf("left at version %d, %v; want 4, the last one that was finished", version, err)
	}
	if err := other.QueryRow("SELECT count(*) FROM pragma_table_info('procedures') WHERE name = 'tool_sequence'").Scan(&columns); err != nil || columns != 0 {
		t.Errorf("half of the migration is there: %d columns, %v", columns, err)
	}
	if err := other.QueryRow("SELECT body FROM procedures WHERE name = 'old'").Scan(&body); err != nil || body != "body" {
		t.Errorf("the skill is %q, %v", body, err)
	}
	other.Close()
	execRaw(t, path, "DROP TABLE removals")
	db := mustOpen(t, path)
	if list, err := db.Procedures(t.Context()); err != nil || len(list) != 1 || list[0].Body != "body" || list[0].Version != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}

// A process that is killed while it migrates, wherever it is by then, leaves a database that the next one opens, with all that it held.
func TestAKilledMigrationLosesNothing(t *testing.T) {
	path := oldDB(t)
	for round := range 6 {
		c := startChild(t, "hold", path)
		if round < 5 {
			time.Sleep(time.Duration(round) * 4 * time.Millisecond) // none of these has to hit: what follows must hold at any moment
		} else {
			c.ready(t)
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait() // it was killed
	}
	db := mustOpen(t, path)
	list, err := db.Procedures(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(p skills.Procedure) bool { return p.Name == "old" && p.Body == "body" && p.Version == 3 }) {
		t.Errorf("%+v, %v", list, err)
	}
}

// What is exported while others write is what stood there at one moment: each skill whole, no run without those kept before it.
func TestAnExportOfALiveDatabaseIsOfOneMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, writer := mustOpen(t, path), mustOpen(t, path)
	stop := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			r := runOf(i%60, "s", "read", "mail")
			r.Key = fmt.Sprintf("key-%06d", i)
			r.Started = r.Started.Add(time.Duration(i) * time.Hour)
			r.Ended = r.Started
			if err := writer.SaveRun(t.Context(), 0, r); err != nil {
				t.Error(err)
				return
			}
			p := skills.Procedure{Name: "p", WhenToUse: fmt.Sprint("when ", i), Body: fmt.Sprint("body ", i), ToolsRequired: []string{"t"}, Enabled: true}
			if _, err := writer.SaveProcedure(t.Context(), p); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for round := range 5 {
		text := export(t, db)
		second := mustOpen(t, filepath.Join(t.TempDir(), fmt.Sprint(round, ".db")))
		if _, err := second.ImportMemory(t.Context(), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if again := export(t, second); again != text {
			t.Errorf("exported again as %d bytes, of %d", len(again), len(text))
		}
		list := kept(t, second, runs.Filter{})
		for i, r := range list {
			if r.Key != fmt.Sprintf("key-%06d", i) {
				t.Fatalf("run %d of the export is %q", i, r.Key)
			}
		}
		if all, err := second.Procedures(t.Context()); err != nil {
			t.Error(err)
		} else if len(all) == 1 && (all[0].WhenToUse != "when "+strings.TrimPrefix(all[0].Body, "body ") || len(list) < all[0].Version) {
			t.Errorf("%d runs beside %+v", len(list), all[0])
		}
	}
	close(stop)
	work.Wait()
	last := mustOpen(t, filepath.Join(t.TempDir(), "last.db"))
	if _, err := last.ImportMemory(t.Context(), strings.NewReader(export(t, db))); err != nil || export(t, last) != export(t, db) {
		t.Errorf("not the same when all is quiet: %v", err)
	}
}

// A run waits for a lock that another process holds and is kept then; those who read do not wait.
func TestARunWaitsForALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, other := mustOpen(t, path), raw(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- db.SaveRun(t.Context(), 0, runOf(1, "s", "read")) }()
	if list := kept(t, db, runs.Filter{}); len(list) != 0 {
		t.Errorf("read %v", keysOf(list))
	}
	if _, err := other.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || len(kept(t, db, runs.Filter{})) != 1 {
		t.Errorf("after the lock: %v", err)
	}
}

// Skills that supersede each other in a circle are imported as they are, and of two of one name the first.
func TestOddSkillsInAnImport(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	skill := func(name, by, body string) string {
		return fmt.Sprintf(`{"kind":"skill","content":{"name":%q,"when_to_use":"w","tools_required":["t"],"body":%q,"enabled":true,"version":1,"superseded_by":%q}}`+"\n", name, body, by)
	}
	text := `{"toolbelt_memory":1}` + "\n" + skill("a", "b", "") + skill("b", "c", "") + skill("c", "a", "")
	if _, err := db.ImportMemory(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	list, err := db.Procedures(t.Context())
	if err != nil || len(list) != 3 || len(skills.Superseded(list)) != 0 {
		t.Errorf("%+v, %v: a circle leaves nobody superseded", list, err)
	}
	twice := `{"toolbelt_memory":1}` + "\n" + skill("d", "", "one") + skill("d", "", "two")
	done, err := db.ImportMemory(t.Context(), strings.NewReader(twice))
	if err != nil || !slices.Equal(done.Kept, []string{"d"}) {
		t.Errorf("%+v, %v: the second of one name is to be named as not taken", done, err)
	}
	if list, err = db.Procedures(t.Context()); err != nil || len(list) != 4 || list[3].Body != "one" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A learned skill goes with a tool that only some of its runs called, since those runs go.
func TestEraseAToolThatSomeRunsCalled(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	p := skills.Procedure{Name: "p", WhenToUse: "w", ToolsRequired: []string{"a", "b"}, Enabled: true, Origin: skills.Origin{Kind: skills.Learned, AlsoUsed: []string{"secret_tool"}}}
	if _, err := db.SaveProcedure(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	list, err := db.Procedures(t.Context())
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Origin.AlsoUsed, p.Origin.AlsoUsed) {
		t.Fatalf("kept as %+v, %v", list, err)
	}
	if erased, err := db.EraseMemory(t.Context(), runs.Filter{Tool: "secret_tool"}); err != nil || erased.Skills != 1 {
		t.Errorf("%+v, %v", erased, err)
	}
}
