package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"toolbelt/internal/enginetest"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// conversationsEnv names the variable that says how many random conversations a protocol has, for a long run.
const conversationsEnv = "TOOLBELT_TEST_CONVERSATIONS"

// conversations is how many a protocol has.
func conversations(t *testing.T) int {
	text := os.Getenv(conversationsEnv)
	switch n, err := strconv.Atoi(text); {
	case text != "" && (err != nil || n < 1):
		t.Fatalf("%s is %q, and no number of conversations", conversationsEnv, text)
	case text != "":
		return n
	case testing.Short():
		return 10
	case raceEnabled:
		return 15
	}
	return 60
}

// aRig is how many conversations share a daemon.
const aRig = 3

func strategies() []kvcache.Strategy {
	return []kvcache.Strategy{kvcache.Append, kvcache.Late, kvcache.Rebuild}
}

func protocols() []enginetest.Protocol {
	return []enginetest.Protocol{enginetest.NativeChat, enginetest.OpenAIChat, enginetest.Responses, enginetest.Messages}
}

// randomSetting is a daemon and an engine as they may be.
func randomSetting(r *rand.Rand, p enginetest.Protocol, n int) setting {
	set := setting{protocol: p, strategy: strategies()[n%3], split: []int{0, 0, 0, 0, 1, 7, 64, 64, 1000, 1000}[r.IntN(10)], drops: r.IntN(4) == 0, believes: r.IntN(2) == 0}
	if p != enginetest.NativeChat && n%2 == 1 {
		set.style = enginetest.LlamaCpp
	}
	set.keeps, set.shadow = r.IntN(3) > 0, r.IntN(8) == 0
	set.chains = set.style == enginetest.LlamaCpp && p == enginetest.Responses && r.IntN(2) == 0
	max, search, core := []int{4, 8, 14}[r.IntN(3)], []int{0, 1, 100}[r.IntN(3)], r.IntN(3) == 0
	set.policy = func(policy *turn.Policy) {
		policy.MaxTools, policy.ToolSearch = max, search
		if core {
			policy.Core = []string{"mail__list", "list_file", "room__open"}
		}
	}
	return set
}

func randomHabits(r *rand.Rand) habits {
	coin := func() bool { return r.IntN(2) == 0 }
	return habits{changes: coin(), chooses: coin(), wanders: coin(), impatient: coin(), restarts: coin()}
}

func TestRandomConversations(t *testing.T) {
	s := newShelf(t)
	for i, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 6))
			var catalogues []*catalogue
			for range 4 {
				catalogues = append(catalogues, newCatalogue(r, 12+r.IntN(50)))
			}
			asked, hidden := 0, 0
			for n := range (conversations(t) + aRig - 1) / aRig {
				rig := s.start(t, randomSetting(r, p, n), nil)
				c := catalogues[r.IntN(len(catalogues))]
				for k := range aRig {
					seed := r.Uint64()
					talk := rig.talk(rand.New(rand.NewPCG(seed, 0)), fmt.Sprintf("c%dz", n*aRig+k), c, k%2 == 1)
					talk.habits = randomHabits(r)
					if set := rig.setting; set.chains && !set.keeps { // which answer is the last nobody else knows
						talk.restarts = false
					}
					if wrong := talk.converse(2 + int(seed%7)); wrong != "" {
						t.Errorf("conversation %d, %+v: %s", n*aRig+k, rig.setting, inBrief(wrong))
						t.Logf("habits %+v", talk.habits)
					}
					asked, hidden = asked+talk.asked, hidden+talk.hidden
				}
			}
			t.Logf("%d requests to the engine, %d of them hidden", asked, hidden)
			if hidden*10 < asked {
				t.Errorf("only %d of %d requests were hidden: the test proves little", hidden, asked)
			}
		})
	}
}

// TestNothingIsChangedInShadowMode has conversations with every habit before a daemon that only watches.
func TestNothingIsChangedInShadowMode(t *testing.T) {
	s := newShelf(t)
	for i, p := range protocols() {
		t.Run(string(p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 8))
			rig := s.start(t, setting{protocol: p, strategy: kvcache.Late, shadow: true, keeps: true, believes: true}, nil)
			c := newCatalogue(r, 30)
			for k := range 2 {
				talk := rig.talk(r, fmt.Sprintf("c%dz", k), c, k == 1)
				talk.habits = habits{changes: true, chooses: true, wanders: true, impatient: true, restarts: true}
				if wrong := talk.converse(4); wrong != "" {
					t.Errorf("conversation %d: %s", k, inBrief(wrong))
				}
			}
		})
	}
}

// inBrief is the beginning of a long text; -v shows all of it.
func inBrief(text string) string {
	const most = 700
	if testing.Verbose() || len(text) <= most {
		return text
	}
	return text[:most] + " … (all of it with -v)"
}
