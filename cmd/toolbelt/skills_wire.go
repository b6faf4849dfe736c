package main

import (
	"context"
	"log/slog"
	"time"

	"toolbelt/config"
	"toolbelt/embed"
	"toolbelt/internal/sqlite"
	"toolbelt/skills"
	"toolbelt/skills/runs"
	"toolbelt/skills/skillmd"
	"toolbelt/skills/synth"
)

const (
	learnEvery = 10 * time.Minute // how often skills are made of what was observed
	watchEvery = 5 * time.Second  // how often a watched folder is looked at
)

// observing is what observes runs and makes skills of them. The zero value observes nothing: learning or memory is off.
type observing struct {
	recorder *runs.Recorder
	learning *synth.Parts
}

// newObserving starts observing, unless the settings say that nothing is to be learned. The caller closes it before the database.
func newObserving(cfg config.Config, db *sqlite.DB, library *skills.Library, builtin embed.Embedder, log *slog.Logger) observing {
	if !cfg.Selection.Learn || policyOf(cfg).Off != "" {
		return observing{}
	}
	parts := synthesis(db, library, builtin, log)
	settled := func(ctx context.Context, r runs.Run) {
		if err := library.Judge(ctx, r.Skills, r.Names(), r.Outcome == runs.Succeeded); err != nil {
			log.Warn("what became of a recalled skill is not counted", "error", err)
		}
	}
	return observing{recorder: runs.New(runs.Config{Store: db, Settled: settled, KeepValues: cfg.Skills.KeepValues, Log: log}), learning: &parts}
}

// run makes skills in the background, until ctx ends.
func (o observing) run(ctx context.Context) {
	if o.learning != nil {
		o.learning.Run(ctx, learnEvery)
	}
}

func (o observing) close() {
	if o.recorder != nil {
		o.recorder.Close()
	}
}

// watchSkills keeps the skills of a folder in the library, until ctx ends; none where dir is "".
func watchSkills(ctx context.Context, dir string, library *skills.Library, log *slog.Logger) {
	if dir != "" {
		skillmd.NewWatch(dir, library, log).Run(ctx, watchEvery)
	}
}
