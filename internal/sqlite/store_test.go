package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/storetest"
	"toolbelt/internal/learn"
	"toolbelt/internal/learn/learntest"
	"toolbelt/internal/session"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/skillstest"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func mustOpen(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// raw opens the file without our package.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func execRaw(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := raw(t, path)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestConformance(t *testing.T) {
	for _, where := range []string{"file", "memory"} {
		open := func(t *testing.T) *sqlite.DB {
			if where == "memory" {
				return mustOpen(t, sqlite.Memory)
			}
			return mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
		}
		t.Run(where+"/sessions", func(t *testing.T) {
			sessiontest.TestStore(t, func(t *testing.T) session.Store { return open(t) })
		})
		t.Run(where+"/vectors", func(t *testing.T) {
			storetest.TestStore(t, func(t *testing.T) embed.Store { return open(t) })
		})
		t.Run(where+"/skills", func(t *testing.T) {
			skillstest.TestStore(t, func(t *testing.T) skills.Store { return open(t) })
		})
		t.Run(where+"/learned", func(t *testing.T) {
			learntest.TestStore(t, func(t *testing.T) learn.Store { return open(t) })
		})
	}
}

func TestSeeTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	read := catalog.Tool{Name: "read", Description: "v1"}
	changed := catalog.Tool{Name: "read", Description: "v2", Schema: catalog.Schema(`{}`)}
	for _, seen := range []struct {
		tools []catalog.Tool
		at    int
	}{
		{[]catalog.Tool{read, {Name: ""}, {Name: "日本\x00."}}, 10},
		{[]catalog.Tool{read, read, changed}, 30},
		{[]catalog.Tool{read}, 20}, // late, out of order
		{nil, 40},
	} {
		if err := db.SeeTools(t.Context(), seen.tools, at(seen.at)); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := raw(t, path).Query("SELECT name, hash, first_seen / 1000000000, last_seen / 1000000000 FROM tools ORDER BY name, last_seen")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		var hash []byte
		var first, last int
		if err := rows.Scan(&name, &hash, &first, &last); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%q %x %d-%d", name, hash, first, last))
	}
	line := func(tool catalog.Tool, span string) string {
		return fmt.Sprintf("%q %s %s", tool.Name, tool.Hash(), span)
	}
	want := []string{line(read, "10-30"), line(changed, "30-30"), line(catalog.Tool{Name: "日本\x00."}, "10-10")}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("tools seen:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	a, b := mustOpen(t, path), mustOpen(t, path)
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			db := a
			if i%2 == 0 {
				db = b
			}
			var err error
			if keys[i], err = db.Key(t.Context(), "log"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if len(k) != sqlite.KeyBytes || !bytes.Equal(k, keys[0]) {
			t.Fatalf("keys differ: %x and %x", k, keys[0])
		}
	}
	other, err := a.Key(t.Context(), "another")
	if err != nil || bytes.Equal(other, keys[0]) || bytes.Equal(other, make([]byte, sqlite.KeyBytes)) {
		t.Errorf("another name's key is %x (%v), the first's %x", other, err, keys[0])
	}
	execRaw(t, path, "UPDATE meta SET value = x'0102' WHERE key = 'key/log'")
	if k, err := a.Key(t.Context(), "log"); err == nil {
		t.Errorf("a damaged key was given out: %x", k)
	}
}

// A row that something else has spoilt costs that row, not the others.
func TestSpoiltRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	var lines bytes.Buffer
	db, err := sqlite.Open(t.Context(), path, slog.New(slog.NewTextHandler(&lines, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	for i, key := range []string{"good", "bad-json", "bad-hash"} {
		if err := db.SaveRecord(ctx, sessiontest.Record(key, "app", "s", sessiontest.At(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"good", "spoilt"} {
		if _, err := db.SaveProcedure(ctx, skills.Procedure{Name: name, WhenToUse: "w", ToolsRequired: []string{"t"}}); err != nil {
			t.Fatal(err)
		}
	}
	m := embed.Model{Name: "m", Dim: 3}
	docs := []catalog.Hash{storetest.Doc(0), storetest.Doc(1), storetest.Doc(2)}
	if err := db.PutVectors(ctx, m, docs, []embed.Vector{storetest.Vector(1, 3), storetest.Vector(2, 3), storetest.Vector(3, 3)}); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path,
		"UPDATE turns SET state = '{' WHERE key = 'bad-json'", "UPDATE turns SET body = x'00' WHERE key = 'bad-hash'",
		"UPDATE procedures SET tools_required = 'x' WHERE name = 'spoilt'",
		fmt.Sprintf("UPDATE vectors SET data = x'00' WHERE doc = x'%s'", docs[1]),
		fmt.Sprintf("UPDATE vectors SET data = x'0000C07F0000803F0000803F' WHERE doc = x'%s'", docs[2])) // a NaN
	if records, err := db.Records(ctx, 10); err != nil || len(records) != 1 || records[0].Key != "good" {
		t.Errorf("records %+v, %v", records, err)
	}
	if list, err := db.Procedures(ctx); err != nil || len(list) != 1 || list[0].Name != "good" {
		t.Errorf("procedures %+v, %v", list, err)
	}
	if found, err := db.Vectors(ctx, m, docs); err != nil || len(found) != 1 || found[docs[0]] == nil {
		t.Errorf("vectors %v, %v", found, err)
	}
	for _, name := range []string{"bad-json", "bad-hash", "spoilt"} {
		if !strings.Contains(lines.String(), name) {
			t.Errorf("no line of log names %q:\n%s", name, &lines)
		}
	}
}

func TestFullDisk(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	if err := db.Exec(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // as small as it is now
		t.Fatal(err)
	}
	m := embed.Model{Name: "m", Dim: 1024}
	docs, vectors := make([]catalog.Hash, 100), make([]embed.Vector, 100)
	for i := range docs {
		docs[i], vectors[i] = storetest.Doc(i), storetest.Vector(uint64(i), m.Dim)
	}
	err := db.PutVectors(t.Context(), m, docs, vectors)
	if err == nil || catalog.KindOf(err) != catalog.Unavailable || !strings.Contains(err.Error(), "the disk is full: free some space") {
		t.Errorf("on a full disk: %v", err)
	}
	if _, err := db.Prune(t.Context(), time.Now()); err != nil || db.Unkept() == nil || !strings.Contains(db.Unkept().Error(), "the disk is full: free some space") {
		t.Errorf("after a write of nothing on a full disk: %v; unkept %v", err, db.Unkept())
	}
	if found, err := db.Vectors(t.Context(), m, docs); err != nil || len(found) != 0 {
		t.Errorf("afterwards %d vectors are stored, %v; want none", len(found), err)
	}
	if err := db.Exec(t.Context(), "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := db.PutVectors(t.Context(), m, docs, vectors); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	if err := db.Unkept(); err != nil {
		t.Errorf("once there is room, unkept: %v", err)
	}
	if err := os.Rename(db.Path(), db.Path()+".away"); err != nil {
		t.Fatal(err)
	}
	if err := db.Unkept(); err == nil || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("without its file, unkept: %v", err)
	}
	if err := os.WriteFile(db.Path(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Unkept(); err == nil || !strings.Contains(err.Error(), "another file") {
		t.Errorf("with another file in its place, unkept: %v", err)
	}
}

// An ended context ends a statement, and neither the transaction's locks nor a database in memory go with it.
func TestCancelKeepsTheDatabase(t *testing.T) {
	db := mustOpen(t, sqlite.Memory)
	if err := db.SaveRecord(t.Context(), sessiontest.Record("a", "app", "s", sessiontest.At(1))); err != nil {
		t.Fatal(err)
	}
	tools := make([]catalog.Tool, 20_000)
	for i := range tools {
		tools[i].Name = fmt.Sprint(i)
	}
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := db.SeeTools(ctx, tools, time.Now()); err == nil {
			t.Error("20,000 tools were recorded within a millisecond")
		}
		cancel()
	}
	if records, err := db.Records(t.Context(), 10); err != nil || len(records) != 1 {
		t.Errorf("after cancelled calls: %v, %v", records, err)
	}
}

func BenchmarkVectors(b *testing.B) {
	db := mustOpen(b, filepath.Join(b.TempDir(), "t.db"))
	for _, n := range []int{38, 1000, 5000} {
		m := embed.Model{Name: fmt.Sprint(n), Dim: 256}
		docs, vectors := make([]catalog.Hash, n), make([]embed.Vector, n)
		for i := range docs {
			docs[i], vectors[i] = storetest.Doc(i), storetest.Vector(uint64(i), m.Dim)
		}
		b.Run(fmt.Sprintf("put/%d", n), func(b *testing.B) {
			for b.Loop() {
				if err := db.PutVectors(b.Context(), m, docs, vectors); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("get/%d", n), func(b *testing.B) {
			for b.Loop() {
				if found, err := db.Vectors(b.Context(), m, docs); err != nil || len(found) != n {
					b.Fatal(len(found), err)
				}
			}
		})
	}
}

// What was erased is not in the file any more, nor in what stands beside it.
func TestErasedTextIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	const secret = "the rendezvous is under the third bridge"
	c := learn.Change{Put: []learn.Example{learntest.Example("app", "tool", secret), learntest.Example("app", "other", "switch the lamps on")}}
	if err := db.SaveLearned(t.Context(), 0, c); err != nil {
		t.Fatal(err)
	}
	holds := func() (found []string) {
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files at %s: %v", path, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte(secret)) {
				found = append(found, filepath.Base(file))
			}
		}
		return found
	}
	if len(holds()) == 0 {
		t.Fatal("the text is kept nowhere")
	}
	if _, err := db.EraseLearned(t.Context(), "tool"); err != nil {
		t.Fatal(err)
	}
	if found := holds(); len(found) > 0 {
		t.Errorf("erased, but still in %q", found)
	}
	rows := 0
	if err := raw(t, path).QueryRow("SELECT count(*) FROM example_vectors").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d vectors are left, %v; want that of the other tool", rows, err)
	}
}

func TestSpoiltExamples(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	c := learn.Change{Put: []learn.Example{learntest.Example("app", "good", "x"), learntest.Example("app", "hash", "x"), learntest.Example("app", "vector", "x")}}
	if err := db.SaveLearned(t.Context(), 0, c); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, "UPDATE examples SET hash = x'00' WHERE tool = 'hash'",
		"UPDATE example_vectors SET data = x'000000' WHERE example = (SELECT id FROM examples WHERE tool = 'vector')",
		"INSERT INTO meta (key, value) VALUES ('learn/erasures', CAST('no number' AS BLOB))")
	kept, err := db.Learned(t.Context())
	if err != nil || len(kept.Examples) != 2 {
		t.Fatalf("%+v, %v", kept, err)
	}
	for _, e := range kept.Examples {
		if want := map[string]int{"good": 1, "vector": 0}[e.Tool]; len(e.Vectors) != want {
			t.Errorf("%s has %d vectors, want %d", e.Tool, len(e.Vectors), want)
		}
	}
}

// A database of the version before learning is brought up to date, with all that it holds.
func TestFirstVersionIsBroughtForward(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	script, err := os.ReadFile("migrations/0001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execRaw(t, path, string(script), "PRAGMA application_id = 0x54424c54", "PRAGMA user_version = 1",
		`INSERT INTO turns (key, state, catalog, body, updated) VALUES ('k', '{"session":"s","turn":1}', zeroblob(32), zeroblob(32), 1)`,
		`INSERT INTO procedures VALUES ('old', 'when', '["t"]', 'body', 1, 2, 1, 3, x'00', 4)`)
	db := mustOpen(t, path)
	if records, err := db.Records(t.Context(), 10); err != nil || len(records) != 1 {
		t.Errorf("records %v, %v", records, err)
	}
	if list, err := db.Procedures(t.Context()); err != nil || len(list) != 1 || list[0].Body != "body" || list[0].Version != 3 || list[0].Attempts != 2 || !list[0].LastUsed.IsZero() {
		t.Errorf("skills %+v, %v", list, err)
	}
	if err := db.SaveLearned(t.Context(), 0, learn.Change{Put: []learn.Example{learntest.Example("app", "t", "x")}}); err != nil {
		t.Error(err)
	}
}
