package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toolbelt/config"
	"toolbelt/internal/turn"
)

// running is a daemon under test.
type running struct {
	url  string
	line string // what it said when it was ready
	stop context.CancelFunc
	done chan error
	log  *lockedBuffer
}

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

// start runs "toolbelt serve" on a free port in front of upstream, with a database of its own.
func start(t *testing.T, upstream string, environ ...string) *running {
	t.Helper()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{stop: stop, done: make(chan error, 1), log: &lockedBuffer{}}
	stdout, in := io.Pipe()
	environ = append([]string{"HOME=" + dir, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_UPSTREAM=" + upstream, "TOOLBELT_LISTEN=127.0.0.1:0"}, environ...)
	go func() {
		r.done <- Run(ctx, []string{"serve"}, Process{Stdin: strings.NewReader(""), Stdout: in, Stderr: r.log, Environ: environ, Dir: dir})
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		if r.done != nil {
			<-r.done
		}
	})
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the daemon did not become ready: %v\n%s", err, r.log)
	}
	go io.Copy(io.Discard, lines)
	r.line = line
	m := regexp.MustCompile(`listening on (http://[0-9.]+:[0-9]+),`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("ready line %q", line)
	}
	r.url = m[1]
	return r
}

// end stops the daemon and returns what it returned.
func (r *running) end() error {
	r.stop()
	err := <-r.done
	r.done = nil
	return err
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestServeStandsInFrontOfTheEngine(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "engine: %s %s", r.Method, r.URL.Path)
	}))
	defer engine.Close()
	r := start(t, engine.URL)
	for _, part := range []string{"in front of " + engine.URL, "set your app's Ollama URL to " + r.url, r.url + "/v1"} {
		if !strings.Contains(r.line, part) {
			t.Errorf("the ready line %q lacks %q", r.line, part)
		}
	}
	if code, body := get(t, r.url+"/api/version"); code != 200 || body != "engine: GET /api/version" {
		t.Errorf("got %d %q", code, body)
	}
	if err := r.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(r.url, "http://"), time.Second); err == nil {
		t.Error("somebody still listens")
	}
}

func TestServeWithTheEngineDown(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	r := start(t, gone.URL)
	code, body := get(t, r.url+"/api/tags")
	if code != http.StatusBadGateway || !strings.Contains(body, strings.TrimPrefix(gone.URL, "http://")) {
		t.Errorf("got %d %q, want 502 and the engine's address", code, body)
	}
}

// TestServeShowsFewerTools sends a chat with tools: the engine sees the one that fits, the log, the sidecar and a later
// daemon on the same database know of it.
func TestServeShowsFewerTools(t *testing.T) {
	var mu sync.Mutex
	var got []string
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err == nil {
			mu.Lock()
			for _, tool := range body.Tools {
				got = append(got, tool.Function.Name)
			}
			mu.Unlock()
		}
		io.WriteString(w, `{"message":{"role":"assistant","content":"sunny"},"done":true}`+"\n")
	}))
	defer engine.Close()
	db := filepath.Join(t.TempDir(), "tools.db")
	r := start(t, engine.URL, "TOOLBELT_DB="+db, "TOOLBELT_MAX_TOOLS=2")
	res, err := http.Post(r.url+"/api/chat", "application/json", strings.NewReader(weatherChat))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
		t.Fatalf("status %d, %v", res.StatusCode, err)
	}
	res.Body.Close()
	mu.Lock()
	if len(got) < 2 || len(got) > 3 || got[0] != "load_tools" || got[1] != "get_weather" {
		t.Errorf("the engine saw the tools %q", got)
	}
	mu.Unlock()
	if !regexp.MustCompile(`(?m)TOOL_LOADER (\{.*"order": \["get_weather".*\})\s*$`).MatchString(r.log.String()) {
		t.Errorf("the log has no line of the plan:\n%s", r.log)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)TOOL_LOADER_SESSION (\{"turns": 1,.*\})\s*$`).MatchString(r.log.String()) {
		t.Errorf("the log has no line of the session's end:\n%s", r.log)
	}
	again := start(t, engine.URL, "TOOLBELT_DB="+db)
	if code, body := get(t, again.url+"/toolbelt/v1/sessions"); code != 200 || !strings.Contains(body, `"name":"get_weather"`) {
		t.Errorf("after a restart: %d %s", code, body)
	}
}

const weatherChat = `{"model":"m","messages":[{"role":"user","content":"what is the weather in Paris tomorrow?"}],"tools":[
{"type":"function","function":{"name":"send_mail","description":"Send an e-mail to somebody.","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"delete_file","description":"Delete a file from the disk.","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"get_weather","description":"Weather forecast for a city.","parameters":{"type":"object"}}},
{"type":"function","function":{"name":"play_music","description":"Play a song or an album.","parameters":{"type":"object"}}}]}`

func TestServeQuietly(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	r := start(t, engine.URL, "TOOLBELT_LOG=warn", "TOOLBELT_MAX_TOOLS=2")
	res, err := http.Post(r.url+"/api/chat", "application/json", strings.NewReader(weatherChat))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := r.end(); err != nil || strings.Contains(r.log.String(), "TOOL_LOADER") || strings.Contains(r.log.String(), "INFO") {
		t.Errorf("ended with %v, logged %q", err, r.log)
	}
}

func TestServeReportsItself(t *testing.T) {
	engine := httptest.NewServer(http.NotFoundHandler())
	defer engine.Close()
	dir := t.TempDir()
	files := map[string]string{"toolbelt.yaml": "tools: tools.json\nmode: off\n", "tools.json": `[{"name":"a"},{"name":"b"}]`}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, engine.URL, "TOOLBELT_CONFIG="+filepath.Join(dir, "toolbelt.yaml"))
	if code, body := get(t, r.url+"/toolbelt/healthz"); code != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("healthz: %d %s", code, body)
	}
	code, body := get(t, r.url+"/toolbelt/readyz")
	for _, part := range []string{`"ready":true`, `"mode":"off"`, `"upstream":"` + engine.URL + `"`, "every tool is visible: mode off"} {
		if code != 200 || !strings.Contains(body, part) {
			t.Errorf("readyz: %d %s lacks %s", code, body, part)
		}
	}
	res, err := http.Post(r.url+"/toolbelt/v1/select", "application/json", strings.NewReader(`{"session":"s","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(answer), `"name":"a"`) {
		t.Errorf("select: %d %s %v", res.StatusCode, answer, err)
	}
}

// TestServeOutlivesTheReaderOfItsLog: a terminal or a "| head" that goes away takes no chat with it.
func TestServeOutlivesTheReaderOfItsLog(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGPIPE")
	}
	dir := t.TempDir()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("toolbelt", "serve")
	daemon.Dir, daemon.Stderr = dir, theirs
	daemon.Env = append(os.Environ(), "HOME="+dir, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_UPSTREAM=http://127.0.0.1:1", "TOOLBELT_LISTEN=127.0.0.1:0")
	stdout, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	defer func() {
		daemon.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() { ended <- daemon.Wait() }()
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	ours.Close()
	url := regexp.MustCompile(`http://[0-9.]+:[0-9]+`).FindString(line)
	for range 3 {
		if status, _ := get(t, url+"/api/tags"); status != http.StatusBadGateway { // which is logged
			t.Errorf("status %d", status)
		}
	}
}

func TestServeOnAPortInUse(t *testing.T) {
	first := start(t, "http://127.0.0.1:1")
	port := strings.TrimPrefix(first.url, "http://")
	var stderr bytes.Buffer
	err := Run(t.Context(), []string{"serve", "--listen", port, "--upstream", "127.0.0.1:1", "--db", filepath.Join(t.TempDir(), "x.db")},
		Process{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Dir: t.TempDir()})
	if ExitStatus(err) != 1 {
		t.Errorf("exit status %d", ExitStatus(err))
	}
	if got := stderr.String(); !strings.HasPrefix(got, "toolbelt: listening on "+port+": another program uses this port") || strings.Count(got, "\n") != 1 {
		t.Errorf("stderr %q", got)
	}
}

// TestServeLetsAnAnswerFinish stops the daemon in the middle of a streamed answer.
func TestServeLetsAnAnswerFinish(t *testing.T) {
	goOn := make(chan struct{})
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first ")
		w.(http.Flusher).Flush()
		<-goOn
		io.WriteString(w, "last")
	}))
	defer engine.Close()
	r := start(t, engine.URL)
	res, err := http.Get(r.url + "/api/slow")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	begin := make([]byte, len("first "))
	if _, err := io.ReadFull(res.Body, begin); err != nil {
		t.Fatal(err)
	}
	r.stop()
	for !strings.Contains(r.log.String(), "stopping") {
		time.Sleep(time.Millisecond)
	}
	close(goOn)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(begin)+string(rest) != "first last" {
		t.Errorf("got %q, %v", string(begin)+string(rest), err)
	}
	if err := r.end(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestLookForEngine(t *testing.T) {
	answer := func(code int, body string) string {
		engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			io.WriteString(w, body)
		}))
		t.Cleanup(engine.Close)
		return engine.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for upstream, want := range map[string]string{
		answer(200, `{"version":"0.17.4"}`): "level=INFO msg=\"the engine answers\"",
		answer(404, `not found`):            "level=INFO msg=\"the engine answers; it is no Ollama\"",
		answer(200, `<html>`):               "level=INFO msg=\"the engine answers; it is no Ollama\"",
		gone.URL:                            "level=WARN msg=\"no engine answers yet",
	} {
		u, err := url.Parse(upstream)
		if err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		lookForEngine(t.Context(), u, slog.New(slog.NewTextHandler(&lines, nil)))
		if !strings.Contains(lines.String(), want) || !strings.Contains(lines.String(), upstream) || strings.Count(lines.String(), "\n") != 1 {
			t.Errorf("%s: logged %q, want %q", upstream, lines.String(), want)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for err, want := range map[error]int{
		nil:                                   0,
		errors.New("x"):                       1,
		&ranError{errors.New("x")}:            1,
		&usageError{errors.New("x")}:          2,
		&ranError{&usageError{io.EOF}}:        2,
		fmt.Errorf("%w", &usageError{io.EOF}): 2,
	} {
		if got := ExitStatus(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestDefaultsAgreeWithThePlanner(t *testing.T) {
	cfg, _, err := config.Load(config.Sources{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	got, want := policyOf(cfg), turn.DefaultPolicy()
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("the configuration's defaults give %+v, the planner's are %+v", got, want)
	}
}

func TestPolicyOff(t *testing.T) {
	for environ, want := range map[string]string{
		"TOOLBELT_MODE=off": "mode off", "TOOLBELT_MEMORY=off": "memory off", "TOOLBELT_EMBEDDER=off": "embedder off",
		"TOOLBELT_MODE=shadow": "", "TOOLBELT_MODE=on": "",
	} {
		cfg, _, err := config.Load(config.Sources{Environ: []string{environ}, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		p := policyOf(cfg)
		if p.Off != want || p.Shadow != (environ == "TOOLBELT_MODE=shadow") {
			t.Errorf("%s: off %q, shadow %v", environ, p.Off, p.Shadow)
		}
	}
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:80": "127.0.0.1:80", "[::]:80": "127.0.0.1:80", "[::1]:80": "[::1]:80"} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(tcp); got != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
}
