package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"toolbelt/internal/enginetest"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// interleaved are the conversations that go on at one time: as many as a long run has, or fewer.
func interleaved(t *testing.T) int {
	if (testing.Short() || raceEnabled) && os.Getenv(conversationsEnv) == "" {
		return min(8, conversations(t))
	}
	return min(40, conversations(t))
}

// TestConversationsNeverMix has many conversations of two apps at once before one daemon. Half of them say the same words as another: only what the model
// answered tells them apart. That no tag of one stands in what the engine is sent of another is checked with everything else (see check).
func TestConversationsNeverMix(t *testing.T) {
	s := newShelf(t)
	for i, p := range protocols() {
		for _, strategy := range []kvcache.Strategy{kvcache.Append, kvcache.Late} {
			t.Run(string(p)+" "+string(strategy), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), 40))
				set := setting{protocol: p, strategy: strategy, believes: true, policy: func(policy *turn.Policy) { policy.MaxTools = 6 }}
				rig := s.start(t, set, nil)
				c := newCatalogue(r, 30)
				var talks []*talk
				for k := range interleaved(t) {
					agent := []string{"one/1.0", "two/2.0"}[k%2]
					talk := rig.talk(rand.New(rand.NewPCG(uint64(k), 1)), fmt.Sprintf("c%dz", k), c, false, "User-Agent", agent, "Authorization", "Bearer "+agent)
					if k%4 < 2 {
						talk.words, talk.more = "the same", []string{"seed", fmt.Sprint(k)}
					}
					talks = append(talks, talk)
				}
				var work sync.WaitGroup
				wrong := make([]string, len(talks))
				for k, talk := range talks {
					work.Go(func() { wrong[k] = talk.converse(3) })
				}
				work.Wait()
				for k, text := range wrong {
					if text != "" {
						t.Errorf("conversation %d: %s", k, inBrief(text))
					}
				}
			})
		}
	}
}

// TestConversationsInTurnNeverMix is the same with one request at a time: whose turn it is is drawn.
func TestConversationsInTurnNeverMix(t *testing.T) {
	s := newShelf(t)
	for i, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 41))
			rig := s.start(t, setting{protocol: p, style: []enginetest.Style{enginetest.Ollama, enginetest.LlamaCpp}[min(i, 1)], strategy: kvcache.Append}, nil)
			c := newCatalogue(r, 30)
			var talks []*talk
			for k := range interleaved(t) {
				talk := rig.talk(rand.New(rand.NewPCG(uint64(k), 2)), fmt.Sprintf("c%dz", k), c, false)
				talk.words = []string{"the same", "the same", ""}[k%3]
				talk.more = []string{"seed", fmt.Sprint(k)}
				talks = append(talks, talk)
			}
			for range 3 * len(talks) {
				k := r.IntN(len(talks))
				if wrong := talks[k].converse(1); wrong != "" {
					t.Fatalf("conversation %d: %s", k, inBrief(wrong))
				}
			}
		})
	}
}
