package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// forgetfulEngine is an Ollama that evaluates every prompt anew: a token for each four bytes, a millisecond each.
func forgetfulEngine(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/api/version":
			fmt.Fprint(w, `{"version":"0.17.4"}`)
		case "/api/show":
			fmt.Fprint(w, `{}`)
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"tiny:latest","digest":"d1"}]}`)
		case "/api/ps":
			fmt.Fprint(w, `{"models":[]}`)
		case "/api/generate":
			fmt.Fprintln(w, `{"done":true}`)
		case "/api/chat":
			fmt.Fprintln(w, `{"message":{"content":"Yes"}}`)
			fmt.Fprintf(w, `{"message":{},"done":true,"prompt_eval_count":%d,"prompt_eval_duration":%d}`, len(body)/4, len(body)/4*1_000_000)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// program is this test binary under a name by which it is toolbelt, also to the daemons that it starts.
func program(t *testing.T) string {
	t.Helper()
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "toolbelt")
	if os.Link(test, path) == nil {
		return path
	}
	data, err := os.ReadFile(test)
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// evaluate runs "toolbelt eval" and returns its standard output.
func evaluate(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), append([]string{"eval"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "TOOLBELT_MODE=off")
	if err := cmd.Run(); err != nil {
		t.Fatalf("toolbelt eval %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return stdout.Bytes()
}

func TestEvalTTFTThroughRealDaemons(t *testing.T) {
	folder := t.TempDir()
	args := []string{"ttft", "--engine", forgetfulEngine(t), "--model", "tiny", "--scenarios", "cold,turn2_one_new,topic_switches", "--trials", "1", "--out", folder, "--json"}
	var report struct {
		Engine, Model string
		Tools         int
		Cells         []struct {
			Scenario, Variant, By, Why string
			Trials                     int
			Sent                       int            `json:"tools_sent"`
			TTFT                       map[string]any `json:"ttft_ms"`
		}
	}
	out := evaluate(t, args...)
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	seen := map[string]bool{}
	for _, c := range report.Cells {
		seen[c.Scenario+" "+c.Variant+" "+c.By] = true
		if c.By == "daemon" && c.Variant == "append" && (c.TTFT == nil || c.Trials != 1 || c.Sent == 0 || c.Sent > 40) {
			t.Errorf("%+v: want a figure, with a list that is far shorter than all 60", c)
		}
		if c.Variant == "all" && c.Sent != 60 {
			t.Errorf("%+v: want all 60 tools", c)
		}
	}
	for _, want := range []string{"cold all hand", "cold gaia hand", "cold append daemon", "topic_switches all_warm hand", "topic_switches late daemon", "turn2_one_new append daemon"} {
		if !seen[want] {
			t.Errorf("there is no cell %q in %v", want, seen)
		}
	}
	for _, name := range []string{"ttft.json", "ttft.md", "ttft.html", "ttft.jsonl", "ttft-first-compact.svg", "ttft-whole-compact.svg"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := evaluate(t, append(args, "--resume")...)
	if len(again) == 0 || bytes.Contains(again, []byte(`"partial"`)) {
		t.Errorf("resumed: %s", again)
	}
}

func TestEvalStrategyThroughRealDaemons(t *testing.T) {
	var report struct {
		Choice string
		Rows   []struct {
			Strategy string
			Why      string
		}
	}
	out := evaluate(t, "strategy", "--engine", forgetfulEngine(t), "--model", "tiny", "--trials", "1", "--json")
	if err := json.Unmarshal(out, &report); err != nil || len(report.Rows) != 4 {
		t.Fatalf("%v in %s", err, out)
	}
	if report.Choice == "" {
		t.Errorf("no strategy was chosen: %s", out)
	}
}
