package conversation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/internal/enginetest"
	"toolbelt/kvcache"
)

// patience is how long a test waits for what must come. It is never waited for where all is well.
const patience = 20 * time.Second

// TestNoGoroutineIsLeftAfterAStormOfDisconnects has clients go away at any moment of answers with hidden turns: before the engine's first answer, in it, between
// the two, and in the second.
func TestNoGoroutineIsLeftAfterAStormOfDisconnects(t *testing.T) {
	s := newShelf(t)
	for i, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			never := make(chan struct{})
			defer close(never)
			var mu sync.Mutex
			r := rand.New(rand.NewPCG(uint64(i), 3))
			rounds, giveUp := map[string]int{}, map[string]func(){}
			script := func(q *enginetest.Request) enginetest.Round {
				mu.Lock()
				defer mu.Unlock()
				name := q.Header.Get(conversationHeader)
				rounds[name]++
				if strings.HasPrefix(name, "calm") {
					return []enginetest.Round{loads("One moment. ", "find_map"), says("Here.")}[rounds[name]-1]
				}
				round := loads("One moment. ", "find_map")
				if rounds[name] > 1 {
					round = says("Here it is, word for word.")
				}
				if rounds[name] > 1 || r.IntN(2) == 0 {
					round.Stall, round.StallAt = never, []int{0, 1, 100, 200, 400}[r.IntN(5)]
					time.AfterFunc(time.Duration(r.IntN(3))*time.Millisecond, giveUp[name])
				}
				return round
			}
			rig := s.start(t, setting{protocol: p, strategy: kvcache.Append, split: 64}, script)
			a := newApp(r, p, newCatalogue(r, 40))
			calm := func(name string) {
				t.Helper()
				reply, err := rig.post(context.Background(), a.body([]entry{user("hello " + name)}, true), conversationHeader, name)
				if v := read(p, true, reply); err != nil || v.said("text") != "One moment. Here." || !v.ended {
					t.Fatalf("error %v, the client reads %q", err, v.said("text"))
				}
			}
			calm("calm before")
			rig.daemon.Client().CloseIdleConnections()
			before := goroutines()

			const clients = 60
			var work sync.WaitGroup
			for k := range clients {
				ctx, cancel := context.WithCancel(context.Background())
				t.Cleanup(cancel)
				name := fmt.Sprint(k)
				mu.Lock()
				giveUp[name] = cancel
				mu.Unlock()
				body := a.body([]entry{user("hello " + name)}, k%2 == 0)
				if k%5 == 0 {
					time.AfterFunc(time.Duration(k)*100*time.Microsecond, cancel)
				}
				work.Go(func() {
					_, _ = rig.post(ctx, body, conversationHeader, name) // it is given up
				})
			}
			work.Wait()
			rig.daemon.Client().CloseIdleConnections()
			rig.handler.Close()
			eventually(t, func() string {
				if left := goroutinesOf("internal/proxy", "internal/turn"); left != "" {
					return "goroutines of the daemon are left:\n" + left
				}
				if now := goroutines(); now > before+5 {
					return fmt.Sprintf("there were %d goroutines, and are %d", before, now)
				}
				return ""
			})
			calm("calm after")
		})
	}
}

func goroutines() int { return runtime.NumGoroutine() }

// goroutinesOf returns the stacks in which a function of one of these packages stands.
func goroutinesOf(packages ...string) string {
	all := make([]byte, 4<<20)
	all = all[:runtime.Stack(all, true)]
	var left []string
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		for _, p := range packages {
			if strings.Contains(stack, "toolbelt/"+p+".") {
				left = append(left, stack)
				break
			}
		}
	}
	return strings.Join(left, "\n\n")
}

func eventually(t *testing.T, wrong func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text := wrong()
		if text == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(text)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
