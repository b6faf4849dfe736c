package skillstest

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills"
)

// TestStore checks that the stores that open returns, each of them empty, keep the contract of skills.Store.
func TestStore(t *testing.T, open func(t *testing.T) skills.Store) {
	for name, test := range map[string]func(*testing.T, skills.Store){
		"empty":      testEmpty,
		"save":       testSave,
		"replace":    testReplace,
		"remove":     testRemove,
		"count":      testCount,
		"meanwhile":  testMeanwhile,
		"archive":    testArchive,
		"invalid":    testInvalid,
		"cancelled":  testCancelled,
		"concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func procedure(name string) skills.Procedure {
	return skills.Procedure{
		Name: name, WhenToUse: "When the user wants " + name + " – 日本語 'quoted' \"text\"",
		ToolsRequired: []string{"b.tool", "a/tool", "ツール"}, Body: "1. do\n2. check\x00\n", Enabled: true,
		ToolSequence: []string{"b.tool", "b.tool", "ツール"}, Examples: []string{"do it", "日本語"}, NotFor: []string{"do something else"},
		Origin: skills.Origin{Kind: skills.Learned, Runs: 4, Succeeded: 3, First: used.Add(-time.Hour), Last: used, Extra: `{"a":1}`, Supersedes: "older"},
	}
}

// used is when something was used.
var used = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

func save(t *testing.T, s skills.Store, p skills.Procedure) skills.Procedure {
	t.Helper()
	saved, err := s.SaveProcedure(t.Context(), p)
	if err != nil {
		t.Fatalf("saving %q: %v", p.Name, err)
	}
	return saved
}

func all(t *testing.T, s skills.Store) []skills.Procedure {
	t.Helper()
	list, err := s.Procedures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantKind(t *testing.T, err error, kind catalog.Kind, text string) {
	t.Helper()
	if err == nil || catalog.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v of kind %d, want kind %d and the text %q", err, catalog.KindOf(err), kind, text)
	}
}

func testEmpty(t *testing.T, s skills.Store) {
	if list := all(t, s); len(list) != 0 {
		t.Errorf("an empty store has %v", list)
	}
	wantKind(t, s.RemoveProcedure(t.Context(), "nope"), catalog.NotFound, `"nope"`)
	wantKind(t, s.CountProcedure(t.Context(), "nope", skills.Succeeded, time.Now()), catalog.NotFound, `"nope"`)
}

func testSave(t *testing.T, s skills.Store) {
	var saved []skills.Procedure
	for _, name := range []string{"beta", "alpha", "gamma"} {
		p := procedure(name)
		p.Enabled = name != "alpha"
		p.Successes, p.Attempts, p.Version = 2, 3, 77
		got := save(t, s, p)
		if got.Version != 1 || got.Updated.IsZero() {
			t.Errorf("%s saved with version %d, updated %v", name, got.Version, got.Updated)
		}
		p.Version, p.Updated = got.Version, got.Updated
		if !reflect.DeepEqual(got, p) {
			t.Errorf("saved as %+v, want %+v", got, p)
		}
		saved = append(saved, got)
	}
	list := all(t, s)
	want := []skills.Procedure{saved[1], saved[0], saved[2]} // by name
	if !reflect.DeepEqual(list, want) {
		t.Errorf("the store holds %+v\nwant %+v", list, want)
	}
}

func testReplace(t *testing.T, s skills.Store) {
	first := save(t, s, procedure("alpha"))
	if err := s.CountProcedure(t.Context(), "alpha", skills.Succeeded, used); err != nil {
		t.Fatal(err)
	}
	changed := first
	changed.WhenToUse, changed.Body, changed.ToolsRequired, changed.Enabled = "another", "", []string{"x"}, false
	second := save(t, s, changed)
	if second.Version != 2 || second.Updated.Before(first.Updated) {
		t.Errorf("version %d at %v after %d at %v", second.Version, second.Updated, first.Version, first.Updated)
	}
	if second.Attempts != 1 || second.Successes != 1 {
		t.Errorf("a change made the counts %d of %d, want 1 of 1", second.Successes, second.Attempts)
	}
	if list := all(t, s); len(list) != 1 || !reflect.DeepEqual(list[0], second) || list[0].WhenToUse != "another" || list[0].Enabled {
		t.Errorf("the store holds %+v, want %+v", list, second)
	}
}

func testRemove(t *testing.T, s skills.Store) {
	save(t, s, procedure("alpha"))
	save(t, s, procedure("beta"))
	if err := s.RemoveProcedure(t.Context(), "alpha"); err != nil {
		t.Fatal(err)
	}
	if list := all(t, s); len(list) != 1 || list[0].Name != "beta" {
		t.Errorf("left after the removal: %+v", list)
	}
	wantKind(t, s.RemoveProcedure(t.Context(), "alpha"), catalog.NotFound, `"alpha"`)
	if again := save(t, s, procedure("alpha")); again.Version != 1 {
		t.Errorf("made anew with version %d, want 1", again.Version)
	}
}

func testCount(t *testing.T, s skills.Store) {
	before := save(t, s, procedure("alpha"))
	save(t, s, procedure("beta"))
	for i, use := range []skills.Use{skills.Succeeded, skills.Failed, skills.Unused, skills.Failed, skills.Succeeded, skills.Failed} {
		at := used.Add(time.Duration(min(i, 3)) * time.Minute)
		if i == 5 {
			at = used.Add(-time.Hour) // a clock that was set back
		}
		if err := s.CountProcedure(t.Context(), "alpha", use, at); err != nil {
			t.Fatal(err)
		}
	}
	list := all(t, s)
	before.Attempts, before.Successes, before.Unused, before.LastUsed = 5, 2, 1, used.Add(3*time.Minute)
	if !reflect.DeepEqual(list[0], before) {
		t.Errorf("counted to %+v, want %+v", list[0], before)
	}
	if list[1].Attempts != 0 {
		t.Errorf("counting one skill changed another: %+v", list[1])
	}
}

// testMeanwhile: who read an older version does not write over a newer one.
func testMeanwhile(t *testing.T, s skills.Store) {
	first := save(t, s, procedure("alpha"))
	save(t, s, first)
	first.WhenToUse = "stale"
	_, err := s.SaveProcedure(t.Context(), first)
	wantKind(t, err, catalog.Conflict, `"alpha"`)
	if list := all(t, s); list[0].Version != 2 || list[0].WhenToUse == "stale" {
		t.Errorf("the store holds %+v", list[0])
	}
	if err := s.CountProcedure(t.Context(), "alpha", skills.Unused, used); err != nil {
		t.Fatal(err)
	}
	if err := s.CountProcedure(t.Context(), "alpha", skills.Forgive, used); err != nil {
		t.Fatal(err)
	}
	if p := all(t, s)[0]; p.Attempts != 0 || p.Unused != 0 {
		t.Errorf("after all is forgiven: %+v", p)
	}
}

func testArchive(t *testing.T, s skills.Store) {
	archive, ok := s.(skills.Archive)
	if !ok {
		t.Skip("the store keeps no archive")
	}
	first := save(t, s, procedure("alpha"))
	changed := first
	changed.WhenToUse, changed.Origin.Edited = "another", true
	second := save(t, s, changed)
	save(t, s, second)
	former, err := archive.Versions(t.Context(), "alpha")
	if err != nil || !reflect.DeepEqual(former, []skills.Procedure{second, first}) {
		t.Errorf("former versions %+v, %v\nwant %+v, %+v", former, err, second, first)
	}
	own := procedure("own")
	own.Origin = skills.Origin{Kind: skills.Own}
	save(t, s, own)
	for _, name := range []string{"alpha", "own"} {
		if err := s.RemoveProcedure(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	removals, err := archive.Removals(t.Context())
	if err != nil || len(removals) != 1 || removals[0].Name != "alpha" || !reflect.DeepEqual(removals[0].Tools, []string{"a/tool", "b.tool", "ツール"}) || removals[0].At.IsZero() {
		t.Errorf("removals %+v, %v", removals, err)
	}
	if former, err := archive.Versions(t.Context(), "alpha"); err != nil || len(former) != 0 {
		t.Errorf("removed, it has the former versions %+v, %v", former, err)
	}
}

func testInvalid(t *testing.T, s skills.Store) {
	p := procedure("alpha")
	p.ToolsRequired, p.Body = nil, ""
	_, err := s.SaveProcedure(t.Context(), p)
	wantKind(t, err, catalog.Invalid, "tools_required")
	if list := all(t, s); len(list) != 0 {
		t.Errorf("a refused skill was stored: %+v", list)
	}
}

func testCancelled(t *testing.T, s skills.Store) {
	save(t, s, procedure("alpha"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.SaveProcedure(ctx, procedure("beta")); err == nil {
		t.Error("saved with a context that had ended")
	}
	if err := s.RemoveProcedure(ctx, "alpha"); err == nil {
		t.Error("removed with a context that had ended")
	}
	if list := all(t, s); len(list) != 1 {
		t.Errorf("the store holds %+v, want alpha only", list)
	}
}

func testConcurrent(t *testing.T, s skills.Store) {
	save(t, s, procedure("alpha"))
	const workers, rounds = 4, 10
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				if err := s.CountProcedure(t.Context(), "alpha", skills.Succeeded, used); err != nil {
					t.Error(err)
				}
				if _, err := s.SaveProcedure(t.Context(), procedure("alpha")); err != nil {
					t.Error(err)
				}
				if _, err := s.Procedures(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	p := all(t, s)[0]
	if p.Attempts != workers*rounds || p.Successes != workers*rounds || p.Version != 1+workers*rounds {
		t.Errorf("after %d counts and changes: %d of %d, version %d", workers*rounds, p.Successes, p.Attempts, p.Version)
	}
}
