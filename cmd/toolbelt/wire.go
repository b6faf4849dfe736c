package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"toolbelt/catalog"
	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/ingest"
	"toolbelt/internal/learn"
	"toolbelt/internal/loaderlog"
	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/sidecar"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/telemetry"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
	"toolbelt/skills"
)

// service is the daemon's HTTP surface and what must be ended after it.
type service struct {
	handler http.Handler
	closers []func() // run last to first
}

func (s *service) close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
	s.closers = nil
}

func (s *service) onClose(end func()) { s.closers = append(s.closers, end) }

// policyOf is what the settings mean for a planner.
func policyOf(cfg config.Config) turn.Policy {
	p := turn.DefaultPolicy()
	p.Core, p.MaxTools, p.Threshold = cfg.Selection.Core, cfg.Selection.MaxTools, cfg.Selection.Threshold
	p.Budget, p.Shadow = cfg.Selection.Budget, cfg.Selection.Mode == config.Shadow
	p.LoadTools, p.ToolSearch = cfg.Selection.LoadTools, cfg.Selection.ToolSearch
	p.SkillBody = cfg.Skills.Body
	if cfg.Prefix.Strategy != config.AutoStrategy {
		p.Strategy = kvcache.Strategy(cfg.Prefix.Strategy)
	}
	switch {
	case cfg.Selection.Mode == config.Off:
		p.Off = "mode off"
	case !cfg.Selection.Memory:
		p.Off = "memory off"
	case cfg.Embed.Kind == config.NoEmbedder:
		p.Off = "embedder off"
	}
	return p
}

// wiring is the daemon's parts while they are put together.
type wiring struct {
	*service
	cfg      config.Config
	upstream *url.URL
	log      *slog.Logger
	db       *sqlite.DB
	sessions *session.Manager
	lines    *loaderlog.Logger
	builtin  *embed.Builtin
	neural   *embed.Neural // nil where none is configured
	library  *skills.Library
	arrays   *ingest.Library
	work     sync.WaitGroup // what goes on in the background
	traffic  proxy.Traffic
	observed observing
	prefixParts
	metrics *telemetry.Metrics

	editLimitBytes int64 // largest chat that is edited; 0: the proxy's default
}

// build wires the daemon. loader takes the lines that say what was decided. What takes long (an engine's embedder) starts
// in the background. The caller closes the service.
func build(ctx context.Context, cfg config.Config, log *slog.Logger, loader io.Writer) (*service, error) {
	w := &wiring{service: &service{}, cfg: cfg, log: log, lines: linesOf(cfg, loader)}
	if err := w.build(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w.service, nil
}

func (w *wiring) build(ctx context.Context) (err error) {
	w.belief = kvcache.NewBelief(time.Now)
	if w.upstream, err = url.Parse(w.cfg.Serve.Upstream); err != nil {
		return err
	}
	tools, err := configuredTools(w.cfg.Serve.Tools)
	if err != nil {
		return &usageError{err}
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	var handler *proxy.Handler
	planner, err := w.planner(ctx, w.recorder(func() proxy.Counts { return handler.Counts() }))
	if err != nil {
		return err
	}
	w.readAhead(planner)
	w.background()
	parts := sidecar.Parts{
		Keeper: w.library, Planner: planner, Explainer: planner, Sessions: w.sessions, Skills: w.library, Editor: w.library, Tools: tools, Log: w.log, Prefetcher: w.prefetcher(), Metrics: w.metrics,
		Status: func() sidecar.Status { return w.status(handler.Counts(), planner.UnmetCore()) },
	}
	if w.cfg.Selection.Memory {
		parts.Memory = w.db
	}
	if w.observed.learning != nil {
		parts.Learning = *w.observed.learning
	}
	own, err := sidecar.New(parts)
	if err != nil {
		return err
	}
	door := proxy.Config{Upstream: w.upstream, Traffic: &w.traffic, Passed: w.passed(planner), Answered: w.answered, Token: w.cfg.Serve.Token.Reveal(), Hosts: w.cfg.Serve.Hosts, EditLimitBytes: w.editLimitBytes}
	handler, err = proxy.New(door, planner, own, w.log)
	if err != nil {
		return err
	}
	w.onClose(handler.Close)
	w.handler = handler
	return nil
}

// open opens what is kept over restarts.
func (w *wiring) open(ctx context.Context) (err error) {
	path := w.cfg.Store.Path
	if !w.cfg.Selection.Memory { // nothing is read and nothing written
		path = sqlite.Memory
	}
	if w.db, err = sqlite.Open(ctx, path, w.log); err != nil {
		return err
	}
	w.onClose(func() { w.db.Close() })
	off := policyOf(w.cfg).Off != ""
	if w.sessions = session.New(time.Now); !off { // where nothing is selected nothing is kept
		if w.sessions, err = session.Open(w.db, time.Now, w.log); err != nil {
			return err
		}
	}
	w.onClose(w.sessions.Close)
	w.onClose(func() { w.logEnded(w.sessions.Ended(true)) })
	if w.builtin, err = embed.NewBuiltin(); err != nil {
		return err
	}
	known := skills.Parts{Store: w.db, Local: w.builtin, Log: w.log}
	if !off {
		w.neural = newNeural(w.cfg, w.upstream, w.db, w.quiet, w.log)
	}
	if w.neural != nil {
		w.onClose(w.neural.Close)
		known.Neural = w.neural
	}
	w.library, err = skills.Open(ctx, known)
	return err
}

// quietFor is how long the engine must have had nothing to do before our own work on it goes on: a client's next request comes at once, or after
// a person has read and typed. An engine that is never quiet gets a little of it all the same, every busyLimit.
const (
	quietFor  = 2 * time.Second
	busyLimit = 2 * time.Minute
)

func (w *wiring) quiet(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, busyLimit)
	defer cancel()
	_ = w.traffic.Quiet(wait, quietFor)
	return ctx.Err()
}

// planner makes the planner and what it reads.
func (w *wiring) planner(ctx context.Context, recorder turn.Recorder) (*turn.Planner, error) {
	key, err := w.db.Key(ctx, "query")
	if err != nil {
		return nil, err
	}
	parts := turn.Parts{Sessions: w.sessions, Builtin: w.builtin, Skills: recall{w.library}, Prefix: prefix{w.belief, w}, Recorder: recorder, QueryKey: key}
	arrays := ingest.Config{Builtin: w.builtin, Bundles: w.cfg.Selection.Bundles, Seen: w.seen, Keep: w.db, Log: w.log}
	if w.neural != nil {
		parts.Neural, arrays.Neural = w.neural, w.neural
	}
	w.observed = newObserving(w.cfg, w.db, w.library, w.builtin, w.log)
	w.onClose(w.observed.close)
	if w.observed.learning != nil && w.cfg.Skills.Writer != "" {
		w.observed.learning.Writer = modelWriter{client: embed.OllamaClient(w.upstream, http.DefaultClient), model: w.cfg.Skills.Writer, quiet: w.quiet}
	}
	if w.observed.recorder != nil {
		parts.Runs = w.observed.recorder
	}
	if w.arrays, err = ingest.New(arrays); err != nil {
		return nil, err
	}
	w.onClose(w.arrays.Close)
	parts.Snapshots = w.arrays
	policy := policyOf(w.cfg)
	if w.cfg.Selection.Learn && policy.Off == "" {
		if parts.Learner, err = w.learner(ctx); err != nil {
			return nil, err
		}
	}
	return turn.NewPlanner(policy, parts), nil
}

// learner opens what was learned from use.
func (w *wiring) learner(ctx context.Context) (*learn.Learner, error) {
	set := learn.Config{Store: w.db, Builtin: w.builtin, Log: w.log}
	if w.neural != nil {
		set.Neural = unhurried{w.neural}
	}
	learner, err := learn.New(ctx, set)
	if err == nil {
		w.onClose(learner.Close)
	}
	return learner, err
}

// unhurried is the engine's embedder for learning, which waits until the engine is quiet and counts no answer as late.
type unhurried struct{ *embed.Neural }

func (u unhurried) Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	return u.Unkept(ctx, texts)
}

// seen keeps the names and content hashes of tools that are new here, beside the request that brought them.
func (w *wiring) seen(tools []catalog.Tool) {
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		if err := w.db.SeeTools(ctx, tools, time.Now()); err != nil {
			w.log.Warn("the tools that were seen are not kept", "error", err)
		}
	})
}

// status is how the daemon does.
func (w *wiring) status(counts proxy.Counts, unmetCore []string) sidecar.Status {
	s := sidecar.Status{
		Ready: true, Version: version(), Upstream: w.cfg.Serve.Upstream, Mode: string(w.cfg.Selection.Mode),
		Embedder: embed.Status{State: "off"},
		Chats:    sidecar.Chats{All: counts.Chats, Edited: counts.Edited, WithoutTools: counts.WithoutTools, HiddenRounds: counts.HiddenRounds, Overflowing: w.overflows.Load(), Truncated: w.truncated.Load()},
		Measured: sidecar.Calibrations(w.arrays.Calibrations()), Prewarm: w.prewarm(), Models: w.models(),
	}
	if conn, err := net.DialTimeout("tcp", hostPort(w.upstream), dialTimeout); err != nil {
		s.Ready = false
		s.Reasons = append(s.Reasons, "the engine at "+w.cfg.Serve.Upstream+" does not answer")
	} else {
		conn.Close()
	}
	if off := policyOf(w.cfg).Off; off != "" {
		s.Reasons = append(s.Reasons, "every tool is visible: "+off)
	}
	if err := w.db.Unkept(); err != nil {
		s.Reasons = append(s.Reasons, "what happens is not being kept, and is lost when the daemon ends: "+err.Error())
	}
	if w.neural == nil {
		return s
	}
	s.Embedder = w.neural.Status()
	if s.Embedder.Dropped != "" {
		s.Reasons = append(s.Reasons, "the engine's embedder is not used any more: "+s.Embedder.Dropped)
	}
	return s
}

// hostPort is what to dial for a URL.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), u.Scheme)
}

// configuredTools reads the catalog for selections that bring no tools; none where path is "".
func configuredTools(path string) ([]catalog.Tool, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog that the setting tools names: %w", err)
	}
	tools, err := catalog.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog %q that the setting tools names: %w", path, err)
	}
	return tools, nil
}

const (
	skillsEvery  = time.Second // how soon a change by another process is seen
	endedEvery   = time.Minute // how often quiet sessions are looked for
	pruneEvery   = 24 * time.Hour
	lessonsEvery = 5 * time.Minute     // how often what was learned of models is stored
	keptFor      = 30 * 24 * time.Hour // a conversation, after its last request
	writeTimeout = 10 * time.Second
	dialTimeout  = 300 * time.Millisecond // for the engine to take a connection, when somebody asks how things are
)

// background starts what goes on beside the requests; close ends it.
func (w *wiring) background() {
	ctx, cancel := context.WithCancel(context.Background())
	w.work.Go(func() { w.library.Run(ctx, skillsEvery) })
	w.work.Go(func() { w.observed.run(ctx) })
	w.work.Go(func() { watchSkills(ctx, w.cfg.Skills.Dir, w.library, w.log) })
	if w.reader != nil {
		w.work.Go(func() { every(ctx, lessonsEvery, w.keepLessons) })
		w.work.Go(func() { _ = w.prober.Run(ctx) }) // both end with ctx alone
		w.work.Go(func() { _ = w.reader.Run(ctx) })
	}
	w.work.Go(func() { every(ctx, endedEvery, func() { w.logEnded(w.sessions.Ended(false)) }) })
	w.work.Go(func() {
		w.prune(ctx)
		every(ctx, pruneEvery, func() { w.prune(ctx) })
	})
	w.onClose(func() {
		cancel()
		w.work.Wait()
	})
}

// every calls f at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// prune deletes conversations that nobody has come back to for a month.
func (w *wiring) prune(ctx context.Context) {
	if _, err := w.db.Prune(ctx, time.Now().Add(-keptFor)); err != nil && ctx.Err() == nil {
		w.log.Warn("old conversations could not be deleted", "error", err)
	}
}

func (w *wiring) logEnded(ended []session.State) {
	for _, state := range ended {
		w.lines.Ended(state)
	}
}

// recall is a Library as the planner sees it.
type recall struct{ library *skills.Library }

func (r recall) Recall(q skills.QueryVectors, there func(string) bool) []skills.Recalled {
	return r.library.Set().Choose(q, skills.MostRecalled, skills.DefaultFloor, there)
}
