package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

func TestEngineFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	want := kvcache.Facts{
		Placement: kvcache.LastUser, DropsAfterResult: true, ToolsFirst: true, SystemLast: true, Sliding: true, Window: 512, Context: 4096, MaxContext: 32768,
		GrammarBytes: 96000, Digest: "sha256-1", Tools: true, ToolsKnown: true, Strategy: kvcache.Rebuild, Measured: time.Unix(1000, 7).UTC(),
	}
	if _, ok, err := db.EngineFacts(t.Context(), "e", "m"); ok || err != nil {
		t.Errorf("an empty database knows it: %v, %v", ok, err)
	}
	for _, context := range []int{8192, want.Context} { // the second takes the first one's place
		f := want
		f.Context = context
		if err := db.SaveEngineFacts(t.Context(), "e", "m", f); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SaveEngineFacts(t.Context(), "e", "other", kvcache.Facts{}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	db = mustOpen(t, path)
	if got, ok, err := db.EngineFacts(t.Context(), "e", "m"); !ok || err != nil || got != want {
		t.Errorf("got %+v, %v, %v, want %+v", got, ok, err, want)
	}
	if got, ok, err := db.EngineFacts(t.Context(), "e", "other"); !ok || err != nil || got != (kvcache.Facts{}) {
		t.Errorf("of what is not known: got %+v, %v, %v", got, ok, err)
	}
	if _, ok, err := db.EngineFacts(t.Context(), "another engine", "m"); ok || err != nil {
		t.Errorf("another engine has it: %v, %v", ok, err)
	}
	for _, name := range [][2]string{{"", "m"}, {"e", ""}} {
		if err := db.SaveEngineFacts(t.Context(), name[0], name[1], want); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestEngineFactsAreBounded(t *testing.T) {
	db := mustOpen(t, ":memory:")
	for n := range 1003 {
		if err := db.SaveEngineFacts(t.Context(), "e", fmt.Sprint(n), kvcache.Facts{Context: n + 1}); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for n := range 1003 {
		if _, ok, err := db.EngineFacts(t.Context(), "e", fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		} else if ok {
			kept++
		}
	}
	if _, ok, _ := db.EngineFacts(t.Context(), "e", "1002"); kept != 1000 || !ok {
		t.Errorf("%d are kept, the last one: %v; want 1000, and it", kept, ok)
	}
}
