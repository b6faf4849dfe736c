package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/proxy"
)

const (
	// headerTimeout bounds how long a client may take over its request's headers; its body and the answer may take any time.
	headerTimeout = 30 * time.Second
	// lookTimeout is how long the engine may take to tell its version before it counts as absent.
	lookTimeout = 5 * time.Second
)

func newServeCommand(p Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon",
		Long: `Run the daemon: it listens for chat apps, cuts the tools of their chat requests to those that the conversation needs, and
hands everything else to the engine as it came. It ends at an interrupt or a SIGTERM, after the answers under way, at the
latest after the time that --grace or TOOLBELT_GRACE says (30s); a second signal ends it at once.

Point the app's Ollama URL at the daemon's address; for an OpenAI-compatible app, the same with /v1. The engine is the
one that OLLAMA_HOST names, or --upstream.`,
		Example: `  toolbelt serve
  toolbelt serve --upstream http://127.0.0.1:8000 --embedder lemonade
  TOOLBELT_TOKEN=secret toolbelt serve --listen 0.0.0.0:11435`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := loadConfig(cmd, p)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), p, cfg)
		},
	}
	addSettings(cmd)
	return cmd
}

// serve runs the daemon until ctx ends.
func serve(ctx context.Context, p Process, cfg config.Config) error {
	upstream, err := url.Parse(cfg.Serve.Upstream)
	if err != nil {
		return &usageError{fmt.Errorf("reading the engine's address: %v", err)}
	}
	if err := proxy.CheckListen(cfg.Serve.Listen, cfg.Serve.Token.Reveal()); err != nil {
		return &usageError{err}
	}
	if err := proxy.CheckNotSelf(upstream, cfg.Serve.Listen); err != nil {
		return &usageError{err}
	}
	listener, err := listen(ctx, cfg.Serve.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := proxy.CheckNotSelf(upstream, listener.Addr().String()); err != nil {
		return &usageError{err}
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of the log that goes away takes no chat with it
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: cfg.Log.Level}))
	decisions := p.Stderr
	if cfg.Log.Level > slog.LevelInfo {
		decisions = io.Discard
	}
	service, err := build(ctx, cfg, log, decisions)
	if err != nil {
		return err
	}
	defer service.close()
	server := &http.Server{
		Handler:           newFreeing(service.handler),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	fmt.Fprintln(p.Stdout, readyLine(listener.Addr(), cfg))
	looking, stop := context.WithCancel(ctx)
	defer stop()
	go lookForEngine(looking, upstream, log)
	return run(ctx, server, listener, cfg.Serve.Grace, log)
}

// run serves until ctx ends, then lets what is under way finish, for the time of grace.
func run(ctx context.Context, server *http.Server, listener net.Listener, grace time.Duration, log *slog.Logger) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	log.Info("stopping", "grace", grace)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		log.Warn("answers under way were cut off", "after", grace)
		server.Close()
	}
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listening on %s: another program uses this port; perhaps a toolbelt runs already, else choose one with --listen", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listening on %s: this user may not use the port; choose one above 1023 with --listen", addr)
	}
	return nil, fmt.Errorf("listening on %s: %v", addr, err)
}

// lookForEngine logs one line that says whether an engine answers, and which.
func lookForEngine(ctx context.Context, upstream *url.URL, log *slog.Logger) {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	version, err := embed.OllamaClient(upstream, http.DefaultClient).Version(limited)
	var unreachable *url.Error
	switch {
	case ctx.Err() != nil:
	case err == nil:
		log.Info("the engine answers", "upstream", upstream, "ollama", version)
	case errors.As(err, &unreachable):
		log.Warn("no engine answers yet: chats get 502 until one does", "upstream", upstream, "err", err)
	default:
		log.Info("the engine answers; it is no Ollama", "upstream", upstream)
	}
}

// readyLine says where the daemon is and what to do with it.
func readyLine(addr net.Addr, cfg config.Config) string {
	at := "http://" + reachable(addr)
	return fmt.Sprintf("toolbelt: listening on %s, in front of %s (embedder %s, mode %s) — set your app's Ollama URL to %s, or its OpenAI base URL to %s/v1",
		at, cfg.Serve.Upstream, cfg.Embed.Kind, cfg.Selection.Mode, at, at)
}

// reachable turns a listen address that means every address into one that a program on this machine can use.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}
