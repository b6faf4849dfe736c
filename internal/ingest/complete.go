package ingest

import (
	"context"
	"fmt"

	"toolbelt/catalog"
)

// Complete gives an array that Snapshot has made ready the engine's view too, within this call, however long that takes: for those who
// cannot begin with half of what is to be had. Without a Neural there is nothing to do. The error is the
// engine's, or of kind NotFound where the array is not known here (any more).
func (l *Library) Complete(ctx context.Context, hash catalog.Hash) error {
	if l.cfg.Neural == nil {
		return nil
	}
	s, ok := l.arrays.Peek(hash)
	if !ok {
		return catalog.NewError(catalog.NotFound, fmt.Sprintf("no tools array %.12s was made ready here", hash), nil)
	}
	return l.addView(ctx, hash, s)
}
