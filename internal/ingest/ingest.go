// Package ingest makes tools arrays ready to choose from: their words and builtin vectors at once, within the request that
// first brings them; an engine's vectors later, in the background. What was made is kept, so that the next request finds it.
package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/turn"
	"toolbelt/selector"
)

// maxArrays is how many tools arrays are kept ready, the least recently used given up first. An array of more than maxArrayTokens, by estimate, is made
// each time: no engine's context has room for it, and its bytes would stay.
const (
	maxArrays      = 32
	maxArrayTokens = 2 << 20
)

// Neural gives an engine's vectors, in the background, as long as that takes.
type Neural interface {
	Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
	Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error)
}

// Config is what a Library works with. Only Builtin is required.
type Config struct {
	Builtin embed.Embedder
	Neural  Neural
	Bundles []bundles.Bundle
	Seen    func(tools []catalog.Tool) // told of each array that is new here and kept; must not block
	Keep    Calibrations               // of what is measured in the background; nil: nothing is
	Log     *slog.Logger
}

// Library keeps tools arrays ready. Safe for concurrent use.
type Library struct {
	cfg        Config
	background []embed.Vector // of selector.Background, by the builtin embedder
	arrays     *lru.Cache[catalog.Hash, *turn.Snapshot]
	making     singleflight.Group
	pending    chan catalog.Hash // arrays that wait for the engine's vectors
	measuring  *measuring        // nil where nothing is
	cancel     context.CancelFunc
	done       sync.WaitGroup
}

// New returns a Library and starts its work in the background, which ends with Close.
func New(cfg Config) (*Library, error) {
	vectors, err := cfg.Builtin.Embed(context.Background(), embed.Query, selector.Background())
	if err != nil {
		return nil, fmt.Errorf("embedding the background requests: %w", err)
	}
	arrays, err := lru.New[catalog.Hash, *turn.Snapshot](maxArrays)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Library{cfg: cfg, background: vectors, arrays: arrays, pending: make(chan catalog.Hash, maxArrays), cancel: cancel}
	if cfg.Keep != nil {
		if l.measuring, err = newMeasuring(cfg); err != nil {
			cancel()
			return nil, err
		}
		l.done.Go(func() { l.measuring.run(ctx) })
	}
	if cfg.Neural != nil {
		l.done.Go(func() { l.work(ctx) })
	}
	return l, nil
}

// Close ends the work in the background and waits for it.
func (l *Library) Close() {
	l.cancel()
	l.done.Wait()
}

// Snapshot returns the array made ready. The first time it is seen it is made within this call (about 20 ms at 500 tools); requests that bring the
// same array meanwhile wait for that one.
func (l *Library) Snapshot(hash catalog.Hash, tools []catalog.Tool) (*turn.Snapshot, error) {
	if s, ok := l.arrays.Get(hash); ok {
		return s, nil
	}
	made, err, _ := l.making.Do(string(hash[:]), func() (any, error) {
		if s, ok := l.arrays.Get(hash); ok { // made between the look above and here
			return s, nil
		}
		s, err := l.make(tools)
		if err != nil {
			return nil, err
		}
		if s.Catalog().EstimatedTokens() > maxArrayTokens {
			return s, nil
		}
		l.arrays.Add(hash, s)
		l.enqueue(hash)
		l.measuring.enqueue(s.Index)
		if l.cfg.Seen != nil {
			l.cfg.Seen(tools)
		}
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	return made.(*turn.Snapshot), nil
}

func (l *Library) make(tools []catalog.Tool) (*turn.Snapshot, error) {
	cat := catalog.New(tools)
	view, err := l.view(cat, l.cfg.Builtin.Model(), l.background, func(texts []string) ([]embed.Vector, error) {
		return l.cfg.Builtin.Embed(context.Background(), embed.Document, texts)
	})
	if err != nil {
		return nil, err
	}
	ix, err := selector.NewIndex(cat, view)
	if err != nil {
		return nil, err
	}
	return &turn.Snapshot{Index: ix, Bundles: bundles.NewSet(cat, l.cfg.Bundles)}, nil
}

// view embeds a catalog's three texts a tool.
func (l *Library) view(cat *catalog.Catalog, m embed.Model, background []embed.Vector, documents func([]string) ([]embed.Vector, error)) (*selector.View, error) {
	n := cat.Len()
	each := make([][]embed.Vector, len(catalog.Tool{}.Texts()))
	texts := make([]string, len(each)*n)
	for i := range n {
		for j, text := range cat.Tool(catalog.ID(i)).Texts() {
			texts[j*n+i] = text
		}
	}
	vectors, err := documents(texts)
	if err != nil {
		return nil, fmt.Errorf("embedding %d tools: %w", n, err)
	}
	if len(vectors) != len(texts) {
		return nil, catalog.NewError(catalog.Unavailable, fmt.Sprintf("embedding %d texts gave %d vectors", len(texts), len(vectors)), nil)
	}
	for j := range each {
		each[j] = vectors[j*n : (j+1)*n]
	}
	return selector.NewView(m, n, each, background)
}

func (l *Library) enqueue(hash catalog.Hash) {
	if l.cfg.Neural == nil {
		return
	}
	select {
	case l.pending <- hash:
	default: // the sweep finds it
	}
}

// sweepEvery is how often arrays without the engine's vectors are looked for: the engine may have come up, or its model changed.
const sweepEvery = 5 * time.Second

// failedFor is how long an array that failed is left alone, so that one bad text costs neither the engine nor the other arrays much.
const failedFor = 20 * time.Second

// work gives arrays the engine's view: new ones at once, and those that are left without one (the engine was down) every few seconds.
func (l *Library) work(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	failed := map[catalog.Hash]time.Time{} // arrays of which the engine could not embed something
	for {
		if len(failed) > maxArrays {
			clear(failed)
		}
		select {
		case <-ctx.Done():
			return
		case hash := <-l.pending:
			l.tryView(ctx, hash)
		case <-ticker.C:
			for _, hash := range l.arrays.Keys() {
				if s, ok := l.arrays.Peek(hash); ok && s.Index.Views() < 2 && time.Since(failed[hash]) > failedFor && !l.tryView(ctx, hash) {
					failed[hash] = time.Now()
				}
			}
		}
	}
}

// tryView is addView for an array that may be gone. It reports false where the engine's embedder cannot be had now.
func (l *Library) tryView(ctx context.Context, hash catalog.Hash) bool {
	s, ok := l.arrays.Peek(hash)
	if !ok {
		return true
	}
	if err := l.addView(ctx, hash, s); err != nil {
		l.cfg.Log.Debug("the engine's vectors are not there yet", "tools", s.Catalog().Len(), "why", err)
		return false
	}
	return true
}

// addView gives one array the engine's view.
func (l *Library) addView(ctx context.Context, hash catalog.Hash, s *turn.Snapshot) error {
	background, model, err := l.cfg.Neural.Queries(ctx, selector.Background())
	if err != nil {
		return err
	}
	if s.Index.Has(model) {
		return nil
	}
	view, err := l.view(s.Catalog(), model, background, func(texts []string) ([]embed.Vector, error) {
		vectors, by, err := l.cfg.Neural.Documents(ctx, texts)
		if err == nil && by != model {
			err = catalog.NewError(catalog.Conflict, fmt.Sprintf("the embedding model changed from %q to %q meanwhile", model, by), nil)
		}
		return vectors, err
	})
	if err != nil {
		return err
	}
	ix, err := s.Index.With(view)
	if err != nil {
		return err
	}
	if l.arrays.Contains(hash) {
		l.arrays.Add(hash, &turn.Snapshot{Index: ix, Bundles: s.Bundles})
		l.measuring.enqueue(ix)
	}
	l.cfg.Log.Debug("the engine's vectors are ready", "tools", s.Catalog().Len(), "model", model.Name)
	return nil
}
