package sqlite_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/storetest"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/internal/sqlite"
)

// fill writes enough for the file to have many pages.
func fill(t *testing.T, db *sqlite.DB) {
	t.Helper()
	m := embed.Model{Name: "m", Dim: 64}
	docs, vectors := make([]catalog.Hash, 500), make([]embed.Vector, 500)
	for i := range docs {
		docs[i], vectors[i] = storetest.Doc(i), storetest.Vector(uint64(i), m.Dim)
	}
	if err := db.PutVectors(t.Context(), m, docs, vectors); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveRecord(t.Context(), sessiontest.Record("a", "app", "s", sessiontest.At(1))); err != nil {
		t.Fatal(err)
	}
}

func recordCount(t *testing.T, db *sqlite.DB) int {
	t.Helper()
	records, err := db.Records(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes there")
	}
	folder := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(folder, "t.db")
	fill(t, mustOpen(t, path))
	for name, want := range map[string]fs.FileMode{folder: 0o700, filepath.Dir(folder): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
		}
	}
}

func TestOpenAgain(t *testing.T) {
	for _, name := range []string{"t.db", "a b?mode=memory#c%20d&e.db", "日本.db", ":memory:.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := mustOpen(t, path)
		fill(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, path)
		if n := recordCount(t, again); n != 1 {
			t.Errorf("%q: %d records after a restart, want 1", name, n)
		}
		if entries, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.broken*")); len(entries) != 0 {
			t.Errorf("%q: a good file was set aside: %v", name, entries)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(dir, "foreign.db")
	execRaw(t, foreign, "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
	marked := filepath.Join(dir, "marked.db")
	execRaw(t, marked, "CREATE TABLE t (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 99")
	tests := map[string]struct {
		path string
		kind catalog.Kind
		text string
	}{
		"no path":            {"", catalog.Invalid, "TOOLBELT_DB"},
		"a folder":           {dir, catalog.Invalid, "is a folder: set TOOLBELT_DB to a file"},
		"below a file":       {filepath.Join(file, "sub", "t.db"), catalog.Unavailable, "set TOOLBELT_DB to a file in a folder that you may write to"},
		"another program's":  {foreign, catalog.Invalid, "a database of another program"},
		"another's, newer":   {marked, catalog.Invalid, "a database of another program"},
		"an unmade nowhere":  {filepath.Join("/proc", "nowhere", "t.db"), catalog.Unavailable, "TOOLBELT_DB"},
		"an unwritable spot": {filepath.Join(unwritable(t), "t.db"), catalog.Unavailable, "TOOLBELT_DB"},
	}
	for name, test := range tests {
		if strings.HasPrefix(test.path, "/proc") && runtime.GOOS != "linux" {
			continue
		}
		db, err := sqlite.Open(t.Context(), test.path, quiet())
		if err == nil {
			if name == "an unwritable spot" && os.Getuid() == 0 {
				db.Close() // root may write anywhere
				continue
			}
			db.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		if catalog.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: kind %d, %v; want kind %d and %q", name, catalog.KindOf(err), err, test.kind, test.text)
		}
	}
	var n int
	if err := raw(t, foreign).QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil || n != 1 {
		t.Errorf("another program's database was changed: %d tables, %v", n, err)
	}
}

func unwritable(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "unwritable")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An interrupted creation leaves an empty file.
func TestOpenEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, mustOpen(t, path))
}

func TestOpenThroughLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "t.db")
	if err := os.Symlink(filepath.Join(elsewhere, "real.db"), link); err != nil {
		t.Skip("no links here:", err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "real.db"), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, mustOpen(t, link))
	if found, _ := filepath.Glob(filepath.Join(elsewhere, "real.db.broken-*")); len(found) != 1 {
		t.Errorf("set aside beside the file itself: %v, want one", found)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
}

func TestSetAside(t *testing.T) {
	overwrite := func(path string, offset int64, with []byte) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(with, offset); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		label string
		spoil func(path string)
	}{
		"text":         {"broken", func(path string) { os.WriteFile(path, []byte("hello, I am no database"), 0o600) }},
		"two bytes":    {"broken", func(path string) { os.WriteFile(path, []byte("xy"), 0o600) }},
		"header gone":  {"broken", func(path string) { overwrite(path, 0, make([]byte, 100)) }},
		"header only":  {"broken", func(path string) { os.Truncate(path, 100) }},
		"cut in half":  {"broken", func(path string) { os.Truncate(path, 60_000) }},
		"pages spoilt": {"broken", func(path string) { overwrite(path, 8192, bytes.Repeat([]byte{0xA5}, 40_000)) }},
		"newer":        {"newer", func(path string) { execRaw(t, path, "PRAGMA user_version = 9999") }},
		"newer, of none": {"newer", func(path string) {
			os.Remove(path)
			execRaw(t, path, "CREATE TABLE t (x)", "PRAGMA user_version = 9999")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "t.db")
			db := mustOpen(t, path)
			fill(t, db)
			db.Close()
			test.spoil(path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var lines bytes.Buffer
			fresh, err := sqlite.Open(t.Context(), path, slog.New(slog.NewTextHandler(&lines, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer fresh.Close()
			if n := recordCount(t, fresh); n != 0 {
				t.Errorf("the fresh database has %d records", n)
			}
			fill(t, fresh)
			asides, _ := filepath.Glob(path + "." + test.label + "-*")
			asides = slices.DeleteFunc(asides, func(s string) bool { return strings.HasSuffix(s, "-wal") || strings.HasSuffix(s, "-shm") })
			if len(asides) != 1 || !regexp.MustCompile(`\.(broken|newer)-\d{8}-\d{6}$`).MatchString(asides[0]) {
				t.Fatalf("set aside as %v", asides)
			}
			if after, err := os.ReadFile(asides[0]); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file that was set aside changed (%d bytes, then %d, %v)", len(before), len(after), err)
			}
			if got := strings.Count(lines.String(), "\n"); got != 1 || !strings.Contains(lines.String(), asides[0]) || !strings.Contains(lines.String(), "path="+path) {
				t.Errorf("%d lines of log, want one that names both files:\n%s", got, &lines)
			}
		})
	}
}

// However often it happens, and whatever stands there, nothing is overwritten.
func TestSetAsideFindsFreeNames(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.db")
	const times = 5
	for i := range times {
		if err := os.WriteFile(path, []byte(strings.Repeat("no database", 50)+string(rune('0'+i))), 0o600); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, path).Close()
	}
	asides, _ := filepath.Glob(path + ".broken-*")
	contents := make(map[byte]bool)
	for _, name := range asides {
		if strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, "-wal") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		contents[data[len(data)-1]] = true
	}
	if len(contents) != times {
		t.Errorf("%d of %d files are left: %v", len(contents), times, asides)
	}
}
