package admission_test

import (
	"slices"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/session"
	"toolbelt/selector"
)

// A tool whose very name was said stands far above all others; what else the request needs must still come in.
func TestAMatchThatIsGoodInItselfEntersHoweverHighTheBestIs(t *testing.T) {
	list := []selector.Match{{ID: 50, Rank: 9, Score: 12}, {ID: 51, Rank: 8, Score: 5}, {ID: 52, Rank: 7, Score: 4.9}, {ID: 53, Rank: 6, Score: 6}}
	for _, c := range []struct {
		name           string
		newcomer, sure float64
		best           float64
		want           []catalog.ID
	}{
		{"the share alone", .5, 0, 12, []catalog.ID{50, 53}},
		{"sure", .5, 5, 12, []catalog.ID{50, 51, 53}},
		{"the share is lower", .5, 5, 8, []catalog.ID{50, 51, 52, 53}},
		{"it is no bar by itself", 0, 5, 12, []catalog.ID{50, 51, 52, 53}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := admission.Input{Turn: 2, Matches: slices.Clone(list), Previous: places(1, ids(0, 4)...), Limits: admission.Limits{Cap: 14, Newcomer: c.newcomer, Sure: c.sure}}
			in.Matches[0].Score = c.best
			if r := admission.Admit(in); !slices.Equal(r.Admitted, c.want) {
				t.Errorf("admitted %v, want %v; skipped %v", r.Admitted, c.want, r.Skipped)
			}
		})
	}
}

// A newcomer that is merely good enough takes a free slot, and nobody else's.
func TestAMatchThatIsGoodEnoughEntersWhereASlotIsFree(t *testing.T) {
	matches := []selector.Match{{ID: 50, Rank: 9, Score: 12}, {ID: 51, Rank: 8, Score: 3.6}, {ID: 52, Rank: 7, Score: 3.5}, {ID: 53, Rank: 6, Score: 5}, {ID: 54, Rank: 5, Score: 3.4}}
	for _, c := range []struct {
		name      string
		kept      int // how many are in the list, all stale
		strict    bool
		lost      bool
		want      []catalog.ID
		noneLeave bool
	}{
		{"room for all", 6, false, false, []catalog.ID{50, 51, 52, 53}, true},
		{"room for three", 7, false, false, []catalog.ID{50, 51, 53}, true},
		{"room for two", 8, false, false, []catalog.ID{50, 53}, true},
		{"room past the cap", 12, false, false, []catalog.ID{50, 53}, true},
		{"room for none", 14, false, false, []catalog.ID{50, 53}, false},
		{"a strict list", 10, true, false, []catalog.ID{50, 51, 52, 53}, false},
		{"a lost prefix", 10, false, true, []catalog.ID{50, 51, 52, 53}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := admission.Input{
				Turn: 9, Matches: slices.Clone(matches), Previous: places(1, ids(0, c.kept)...), PrefixLost: c.lost,
				Limits: admission.Limits{Cap: 10, Overflow: 4, Strict: c.strict, Newcomer: .5, Sure: 5, Enough: 3.5},
			}
			r := admission.Admit(in)
			if !slices.Equal(r.Admitted, c.want) || (len(r.Evicted) == 0) != c.noneLeave {
				t.Errorf("admitted %v, want %v; evicted %v", r.Admitted, c.want, r.Evicted)
			}
			if !slices.Contains(r.Skipped, 54) || len(r.Skipped)+len(r.Admitted) != len(matches) {
				t.Errorf("skipped %v", r.Skipped)
			}
		})
	}
}

func TestANewcomerReplacesWhatItBeatsInRank(t *testing.T) {
	flat := func(catalog.ID) float64 { return 5 } // match units tell nothing apart
	for _, c := range []struct {
		name   string
		victim float64 // its rank; the newcomer's is 3
		rank   bool
		stays  bool
	}{
		{"clearly", 2, true, true},
		{"by just δ", 2.5, true, true},
		{"hardly", 2.6, true, false},
		{"not at all", 4, true, false},
		{"nobody knows ranks", 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := admission.Input{
				Turn: 3, Matches: []selector.Match{{ID: 50, Rank: 9, Score: 9}, {ID: 51, Rank: 3, Score: 5}}, Previous: places(2, ids(0, 4)...),
				Limits: admission.Limits{Cap: 4, Strict: true, Delta: .5, Score: flat},
			}
			if c.rank {
				in.Limits.Rank = func(id catalog.ID) float64 {
					if id == 51 {
						return 3
					}
					return c.victim
				}
			}
			r := admission.Admit(in)
			if got := reasonOf(r, 51) == session.Semantic; got != c.stays || reasonOf(r, 50) != session.Semantic || len(r.Visible) != 4 {
				t.Errorf("the newcomer is %q; visible %v, skipped %v", reasonOf(r, 51), r.Visible, r.Skipped)
			}
		})
	}
}

// Only the tools that would go defend their places by rank, not those that stay.
func TestOnlyWhatWouldGoIsComparedInRank(t *testing.T) {
	in := admission.Input{
		Turn: 9, Matches: []selector.Match{{ID: 50, Rank: 9, Score: 9}, {ID: 51, Rank: 3, Score: 5}}, Previous: append(places(1, 0, 1), places(8, 2, 3)...),
		Limits: admission.Limits{Cap: 4, Delta: .5, Score: func(catalog.ID) float64 { return 5 }, Rank: func(id catalog.ID) float64 {
			switch id {
			case 51:
				return 3
			case 2, 3: // kept, and used lately
				return 8
			}
			return 0
		}},
	}
	if r := admission.Admit(in); !slices.Equal(r.Evicted, []catalog.ID{0, 1}) || reasonOf(r, 51) != session.Semantic {
		t.Errorf("evicted %v, the newcomer is %q", r.Evicted, reasonOf(r, 51))
	}
}
