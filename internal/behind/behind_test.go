package behind_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/internal/behind"
)

// list is the state that jobs work on: without a lock, so that the race detector sees whether one goroutine alone has it.
type list struct{ done []string }

func (l *list) add(what string) { l.done = append(l.done, what) }

func add(what string) func(*list) { return func(l *list) { l.add(what) } }

// start returns a Queue for two waiting jobs, its state and its log, which may be read after Close.
func start(t *testing.T, change func(*behind.Config[*list])) (*behind.Queue[*list], *list, *bytes.Buffer) {
	l, log := &list{}, &bytes.Buffer{}
	cfg := behind.Config[*list]{State: l, Size: 2, Log: slog.New(slog.NewTextHandler(log, nil)), Full: "too much", Panicked: "broken"}
	if change != nil {
		change(&cfg)
	}
	q := behind.New(cfg)
	t.Cleanup(q.Close)
	return q, l, log
}

// hold keeps the queue busy until the returned function is called.
func hold(t *testing.T, q *behind.Queue[*list]) (release func()) {
	t.Helper()
	begun, let := make(chan struct{}), make(chan struct{})
	if !q.Tell(func(*list) { close(begun); <-let }) {
		t.Fatal("the first job is not taken")
	}
	<-begun
	return func() { close(let) }
}

func TestJobsAreDoneInOrder(t *testing.T) {
	q, l, _ := start(t, func(c *behind.Config[*list]) { c.Size, c.Last = 100, add("last") })
	var want []string
	for i := range 100 {
		name := fmt.Sprint(i)
		want = append(want, name)
		if !q.Tell(add(name)) {
			t.Errorf("job %d is not taken", i)
		}
	}
	q.Close()
	q.Close()
	if q.Tell(add("late")) || q.Do(t.Context(), add("late")) != nil {
		t.Error("a closed queue takes a job, or has an error")
	}
	if !slices.Equal(l.done, append(want, "last")) {
		t.Errorf("done: %q", l.done)
	}
	if q.Dropped() != 0 {
		t.Errorf("%d dropped, of which none told while too many waited", q.Dropped())
	}
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	q, l, log := start(t, nil)
	release := hold(t, q)
	var taken []bool
	for _, name := range []string{"a", "b", "c", "d"} {
		taken = append(taken, q.Tell(add(name)))
	}
	if want := []bool{true, true, false, false}; !slices.Equal(taken, want) || q.Dropped() != 2 {
		t.Errorf("taken %v, want %v; %d dropped", taken, want, q.Dropped())
	}
	release()
	q.Close()
	if !slices.Equal(l.done, []string{"a", "b"}) || strings.Count(log.String(), "too much") != 1 {
		t.Errorf("done %q, logged %s", l.done, log)
	}
}

// TestDoWaits has a full queue: what is awaited is not dropped, and comes after what waits already.
func TestDoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l, _ := start(t, func(c *behind.Config[*list]) { c.Size = 20 })
		release := hold(t, q)
		want := []string{"first"}
		for q.Tell(add(want[len(want)-1])) {
			want = append(want, fmt.Sprint(len(want)))
		}
		want[len(want)-1] = "awaited" // in place of the one that was dropped
		var returned atomic.Bool
		go func() {
			if err := q.Do(t.Context(), add("awaited")); err != nil {
				t.Error(err)
			}
			returned.Store(true)
		}()
		synctest.Wait()
		if returned.Load() {
			t.Error("returned before the job was done")
		}
		release()
		synctest.Wait()
		if !returned.Load() || len(want) != 21 || !slices.Equal(l.done, want) || q.Dropped() != 1 {
			t.Errorf("returned: %v, done: %q, %d dropped", returned.Load(), l.done, q.Dropped())
		}
		q.Close()
	})
}

// TestDoEndsWithItsContext: while the queue does not come to the job, and while the job goes on.
func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l, _ := start(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release := hold(t, q)
		if err := q.Do(ctx, add("never")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		release()
		let := make(chan struct{})
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Do(ctx, func(l *list) { <-let; l.add("later") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(let)
		q.Close()
		if !slices.Equal(l.done, []string{"later"}) {
			t.Errorf("done: %q", l.done)
		}
	})
}

func TestPanicsAreSurvived(t *testing.T) {
	explode := func(*list) { panic("bang") }
	q, l, log := start(t, func(c *behind.Config[*list]) {
		c.Seldom, c.Last = behind.Chore[*list]{Every: time.Hour, Do: explode}, explode
	})
	q.Tell(explode)
	if err := q.Do(t.Context(), explode); err != nil {
		t.Error(err)
	}
	q.Tell(add("after"))
	q.Close()
	if !slices.Equal(l.done, []string{"after"}) || strings.Count(log.String(), "msg=broken panic=bang") != 4 {
		t.Errorf("done %q, logged %s", l.done, log)
	}
}

func TestChoresComeRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l, _ := start(t, func(c *behind.Config[*list]) {
			c.Often = behind.Chore[*list]{Every: 2 * time.Minute, Do: add("often")}
			c.Seldom = behind.Chore[*list]{Every: 5 * time.Minute, Do: add("seldom")}
		})
		q.Tell(add("job"))
		time.Sleep(7 * time.Minute)
		synctest.Wait()
		if want := []string{"seldom", "job", "often", "often", "seldom", "often"}; !slices.Equal(l.done, want) {
			t.Errorf("done %q, want %q", l.done, want)
		}
		q.Tell(func(*list) { time.Sleep(5*time.Minute + time.Second) }) // often falls due three times, seldom once
		time.Sleep(5*time.Minute + 2*time.Second)
		synctest.Wait()
		if n := len(l.done); n != 8 {
			t.Errorf("done %q: each should be made up for once", l.done)
		}
		q.Close()
		time.Sleep(time.Hour)
		if n := len(l.done); n != 8 {
			t.Errorf("done after Close: %q", l.done)
		}
	})
}

// TestCloseWhileManyTell: what was taken is done, and nothing else.
func TestCloseWhileManyTell(t *testing.T) {
	for range 50 {
		q, l, _ := start(t, nil)
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					if q.Tell(add("job")) {
						taken.Add(1)
					}
				}
				if err := q.Do(t.Context(), func(*list) {}); err != nil {
					t.Error(err)
				}
			})
			all.Go(q.Close)
		}
		all.Wait()
		if int64(len(l.done)) != taken.Load() {
			t.Errorf("%d taken, %d done", taken.Load(), len(l.done))
		}
	}
}

func TestNoQueue(t *testing.T) {
	var q *behind.Queue[*list]
	if q.Tell(add("x")) || q.Do(t.Context(), add("x")) != nil || q.Dropped() != 0 {
		t.Error("a nil queue takes a job, has an error or drops")
	}
	q.Close()
}
