package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/eval"
)

// demoOptions are the demo's flags.
type demoOptions struct {
	Engine, Model string
	Trials        int
	JSON          bool
	Out           string // file for the JSON report, or ""
}

func newDemoCommand(stdout, stderr io.Writer) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo --engine URL --model NAME",
		Short: "Play one conversation with and without toolbelt and compare",
		Long: `Play a conversation of three turns with 38 tools, once straight at the engine and once through a daemon of its own, and
print for each turn the tools sent, the prompt's tokens, whether the needed tool was visible, and the time to the first token.

The engine must be an Ollama. Before each run the model is unloaded and loaded again, so that both begin with nothing
cached; whoever else uses that engine meanwhile disturbs the figures. With a small model on two cores it takes about two minutes.`,
		Example: `  toolbelt demo --engine http://127.0.0.1:11434 --model qwen3:4b`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := demo(cmd.Context(), o, stderr)
			if err != nil && cmd.Context().Err() != nil {
				return errors.New("the demo was interrupted")
			}
			if err != nil {
				return err
			}
			return writeDemo(report, o, stdout)
		},
	}
	cmd.Flags().StringVar(&o.Engine, "engine", "", "base URL of an Ollama engine")
	cmd.Flags().StringVar(&o.Model, "model", "", "name of one of its models; it must accept tools")
	cmd.Flags().IntVar(&o.Trials, "trials", 1, "how often to play it each way; the figures are medians")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON document instead of the table")
	cmd.Flags().StringVar(&o.Out, "out", "", "also write the JSON document to this file")
	return cmd
}

// demo plays the conversation both ways, o.Trials times.
func demo(ctx context.Context, o demoOptions, stderr io.Writer) (eval.DemoReport, error) {
	var none eval.DemoReport
	engine, err := o.check()
	if err != nil {
		return none, &usageError{err}
	}
	conversation, err := eval.Demo()
	if err != nil {
		return none, err
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} // no timeout: a first token takes a minute
	straight := eval.NewOllama(engine, client)
	if err := straight.Check(ctx, o.Model); err != nil {
		return none, err
	}
	recorder := eval.NewRecorder(engine)
	recorded, stop, err := serveLocally(recorder)
	if err != nil {
		return none, err
	}
	defer stop()
	player := &eval.Player{
		Conversation: conversation,
		Model:        o.Model,
		Options:      map[string]any{"num_ctx": 8192, "num_predict": 8, "temperature": 0, "seed": 1},
		Engine:       straight,
		Recorder:     recorder,
		Progress:     func(line string) { fmt.Fprintln(stderr, line) },
	}
	var runs []eval.Run
	for range o.Trials {
		both, err := playBoth(ctx, player, recorded, client, stderr)
		if err != nil {
			return none, err
		}
		runs = append(runs, both...)
	}
	report := eval.NewDemoReport(o.Engine, o.Model, conversation, runs)
	report.Date, report.Machine = time.Now().Format(time.DateOnly), machine()
	return report, nil
}

// machine describes the computer: its processor where that is known, its cores, its system.
func machine() string {
	processor := "processor unknown"
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			processor = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", processor, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

func (o demoOptions) check() (*url.URL, error) {
	if o.Engine == "" || o.Model == "" {
		return nil, errors.New("--engine and --model are both needed, such as --engine http://127.0.0.1:11434 --model qwen3:4b")
	}
	if o.Trials < 1 || o.Trials > 100 {
		return nil, fmt.Errorf("--trials is %d: it must be from 1 to 100", o.Trials)
	}
	engine, err := url.Parse(o.Engine)
	if err != nil || engine.Host == "" || (engine.Scheme != "http" && engine.Scheme != "https") {
		return nil, fmt.Errorf("--engine is %q: it must be a URL such as http://127.0.0.1:11434", o.Engine)
	}
	return engine, nil
}

// playBoth plays the conversation straight, then through a fresh daemon that knows nothing of earlier runs. Both pass the recorder.
func playBoth(ctx context.Context, player *eval.Player, recorded *url.URL, client *http.Client, stderr io.Writer) ([]eval.Run, error) {
	straight, err := player.Play(ctx, eval.Straight, eval.NewOllama(recorded, client))
	if err != nil {
		return nil, err
	}
	daemon, err := startDemoDaemon(ctx, recorded, player.Conversation.Core)
	if err != nil {
		return nil, err
	}
	defer daemon.stop()
	through, err := player.Play(ctx, eval.Toolbelt, eval.NewOllama(daemon.url, client))
	if err != nil {
		fmt.Fprintf(stderr, "the daemon's log ends with:\n%s", daemon.logTail())
		return nil, err
	}
	return []eval.Run{straight, through}, nil
}

// serveLocally serves the handler on a free port of the loopback address until stop is called.
func serveLocally(handler http.Handler) (at *url.URL, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listening on the loopback address: %v", err)
	}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with ErrServerClosed when stopped
	}()
	stop = func() {
		_ = server.Close() // nothing is under way that matters
		<-done
	}
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}, stop, nil
}

func writeDemo(report eval.DemoReport, o demoOptions, stdout io.Writer) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %v", err)
	}
	data = append(data, '\n')
	if o.Out != "" {
		if err := os.MkdirAll(filepath.Dir(o.Out), 0o755); err != nil {
			return fmt.Errorf("writing the report: %v", err)
		}
		if err := os.WriteFile(o.Out, data, 0o644); err != nil {
			return fmt.Errorf("writing the report: %v", err)
		}
	}
	if o.JSON {
		_, err := stdout.Write(data)
		return err
	}
	return report.WriteTable(stdout)
}
