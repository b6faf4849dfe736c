package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/learn"
	"toolbelt/internal/learn/learntest"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

func runOf(i int, session string, tools ...string) runs.Run {
	at := time.Date(2026, 5, 1, 10, i, 0, 0, time.UTC)
	r := runs.Run{Key: fmt.Sprintf("key-%d", i), App: "app", Session: session, Goal: fmt.Sprintf("goal %d 'quoted' \"日本\"", i), Outcome: runs.Succeeded, Started: at, Ended: at.Add(time.Second)}
	for _, name := range tools {
		r.Calls = append(r.Calls, runs.Call{Name: name, Arguments: []string{"a", "b\n"}})
	}
	return r
}

func keep(t *testing.T, db *sqlite.DB, list ...runs.Run) {
	t.Helper()
	n, err := db.Erasures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if err := db.SaveRun(t.Context(), n, r); err != nil {
			t.Fatal(err)
		}
	}
}

func kept(t *testing.T, db *sqlite.DB, f runs.Filter) []runs.Run {
	t.Helper()
	list, err := db.Runs(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func keysOf(list []runs.Run) (keys []string) {
	for _, r := range list {
		keys = append(keys, r.Key)
	}
	return keys
}

func TestRuns(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	open := runOf(3, "s", "read")
	open.Outcome, open.Ended, open.Skills = runs.Open, time.Time{}, []string{"report"}
	valued := runOf(2, "t", "read", "mail")
	valued.Calls[1].Values = `{"to":"x"}`
	bare := runOf(1, "s", "zip", "mail", "mail")
	bare.Calls[0].Arguments = nil
	want := []runs.Run{bare, valued, open}
	keep(t, db, open, bare, valued, bare)
	if got := kept(t, db, runs.Filter{}); !reflect.DeepEqual(got, want) {
		t.Errorf("kept %+v\nwant %+v", got, want)
	}
	for name, test := range map[string]struct {
		filter runs.Filter
		want   []string
	}{
		"session": {runs.Filter{Session: "s"}, []string{"key-1", "key-3"}},
		"tool":    {runs.Filter{Tool: "mail"}, []string{"key-1", "key-2"}},
		"part":    {runs.Filter{Tool: "mai"}, nil},
		"steps":   {runs.Filter{Steps: 2}, []string{"key-1", "key-2"}},
		"newest":  {runs.Filter{Newest: 2}, []string{"key-2", "key-3"}},
		"span":    {runs.Filter{From: open.Started.Add(-time.Minute), Until: open.Started}, []string{"key-2"}},
	} {
		if got := keysOf(kept(t, db, test.filter)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	if n, err := db.PruneRuns(t.Context(), valued.Started, 1); err != nil || n != 2 {
		t.Errorf("pruned %d, %v", n, err)
	}
	if got := keysOf(kept(t, db, runs.Filter{})); !slices.Equal(got, []string{"key-3"}) {
		t.Errorf("left are %q", got)
	}
}

func TestTwoProcessesKeepRunsInOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	var all sync.WaitGroup
	for p := range 2 {
		db := mustOpen(t, path)
		all.Go(func() {
			for i := range 20 {
				if err := db.SaveRun(t.Context(), 0, runOf(100*p+i, "s", "read")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(kept(t, mustOpen(t, path), runs.Filter{})); n != 40 {
		t.Errorf("%d runs are kept, want 40", n)
	}
}

// keepRuns keeps runs, and a skill that changes with each, until it is killed; it says so after each.
func keepRuns(ctx context.Context, db *sqlite.DB) error {
	for i := range 100_000 {
		if err := db.SaveRun(ctx, 0, runOf(i, "s", "read", "mail")); err != nil {
			return err
		}
		p := skills.Procedure{Name: "p", WhenToUse: fmt.Sprint("when ", i), ToolsRequired: []string{"t"}, Origin: skills.Origin{Kind: skills.Learned}}
		if _, err := db.SaveProcedure(ctx, p); err != nil {
			return err
		}
		fmt.Printf("ready %d\n", i)
	}
	return nil
}

// TestAKillLosesNoRun: what was kept when a process was killed is there, whole, and the next one goes on with it.
func TestAKillLosesNoRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	for round := range 3 {
		c := startChild(t, "runs", path)
		last := ""
		for range 20 + 7*round {
			last = c.ready(t)
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait() // it was killed
		db := mustOpen(t, path)
		list := kept(t, db, runs.Filter{Steps: 2})
		if want := 20 + 7*round; len(list) < want || fmt.Sprint(want-1) != last {
			t.Errorf("%d runs are left, and %s said that it was kept", len(list), last)
		}
		all, err := db.Procedures(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		if former, err := db.Versions(t.Context(), "p"); err != nil || len(former) != min(all[0].Version-1, 50) {
			t.Errorf("%d former versions of version %d, %v", len(former), all[0].Version, err)
		}
		db.Close()
	}
}

// TestAFullDiskLosesNothingThatWasKept: what cannot be written is an error that says what to do, and all else stays.
func TestAFullDiskLosesNothingThatWasKept(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	keep(t, db, runOf(1, "s", "read"))
	if err := db.Exec(t.Context(), "PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 2; i < 2000 && err == nil; i++ {
		r := runOf(i, "s", "read")
		r.Goal = strings.Repeat("x", 2000)
		err = db.SaveRun(t.Context(), 0, r)
	}
	if catalog.KindOf(err) != catalog.Unavailable || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("on a full disk: %v", err)
	}
	if list := kept(t, db, runs.Filter{}); len(list) == 0 || list[0].Key != "key-1" {
		t.Errorf("left are %q", keysOf(list))
	}
	if _, err := db.EraseMemory(t.Context(), runs.Filter{}); err != nil {
		t.Errorf("erasing on a full disk: %v", err)
	}
}

// learnedDB has runs, examples, habits and skills of every kind.
func learnedDB(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db := mustOpen(t, path)
	keep(t, db, runOf(1, "s", "read", "mail"), runOf(2, "t", "read", "zip"), runOf(3, "t", "zip"))
	c := learn.Change{Put: []learn.Example{learntest.Example("app", "mail", runOf(1, "", "").Goal), learntest.Example("app", "zip", "another")}, Follows: []learn.Follow{{App: "app", From: "mail", To: "zip", Count: 2, Last: runOf(1, "").Started}}}
	if err := db.SaveLearned(t.Context(), 0, c); err != nil {
		t.Fatal(err)
	}
	for _, p := range []skills.Procedure{
		{Name: "learned", Examples: []string{runOf(1, "").Goal}, Origin: skills.Origin{Kind: skills.Learned}},
		{Name: "edited", Examples: []string{runOf(1, "").Goal, "kept"}, NotFor: []string{runOf(2, "").Goal}, Origin: skills.Origin{Kind: skills.Learned, Edited: true}},
		{Name: "own", Origin: skills.Origin{Kind: skills.Own}},
		{Name: "removed", Origin: skills.Origin{Kind: skills.Learned}},
	} {
		p.WhenToUse, p.ToolsRequired, p.Enabled = "when "+p.Name, []string{"read", "mail"}, true
		for range 2 {
			if _, err := db.SaveProcedure(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.RemoveProcedure(t.Context(), "removed"); err != nil {
		t.Fatal(err)
	}
	return db
}

func names(t *testing.T, db *sqlite.DB) (list []string) {
	t.Helper()
	all, err := db.Procedures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		list = append(list, p.Name)
	}
	return list
}

func TestEraseMemory(t *testing.T) {
	for name, test := range map[string]struct {
		filter runs.Filter
		want   runs.Erased
		runs   []string
		skills []string
	}{
		"all":             {runs.Filter{}, runs.Erased{Runs: 3, Examples: 2, Habits: 1, Skills: 1, Kept: 1}, nil, []string{"edited", "own"}},
		"a session":       {runs.Filter{Session: "s"}, runs.Erased{Runs: 1, Examples: 1, Skills: 1, Kept: 1}, []string{"key-2", "key-3"}, []string{"edited", "own"}},
		"another session": {runs.Filter{Session: "t"}, runs.Erased{Runs: 2, Kept: 1}, []string{"key-1"}, []string{"edited", "learned", "own"}},
		"a tool":          {runs.Filter{Tool: "mail"}, runs.Erased{Runs: 1, Examples: 1, Habits: 1, Skills: 1, Kept: 1}, []string{"key-2", "key-3"}, []string{"edited", "own"}},
		"no such session": {runs.Filter{Session: "x"}, runs.Erased{}, []string{"key-1", "key-2", "key-3"}, []string{"edited", "learned", "own"}},
		"a span":          {runs.Filter{From: runOf(3, "").Started, Until: runOf(4, "").Started}, runs.Erased{Runs: 1}, []string{"key-1", "key-2"}, []string{"edited", "learned", "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.db")
			db := learnedDB(t, path)
			got, err := db.EraseMemory(t.Context(), test.filter)
			if name == "a span" { // examples of the learning tests have times of their own
				got.Examples = 0
			}
			if err != nil || got != test.want {
				t.Errorf("erased %+v, %v; want %+v", got, err, test.want)
			}
			if keys := keysOf(kept(t, db, runs.Filter{})); !slices.Equal(keys, test.runs) {
				t.Errorf("left are the runs %q, want %q", keys, test.runs)
			}
			if list := names(t, db); !slices.Equal(list, test.skills) {
				t.Errorf("left are the skills %q, want %q", list, test.skills)
			}
			if err := db.SaveRun(t.Context(), 0, runOf(9, "s", "read")); catalog.KindOf(err) != catalog.Conflict {
				t.Errorf("a run under way at the erasure is kept: %v", err)
			}
			if name != "all" {
				return
			}
			db.Close()
			for _, suffix := range []string{"", "-wal"} {
				if data, err := os.ReadFile(path + suffix); err == nil && bytes.Contains(data, []byte("goal 1")) {
					t.Errorf("%s still holds what was said", path+suffix)
				}
			}
		})
	}
}

func export(t *testing.T, db *sqlite.DB) string {
	t.Helper()
	var out strings.Builder
	if err := db.ExportMemory(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAnExportIsRestoredElsewhere(t *testing.T) {
	first := learnedDB(t, filepath.Join(t.TempDir(), "a.db"))
	text := export(t, first)
	second := mustOpen(t, filepath.Join(t.TempDir(), "b.db"))
	done, err := second.ImportMemory(t.Context(), strings.NewReader(text))
	if err != nil || done.Runs != 3 || done.Skills != 3 || done.Examples != 2 || done.Habits != 1 || done.Kept != nil {
		t.Errorf("imported %+v, %v", done, err)
	}
	if again := export(t, second); again != text {
		t.Errorf("exported again as\n%s\nwant\n%s", again, text)
	}
	if _, err := second.ImportMemory(t.Context(), strings.NewReader(text)); err != nil || export(t, second) != text {
		t.Errorf("imported twice: %v", err)
	}
	p, _ := second.Procedures(t.Context())
	p[2].Body = "changed here"
	if _, err := second.SaveProcedure(t.Context(), p[2]); err != nil {
		t.Fatal(err)
	}
	if done, err = second.ImportMemory(t.Context(), strings.NewReader(text)); err != nil || !slices.Equal(done.Kept, []string{"own"}) {
		t.Errorf("imported over a change: %+v, %v", done, err)
	}
}

func TestBrokenImports(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	const head = `{"toolbelt_memory":1}` + "\n"
	good := `{"kind":"run","content":{"key":"k","app":"a","session":"s","goal":"g","calls":[{"name":"t"}],"outcome":"succeeded","started":"2026-05-01T10:00:00Z"}}` + "\n"
	for name, test := range map[string]struct {
		text string
		kind catalog.Kind
		want string
	}{
		"empty":              {"", catalog.Invalid, "nothing in it"},
		"no header":          {good, catalog.Invalid, "line 1"},
		"not JSON":           {head + good + "{\n", catalog.Invalid, "line 3"},
		"a newer version":    {`{"toolbelt_memory":2}`, catalog.Conflict, "newer"},
		"an unknown kind":    {head + `{"kind":"dream","content":{}}`, catalog.Conflict, "line 2"},
		"a run without key":  {head + good + `{"kind":"run","content":{}}`, catalog.Invalid, "line 3"},
		"a skill with ../":   {head + `{"kind":"skill","content":{"name":"../x","when_to_use":"w","tools_required":["t"]}}`, catalog.Invalid, "line 2"},
		"a wrong type":       {head + `{"kind":"run","content":{"key":7}}`, catalog.Invalid, "line 2"},
		"an overlong line":   {head + strings.Repeat("x", 5<<20), catalog.Invalid, "line 2"},
		"a database instead": {"SQLite format 3\x00\xff", catalog.Invalid, "line 1"},
	} {
		_, err := db.ImportMemory(t.Context(), strings.NewReader(test.text))
		if err == nil || catalog.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want kind %d and %q", name, err, test.kind, test.want)
		}
	}
	if n := len(kept(t, db, runs.Filter{})); n != 0 {
		t.Errorf("%d runs of broken imports are kept", n)
	}
}

func TestSpoiltRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	keep(t, db, runOf(1, "s", "a"), runOf(2, "s", "b"), runOf(3, "s", "c"), runOf(4, "s", "d"))
	execRaw(t, path, "UPDATE runs SET calls = 'x' WHERE key = 'key-1'", "UPDATE runs SET calls = '[[]]' WHERE key = 'key-2'", "UPDATE runs SET skills = '7' WHERE key = 'key-3'")
	if got := keysOf(kept(t, db, runs.Filter{})); !slices.Equal(got, []string{"key-4"}) {
		t.Errorf("read %q", got)
	}
}
