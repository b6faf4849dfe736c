package main

import (
	"context"
	"time"

	"toolbelt/eval"
	"toolbelt/internal/learn"
)

// newLearning is a learner for one replay, which remembers nothing after it.
func newLearning(ctx context.Context, e eval.Embedders, now func() time.Time) (eval.Learning, error) {
	cfg := learn.Config{Builtin: e.First, Now: now}
	if e.Engine != nil {
		cfg.Neural = e.Engine
	}
	l, err := learn.New(ctx, cfg)
	if err != nil {
		return eval.Learning{}, err
	}
	return eval.Learning{Learner: l, Settle: l.Flush, Close: l.Close}, nil
}
