package learntest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/learn"
)

// TestStore checks that the stores that open returns, each of them empty, keep the contract of learn.Store.
func TestStore(t *testing.T, open func(t *testing.T) learn.Store) {
	for name, test := range map[string]func(*testing.T, learn.Store){
		"empty":      testEmpty,
		"replace":    testReplace,
		"drop":       testDrop,
		"erase one":  testEraseOne,
		"erase all":  testEraseAll,
		"conflict":   testConflict,
		"cancelled":  testCancelled,
		"concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Model is one that examples of these tests have vectors by.
func Model(name string) embed.Model { return embed.Model{Name: name, Digest: "d", Prefix: 1, Dim: 2} }

// Example makes an example that is told apart by its arguments.
func Example(app, tool, text string) learn.Example {
	return learn.Example{
		App: app, Tool: tool, Hash: catalog.Tool{Name: tool}.Hash(), Text: text, Hits: 3, Fails: 1, Last: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Vectors: map[embed.Model]embed.Vector{Model("m"): {0.6, 0.8}},
	}
}

func save(t *testing.T, s learn.Store, erasures int, c learn.Change) {
	t.Helper()
	if err := s.SaveLearned(t.Context(), erasures, c); err != nil {
		t.Fatal(err)
	}
}

// kept reads everything, in order.
func kept(t *testing.T, s learn.Store) learn.Kept {
	t.Helper()
	k, err := s.Learned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(k.Examples, func(a, b learn.Example) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Text, b.Text))
	})
	slices.SortFunc(k.Follows, func(a, b learn.Follow) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return k
}

func follow(app, from, to string) learn.Follow {
	return learn.Follow{App: app, From: from, To: to, Count: 2, Last: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
}

func texts(k learn.Kept) []string {
	var list []string
	for _, e := range k.Examples {
		list = append(list, e.App+"/"+e.Tool+"/"+e.Text)
	}
	return list
}

func wantTexts(t *testing.T, s learn.Store, want ...string) {
	t.Helper()
	if got := texts(kept(t, s)); !slices.Equal(got, want) {
		t.Errorf("kept are %q, want %q", got, want)
	}
}

func testEmpty(t *testing.T, s learn.Store) {
	if k := kept(t, s); len(k.Examples)+len(k.Follows) > 0 {
		t.Errorf("an empty store has %+v", k)
	}
	if e, err := s.EraseLearned(t.Context(), "nothing"); err != nil || e != (learn.Erased{}) {
		t.Errorf("erasing nothing: %+v, %v", e, err)
	}
	if n, err := s.Erasures(t.Context()); err != nil || n != kept(t, s).Erasures {
		t.Errorf("%d erasures, %v", n, err)
	}
	save(t, s, kept(t, s).Erasures, learn.Change{})
}

func testReplace(t *testing.T, s learn.Store) {
	e := Example("app", "日本\x00.", "it's \"quoted\"\nand more")
	save(t, s, 0, learn.Change{Put: []learn.Example{e}, Follows: []learn.Follow{follow("app", "", "a")}})
	k := kept(t, s)
	if len(k.Examples) != 1 || !reflect.DeepEqual(k.Examples[0], e) {
		t.Errorf("kept %+v, want %+v", k.Examples, e)
	}
	if want := []learn.Follow{follow("app", "", "a")}; !reflect.DeepEqual(k.Follows, want) {
		t.Errorf("kept %+v, want %+v", k.Follows, want)
	}
	next := e
	next.Hits, next.Fails, next.Last = 9, 2, e.Last.Add(time.Hour)
	next.Vectors = map[embed.Model]embed.Vector{Model("n"): {1, 0}}
	more := follow("app", "", "a")
	more.Count = 7
	save(t, s, 0, learn.Change{Put: []learn.Example{next}, Follows: []learn.Follow{more}})
	next.Vectors = map[embed.Model]embed.Vector{Model("m"): {0.6, 0.8}, Model("n"): {1, 0}}
	k = kept(t, s)
	if len(k.Examples) != 1 || !reflect.DeepEqual(k.Examples[0], next) || len(k.Follows) != 1 || k.Follows[0].Count != 7 {
		t.Errorf("replaced: %+v, want %+v", k, next)
	}
}

func testDrop(t *testing.T, s learn.Store) {
	all := []learn.Example{Example("a", "t", "one"), Example("a", "t", "two"), Example("a", "u", "one"), Example("b", "t", "one")}
	save(t, s, 0, learn.Change{Put: all, Follows: []learn.Follow{follow("a", "t", "u"), follow("b", "t", "u")}})
	gone := follow("a", "t", "u")
	gone.Count = 0
	save(t, s, 0, learn.Change{Drop: []learn.Example{all[0], Example("a", "t", "never there")}, Follows: []learn.Follow{gone}})
	wantTexts(t, s, "a/t/two", "a/u/one", "b/t/one")
	if k := kept(t, s); len(k.Follows) != 1 || k.Follows[0].App != "b" {
		t.Errorf("pairs %+v", k.Follows)
	}
}

func fill(t *testing.T, s learn.Store) {
	t.Helper()
	save(t, s, 0, learn.Change{
		Put:     []learn.Example{Example("a", "t", "one"), Example("a", "u", "one"), Example("b", "t", "two")},
		Follows: []learn.Follow{follow("a", "t", "u"), follow("a", "u", "t"), follow("a", "u", "u"), follow("b", "", "t")},
	})
}

func testEraseOne(t *testing.T, s learn.Store) {
	fill(t, s)
	if e, err := s.EraseLearned(t.Context(), "t"); err != nil || e != (learn.Erased{Examples: 2, Follows: 3}) {
		t.Errorf("erased %+v, %v", e, err)
	}
	wantTexts(t, s, "a/u/one")
	if k := kept(t, s); len(k.Follows) != 1 || k.Follows[0].To != "u" {
		t.Errorf("pairs %+v", k.Follows)
	}
}

func testEraseAll(t *testing.T, s learn.Store) {
	fill(t, s)
	if e, err := s.EraseLearned(t.Context(), ""); err != nil || e != (learn.Erased{Examples: 3, Follows: 4}) {
		t.Errorf("erased %+v, %v", e, err)
	}
	if k := kept(t, s); len(k.Examples)+len(k.Follows) > 0 {
		t.Errorf("left are %+v", k)
	}
}

func testConflict(t *testing.T, s learn.Store) {
	fill(t, s)
	before := kept(t, s).Erasures
	if _, err := s.EraseLearned(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	err := s.SaveLearned(t.Context(), before, learn.Change{Put: []learn.Example{Example("a", "t", "from memory")}, Follows: []learn.Follow{follow("a", "t", "t")}})
	if catalog.KindOf(err) != catalog.Conflict || err == nil {
		t.Errorf("what was erased was written back: %v", err)
	}
	wantTexts(t, s, "a/u/one")
	now, err := s.Erasures(t.Context())
	if err != nil || now == before || now != kept(t, s).Erasures {
		t.Errorf("%d erasures, were %d: %v", now, before, err)
	}
	save(t, s, now, learn.Change{Put: []learn.Example{Example("a", "t", "new")}})
	wantTexts(t, s, "a/t/new", "a/u/one")
}

func testCancelled(t *testing.T, s learn.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.SaveLearned(ctx, 0, learn.Change{Put: []learn.Example{Example("a", "t", "x")}}); err == nil {
		t.Error("a cancelled save is no error")
	}
	if _, err := s.Learned(ctx); err == nil {
		t.Error("a cancelled read is no error")
	}
	if _, err := s.EraseLearned(ctx, ""); err == nil {
		t.Error("a cancelled erasure is no error")
	}
	wantTexts(t, s)
}

func testConcurrent(t *testing.T, s learn.Store) {
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 10 {
				c := learn.Change{Put: []learn.Example{Example("a", fmt.Sprint(i), fmt.Sprint(j))}, Follows: []learn.Follow{follow("a", fmt.Sprint(i), fmt.Sprint(j))}}
				if err := s.SaveLearned(t.Context(), 0, c); err != nil {
					t.Error(err)
				}
				if _, err := s.Learned(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if k := kept(t, s); len(k.Examples) != 80 || len(k.Follows) != 80 {
		t.Errorf("%d examples, %d pairs", len(k.Examples), len(k.Follows))
	}
}
