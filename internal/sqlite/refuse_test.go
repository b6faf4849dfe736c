package sqlite_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/sqlite"
)

// opener is one of the ways to open a database.
type opener func(ctx context.Context, path string, log *slog.Logger) (*sqlite.DB, error)

// contents are the files below dir, by name, but for the log and shared memory that a look at a database of ours may leave beside it.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			return nil
		}
		text := "a folder"
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		info, err := d.Info()
		if err == nil {
			files[path] = info.Mode().String() + text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(a, b map[string]string) bool {
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return len(a) == len(b)
}

// What is no database of ours is nobody's to move but the daemon's.
func TestOnlyOpenSetsAside(t *testing.T) {
	spoilt := map[string]func(path string){
		"text":      func(path string) { os.WriteFile(path, []byte("my notes"), 0o644) },
		"long text": func(path string) { os.WriteFile(path, []byte(strings.Repeat("my notes ", 10_000)), 0o644) },
		"cut in half": func(path string) {
			db := mustOpen(t, path)
			fill(t, db)
			db.Close()
			os.Truncate(path, 60_000)
		},
		"newer": func(path string) {
			mustOpen(t, path).Close()
			execRaw(t, path, "PRAGMA user_version = 9999")
		},
		"another program's": func(path string) { execRaw(t, path, "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)") },
	}
	for name, spoil := range spoilt {
		for how, open := range map[string]opener{"OpenOrMake": sqlite.OpenOrMake, "OpenExisting": sqlite.OpenExisting} {
			dir := t.TempDir()
			path := filepath.Join(dir, "notes.txt")
			spoil(path)
			before := contents(t, dir)
			db, err := open(t.Context(), path, quiet())
			if err == nil {
				db.Close()
			}
			if err == nil || catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), "TOOLBELT_DB") {
				t.Errorf("%s, %s: %v", how, name, err)
			}
			if after := contents(t, dir); !same(before, after) {
				t.Errorf("%s, %s: the folder holds %d files, after %d; or one has changed", how, name, len(before), len(after))
			}
		}
	}
}

// OpenExisting makes nothing, OpenOrMake what is missing.
func TestOpenExistingMakesNothing(t *testing.T) {
	missing := map[string]func(dir string) string{
		"no file":   func(dir string) string { return filepath.Join(dir, "t.db") },
		"no folder": func(dir string) string { return filepath.Join(dir, "a", "b", "t.db") },
		"an empty file": func(dir string) string {
			path := filepath.Join(dir, "t.db")
			os.WriteFile(path, nil, 0o644)
			return path
		},
		"a link to nowhere": func(dir string) string {
			path := filepath.Join(dir, "t.db")
			os.Symlink(filepath.Join(dir, "nowhere.db"), path)
			return path
		},
	}
	for name, make := range missing {
		dir := t.TempDir()
		path := make(dir)
		if name == "a link to nowhere" {
			if db, err := sqlite.OpenExisting(t.Context(), path, quiet()); catalog.KindOf(err) != catalog.NotFound || err == nil {
				t.Errorf("%s: %v %v", name, db, err)
			}
			continue
		}
		before := contents(t, dir)
		if db, err := sqlite.OpenExisting(t.Context(), path, quiet()); catalog.KindOf(err) != catalog.NotFound || err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: %v %v", name, db, err)
		}
		if after := contents(t, dir); !same(before, after) {
			t.Errorf("%s: %d files, then %d", name, len(before), len(after))
		}
		db, err := sqlite.OpenOrMake(t.Context(), path, quiet())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fill(t, db)
		db.Close()
		db, err = sqlite.OpenExisting(t.Context(), path, quiet())
		if err != nil {
			t.Fatalf("%s, once it is there: %v", name, err)
		}
		if n := recordCount(t, db); n != 1 {
			t.Errorf("%s: %d records", name, n)
		}
		db.Close()
	}
}
