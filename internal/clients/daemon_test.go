package clients_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the daemon's program, built once for all tests; set by TestMain before any test runs.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toolbelt-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "toolbelt")
	build := exec.Command("go", "build", "-o", program, "toolbelt/cmd/toolbelt")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "building the daemon: %v\n", err)
		return 1
	}
	return m.Run()
}

// startDaemon runs the daemon in front of upstream until the test ends and returns its base URL. environ are further settings, "NAME=value".
func startDaemon(t *testing.T, upstream string, environ ...string) string {
	t.Helper()
	dir := t.TempDir()
	settings := filepath.Join(dir, "toolbelt.yaml")
	if err := os.WriteFile(settings, []byte("core: [get_time, web_search]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve")
	cmd.Dir = dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "TOOLBELT_") && !strings.HasPrefix(entry, "OLLAMA_HOST=") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "TOOLBELT_LISTEN=127.0.0.1:0", "TOOLBELT_UPSTREAM="+upstream, "TOOLBELT_EMBEDDER=builtin",
		"TOOLBELT_CONFIG="+settings, "TOOLBELT_DB="+filepath.Join(dir, "toolbelt.db"))
	cmd.Env = append(cmd.Env, environ...)
	log := new(lockedBuffer)
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer killer.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon ended badly: %v\n%s", err, log)
		} else if t.Failed() {
			t.Logf("the daemon's log:\n%s", log)
		}
	})
	lines := bufio.NewScanner(stdout)
	pattern := regexp.MustCompile(`listening on (http://[0-9.:]+)`)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stdout) }() // until the daemon ends
			return m[1]
		}
	}
	t.Fatalf("the daemon did not say where it listens:\n%s", log)
	return ""
}

func mustURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// lockedBuffer is a buffer that a process may write to while it is read.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
