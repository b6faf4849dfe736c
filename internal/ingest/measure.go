package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/selector"
)

// Calibrations keeps what was measured, over restarts. Methods may block on a disk.
type Calibrations interface {
	// Calibration returns what was measured of a catalog by this model, and whether anything was.
	Calibration(ctx context.Context, m embed.Model, of catalog.Hash) (embed.Measured, bool, error)
	// SaveCalibration inserts or replaces what was measured of one catalog by one model.
	SaveCalibration(ctx context.Context, c embed.Measured) error
}

// measurement identifies one.
type measurement struct {
	model   embed.Model
	catalog catalog.Hash
}

// measuring measures what requests that no particular tool is for come to, once a model and catalog, in a goroutine of its own.
type measuring struct {
	keep    Calibrations
	ask     func(ctx context.Context, m embed.Model, requests []string) ([]embed.Vector, error)
	log     *slog.Logger
	known   *lru.Cache[measurement, embed.Measured]
	pending chan *selector.Index
}

// maxMeasured bounds what is known at a time: for each array the builtin's, the engine's and both together.
const maxMeasured = 3 * maxArrays

func newMeasuring(cfg Config) (*measuring, error) {
	known, err := lru.New[measurement, embed.Measured](maxMeasured)
	if err != nil {
		return nil, err
	}
	return &measuring{keep: cfg.Keep, ask: cfg.Ask, log: cfg.Log, known: known, pending: make(chan *selector.Index, maxArrays)}, nil
}

// enqueue has an index measured later. It never blocks: where too many wait, this one is not measured until it is made again.
func (m *measuring) enqueue(ix *selector.Index) {
	if m == nil {
		return
	}
	select {
	case m.pending <- ix:
	default:
	}
}

func (m *measuring) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ix := <-m.pending:
			for _, models := range Together(ix.Models()) {
				m.measure(ctx, ix, models)
			}
		}
	}
}

// Together are the ways in which models decide: each alone, and all of them.
func Together(models []embed.Model) [][]embed.Model {
	var ways [][]embed.Model
	for _, one := range models {
		ways = append(ways, []embed.Model{one})
	}
	if len(models) > 1 {
		ways = append(ways, models)
	}
	return ways
}

// measure measures one way, unless that was done before. An empty catalog has nothing to measure.
func (m *measuring) measure(ctx context.Context, ix *selector.Index, models []embed.Model) {
	if ix.Catalog().Len() == 0 {
		return
	}
	name := selector.Joined(models)
	key := measurement{name, ix.Catalog().Hash()}
	if m.known.Contains(key) {
		return
	}
	stored, ok, err := m.keep.Calibration(ctx, name, key.catalog)
	if err == nil && ok {
		m.known.Add(key, stored)
		return
	}
	if err == nil {
		var c selector.Calibration
		if c, err = Calibrate(ctx, ix, models, m.ask); err == nil {
			c.At = time.Now()
			m.known.Add(key, c.Measured)
			err = m.keep.SaveCalibration(ctx, c.Measured)
		}
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn("what unrelated requests come to is not known or not kept", "model", name.Name, "tools", ix.Catalog().Len(), "why", err)
	}
}

// Calibrate measures one way in which models decide: against the built-in list of unrelated requests, and against requests about the catalog's own
// subjects, whose vectors ask gives. An error is ask's or the index's.
func Calibrate(ctx context.Context, ix *selector.Index, models []embed.Model, ask func(context.Context, embed.Model, []string) ([]embed.Vector, error)) (selector.Calibration, error) {
	c, err := ix.Calibrate(models...)
	if err != nil {
		return c, err
	}
	requests := selector.Generic(ix.Catalog())
	vectors := map[embed.Model][]embed.Vector{}
	for _, m := range models {
		if vectors[m], err = ask(ctx, m, requests); err != nil {
			return c, fmt.Errorf("embedding %d requests about the catalog's subjects: %w", len(requests), err)
		}
	}
	return c, ix.MeasureGeneric(&c, vectors)
}

// Ask embeds what a user might say by the one of the two embedders that is of this model. An error is the embedder's, or of kind NotFound or Conflict
// where neither is.
func (c Config) Ask(ctx context.Context, m embed.Model, texts []string) ([]embed.Vector, error) {
	if m == c.Builtin.Model() {
		return c.Builtin.Embed(ctx, embed.Query, texts)
	}
	if c.Neural == nil {
		return nil, catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no embedder %q", m.Name), nil)
	}
	vectors, by, err := c.Neural.Queries(ctx, texts)
	if err == nil && by != m {
		err = catalog.NewError(catalog.Conflict, fmt.Sprintf("the embedding model changed from %q to %q meanwhile", m.Name, by.Name), nil)
	}
	return vectors, err
}

// Calibrations returns what is known of the catalogs seen lately: by size, then model.
func (l *Library) Calibrations() []embed.Measured {
	if l.measuring == nil {
		return nil
	}
	list := l.measuring.known.Values()
	slices.SortStableFunc(list, func(a, b embed.Measured) int {
		if a.Tools != b.Tools {
			return a.Tools - b.Tools
		}
		if c := slices.Compare(a.Catalog[:], b.Catalog[:]); c != 0 {
			return c
		}
		return len(a.Model.Name) - len(b.Model.Name)
	})
	return list
}
