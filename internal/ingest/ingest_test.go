package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/internal/ingest"
)

func tools(n int) []catalog.Tool {
	list := make([]catalog.Tool, n)
	for i := range list {
		list[i] = catalog.Tool{Name: fmt.Sprintf("srv__tool_%d", i), Description: fmt.Sprintf("Does thing number %d", i)}
	}
	return list
}

func hashOf(n byte) catalog.Hash { return catalog.Hash{n} }

func open(t *testing.T, cfg ingest.Config) *ingest.Library {
	t.Helper()
	if cfg.Builtin == nil {
		cfg.Builtin = embedtest.NewFake("builtin", 32)
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	l, err := ingest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func TestAnArrayIsMadeReadyOnce(t *testing.T) {
	builtin := embedtest.NewFake("builtin", 32)
	seen := 0
	l := open(t, ingest.Config{Builtin: builtin, Seen: func([]catalog.Tool) { seen++ }})
	before := builtin.Calls()
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			s, err := l.Snapshot(hashOf(1), tools(20))
			if err != nil || s.Catalog().Len() != 20 || s.Index.Views() != 1 || s.Bundles == nil {
				t.Errorf("snapshot %v, %v", s, err)
			}
		})
	}
	wait.Wait()
	if n := builtin.Calls() - before; n != 1 || seen != 1 {
		t.Errorf("embedded %d times, told %d times; once is enough", n, seen)
	}
	first, _ := l.Snapshot(hashOf(1), tools(20))
	if again, _ := l.Snapshot(hashOf(1), tools(20)); again != first {
		t.Error("the same array was made again")
	}
}

// An array that no engine has room for is made ready, and not kept.
func TestAHugeArrayIsNotKept(t *testing.T) {
	l := open(t, ingest.Config{})
	huge := tools(3)
	huge[1].Bytes = 64 << 20
	first, err := l.Snapshot(hashOf(4), huge)
	if err != nil || first.Catalog().Len() != 3 {
		t.Fatalf("%v, %v", first, err)
	}
	if again, err := l.Snapshot(hashOf(4), huge); err != nil || again == first {
		t.Errorf("it was kept; %v", err)
	}
}

func TestAFailureIsNotRemembered(t *testing.T) {
	builtin := embedtest.NewFake("builtin", 32)
	l := open(t, ingest.Config{Builtin: builtin})
	for _, fault := range embedtest.Faults() {
		builtin.Break(fault)
		if _, err := l.Snapshot(hashOf(2), tools(3)); err == nil && (fault == embedtest.Failing || fault == embedtest.Fewer || fault == embedtest.OtherDim) {
			t.Errorf("%v: no error", fault)
		}
	}
	builtin.Break(embedtest.Healthy)
	if s, err := l.Snapshot(hashOf(3), tools(3)); err != nil || s.Index.Views() != 1 {
		t.Errorf("after it recovered: %v", err)
	}
}

func TestWithoutABackgroundThereIsNoLibrary(t *testing.T) {
	builtin := embedtest.NewFake("builtin", 32)
	builtin.Break(embedtest.Failing)
	if _, err := ingest.New(ingest.Config{Builtin: builtin, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("no error")
	}
}

// engine is an ingest.Neural that can be down.
type engine struct {
	*embedtest.Fake
	mu   sync.Mutex
	down bool
}

func (e *engine) set(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

func (e *engine) ask(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, embed.Model, error) {
	e.mu.Lock()
	down := e.down
	e.mu.Unlock()
	if down {
		return nil, embed.Model{}, errors.New("down")
	}
	v, err := e.Embed(ctx, kind, texts)
	return v, e.Model(), err
}

func (e *engine) Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	return e.ask(ctx, embed.Document, texts)
}

func (e *engine) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	return e.ask(ctx, embed.Query, texts)
}

func TestTheEnginesViewFollowsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{Fake: embedtest.NewFake("neural", 48), down: true}
		l, err := ingest.New(ingest.Config{Builtin: embedtest.NewFake("builtin", 32), Neural: e, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		views := func() int {
			s, err := l.Snapshot(hashOf(1), tools(5))
			if err != nil {
				t.Fatal(err)
			}
			return s.Index.Views()
		}
		if n := views(); n != 1 {
			t.Errorf("%d views at first", n)
		}
		time.Sleep(time.Minute)
		if n := views(); n != 1 {
			t.Errorf("%d views while the engine is down", n)
		}
		e.set(false)
		time.Sleep(time.Minute)
		if n := views(); n != 2 {
			t.Errorf("%d views after the engine came up", n)
		}
		calls := e.Calls()
		time.Sleep(time.Hour)
		if n := e.Calls() - calls; n > 0 {
			t.Errorf("the engine was asked %d times more with nothing new to embed", n)
		}
	})
}

func TestOddArrays(t *testing.T) {
	l := open(t, ingest.Config{})
	for i, list := range [][]catalog.Tool{nil, {{Name: "only"}}, {{Name: ""}}, {{Name: "twin"}, {Name: "twin"}}, {{Name: "bad\xff", Description: "\x00"}}} {
		s, err := l.Snapshot(hashOf(byte(10+i)), list)
		if err != nil {
			t.Errorf("array %d: %v", i, err)
			continue
		}
		if s.Catalog().Len() > len(list) {
			t.Errorf("array %d has %d tools", i, s.Catalog().Len())
		}
	}
}
