package kvcache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolbelt/kvcache"
)

// street is the traffic of clients.
type street struct {
	mu      sync.Mutex
	running int
	ended   time.Time
	busy    chan struct{} // closed while one runs
	changed chan struct{}
}

func newStreet() *street { return &street{busy: make(chan struct{}), changed: make(chan struct{})} }

func (s *street) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running++; s.running == 1 {
		close(s.busy)
	}
}

func (s *street) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
	if s.running--; s.running == 0 {
		s.busy = make(chan struct{})
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *street) Busy() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

func (s *street) Quiet(ctx context.Context, long time.Duration) error {
	for {
		s.mu.Lock()
		running, left, changed := s.running, long-time.Since(s.ended), s.changed
		s.mu.Unlock()
		if running == 0 && left <= 0 {
			return ctx.Err()
		}
		var later <-chan time.Time
		if running == 0 {
			later = time.After(left)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-later:
		}
	}
}

// sender takes some time for each job, and notes them.
type sender struct {
	takes    time.Duration
	fails    error
	unloaded bool

	mu   sync.Mutex
	sent []string // key@seconds, with a "!" where it was cut off
}

func (s *sender) Loaded(context.Context, string) bool { return !s.unloaded }

func (s *sender) Send(ctx context.Context, j kvcache.Job) error {
	at := time.Now()
	note := func(mark string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, fmt.Sprintf("%s@%.0f%s", j.Key, float64(at.UnixMilli()-start.UnixMilli())/1000, mark))
	}
	select {
	case <-ctx.Done():
		note("!")
		return ctx.Err()
	case <-time.After(s.takes):
		note("")
		return s.fails
	}
}

// start is when time begins in a synctest bubble.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestWarmer(t *testing.T) {
	job := func(key string) kvcache.Job { return kvcache.Job{Key: key, Model: "m", Path: "/api/chat"} }
	for _, c := range []struct {
		name   string
		sender *sender
		policy func(p *kvcache.WarmPolicy)
		play   func(w *kvcache.Warmer, s *street)
		want   []string
	}{
		{name: "nothing is wanted", play: func(*kvcache.Warmer, *street) {}},
		{name: "after two seconds of quiet", play: func(w *kvcache.Warmer, s *street) {
			s.begin()
			w.Want(job("a"))
			time.Sleep(30 * time.Second)
			s.end()
		}, want: []string{"a@32"}},
		{name: "at once where it has been quiet", play: func(w *kvcache.Warmer, _ *street) { w.Want(job("a")) }, want: []string{"a@0"}},
		{name: "a state is warmed once", play: func(w *kvcache.Warmer, _ *street) {
			for range 5 {
				w.Want(job("a"))
				time.Sleep(20 * time.Second)
			}
		}, want: []string{"a@0"}},
		{name: "and again after a request has passed", play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("a"))
			time.Sleep(20 * time.Second)
			w.Passed("m")
			w.Want(job("a"))
		}, want: []string{"a@0", "a@20"}},
		{name: "but not after one for another model", play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("a"))
			time.Sleep(20 * time.Second)
			w.Passed("n")
			w.Want(job("a"))
		}, want: []string{"a@0"}},
		{name: "ten seconds lie between two, and the last one wanted counts", play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("a"))
			time.Sleep(time.Second)
			w.Want(job("b"))
			w.Want(job("c"))
		}, want: []string{"a@0", "c@10"}},
		{name: "two models take turns", play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("a"))
			w.Want(kvcache.Job{Key: "b", Model: "n"})
		}, want: []string{"a@0", "b@10"}},
		{name: "models of one slot do not", play: func(w *kvcache.Warmer, s *street) {
			s.begin()
			w.Want(kvcache.Job{Key: "a", Model: "m", Slot: "d"})
			w.Want(kvcache.Job{Key: "b", Model: "n", Slot: "d"})
			s.end()
		}, want: []string{"b@2"}},
		{name: "a request that begins ends it, and passing makes it out of date", sender: &sender{takes: 5 * time.Second}, play: func(w *kvcache.Warmer, s *street) {
			w.Want(job("a"))
			time.Sleep(3 * time.Second)
			s.begin()
			w.Passed("m")
			time.Sleep(time.Second)
			s.end()
		}, want: []string{"a@0!"}},
		{name: "a request for something else ends it, and it is sent again", sender: &sender{takes: 5 * time.Second}, play: func(w *kvcache.Warmer, s *street) {
			w.Want(job("a"))
			time.Sleep(3 * time.Second)
			s.begin()
			time.Sleep(time.Second)
			s.end()
		}, want: []string{"a@0!", "a@10"}},
		{name: "what waits goes when a request passes", play: func(w *kvcache.Warmer, s *street) {
			s.begin()
			w.Want(job("a"))
			w.Passed("m")
			s.end()
		}},
		{name: "a model that is not loaded is left alone", sender: &sender{unloaded: true}, play: func(w *kvcache.Warmer, _ *street) { w.Want(job("a")) }},
		{name: "what the engine refuses is not sent again", sender: &sender{fails: errors.New("no")}, play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("a"))
			time.Sleep(time.Minute)
			w.Want(job("a"))
		}, want: []string{"a@0"}},
		{name: "off", policy: func(p *kvcache.WarmPolicy) { p.Off = true }, play: func(w *kvcache.Warmer, _ *street) { w.Want(job("a")) }},
		// A minute may be spent at once; then each 40 s have to be earned at a fifth of the time.
		{name: "a fifth of the time", sender: &sender{takes: 40 * time.Second}, play: func(w *kvcache.Warmer, _ *street) {
			w.Want(job("0"))
			time.Sleep(5 * time.Second)
			for i := 1; i < 60; i++ {
				w.Want(job(fmt.Sprint(i)))
				time.Sleep(10 * time.Second)
			}
		}, want: []string{"0@0", "4@40", "10@100", "30@300", "50@500"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := kvcache.DefaultWarmPolicy()
				if c.policy != nil {
					c.policy(&policy)
				}
				s, q := c.sender, newStreet()
				if s == nil {
					s = &sender{}
				}
				w := kvcache.NewWarmer(q, s, policy, time.Now)
				ctx, end := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("it ended with %v", err)
					}
				})
				c.play(w, q)
				time.Sleep(time.Minute)
				end()
				running.Wait()
				if !slices.Equal(s.sent, c.want) {
					t.Errorf("sent %q, want %q", s.sent, c.want)
				}
				stats := w.Stats()
				if n := stats.Done + stats.Failed; n+stats.Dropped < len(c.want) || n > len(c.want) {
					t.Errorf("%+v for %q", stats, c.want)
				}
			})
		})
	}
}

// A clock that jumps neither stops warming for long nor makes it a storm.
func TestWarmerWithAClockThatJumps(t *testing.T) {
	for _, jump := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			off := time.Duration(0)
			now := func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Add(off).Round(0)
			}
			s := &sender{takes: time.Second}
			w := kvcache.NewWarmer(newStreet(), s, kvcache.DefaultWarmPolicy(), now)
			ctx, end := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = w.Run(ctx) })
			for i := range 40 {
				w.Want(kvcache.Job{Key: fmt.Sprint(i), Model: "m"})
				time.Sleep(10 * time.Second)
				if i == 10 {
					mu.Lock()
					off = jump
					mu.Unlock()
				}
			}
			end()
			running.Wait()
			if n := len(s.sent); n < 30 || n > 42 {
				t.Errorf("a jump of %v: %d jobs in 400 s", jump, n)
			}
		})
	}
}
