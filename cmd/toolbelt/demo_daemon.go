package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// demoDaemon is a daemon that runs as a child process, with a database and settings of its own.
type demoDaemon struct {
	url *url.URL
	cmd *exec.Cmd
	dir string
	log *tailWriter
}

// startDemoDaemon starts this program's own serve in front of upstream and waits until it is ready. It ends
// with ctx at the latest; the caller must stop it.
func startDemoDaemon(ctx context.Context, upstream *url.URL, core []string) (*demoDaemon, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %v", err)
	}
	dir, err := os.MkdirTemp("", "toolbelt-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the demo: %v", err)
	}
	d := &demoDaemon{dir: dir, log: &tailWriter{limit: 4 << 10}}
	if err := d.start(ctx, program, upstream, core); err != nil {
		d.stop()
		return nil, fmt.Errorf("starting the daemon: %w\n%s", err, strings.TrimSpace(d.logTail()))
	}
	return d, nil
}

func (d *demoDaemon) start(ctx context.Context, program string, upstream *url.URL, core []string) error {
	names, err := json.Marshal(core) // a JSON array is YAML too
	if err != nil {
		return err
	}
	settings := filepath.Join(d.dir, "toolbelt.yaml")
	if err := os.WriteFile(settings, []byte("core: "+string(names)+"\n"), 0o600); err != nil {
		return err
	}
	d.cmd = exec.CommandContext(ctx, program, "serve")
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(syscall.SIGTERM) }
	d.cmd.WaitDelay = 5 * time.Second
	d.cmd.Dir = d.dir
	d.cmd.Env = append(withoutSettings(os.Environ()),
		"TOOLBELT_LISTEN=127.0.0.1:0",
		"TOOLBELT_UPSTREAM="+upstream.String(),
		"TOOLBELT_CONFIG="+settings,
		"TOOLBELT_DB="+filepath.Join(d.dir, "toolbelt.db"))
	d.cmd.Stderr = d.log
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if d.url, err = listeningAddress(ctx, stdout); err != nil {
		return err
	}
	return awaitReady(ctx, d.url)
}

// withoutSettings returns the environment without the user's own toolbelt settings and engine address.
func withoutSettings(environ []string) []string {
	var out []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "TOOLBELT_") && !strings.HasPrefix(entry, "OLLAMA_HOST=") {
			out = append(out, entry)
		}
	}
	return out
}

// listeningAddress reads the daemon's standard output until it says where it listens, and goes on emptying it in the background.
func listeningAddress(ctx context.Context, stdout io.Reader) (*url.URL, error) {
	pattern := regexp.MustCompile(`listening on (http://[0-9.:]+)`)
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
				break
			}
		}
		close(found)
		_, _ = io.Copy(io.Discard, stdout) // until the daemon ends
	}()
	select {
	case at, ok := <-found:
		if !ok {
			return nil, fmt.Errorf("it ended before it listened")
		}
		return url.Parse(at)
	case <-ctx.Done():
		return nil, fmt.Errorf("it does not listen: %w", ctx.Err())
	}
}

func awaitReady(ctx context.Context, daemon *url.URL) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, daemon.JoinPath("/toolbelt/readyz").String(), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not become ready: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the daemon, by its process, and removes its folder.
func (d *demoDaemon) stop() {
	if d.cmd != nil && d.cmd.Process != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		killer := time.AfterFunc(10*time.Second, func() { _ = d.cmd.Process.Kill() })
		_ = d.cmd.Wait() // how it ended says nothing about the demo
		killer.Stop()
	}
	_ = os.RemoveAll(d.dir) // a folder of ours below the system's temporary one
}

func (d *demoDaemon) logTail() string { return d.log.String() }

// tailWriter keeps the last limit bytes of what is written to it. Safe for concurrent use.
type tailWriter struct {
	limit int
	mu    sync.Mutex
	tail  []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail = append(w.tail, p...)
	if over := len(w.tail) - w.limit; over > 0 {
		w.tail = bytes.Clone(w.tail[over:])
	}
	return len(p), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.tail)
}
