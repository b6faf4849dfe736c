package ingest

import (
	"context"
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

// measuring measures what unrelated requests come to, once a model and catalog, in a goroutine of its own.
type measuring struct {
	keep    Calibrations
	log     *slog.Logger
	known   *lru.Cache[measurement, embed.Measured]
	pending chan *selector.Index
}

// maxMeasured bounds what is known at a time: for each array the builtin's, the engine's and both together.
const maxMeasured = 3 * maxArrays

func newMeasuring(keep Calibrations, log *slog.Logger) (*measuring, error) {
	known, err := lru.New[measurement, embed.Measured](maxMeasured)
	if err != nil {
		return nil, err
	}
	return &measuring{keep: keep, log: log, known: known, pending: make(chan *selector.Index, maxArrays)}, nil
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
		if c, err = ix.Calibrate(models...); err == nil {
			c.At = time.Now()
			m.known.Add(key, c.Measured)
			err = m.keep.SaveCalibration(ctx, c.Measured)
		}
	}
	if err != nil && ctx.Err() == nil {
		m.log.Warn("what unrelated requests come to is not known or not kept", "model", name.Name, "tools", ix.Catalog().Len(), "why", err)
	}
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
