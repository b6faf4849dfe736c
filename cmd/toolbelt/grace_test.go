//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowEngine begins an answer at once and ends it when finish is closed.
func slowEngine(t *testing.T, finish <-chan struct{}) string {
	t.Helper()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path != "/api/pull" {
			return
		}
		io.WriteString(w, "begun\n")
		w.(http.Flusher).Flush()
		select {
		case <-finish:
			io.WriteString(w, "ended\n")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(engine.Close)
	return engine.URL
}

// begin asks for the slow answer and returns when it has begun.
func begin(t *testing.T, url string) *bufio.Reader {
	t.Helper()
	res, err := http.Post(url+"/api/pull", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	answer := bufio.NewReader(res.Body)
	if line, err := answer.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return answer
}

// An answer that is under way may end; the daemon says how long it waits.
func TestAnAnswerUnderWayMayEnd(t *testing.T) {
	finish := make(chan struct{})
	r := start(t, slowEngine(t, finish), "TOOLBELT_GRACE=10m")
	answer := begin(t, r.url)
	r.stop()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(r.log.String(), "msg=stopping grace=10m0s"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("log: %s", r.log)
		}
	}
	close(finish)
	if line, err := answer.ReadString('\n'); err != nil || line != "ended\n" {
		t.Errorf("the answer goes on with %q, %v", line, err)
	}
	if err := r.end(); err != nil || strings.Contains(r.log.String(), "cut off") {
		t.Errorf("%v, log: %s", err, r.log)
	}
}

func TestAfterTheGraceAnAnswerIsCutOff(t *testing.T) {
	r := start(t, slowEngine(t, nil), "TOOLBELT_GRACE=1ms")
	answer := begin(t, r.url)
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if line, err := answer.ReadString('\n'); err == nil {
		t.Errorf("the answer goes on with %q", line)
	}
	if !strings.Contains(r.log.String(), `msg="answers under way were cut off" after=1ms`) {
		t.Errorf("log: %s", r.log)
	}
}

// The second signal is the last, whatever is under way.
func TestASecondSignalEndsItAtOnce(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "toolbelt")
	if err := os.Symlink(self, program); err != nil {
		t.Skip("no links here:", err)
	}
	for _, second := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		daemon := exec.CommandContext(ctx, program, "serve", "--grace", "10m")
		daemon.Env = []string{"HOME=" + dir, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_LISTEN=127.0.0.1:0", "TOOLBELT_UPSTREAM=" + slowEngine(t, nil)}
		stdout, err := daemon.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := daemon.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		ready, err := bufio.NewReader(stdout).ReadString('\n')
		url := regexp.MustCompile(`http://127[0-9.:]+`).FindString(ready)
		if err != nil || url == "" {
			t.Fatalf("%q, %v", ready, err)
		}
		begin(t, url)
		if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for log := bufio.NewReader(stderr); ; {
			line, err := log.ReadString('\n')
			if err != nil {
				t.Fatalf("it ended at the first signal: %v", err)
			}
			if strings.Contains(line, "msg=stopping") {
				break
			}
		}
		if err := daemon.Process.Signal(second); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := daemon.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != second {
			t.Errorf("it ended with %v, want %v", err, second)
		}
	}
}
