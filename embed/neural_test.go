package embed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

// neural starts a Neural around fake, opened, within a synctest bubble.
func neural(t *testing.T, cfg embed.NeuralConfig, fake *embedtest.Fake) *embed.Neural {
	t.Helper()
	n := embed.NewNeural(t.Context(), cfg, func(context.Context) (embed.Embedder, error) { return fake, nil })
	t.Cleanup(n.Close)
	<-n.Ready()
	return n
}

func query(t *testing.T, n *embed.Neural, texts ...string) error {
	t.Helper()
	before := time.Now()
	vs, m, err := n.Query(t.Context(), texts)
	if took := time.Since(before); took > 120*time.Millisecond {
		t.Errorf("Query took %v", took)
	}
	if err != nil {
		if vs != nil || m != (embed.Model{}) {
			t.Errorf("Query gave vectors beside %v", err)
		}
		return err
	}
	if len(vs) != len(texts) {
		t.Fatalf("Query gave %d vectors for %d texts", len(vs), len(texts))
	}
	for i, v := range vs {
		if len(v) != m.Dim && strings.TrimSpace(texts[i]) != "" {
			t.Errorf("vector %d has %d numbers, want %d", i, len(v), m.Dim)
		}
	}
	return nil
}

func TestQueryCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{}, f)
		for _, texts := range [][]string{{"one", "two", "one", ""}, {"two", "one"}, {"one", "three"}, {}} {
			if err := query(t, n, texts...); err != nil {
				t.Fatal(err)
			}
		}
		if f.Calls() != 2 || len(f.Texts()) != 4 {
			t.Errorf("%d calls for %q, want 2 calls, each text once", f.Calls(), f.Texts())
		}
		if s := n.Status(); s.State != "ready" || s.Model != "fake" || s.Dim != 16 || s.Breaker != "closed" || s.Queries != 4 || s.InTime != 4 || s.Share != 1 || s.Cached != 4 || s.LastError != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestLateVectorsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{}, f)
		f.Delay(time.Second)
		if err := query(t, n, "slow text"); !errors.Is(err, embed.ErrLate) || catalog.KindOf(err) != catalog.Unavailable {
			t.Fatalf("err = %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := query(t, n, "slow text"); err != nil || f.Calls() != 1 {
			t.Errorf("the late vector was not cached: %v, %d calls", err, f.Calls())
		}
		if s := n.Status(); s.Queries != 2 || s.InTime != 1 || s.Share != 0.5 || s.LateCalls != 0 || s.LastError == "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestHangingDoesNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{}, f)
		f.Break(embedtest.Hanging)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if err := query(t, n, fmt.Sprint(i)); !errors.Is(err, embed.ErrLate) {
					t.Errorf("query %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		before := time.Now()
		if err := query(t, n, "one more"); !errors.Is(err, embed.ErrLate) || time.Since(before) != 0 {
			t.Errorf("behind two late calls: %v after %v", err, time.Since(before))
		}
		if s := n.Status(); f.Calls() != 2 || s.LateCalls != 2 {
			t.Errorf("%d calls, %d late, want 2", f.Calls(), s.LateCalls)
		}
		time.Sleep(6 * time.Second)
		if s := n.Status(); s.LateCalls != 0 {
			t.Errorf("%d calls still run after six seconds", s.LateCalls)
		}
		f.Break(embedtest.Healthy)
		if err := query(t, n, "healed"); err != nil {
			t.Error(err)
		}
	})
}

func TestOneErrorDoesNotSwitchOff(t *testing.T) {
	for _, fault := range embedtest.Faults() {
		synctest.Test(t, func(t *testing.T) {
			f := embedtest.NewFake("fake", 16)
			n := neural(t, embed.NeuralConfig{Auto: true}, f)
			f.Break(fault)
			if err := query(t, n, "a"); err == nil || catalog.KindOf(err) != catalog.Unavailable {
				t.Errorf("%v: err = %v", fault, err)
			}
			f.Break(embedtest.Healthy)
			if err := query(t, n, "a"); err != nil {
				t.Errorf("%v: the next query: %v", fault, err)
			}
		})
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{}, f)
		if err := query(t, n, "known"); err != nil {
			t.Fatal(err)
		}
		f.Break(embedtest.Failing)
		for range 3 {
			if err := query(t, n, "a"); errors.Is(err, embed.ErrOpen) {
				t.Fatal("open too early")
			}
		}
		if err := query(t, n, "a"); !errors.Is(err, embed.ErrOpen) || f.Calls() != 4 || n.Status().Breaker != "open" {
			t.Errorf("after three failures: %v, %d calls, breaker %s", err, f.Calls(), n.Status().Breaker)
		}
		if !strings.Contains(n.Status().LastError, "told to fail") {
			t.Errorf("LastError = %q", n.Status().LastError)
		}
		if err := query(t, n, "known"); err != nil {
			t.Errorf("a cached text while it is open: %v", err)
		}
		if _, _, err := n.Documents(t.Context(), []string{"d"}); !errors.Is(err, embed.ErrOpen) {
			t.Errorf("Documents while it is open: %v", err)
		}
		time.Sleep(31 * time.Second)
		if s := n.Status(); s.Breaker != "half-open" {
			t.Errorf("breaker %s after 31 s", s.Breaker)
		}
		f.Break(embedtest.Healthy)
		if err := query(t, n, "a"); err != nil || n.Status().Breaker != "closed" {
			t.Errorf("half open: %v, breaker %s", err, n.Status().Breaker)
		}
	})
}

func TestAutoDropsAfterFiveMisses(t *testing.T) {
	for _, auto := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			f := embedtest.NewFake("fake", 16)
			n := neural(t, embed.NeuralConfig{Auto: auto, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}, f)
			late := func(times int) {
				f.Delay(time.Second)
				for i := range times {
					if err := query(t, n, fmt.Sprint(time.Now(), i)); !errors.Is(err, embed.ErrLate) {
						t.Fatalf("miss %d: %v", i, err)
					}
					time.Sleep(2 * time.Second)
				}
				f.Delay(0)
			}
			late(4)
			if err := query(t, n, "in time"); err != nil {
				t.Fatal(err)
			}
			late(5)
			err := query(t, n, "after")
			s := n.Status()
			if !auto {
				if err != nil || s.Dropped != "" {
					t.Errorf("dropped though it was asked for: %v, %+v", err, s)
				}
				return
			}
			if !errors.Is(err, embed.ErrOff) || s.State != "dropped" || !strings.Contains(s.Dropped, "5 queries in a row") || s.Cached != 0 {
				t.Errorf("after five misses: %v, %+v", err, s)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 {
				t.Errorf("%d log lines, want 1:\n%s", lines, log.String())
			}
		})
	}
}

func TestOpensLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		var mu sync.Mutex
		opened, up := 0, false
		n := embed.NewNeural(t.Context(), embed.NeuralConfig{}, func(context.Context) (embed.Embedder, error) {
			mu.Lock()
			defer mu.Unlock()
			opened++
			if !up {
				return nil, errors.New("connection refused")
			}
			return f, nil
		})
		defer n.Close()
		for range 50 {
			if err := query(t, n, "a"); !errors.Is(err, embed.ErrNotReady) {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		mu.Lock()
		if opened < 20 || opened > 30 {
			t.Errorf("opened %d times in 50 s with a query each second, want one in two seconds", opened)
		}
		opened = 0
		mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		if opened < 55 || opened > 70 {
			t.Errorf("opened %d times in an idle hour, want about once a minute", opened)
		}
		mu.Unlock()
		if s := n.Status(); s.State != "opening" || s.LastError != "connection refused" {
			t.Errorf("%+v", s)
		}
		if err := query(t, n, "a"); !errors.Is(err, embed.ErrNotReady) {
			t.Error(err)
		}
		synctest.Wait() // it was tried again at once, in vain
		mu.Lock()
		up = true
		mu.Unlock()
		time.Sleep(3 * time.Second)
		select {
		case <-n.Ready():
		default:
			t.Fatal("not open three seconds after a Query")
		}
		if err := query(t, n, "a"); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{}, f)
		f.Break(embedtest.Hanging)
		if err := query(t, n, "a"); !errors.Is(err, embed.ErrLate) {
			t.Error(err)
		}
		n.Close()
		n.Close()
		if err := query(t, n, "a"); !errors.Is(err, embed.ErrOff) || n.Status().State != "closed" {
			t.Errorf("after Close: %v, %+v", err, n.Status())
		}
		never := embed.NewNeural(t.Context(), embed.NeuralConfig{}, func(ctx context.Context) (embed.Embedder, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		never.Close()
	})
}

func TestCancelledQueryIsNoMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := embedtest.NewFake("fake", 16)
		n := neural(t, embed.NeuralConfig{Auto: true}, f)
		f.Delay(time.Second)
		for i := range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			if _, _, err := n.Query(ctx, []string{fmt.Sprint("gone ", i)}); !errors.Is(err, context.Canceled) {
				t.Fatalf("query %d: %v", i, err)
			}
			time.Sleep(2 * time.Second)
		}
		if err := query(t, n, "gone 3"); err != nil || n.Status().State != "ready" {
			t.Errorf("%v, %+v", err, n.Status())
		}
	})
}

// evictor is a Guard that finds harm at a certain look.
type evictor struct {
	mu    sync.Mutex
	looks int
	harm  int
}

func (g *evictor) Watch(_ context.Context, m embed.Model) func(context.Context) error {
	return func(context.Context) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.looks++
		if g.looks == g.harm {
			return fmt.Errorf("loading %s evicted llama: %w", m.Name, embed.ErrEvicts)
		}
		return errors.New("the engine did not answer")
	}
}

func TestGuardLooksOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, g := embedtest.NewFake("fake", 16), &evictor{harm: 4}
		n := neural(t, embed.NeuralConfig{Auto: true, Guard: g}, f)
		for i := range 200 {
			if err := query(t, n, fmt.Sprint(i)); err != nil {
				t.Fatalf("second %d: %v", i, err)
			}
			time.Sleep(time.Second)
		}
		if g.looks != 3 {
			t.Errorf("%d looks in 200 s, want 3", g.looks)
		}
		time.Sleep(time.Minute)
		if err := query(t, n, "the use that evicts"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := query(t, n, "next"); !errors.Is(err, embed.ErrOff) || !strings.Contains(n.Status().Dropped, "loading fake evicted llama") {
			t.Errorf("after an eviction: %v, %+v", err, n.Status())
		}
	})
}

func TestNone(t *testing.T) {
	var n embed.None
	defer n.Close()
	if _, _, err := n.Query(t.Context(), []string{"a"}); !errors.Is(err, embed.ErrOff) {
		t.Error(err)
	}
	if _, _, err := n.Documents(t.Context(), []string{"a"}); !errors.Is(err, embed.ErrOff) {
		t.Error(err)
	}
	if n.Status().State != "off" || n.Ready() != nil {
		t.Errorf("%+v", n.Status())
	}
}
