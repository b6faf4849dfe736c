package clients_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// tinyOllama speaks as much of Ollama's protocol as the demo and the daemon ask for. Its prompts have 100 tokens a tool.
type tinyOllama struct {
	hangBelow int           // a chat with fewer tools waits until its client is gone
	hanging   chan struct{} // closed when the first one waits; nil where hangBelow is 0
	once      sync.Once
}

func (e *tinyOllama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model string            `json:"model"`
		Tools []json.RawMessage `json:"tools"`
	}
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/api/version":
		fmt.Fprint(w, `{"version":"0.17.4"}`)
	case "/api/show":
		if body.Model != "m" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, `{}`)
	case "/api/tags", "/api/ps":
		fmt.Fprint(w, `{"models":[]}`)
	case "/api/generate":
		fmt.Fprintln(w, `{"done":true}`)
	case "/api/chat":
		if len(body.Tools) < e.hangBelow {
			e.once.Do(func() { close(e.hanging) })
			<-r.Context().Done()
			return
		}
		fmt.Fprintln(w, `{"message":{"role":"assistant","content":"Yes"},"done":false}`)
		fmt.Fprintf(w, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":%d}`+"\n", 100*len(body.Tools))
	default:
		http.NotFound(w, r)
	}
}

// demoCommand returns "toolbelt demo" with a temporary folder of its own, which must be empty in the end.
func demoCommand(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	tmp := t.TempDir()
	cmd = exec.Command(program, append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "TOOLBELT_MODE=off", "TOOLBELT_LISTEN=nonsense") // a user's settings are not the demo's
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	t.Cleanup(func() {
		if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
			t.Errorf("the demo left %q behind (%v)", left, err)
		}
		if t.Failed() {
			t.Logf("its standard error:\n%s", stderr)
		}
	})
	return cmd, stdout, stderr
}

func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func TestDemoReportsBothWays(t *testing.T) {
	server := httptest.NewServer(&tinyOllama{})
	defer server.Close()
	file := filepath.Join(t.TempDir(), "new", "report.json")
	cmd, stdout, _ := demoCommand(t, "--engine", server.URL, "--model", "m", "--trials", "2", "--json", "--out", file)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var report struct {
		Trials int
		Rows   []struct {
			Way          string
			Turn, Tools  int
			Visible      bool
			PromptTokens int       `json:"prompt_tokens"`
			TrialsMS     []float64 `json:"trials_ms"`
			Names        []string
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("standard output is not one JSON document: %v\n%s", err, stdout)
	}
	if written, err := os.ReadFile(file); err != nil || !bytes.Equal(written, stdout.Bytes()) {
		t.Errorf("the file of --out differs from standard output (%v)", err)
	}
	if len(report.Rows) != 6 || report.Trials != 2 {
		t.Fatalf("%d rows of %d trials, want 6 of 2", len(report.Rows), report.Trials)
	}
	for i, row := range report.Rows {
		if row.PromptTokens != 100*row.Tools || len(row.Names) != row.Tools || len(row.TrialsMS) != 2 {
			t.Errorf("row %d does not agree with itself: %+v", i, row)
		}
		if !row.Visible {
			t.Errorf("row %d: the needed tool was not visible: %+v", i, row)
		}
		if straight := i < 3; straight != (row.Tools == 38) || straight != (row.Way == "straight") {
			t.Errorf("row %d: %s with %d tools; want straight with 38, then toolbelt with fewer", i, row.Way, row.Tools)
		}
	}
}

func TestDemoPrintsATable(t *testing.T) {
	server := httptest.NewServer(&tinyOllama{})
	defer server.Close()
	cmd, stdout, _ := demoCommand(t, "--engine", server.URL, "--model", "m")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"tools sent", "straight   1      38", "toolbelt   all", "Through toolbelt"} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, stdout)
		}
	}
}

func TestDemoSaysWhyItCannotRun(t *testing.T) {
	server := httptest.NewServer(&tinyOllama{})
	defer server.Close()
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	for name, tc := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"no engine given":  {[]string{"--model", "m"}, 2, "--engine"},
		"no model given":   {[]string{"--engine", server.URL}, 2, "--model"},
		"not a URL":        {[]string{"--engine", "localhost:11434", "--model", "m"}, 2, "localhost:11434"},
		"no trials":        {[]string{"--engine", server.URL, "--model", "m", "--trials", "0"}, 2, "--trials"},
		"nobody answers":   {[]string{"--engine", nobody.URL, "--model", "m"}, 1, nobody.URL},
		"no such model":    {[]string{"--engine", server.URL, "--model", "other"}, 1, `"other"`},
		"a stray argument": {[]string{"--engine", server.URL, "--model", "m", "now"}, 2, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := demoCommand(t, tc.args...)
			if status := exitStatus(cmd.Run()); status != tc.status || !strings.Contains(stderr.String(), tc.says) || stdout.Len() > 0 {
				t.Errorf("status %d, want %d with a sentence about %q and nothing on standard output: %s", status, tc.status, tc.says, stdout)
			}
		})
	}
}

// An interrupt ends the demo and all that it started, however long the engine takes.
func TestDemoIsInterrupted(t *testing.T) {
	for name, hangBelow := range map[string]int{"while it plays straight": 39, "while its daemon runs": 38} {
		t.Run(name, func(t *testing.T) {
			engine := &tinyOllama{hangBelow: hangBelow, hanging: make(chan struct{})}
			server := httptest.NewServer(engine)
			defer server.Close()
			cmd, _, stderr := demoCommand(t, "--engine", server.URL, "--model", "m")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-engine.hanging
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if status := exitStatus(cmd.Wait()); status != 1 || !strings.Contains(stderr.String(), "interrupted") {
				t.Errorf("status %d, want 1 and that it was interrupted", status)
			}
		})
	}
}
