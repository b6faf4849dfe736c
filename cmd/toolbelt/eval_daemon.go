package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolbelt/eval"
	"toolbelt/internal/sqlite"
)

// logKept is how much of a daemon's log is kept while it is measured, from its end, in bytes.
const logKept = 256 << 10

// measured starts daemons to be measured. Each has a database of its own, in which stands what earlier ones have learned of the model's tokens, as in one that
// is in use.
type measured struct {
	mu      sync.Mutex
	lessons map[string][]byte // by model
}

// give puts what was learned so far into a new daemon's database.
func (m *measured) give(ctx context.Context, path, engine string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lessons) == 0 {
		return nil
	}
	db, err := sqlite.Open(ctx, path, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer db.Close()
	for model, lesson := range m.lessons {
		if err := db.SaveLesson(ctx, engine, model, lesson); err != nil {
			return err
		}
	}
	return nil
}

// take reads what a daemon that has ended has learned. What cannot be read was not learned.
func (m *measured) take(path, engine string) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	db, err := sqlite.Open(ctx, path, slog.New(slog.DiscardHandler))
	if err != nil {
		return
	}
	defer db.Close()
	lessons, err := db.Lessons(ctx, engine)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for model, lesson := range lessons {
		if m.lessons == nil {
			m.lessons = map[string][]byte{}
		}
		m.lessons[model] = lesson
	}
}

// start implements eval.StartDaemon: this program's own serve, as a child process.
func (m *measured) start(ctx context.Context, s eval.DaemonSettings) (*eval.Daemon, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %v", err)
	}
	settings, err := json.Marshal(settingsFile(s)) // JSON is YAML too
	if err != nil {
		return nil, fmt.Errorf("writing the daemon's settings: %v", err)
	}
	file := filepath.Join(s.Folder, "toolbelt.yaml")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return nil, fmt.Errorf("writing the daemon's settings: %v", err)
	}
	database := filepath.Join(s.Folder, "toolbelt.db")
	if err := m.give(ctx, database, s.Upstream.String()); err != nil {
		return nil, fmt.Errorf("preparing a daemon's database: %w", err)
	}
	log := &tailWriter{limit: logKept}
	cmd := exec.CommandContext(ctx, program, "serve")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Dir, cmd.Stderr = s.Folder, log
	cmd.Env = append(withoutSettings(os.Environ()),
		"TOOLBELT_LISTEN=127.0.0.1:0",
		"TOOLBELT_UPSTREAM="+s.Upstream.String(),
		"TOOLBELT_CONFIG="+file,
		"TOOLBELT_DB="+database,
		"TOOLBELT_EMBEDDER="+s.Embedder,
		"TOOLBELT_STRATEGY="+s.Strategy,
		"TOOLBELT_PREWARM="+map[bool]string{true: "on", false: "off"}[s.Prewarm])
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a daemon: %v", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a daemon: %v", err)
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		killer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // how it ended says nothing about what was measured
		killer.Stop()
		m.take(database, s.Upstream.String())
	}
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	at, err := listeningAddress(waiting, stdout)
	if err == nil {
		err = awaitReady(waiting, at)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("starting a daemon: %w\n%s", err, strings.TrimSpace(log.String()))
	}
	return &eval.Daemon{URL: at, Stop: stop, Log: log.String}, nil
}

// settingsFile is what the configuration file says; what is left out has its default.
func settingsFile(s eval.DaemonSettings) map[string]any {
	file := map[string]any{}
	if len(s.Core) > 0 {
		file["core"] = s.Core
	}
	if len(s.Bundles) > 0 {
		file["bundles"] = s.Bundles
	}
	return file
}
