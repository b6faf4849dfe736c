package sessiontest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"toolbelt/internal/session"
)

// TestStore checks that the stores that open returns, each of them empty, keep the contract of session.Store.
func TestStore(t *testing.T, open func(t *testing.T) session.Store) {
	for name, test := range map[string]func(*testing.T, session.Store){
		"empty":            testEmpty,
		"whole state":      testWholeState,
		"newest":           testNewest,
		"replace":          testReplace,
		"uses":             testUses,
		"sessions counted": testSessionsCounted,
		"prune":            testPrune,
		"labels":           testLabels,
		"cancelled":        testCancelled,
		"concurrent":       testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// At is the n-th minute of a fixed day, with a fraction of a second.
func At(n int) time.Time {
	return time.Date(2026, 3, 1, 12, n, 0, 123456789, time.UTC)
}

// Record is a record that uses every field of its state.
func Record(key, app, id string, updated time.Time) session.Record {
	return session.Record{Key: key, Updated: updated, State: session.State{
		Session: id, App: app, Turn: 3,
		List: []session.Visible{
			{Name: "core.tool", Reason: session.Core, Admitted: 1},
			{Name: "\x00key of something else", Reason: session.Kept, Admitted: 2, Matched: 2, Used: 3},
			{Name: "ツール/<&>", Reason: session.Semantic, Admitted: 3, Matched: 3},
		},
		Core: []string{"core.tool"}, Called: []string{"hidden"}, Embedder: "builtin+m",
		Catalog: sha256.Sum256([]byte(key + "catalog")), Body: sha256.Sum256([]byte(key + "body")),
		Fallback: "", Escapes: 4, Loads: 5,
	}}
}

func saveAll(t *testing.T, s session.Store, records ...session.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.SaveRecord(t.Context(), r); err != nil {
			t.Fatalf("saving %q: %v", r.Key, err)
		}
	}
}

func newest(t *testing.T, s session.Store, limit int) []session.Record {
	t.Helper()
	records, err := s.Records(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func keys(records []session.Record) string {
	var all string
	for _, r := range records {
		all += r.Key + " "
	}
	return all
}

func uses(t *testing.T, s session.Store, app string) (sessions int, tools map[string]session.ToolUses) {
	t.Helper()
	u, err := s.Uses(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	tools = make(map[string]session.ToolUses)
	for _, tool := range u.Tools {
		tools[tool.Name] = tool
	}
	if len(tools) != len(u.Tools) {
		t.Errorf("a tool comes twice: %+v", u.Tools)
	}
	return u.Sessions, tools
}

func add(t *testing.T, s session.Store, app, id string, at time.Time, tools ...string) {
	t.Helper()
	if err := s.AddUses(t.Context(), app, id, tools, at); err != nil {
		t.Fatal(err)
	}
}

func testEmpty(t *testing.T, s session.Store) {
	if records := newest(t, s, 10); len(records) != 0 {
		t.Errorf("an empty store has %v", records)
	}
	if sessions, tools := uses(t, s, "app"); sessions != 0 || len(tools) != 0 {
		t.Errorf("an app never seen has %d sessions and used %v", sessions, tools)
	}
	if n, err := s.Prune(t.Context(), At(0)); n != 0 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
}

func testWholeState(t *testing.T, s session.Store) {
	full := Record("full", "app", "s1", At(1))
	fallback := session.Record{Key: "fallback", Updated: At(2), State: session.State{Session: "s2", App: "app", Turn: 1, Fallback: "no embedder"}}
	zero := session.Record{Key: "zero"}
	saveAll(t, s, full, fallback, zero)
	got := newest(t, s, 10)
	want := []session.Record{zero, full, fallback}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !got[i].Updated.Equal(want[i].Updated) {
			t.Errorf("%s updated at %v, want %v", want[i].Key, got[i].Updated, want[i].Updated)
		}
		got[i].Updated = want[i].Updated
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("loaded %+v\nwant   %+v", got[i], want[i])
		}
	}
}

func testNewest(t *testing.T, s session.Store) {
	for _, n := range []int{3, 1, 5, 2, 4} {
		saveAll(t, s, Record(fmt.Sprint(n), "app", "s", At(n)))
	}
	saveAll(t, s, Record("5b", "app", "s", At(5))) // of the same time as 5, saved after it
	for limit, want := range map[int]string{-1: "", 0: "", 1: "5b ", 3: "4 5 5b ", 6: "1 2 3 4 5 5b ", 100: "1 2 3 4 5 5b "} {
		if got := keys(newest(t, s, limit)); got != want {
			t.Errorf("the newest %d are %q, want %q", limit, got, want)
		}
	}
}

func testReplace(t *testing.T, s session.Store) {
	saveAll(t, s, Record("a", "app", "s", At(1)), Record("b", "app", "s", At(2)))
	changed := Record("a", "app", "s", At(3))
	changed.State.Turn, changed.State.List = 9, changed.State.List[:1]
	changed.State.Catalog, changed.State.Body = sha256.Sum256([]byte("x")), sha256.Sum256([]byte("y"))
	saveAll(t, s, changed)
	got := newest(t, s, 10)
	if keys(got) != "b a " || !reflect.DeepEqual(got[1].State, changed.State) {
		t.Errorf("the store holds %+v", got)
	}
}

func testUses(t *testing.T, s session.Store) {
	add(t, s, "app", "s1", At(1), "read", "write", "read", "")
	add(t, s, "app", "s1", At(2), "read")
	add(t, s, "app", "s2", At(3), "read", "bad\xffname")
	add(t, s, "other", "s1", At(4), "read", "delete")
	sessions, tools := uses(t, s, "app")
	want := map[string]session.ToolUses{
		"read":        {Name: "read", Sessions: 2, Calls: 4},
		"write":       {Name: "write", Sessions: 1, Calls: 1},
		"bad\xffname": {Name: "bad\xffname", Sessions: 1, Calls: 1},
	}
	if sessions != 2 || !reflect.DeepEqual(tools, want) {
		t.Errorf("%d sessions used %v, want 2 and %v", sessions, tools, want)
	}
}

func testSessionsCounted(t *testing.T, s session.Store) {
	saveAll(t, s, Record("a", "app", "s1", At(1)), Record("b", "app", "s1", At(2)), Record("c", "app", "s2", At(3)),
		Record("d", "other", "s9", At(4)), Record("e", "app", "", At(5)))
	add(t, s, "app", "s2", At(6), "read")
	add(t, s, "app", "s3", At(7), "read")
	if sessions, _ := uses(t, s, "app"); sessions != 3 {
		t.Errorf("%d sessions, want s1, s2 and s3", sessions)
	}
}

func testPrune(t *testing.T, s session.Store) {
	saveAll(t, s, Record("old", "app", "s1", At(1)), Record("new", "app", "s2", At(5)), Record("edge", "app", "s2", At(3)))
	add(t, s, "app", "s1", At(1), "read")
	add(t, s, "app", "s2", At(2), "write", "read")
	add(t, s, "app", "s2", At(4), "read")
	n, err := s.Prune(t.Context(), At(3))
	if n != 3 || err != nil { // the record old, s1's read, s2's write
		t.Errorf("pruned %d, %v; want 3", n, err)
	}
	if got := keys(newest(t, s, 10)); got != "edge new " {
		t.Errorf("left are %q", got)
	}
	sessions, tools := uses(t, s, "app")
	if want := map[string]session.ToolUses{"read": {Name: "read", Sessions: 1, Calls: 2}}; sessions != 1 || !reflect.DeepEqual(tools, want) {
		t.Errorf("left are %d sessions and %v, want 1 and %v", sessions, tools, want)
	}
}

// testLabels is of the stores that keep labels.
func testLabels(t *testing.T, s session.Store) {
	kept, ok := s.(session.LabelStore)
	if !ok {
		t.Skip("the store keeps no labels")
	}
	labels := func() []session.Label {
		list, err := kept.Labels(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if len(list[i].Tools) == 0 {
				list[i].Tools = nil
			}
		}
		return list
	}
	if list := labels(); len(list) != 0 {
		t.Fatalf("empty, it has %+v", list)
	}
	save := func(l session.Label, n int) {
		if err := kept.SaveLabel(t.Context(), l, At(n)); err != nil {
			t.Fatal(err)
		}
	}
	b := session.Label{App: "b", Family: "openai", Agent: "jan", Tools: []string{"read", "it's \"ツール\""}}
	a := session.Label{App: "a", Family: "ollama"}
	save(b, 5)
	save(session.Label{App: "a", Family: "responses", Agent: "x", Tools: []string{"y"}}, 1)
	save(a, 2)
	if list := labels(); !reflect.DeepEqual(list, []session.Label{a, b}) {
		t.Errorf("kept %+v", list)
	}
	if n, err := s.Prune(t.Context(), At(3)); n != 0 || err != nil {
		t.Errorf("pruned %d, %v: labels are not counted", n, err)
	}
	if list := labels(); !reflect.DeepEqual(list, []session.Label{b}) {
		t.Errorf("of those seen since then, %+v is left", list)
	}
}

func testCancelled(t *testing.T, s session.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.SaveRecord(ctx, Record("a", "app", "s", At(1))); err == nil {
		t.Error("saved with a context that had ended")
	}
	saveAll(t, s, Record("b", "app", "s", At(1)))
	if got := keys(newest(t, s, 10)); got != "b " {
		t.Errorf("the store holds %q, want b", got)
	}
}

func testConcurrent(t *testing.T, s session.Store) {
	const workers, rounds = 4, 20
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprintf("s%d", w)
				if err := s.SaveRecord(t.Context(), Record(fmt.Sprintf("%d-%d", w, i), "app", id, At(i))); err != nil {
					t.Error(err)
				}
				if err := s.AddUses(t.Context(), "app", id, []string{"read"}, At(i)); err != nil {
					t.Error(err)
				}
				if _, err := s.Records(t.Context(), 5); err != nil {
					t.Error(err)
				}
				if _, err := s.Uses(t.Context(), "app"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(newest(t, s, 1000)); n != workers*rounds {
		t.Errorf("%d records, want %d", n, workers*rounds)
	}
	sessions, tools := uses(t, s, "app")
	if want := (session.ToolUses{Name: "read", Sessions: workers, Calls: workers * rounds}); sessions != workers || tools["read"] != want {
		t.Errorf("%d sessions used %v, want %d and %v", sessions, tools, workers, want)
	}
}
