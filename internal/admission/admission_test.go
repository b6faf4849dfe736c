package admission_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/session"
	"toolbelt/selector"
)

func ids(from, n int) []catalog.ID {
	out := make([]catalog.ID, n)
	for i := range out {
		out[i] = catalog.ID(from + i)
	}
	return out
}

func matches(ids ...catalog.ID) []selector.Match {
	out := make([]selector.Match, len(ids))
	for i, id := range ids {
		out[i] = selector.Match{ID: id, Rank: float64(100 - i), Score: float64(10) - float64(i)/10}
	}
	return out
}

func places(touched int, ids ...catalog.ID) []admission.Place {
	out := make([]admission.Place, len(ids))
	for i, id := range ids {
		out[i] = admission.Place{ID: id, Matched: touched}
	}
	return out
}

func visible(r admission.Result) []catalog.ID {
	out := make([]catalog.ID, len(r.Visible))
	for i, e := range r.Visible {
		out[i] = e.ID
	}
	return out
}

func reasonOf(r admission.Result, id catalog.ID) session.Reason {
	for _, e := range r.Visible {
		if e.ID == id {
			return e.Reason
		}
	}
	return ""
}

var limits = admission.Limits{Cap: 14, Overflow: 4}

func TestTiersComeInTheirOrder(t *testing.T) {
	r := admission.Admit(admission.Input{
		Turn: 1, Core: ids(0, 2), Pins: ids(10, 1), Hatches: ids(11, 1), Skill: ids(20, 1), Matches: matches(30, 0), Mates: ids(40, 1), Limits: limits,
	})
	want := []admission.Entry{
		{ID: 0, Reason: session.Core}, {ID: 1, Reason: session.Core}, {ID: 10, Reason: session.Pin}, {ID: 11, Reason: session.Hatch},
		{ID: 20, Reason: session.Skill}, {ID: 30, Reason: session.Semantic}, {ID: 40, Reason: session.Bundle},
	}
	if !slices.Equal(r.Visible, want) {
		t.Errorf("got %v, want %v", r.Visible, want)
	}
	if !slices.Equal(r.Admitted, visible(r)) {
		t.Errorf("admitted %v, visible %v", r.Admitted, visible(r))
	}
}

func TestAMateNeverDisplacesAMatch(t *testing.T) {
	for n := range 16 {
		r := admission.Admit(admission.Input{Turn: 1, Matches: matches(ids(0, n)...), Mates: ids(100, 20), Limits: limits})
		for _, id := range ids(0, min(n, 14)) {
			if reasonOf(r, id) != session.Semantic {
				t.Errorf("with %d matches and 20 mates, match %d is %q", n, id, reasonOf(r, id))
			}
		}
		if len(r.Visible) != 14 {
			t.Errorf("with %d matches and 20 mates, %d tools are visible", n, len(r.Visible))
		}
	}
}

func TestAMateNeverDisplacesAKeptTool(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 2, Matches: matches(50), Mates: ids(100, 20), Previous: places(1, ids(0, 12)...), Limits: limits})
	if len(r.Evicted) > 0 || len(r.Visible) != 14 {
		t.Errorf("evicted %v, %d visible", r.Evicted, len(r.Visible))
	}
}

func TestThreeSlotsAreOpenToMatchesWhateverCoreAndSkillsTake(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 1, Core: ids(0, 14), Skill: ids(20, 5), Matches: matches(ids(50, 9)...), Limits: limits})
	if got := len(r.Visible); got != 14+5+3 {
		t.Errorf("%d visible, want CORE 14, skill 5 and 3 matches", got)
	}
	if !slices.Equal(r.Skipped, ids(53, 6)) {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestASmallCapHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		cap  int
		in   admission.Input
		want []catalog.ID
	}{
		{"matches under a cap of 1", 1, admission.Input{Matches: matches(5, 6, 7)}, []catalog.ID{5}},
		{"matches under a cap of 2", 2, admission.Input{Matches: matches(5, 6, 7)}, []catalog.ID{5, 6}},
		{"seed under a cap of 1", 1, admission.Input{Seed: ids(0, 3)}, []catalog.ID{0}},
		{"seed under a cap of 2", 2, admission.Input{Seed: ids(0, 3)}, []catalog.ID{0, 1}},
		{"seed under a cap of 3", 3, admission.Input{Seed: ids(0, 3)}, []catalog.ID{0, 1, 2}},
		{"CORE leaves a slot to the best match", 1, admission.Input{Core: ids(0, 1), Matches: matches(5, 6, 7)}, []catalog.ID{0, 5}},
		{"a skill leaves two", 2, admission.Input{Skill: ids(0, 3), Matches: matches(5, 6, 7)}, []catalog.ID{0, 1, 2, 5, 6}},
	} {
		c.in.Turn, c.in.Limits = 1, admission.Limits{Cap: c.cap, Overflow: 4}
		if got := visible(admission.Admit(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v are visible, want %v", c.name, got, c.want)
		}
	}
}

func TestPinsAndHatchesDoNotCount(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 1, Pins: ids(100, 8), Hatches: ids(200, 2), Matches: matches(ids(0, 20)...), Limits: limits})
	if got := len(r.Visible); got != 8+2+14 {
		t.Errorf("%d visible", got)
	}
}

func TestBelowTheCapNothingIsEverDropped(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 90, Matches: matches(50), Previous: places(1, ids(0, 13)...), Limits: limits})
	if len(r.Evicted) > 0 {
		t.Errorf("evicted %v", r.Evicted)
	}
}

func TestPastTheCapAppendingIsPreferredToEvicting(t *testing.T) {
	for n, want := range []int{0, 0, 0, 0, 0, 5} {
		r := admission.Admit(admission.Input{Turn: 2, Matches: matches(ids(50, n)...), Previous: places(1, ids(0, 14)...), Limits: limits})
		if got := len(r.Evicted) > 0; got != (want > 0) {
			t.Errorf("%d newcomers on 14 kept: evicted %v", n, r.Evicted)
		}
	}
}

func TestWhereThePrefixIsLostAnywayTheCapHoldsAtOnce(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 2, Matches: matches(50), Previous: places(1, ids(0, 16)...), PrefixLost: true, Limits: limits})
	if len(r.Visible) > 14 {
		t.Errorf("%d visible", len(r.Visible))
	}
}

func TestEvictionTakesTheStaleInOneBatch(t *testing.T) {
	previous := append(places(1, ids(0, 6)...), places(9, ids(6, 12)...)...)
	r := admission.Admit(admission.Input{Turn: 10, Matches: matches(50), Previous: previous, Limits: limits})
	if !slices.Equal(sorted(r.Evicted), ids(0, 6)) {
		t.Errorf("evicted %v, want the six that nothing touched for over 4 turns", r.Evicted)
	}
}

func TestWithoutStaleToolsTheLeastRecentGoesLatestInOrderFirst(t *testing.T) {
	previous := append(places(7, ids(0, 4)...), places(9, ids(4, 14)...)...)
	r := admission.Admit(admission.Input{Turn: 10, Matches: matches(50), Previous: previous, Limits: limits})
	if !slices.Equal(sorted(r.Evicted), []catalog.ID{2, 3}) {
		t.Errorf("evicted %v, want the two latest of the oldest", r.Evicted)
	}
}

func TestAUsedToolIsNotStale(t *testing.T) {
	previous := places(1, ids(0, 18)...)
	previous[3].Used = 9
	r := admission.Admit(admission.Input{Turn: 10, Matches: matches(50), Previous: previous, Limits: limits})
	if slices.Contains(r.Evicted, 3) || len(r.Evicted) < 2 {
		t.Errorf("evicted %v", r.Evicted)
	}
}

func TestTheBestMatchOfATurnIsNotEvictedOnThatTurn(t *testing.T) {
	strict := admission.Limits{Cap: 4, Delta: 100, Score: func(catalog.ID) float64 { return 5 }}
	r := admission.Admit(admission.Input{Turn: 2, Core: ids(0, 3), Matches: matches(50, 51, 52, 53), Previous: places(1, ids(0, 9)...), Limits: strict})
	if reasonOf(r, 50) != session.Semantic {
		t.Errorf("the best match is %q", reasonOf(r, 50))
	}
}

func TestASkillsToolIsNotEvictedByASemanticMatchOnThatTurn(t *testing.T) {
	r := admission.Admit(admission.Input{Turn: 5, Skill: ids(0, 10), Matches: matches(ids(50, 30)...), Previous: places(1, ids(0, 18)...), Limits: admission.Limits{Cap: 10}})
	for _, id := range ids(0, 10) {
		if reasonOf(r, id) != session.Skill {
			t.Errorf("skill tool %d is %q", id, reasonOf(r, id))
		}
	}
}

func TestHysteresisTurnsAwayANewcomerThatIsHardlyBetter(t *testing.T) {
	score := func(id catalog.ID) float64 {
		switch id {
		case 50:
			return 9
		case 51:
			return 5.2
		}
		return 5
	}
	in := admission.Input{Turn: 3, Matches: matches(50, 51), Previous: places(2, ids(0, 4)...), Limits: admission.Limits{Cap: 4, Delta: 0.5, Score: score}}
	r := admission.Admit(in)
	if reasonOf(r, 51) != "" || !slices.Contains(r.Skipped, 51) {
		t.Errorf("the newcomer that is better by 0.2 is %q, skipped %v", reasonOf(r, 51), r.Skipped)
	}
	if reasonOf(r, 50) == "" {
		t.Error("the best match was turned away")
	}
	in.Limits.Delta = 0 // another embedder scored the list
	if r := admission.Admit(in); reasonOf(r, 51) == "" {
		t.Error("without δ the newcomer was turned away")
	}
}

func TestThreeAlternatingTopicsDoNotChangeTheListOnEveryTurn(t *testing.T) {
	topics := [][]catalog.ID{ids(0, 6), ids(10, 6), ids(20, 6)}
	var previous []admission.Place
	changes := 0
	for turn := 1; turn <= 30; turn++ {
		r := admission.Admit(admission.Input{Turn: turn, Matches: matches(topics[turn%3]...), Previous: previous, Limits: limits})
		if turn > 3 && len(r.Admitted)+len(r.Evicted) > 0 {
			changes++
		}
		previous = advance(previous, r, turn, topics[turn%3])
	}
	if changes > 0 {
		t.Errorf("the list changed on %d of 27 turns", changes)
	}
}

// advance is the list after a turn on which matched were over the floor.
func advance(previous []admission.Place, r admission.Result, turn int, matched []catalog.ID) []admission.Place {
	next := make([]admission.Place, 0, len(r.Visible))
	for _, e := range r.Visible {
		p := admission.Place{ID: e.ID}
		if i := slices.IndexFunc(previous, func(p admission.Place) bool { return p.ID == e.ID }); i >= 0 {
			p = previous[i]
		}
		if slices.Contains(matched, e.ID) {
			p.Matched = turn
		}
		next = append(next, p)
	}
	return next
}

func TestSeedOnlyWhereThereIsNothingElse(t *testing.T) {
	for _, c := range []struct {
		name string
		in   admission.Input
		want bool
	}{
		{"nothing", admission.Input{}, true},
		{"CORE", admission.Input{Core: ids(0, 1)}, false},
		{"a match", admission.Input{Matches: matches(1)}, false},
		{"a list", admission.Input{Previous: places(1, 1)}, false},
	} {
		c.in.Turn, c.in.Seed, c.in.Limits = 1, ids(90, 3), limits
		r := admission.Admit(c.in)
		if got := reasonOf(r, 90) == session.Seed; got != c.want {
			t.Errorf("%s: seeded %v", c.name, got)
		}
		if slices.Contains(r.Admitted, 90) {
			t.Errorf("%s: seed counts as admitted", c.name)
		}
		if len(r.Visible) == 0 {
			t.Errorf("%s: the list is empty", c.name)
		}
	}
}

func TestBudgetShedsTierByTier(t *testing.T) {
	in := admission.Input{
		Turn: 5, Core: ids(0, 2), Pins: ids(5, 1), Skill: ids(10, 1), Matches: matches(20, 21), Mates: ids(30, 1), Previous: places(4, 40, 41),
	}
	order := []catalog.ID{41, 40, 30, 21, 20, 10, 1, 0}
	for tokens := 9; tokens >= 1; tokens-- {
		in.Limits = admission.Limits{Cap: 14, Overflow: 4, Tokens: tokens, Cost: func(catalog.ID) int { return 1 }}
		r := admission.Admit(in)
		for i, id := range order {
			if shed := i < 9-tokens; shed == (reasonOf(r, id) != "") {
				t.Errorf("with room for %d: tool %d is %q", tokens, id, reasonOf(r, id))
			}
		}
		if reasonOf(r, 5) != session.Pin {
			t.Errorf("with room for %d the pin is gone", tokens)
		}
	}
}

func TestBudgetNeverEmptiesTheList(t *testing.T) {
	in := admission.Input{Turn: 1, Matches: matches(20, 21), Limits: admission.Limits{Cap: 14, Tokens: 1, Cost: func(catalog.ID) int { return 100 }}}
	if r := admission.Admit(in); !slices.Equal(visible(r), []catalog.ID{20}) {
		t.Errorf("visible %v, want the best match alone", visible(r))
	}
}

// TestRandomConversations plays random conversations and checks what must hold on every turn of all of them.
func TestRandomConversations(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func(most int) []catalog.ID {
			out := ids(0, 60)
			rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
			return out[:rng.IntN(most+1)]
		}
		core := pick(12)
		var previous []admission.Place
		for turn := 1; turn <= 20; turn++ {
			in := admission.Input{
				Turn: turn, Core: core, Pins: pick(3), Skill: pick(4), Matches: matches(pick(20)...), Mates: pick(10), Seed: ids(0, 3),
				Previous: previous, PrefixLost: rng.IntN(5) == 0,
				Limits: admission.Limits{Cap: 14, Overflow: 4, Delta: 0.5, Score: func(id catalog.ID) float64 { return float64(id % 7) }},
			}
			r := admission.Admit(in)
			checkTurn(t, in, r)
			var matched []catalog.ID
			for _, m := range in.Matches {
				matched = append(matched, m.ID)
			}
			previous = advance(previous, r, turn, matched)
		}
	}
}

func checkTurn(t *testing.T, in admission.Input, r admission.Result) {
	t.Helper()
	seen := map[catalog.ID]bool{}
	counted := 0
	for _, e := range r.Visible {
		if seen[e.ID] {
			t.Fatalf("tool %d is visible twice", e.ID)
		}
		seen[e.ID] = true
		if e.Reason != session.Pin && e.Reason != session.Hatch {
			counted++
		}
	}
	for _, must := range [][]catalog.ID{in.Core, in.Pins, in.Skill} {
		for _, id := range must {
			if !seen[id] {
				t.Fatalf("tool %d must be visible and is not", id)
			}
		}
	}
	if len(in.Matches) > 0 && !seen[in.Matches[0].ID] {
		t.Fatalf("the best match is not visible")
	}
	if widest := max(14, len(in.Core)+len(in.Skill)+admission.MinSemantic) + 4; counted > widest {
		t.Fatalf("%d tools count against the cap, at most %d may", counted, widest)
	}
	if len(r.Visible) == 0 {
		t.Fatal("the list is empty")
	}
	for _, id := range r.Evicted {
		if seen[id] {
			t.Fatalf("tool %d is visible and evicted", id)
		}
	}
	for _, id := range r.Skipped {
		if seen[id] {
			t.Fatalf("tool %d is visible and skipped", id)
		}
	}
}

func sorted(ids []catalog.ID) []catalog.ID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return ids
}

func TestAStrictListIsNeverLongerThanTheCap(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		some := func(n int) []catalog.ID {
			var list []catalog.ID
			for _, i := range rng.Perm(40)[:rng.IntN(n+1)] {
				list = append(list, catalog.ID(i))
			}
			return list
		}
		in := admission.Input{
			Turn: 6, Core: some(12), Pins: some(8), Hatches: some(3), Skill: some(4), Matches: matches(some(20)...), Mates: some(10), Seed: some(3),
			Previous: places(rng.IntN(6), some(16)...), Limits: admission.Limits{Cap: 1 + rng.IntN(14), Overflow: 4, Strict: true},
		}
		r := admission.Admit(in)
		if len(r.Visible) > in.Limits.Cap {
			t.Fatalf("seed %d: %d tools under a strict cap of %d", seed, len(r.Visible), in.Limits.Cap)
		}
		for _, id := range in.Core[:min(len(in.Core), in.Limits.Cap)] {
			if reasonOf(r, id) != session.Core {
				t.Fatalf("seed %d: CORE tool %d is %q", seed, id, reasonOf(r, id))
			}
		}
	}
}

func TestAStrictListKeepsWhatWasCalledWhereThereIsRoom(t *testing.T) {
	in := admission.Input{Turn: 2, Core: ids(0, 2), Hatches: ids(10, 1), Pins: ids(20, 1), Matches: matches(5), Previous: places(1, 1, 30), Limits: admission.Limits{Cap: 4, Strict: true}}
	r := admission.Admit(in)
	if reasonOf(r, 10) == "" || reasonOf(r, 20) != "" || !slices.Contains(r.Admitted, catalog.ID(10)) {
		t.Errorf("visible %v, admitted %v", visible(r), r.Admitted)
	}
}
