package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/embed"
)

// lines is a writer that keeps what is written, and tells of each.
type lines struct {
	mu   sync.Mutex
	all  strings.Builder
	told chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.told <- struct{}{}:
	default:
	}
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func TestCalibrateTellsHowFarItIsWhereItTakesLong(t *testing.T) {
	out := &lines{told: make(chan struct{})}
	tell := &embedding{out: out, every: time.Millisecond}
	end := tell.begin()
	<-out.told
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tell.counted(builtin).Embed(context.Background(), embed.Query, []string{"one", "two"}); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(out.String(), "2 texts") {
		<-out.told
	}
	end()
	text := out.String()
	if !strings.Contains(text, "0s  opening the engine's embedder\n") || !strings.Contains(text, "0s  by the engine's embedder: 2 texts\n") {
		t.Errorf("told %q", text)
	}
	quick := &lines{}
	tell = &embedding{out: quick, every: time.Hour}
	tell.begin()()
	if quick.String() != "" {
		t.Errorf("told %q of what took no time", quick.String())
	}
}

// An embedder that nobody named is only tried beside a chat model; where none is loaded, the user is told how to have it measured.
func TestCalibrateSaysHowToMeasureAnEmbedderThatWasNotTried(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			fmt.Fprint(w, `{"models":[{"name":"all-minilm:latest","model":"all-minilm:latest","size":1000}]}`)
		case "/api/ps":
			fmt.Fprint(w, `{"models":[]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer engine.Close()
	var stdout, stderr strings.Builder
	dir := t.TempDir()
	args := []string{"calibrate", "--tools", "demo", "--upstream", engine.URL, "--db", dir + "/tools.db"}
	if err := Run(t.Context(), args, Process{Stdout: &stdout, Stderr: &stderr, Environ: []string{"HOME=" + dir}, Dir: dir}); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	want := `The engine's embedder was not measured: no chat model is loaded, beside which to try "all-minilm"; send the chat model a message first, so that it is loaded, or name the embedder: --embedder ollama tries it at once.`
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("printed\n%s\nwant\n%s", stdout.String(), want)
	}
}
