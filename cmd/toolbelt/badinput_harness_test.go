package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"toolbelt/config"
	"toolbelt/internal/loaderlog"
)

// What no log line and no file of the daemon may hold: each stands in what users and clients send.
const (
	said   = "quokkafrost"      // in user messages
	argued = "wombatthistle"    // in the arguments of tool calls
	secret = "sk-numbatember"   // the client's key for the engine
	token  = "t-bandicootslate" // the daemon's token
)

const patience = 20 * time.Second // for what must come; never waited for where all is well

// chatPaths are the paths whose requests are edited.
func chatPaths() []string {
	return []string{"/api/chat", "/v1/chat/completions", "/api/v1/chat/completions"}
}

// bench is a daemon in front of a scripted engine. What it does is always compared with the engine alone.
type bench struct {
	engine *scripted
	daemon *running
	client *http.Client
}

// slow lets a machine under load be as slow as it likes.
func slow() []string { return []string{"TOOLBELT_EMBED_DEADLINE=15s", "TOOLBELT_BUDGET=20s"} }

// newBench starts both. When the test ends it looks through all that the daemon wrote.
func newBench(t *testing.T, environ ...string) *bench {
	t.Helper()
	e := newScripted(t)
	return benchAt(t, e, e.URL, environ...)
}

// benchAt starts the daemon in front of upstream, which may be another address than that of e.
func benchAt(t *testing.T, e *scripted, upstream string, environ ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := newBenchOf(t, e, dir, start(t, upstream, append(append(slow(), "TOOLBELT_DB="+filepath.Join(dir, "tools.db")), environ...)...))
	b.awaitLine(t, 0, "engine answers") // "the engine answers", or "no engine answers yet"
	return b
}

// newLimitedBench is newBench with a daemon that is wired to edit no body of more than so many bytes.
func newLimitedBench(t *testing.T, editLimitBytes int64) *bench {
	t.Helper()
	e, dir, lines := newScripted(t), t.TempDir(), &lockedBuffer{}
	cfg, _, err := config.Load(config.Sources{Dir: dir, Environ: append(slow(),
		"TOOLBELT_UPSTREAM="+e.URL, "TOOLBELT_EMBEDDER=builtin", "TOOLBELT_DB="+filepath.Join(dir, "tools.db"))})
	if err != nil {
		t.Fatal(err)
	}
	w := &wiring{
		service: &service{}, cfg: cfg, editLimitBytes: editLimitBytes,
		log: slog.New(slog.NewTextHandler(lines, nil)), lines: loaderlog.New(lines, time.Now),
	}
	if err := w.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.handler)
	ended := make(chan error, 1)
	return newBenchOf(t, e, dir, &running{url: server.URL, log: lines, done: ended, stop: func() {
		server.Close()
		w.close()
		ended <- nil
	}})
}

// newBenchOf is a bench of an engine and a daemon that keeps its files in dir.
func newBenchOf(t *testing.T, e *scripted, dir string, daemon *running) *bench {
	b := &bench{engine: e, daemon: daemon, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := b.daemon.end(); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
		holdsNothingSaid(t, "the log", []byte(b.daemon.log.String()))
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("no database in %s: %v", dir, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			holdsNothingSaid(t, filepath.Base(file), data)
		}
	})
	return b
}

func holdsNothingSaid(t *testing.T, where string, data []byte) {
	t.Helper()
	for _, word := range []string{said, argued, secret, token} {
		if at := bytes.Index(data, []byte(word)); at >= 0 {
			t.Errorf("%s holds %q: …%q", where, word, data[max(0, at-200):min(len(data), at+50)])
		}
	}
}

// ask is a request to send.
type ask struct {
	path    string
	body    []byte
	header  map[string]string
	host    string // in place of the address
	chunked bool
}

// reply is what a client gets.
type reply struct {
	status int
	header http.Header
	body   string
	broken bool // the body ended with an error
}

func (b *bench) send(t *testing.T, base string, a ask) reply {
	t.Helper()
	var body io.Reader = bytes.NewReader(a.body)
	if a.chunked {
		body = io.MultiReader(body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+a.path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+secret)
	for name, value := range a.header {
		req.Header.Set(name, value)
	}
	req.Host = a.host
	res, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	res.Header.Del("Date")
	return reply{res.StatusCode, res.Header, string(answer), err != nil}
}

// pair is one request, sent straight to the engine and through the daemon.
type pair struct {
	reply  reply    // the same both ways
	whole  []byte   // the body as it was sent
	got    []byte   // the body that the daemon forwarded
	plans  []string // the lines of the log that say what was decided
	others []string // all other lines
}

// both sends the request straight and through, and compares what the client gets and what else the engine sees.
func (b *bench) both(t *testing.T, a ask) pair {
	t.Helper()
	straight := b.send(t, b.engine.URL, a)
	sent := b.engine.take(t)
	mark := b.mark()
	through := b.send(t, b.daemon.url, a)
	all := b.engine.takeAll()
	switch n := len(all); {
	case n == 0:
		t.Fatal("the engine got no chat")
	case n == 2 && (straight.status == 400 || straight.status == 500): // refused as we sent it, and so asked as the client did
		if !bytes.Equal(all[1].body, a.body) {
			t.Errorf("the engine was asked again, with %s", all[1].body)
		}
	case n != 1:
		t.Errorf("the engine got %d chats, want 1", n)
	}
	got := all[0]
	if !reflect.DeepEqual(straight, through) {
		t.Errorf("the client got\n%+v\nand from the engine alone\n%+v", through, straight)
	}
	if sent.method != got.method || sent.uri != got.uri || !bytes.Equal(sent.body, a.body) {
		t.Errorf("asked %s %s, straight %s %s", got.method, got.uri, sent.method, sent.uri)
	}
	for _, q := range []taken{sent, got} {
		maps.DeleteFunc(q.header, func(name string, _ []string) bool { return name == "Via" || name == "Content-Length" })
	}
	if !reflect.DeepEqual(sent.header, got.header) {
		t.Errorf("the engine got the headers %v, straight %v", got.header, sent.header)
	}
	if !a.chunked && got.length != int64(len(got.body)) {
		t.Errorf("Content-Length %d of %d bytes", got.length, len(got.body))
	}
	p := pair{reply: straight, whole: a.body, got: got.body}
	p.plans, p.others = b.since(mark)
	return p
}

// mark is the place in the log to read on from.
func (b *bench) mark() int { return len(b.daemon.log.String()) }

func (b *bench) since(mark int) (plans, others []string) {
	for line := range strings.Lines(b.daemon.log.String()[mark:]) {
		if strings.Contains(line, "TOOL_LOADER {") {
			plans = append(plans, line)
		} else {
			others = append(others, line)
		}
	}
	return plans, others
}

// awaitLine waits until a line with the text is in the log behind mark.
func (b *bench) awaitLine(t *testing.T, mark int, text string) {
	t.Helper()
	await(t, fmt.Sprintf("a log line with %q", text), func() bool { return strings.Contains(b.daemon.log.String()[mark:], text) })
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come within %v", what, patience)
		}
	}
}

// receive takes what must come.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// unedited checks that the engine got the client's bytes and that one line says why.
func (p pair) unedited(t *testing.T, why string) {
	t.Helper()
	if !bytes.Equal(p.got, p.whole) {
		t.Errorf("the engine got other bytes: %.300q", p.got)
	}
	p.logs(t, 0, "goes on unedited", why)
}

// edited checks that only tools were taken away and that the plan is the one line; it returns the names of those that are left.
func (p pair) edited(t *testing.T, visible ...string) []string {
	t.Helper()
	names := p.cut(t, visible...)
	if len(p.others) != 0 {
		t.Errorf("the log says besides: %q", p.others)
	}
	return names
}

// cut is edited without a look at other lines.
func (p pair) cut(t *testing.T, visible ...string) []string {
	t.Helper()
	if p.reply.broken {
		t.Errorf("the answer was cut: %q", p.reply.body)
	}
	whole, err := readParts(p.whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readParts(p.got)
	if err != nil {
		t.Fatalf("the engine got %.300q: %v", p.got, err)
	}
	if err := onlyCut(whole, got); err != nil {
		t.Error(err)
	}
	names := got.names()
	if len(got.tools) == 0 || len(got.tools) >= len(whole.tools) {
		t.Errorf("%d of %d tools are left", len(got.tools), len(whole.tools))
	}
	for _, name := range visible {
		if !slices.Contains(names, name) {
			t.Errorf("%.60q is hidden; visible are %.500q", name, names)
		}
	}
	if len(p.plans) != 1 || !strings.Contains(p.plans[0], `"fallback": null`) {
		t.Errorf("lines of plans: %q", p.plans)
	}
	return names
}

// logs checks the number of plans and that there is exactly one other line, with all these texts.
func (p pair) logs(t *testing.T, plans int, texts ...string) {
	t.Helper()
	if len(p.plans) != plans || len(p.others) != 1 {
		t.Fatalf("%d plans and the lines %q, want %d and one line with %q", len(p.plans), p.others, plans, texts)
	}
	for _, text := range texts {
		if !strings.Contains(p.others[0], text) {
			t.Errorf("the line %q lacks %q", p.others[0], text)
		}
	}
}
