package ingest_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/ingest"
)

// kept is a Calibrations in memory that tells of each save.
type kept struct {
	mu    sync.Mutex
	known map[string]embed.Measured
	saved chan embed.Measured
	fails error
}

func newKept() *kept {
	return &kept{known: map[string]embed.Measured{}, saved: make(chan embed.Measured, 100)}
}

func (k *kept) Calibration(_ context.Context, m embed.Model, of catalog.Hash) (embed.Measured, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.known[m.Name+of.String()]
	return c, ok, nil
}

func (k *kept) SaveCalibration(_ context.Context, c embed.Measured) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[c.Model.Name+c.Catalog.String()] = c
	k.saved <- c
	return k.fails
}

// next waits for a save.
func (k *kept) next(t *testing.T) embed.Measured {
	t.Helper()
	select {
	case c := <-k.saved:
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was measured")
		return embed.Measured{}
	}
}

func newLibrary(t *testing.T, cfg ingest.Config) *ingest.Library {
	t.Helper()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Builtin, cfg.Log = builtin, slog.New(slog.DiscardHandler)
	l, err := ingest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func named(names ...string) []catalog.Tool {
	var list []catalog.Tool
	for _, n := range names {
		list = append(list, catalog.Tool{Name: n, Description: "does what " + n + " says"})
	}
	return list
}

// direct is an embedder as a Neural gives its vectors.
type direct struct{ embed.Embedder }

func (e direct) Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := e.Embed(ctx, embed.Document, texts)
	return vectors, e.Model(), err
}

func (e direct) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := e.Embed(ctx, embed.Query, texts)
	return vectors, e.Model(), err
}

// Each model and catalog is measured once, also when the array comes in other bytes or after a restart.
func TestMeasuresOnce(t *testing.T) {
	store := newKept()
	l := newLibrary(t, ingest.Config{Keep: store})
	first := named("read_file", "send_mail", "play_music")
	for i := range byte(3) {
		if _, err := l.Snapshot(catalog.Hash{i}, first); err != nil {
			t.Fatal(err)
		}
	}
	c := store.next(t)
	if c.Model.Name != "builtin" || c.Tools != 3 || c.Requests < 32 || c.Catalog != catalog.New(first).Hash() || c.At.IsZero() || !(c.Deviation > 0) || c.Generic != 9 || !(c.Ceiling > c.Floor) {
		t.Errorf("measured %+v", c)
	}
	again := newLibrary(t, ingest.Config{Keep: store})
	if _, err := again.Snapshot(catalog.Hash{1}, first); err != nil {
		t.Fatal(err)
	}
	for _, library := range []*ingest.Library{l, again} { // arrays are taken in order: what follows was saved last
		if _, err := library.Snapshot(catalog.Hash{9}, named("other"+string(rune('a'+len(library.Calibrations())%20)), "b", "c", "d", "e")); err != nil {
			t.Fatal(err)
		}
		c := store.next(t)
		if c.Tools != 5 {
			t.Errorf("measured %+v again", c)
		}
		list := library.Calibrations()
		if len(list) != 2 || list[0].Tools != 3 || list[1].Tools != 5 {
			t.Errorf("known are %+v", list)
		}
		store.mu.Lock()
		delete(store.known, c.Model.Name+c.Catalog.String())
		store.mu.Unlock()
	}
}

// With an engine's view three ways are measured: either alone, and both.
func TestMeasuresTheEngineToo(t *testing.T) {
	store := newKept()
	l := newLibrary(t, ingest.Config{Keep: store, Neural: direct{embedtest.NewFake("fake", 32)}})
	if _, err := l.Snapshot(catalog.Hash{1}, named("read_file", "send_mail", "play_music")); err != nil {
		t.Fatal(err)
	}
	var names []string
	for range 3 {
		names = append(names, store.next(t).Model.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "builtin builtin+fake fake" {
		t.Errorf("measured by %s", got)
	}
}

// A store that fails costs nothing but what it would have kept; an empty catalog is not measured, and nothing is where nobody keeps it.
func TestMeasuringIsNoNeed(t *testing.T) {
	store := newKept()
	store.fails = errors.New("disk full")
	l := newLibrary(t, ingest.Config{Keep: store})
	if _, err := l.Snapshot(catalog.Hash{1}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Snapshot(catalog.Hash{2}, named("a", "b")); err != nil {
		t.Fatal(err)
	}
	if c := store.next(t); c.Tools != 2 {
		t.Errorf("measured %+v", c)
	}
	if list := l.Calibrations(); len(list) != 1 || list[0].Tools != 2 {
		t.Errorf("known are %+v", list)
	}
	if list := newLibrary(t, ingest.Config{}).Calibrations(); list != nil {
		t.Errorf("known are %+v", list)
	}
}
