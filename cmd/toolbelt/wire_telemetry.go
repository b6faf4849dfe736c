package main

import (
	"io"
	"time"

	"toolbelt/config"
	"toolbelt/internal/loaderlog"
	"toolbelt/internal/proxy"
	"toolbelt/internal/telemetry"
	"toolbelt/internal/turn"
)

// linesOf is the log of decisions, which says in shadow mode that nothing was hidden.
func linesOf(cfg config.Config, loader io.Writer) *loaderlog.Logger {
	if policyOf(cfg).Shadow {
		return loaderlog.NewShadow(loader, time.Now)
	}
	return loaderlog.New(loader, time.Now)
}

// recorder tells the log, the metrics and the report's store what is decided, and makes the metrics. counts are the proxy's, asked for once there is one.
func (w *wiring) recorder(counts func() proxy.Counts) turn.Recorder {
	policy := policyOf(w.cfg)
	cfg := telemetry.Config{Mode: telemetry.On, Account: (*turn.Plan).Account, Names: w.cfg.Selection.Learn, Log: w.log}
	if policy.Shadow {
		cfg.Mode = telemetry.Shadow
	}
	if policy.Off == "" { // where nothing is selected nothing is kept
		cfg.Store = w.db
	}
	turns := telemetry.New(cfg)
	w.onClose(turns.Close)
	w.metrics = telemetry.NewMetrics(telemetry.MetricsConfig{
		Version: version(), Mode: string(w.cfg.Selection.Mode), Offered: (*turn.Plan).Offered, Dropped: turns.Dropped,
		Numbers: func() telemetry.Numbers { return w.numbers(counts()) },
	})
	return telemetry.All{w.lines, w.metrics, turns}
}

// numbers are what others count.
func (w *wiring) numbers(c proxy.Counts) telemetry.Numbers {
	n := telemetry.Numbers{Chats: c.Chats, Edited: c.Edited, WithoutTools: c.WithoutTools, HiddenRounds: c.HiddenRounds}
	if w.reader != nil {
		s := w.reader.Stats()
		n.Prewarms = telemetry.Prewarms{Done: s.Done, Dropped: s.Dropped, Failed: s.Failed, Skipped: s.Skipped, Took: s.Took}
	}
	return n
}
