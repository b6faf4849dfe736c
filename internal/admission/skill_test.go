package admission_test

import (
	"slices"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/session"
)

// A skill's tools take the places of the matches that rank last, but of those that it spares last of all.
func TestSparedMatchesGiveWayLast(t *testing.T) {
	for _, strict := range []bool{false, true} {
		in := admission.Input{Turn: 1, Skill: ids(50, 4), Matches: matches(ids(0, 20)...), Limits: admission.Limits{Cap: 14, Overflow: 4, Strict: strict}}
		lost := func() (lost []catalog.ID) {
			r := admission.Admit(in)
			for _, id := range ids(0, 14) {
				if reasonOf(r, id) == "" {
					lost = append(lost, id)
				}
			}
			for _, id := range ids(50, 4) {
				if reasonOf(r, id) != session.Skill {
					t.Errorf("strict %v: skill tool %d is %q", strict, id, reasonOf(r, id))
				}
			}
			if len(r.Visible) != 14 {
				t.Errorf("strict %v: %d are visible", strict, len(r.Visible))
			}
			return lost
		}
		if got := lost(); !slices.Equal(got, []catalog.ID{10, 11, 12, 13}) {
			t.Errorf("strict %v: %v gave way, want the last four", strict, got)
		}
		in.Spared = []catalog.ID{11, 13, 19, 3}
		if got := lost(); !slices.Equal(got, []catalog.ID{8, 9, 10, 12}) {
			t.Errorf("strict %v: %v gave way, want the last four that are not spared", strict, got)
		}
		in.Spared = ids(0, 20)
		if got := lost(); !slices.Equal(got, []catalog.ID{10, 11, 12, 13}) {
			t.Errorf("strict %v: %v gave way where all are spared", strict, got)
		}
	}
}

// What is offered gets only slots that no match and no kept tool wants, before any mate.
func TestWhatIsOfferedTakesNobodysPlace(t *testing.T) {
	for n := range 18 {
		in := admission.Input{Turn: 2, Offered: ids(50, 4), Matches: matches(ids(0, n)...), Mates: ids(60, 4), Previous: places(1, ids(30, 2)...), Limits: admission.Limits{Cap: 14}}
		with := admission.Admit(in)
		in.Offered = nil
		without := admission.Admit(in)
		free := 14
		for _, e := range without.Visible {
			if e.Reason != session.Bundle {
				free--
			}
			if e.Reason != session.Bundle && reasonOf(with, e.ID) == "" {
				t.Errorf("%d matches: %d, %s, lost its place", n, e.ID, e.Reason)
			}
		}
		for i, id := range ids(50, 4) {
			if got := reasonOf(with, id); (got == session.Skill) != (i < free) {
				t.Errorf("%d matches: offered tool %d is %q, with %d free slots", n, i, got, free)
			}
		}
		if len(with.Visible) > max(14, len(without.Visible)) {
			t.Errorf("%d matches: %d are visible", n, len(with.Visible))
		}
	}
}
