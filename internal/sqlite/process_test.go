package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/storetest"
	"toolbelt/internal/session/sessiontest"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
)

// childTask is the environment variable that makes the test binary another process on the database.
const childTask = "TOOLBELT_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		name, path, _ := strings.Cut(task, " ")
		if err := childMain(name, path); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childMain opens the database, writes, says "ready" and, where it is to hold the file, waits for the end of its input.
func childMain(name, path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, quiet())
	if err != nil {
		return err
	}
	if name == "runs" {
		return keepRuns(ctx, db)
	}
	records := 1
	if strings.HasPrefix(name, "many") {
		records = 50
	}
	for i := range records {
		r := sessiontest.Record(fmt.Sprintf("%s-%d", name, i), "app", name, sessiontest.At(i))
		if err := db.SaveRecord(ctx, r); err != nil {
			return err
		}
		if err := db.AddUses(ctx, "app", name, []string{"read"}, sessiontest.At(i)); err != nil {
			return err
		}
		if _, err := db.Uses(ctx, "app"); err != nil {
			return err
		}
	}
	m := embed.Model{Name: "m", Dim: 8}
	if err := db.PutVectors(ctx, m, []catalog.Hash{storetest.Doc(1)}, []embed.Vector{storetest.Vector(1, 8)}); err != nil {
		return err
	}
	if _, err := db.SaveProcedure(ctx, skills.Procedure{Name: "p", WhenToUse: "w", ToolsRequired: []string{"t"}}); err != nil {
		return err
	}
	key, err := db.Key(ctx, "log")
	if err != nil {
		return err
	}
	fmt.Printf("ready %x\n", key)
	if name == "hold" {
		io.Copy(io.Discard, os.Stdin)
	}
	return db.Close()
}

// child is another process on the database.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Reader
}

func startChild(t *testing.T, name, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+name+" "+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &child{cmd: cmd, stdin: stdin, lines: bufio.NewReader(stdout)}
}

// ready waits until the child has written, and returns the key that it read.
func (c *child) ready(t *testing.T) string {
	t.Helper()
	line, err := c.lines.ReadString('\n')
	key, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		t.Fatalf("the child says %q (%v)", line, err)
	}
	return key
}

// kill ends the child as a power cut would: nothing is closed, no log is folded into the file.
func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.cmd.Wait()
}

func TestKilledProcessLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	c := startChild(t, "hold", path)
	key := c.ready(t)
	c.kill(t)
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatalf("the child was to leave its log: %v", err)
	}
	db := mustOpen(t, path)
	if n := recordCount(t, db); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	if uses, err := db.Uses(t.Context(), "app"); err != nil || uses.Sessions != 1 || len(uses.Tools) != 1 {
		t.Errorf("uses %+v, %v", uses, err)
	}
	found, err := db.Vectors(t.Context(), embed.Model{Name: "m", Dim: 8}, []catalog.Hash{storetest.Doc(1)})
	if err != nil || !slices.Equal(found[storetest.Doc(1)], storetest.Vector(1, 8)) {
		t.Errorf("vectors %v, %v", found, err)
	}
	if list, err := db.Procedures(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("skills %v, %v", list, err)
	}
	if again, err := db.Key(t.Context(), "log"); err != nil || fmt.Sprintf("%x", again) != key {
		t.Errorf("the key is %x (%v), was %s", again, err, key)
	}
}

func TestProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	first, second := startChild(t, "many1", path), startChild(t, "many2", path) // both find no file
	keys := []string{first.ready(t), second.ready(t)}
	for _, c := range []*child{first, second} {
		if err := c.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	db := mustOpen(t, path)
	if n := recordCount(t, db); n != 100 {
		t.Errorf("%d records, want 100", n)
	}
	if keys[0] != keys[1] {
		t.Errorf("two processes made two keys: %v", keys)
	}
}

// A file with a log beside it is set aside together with the log, both as they were.
func TestSetAsideTakesTheLog(t *testing.T) {
	junk := []byte(strings.Repeat("junk", 2000))
	tests := map[string]func(t *testing.T, path string){
		"broken": func(t *testing.T, path string) {
			write(t, path, junk)
			write(t, path+"-wal", junk)
		},
		"newer": func(t *testing.T, path string) { // as another program's power cut leaves it: the version stands in the log only
			elsewhere := filepath.Join(t.TempDir(), "other.db")
			db := raw(t, elsewhere)
			for _, s := range []string{"PRAGMA journal_mode=WAL", "CREATE TABLE t (x)", "PRAGMA user_version=9999"} {
				if _, err := db.Exec(s); err != nil {
					t.Fatal(err)
				}
			}
			for _, suffix := range []string{"", "-wal"} {
				write(t, path+suffix, read(t, elsewhere+suffix))
			}
		},
	}
	for label, spoil := range tests {
		t.Run(label, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.db")
			spoil(t, path)
			file, log := read(t, path), read(t, path+"-wal")
			if n := recordCount(t, mustOpen(t, path)); n != 0 {
				t.Errorf("the fresh database has %d records", n)
			}
			found, _ := filepath.Glob(path + "." + label + "-*-wal")
			if len(found) != 1 {
				t.Fatalf("logs set aside: %v", found)
			}
			if !slices.Equal(read(t, found[0]), log) || !slices.Equal(read(t, strings.TrimSuffix(found[0], "-wal")), file) {
				t.Error("what was set aside is not what was there")
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A newer program that runs keeps its file: taking it away would cost it what it writes from then on.
func TestNewerInUseIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	c := startChild(t, "hold", path)
	c.ready(t)
	execRaw(t, path, "PRAGMA user_version = 9999")
	db, err := sqlite.Open(t.Context(), path, quiet())
	if err == nil {
		db.Close()
		t.Fatal("opened a newer database that a process uses")
	}
	if catalog.KindOf(err) != catalog.Conflict || !strings.Contains(err.Error(), "end that process") {
		t.Errorf("kind %d, %v", catalog.KindOf(err), err)
	}
	c.kill(t)
	mustOpen(t, path)
	if found, _ := filepath.Glob(path + ".newer-*"); len(found) == 0 {
		t.Error("not set aside once the process was gone")
	}
}

// A process that holds the write lock makes others wait, and a context ends that wait only where it is theirs.
func TestWritersWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	other := raw(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- db.SaveRecord(context.Background(), sessiontest.Record("a", "app", "s", sessiontest.At(1)))
	}()
	if _, err := db.Records(t.Context(), 10); err != nil { // readers do not wait
		t.Error(err)
	}
	select {
	case err := <-done:
		t.Errorf("wrote while another held the lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := other.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
