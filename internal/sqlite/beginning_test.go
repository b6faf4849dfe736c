package sqlite_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"toolbelt/internal/ahead"
	"toolbelt/internal/session/sessiontest"
)

func TestBeginnings(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "t.db"))
	one := ahead.Beginning{App: "a", Model: "m", Path: "/api/chat", Body: []byte(`{"x":1}`), At: sessiontest.At(1)}
	other := ahead.Beginning{App: "b", Model: "m", Path: "/v1/chat/completions", Body: []byte(`{}`), At: sessiontest.At(2)}
	for _, b := range []ahead.Beginning{one, other, {Model: "large", Body: make([]byte, 2<<20)}} {
		if err := db.SaveBeginning(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Beginnings(t.Context())
	if err != nil || len(got) != 1 || !got[0].At.Equal(other.At) {
		t.Fatalf("%+v, %v; want the newest of the model alone", got, err)
	}
	got[0].At = other.At
	if !reflect.DeepEqual(got[0], other) {
		t.Errorf("%+v, want %+v", got[0], other)
	}
	for i := range 20 {
		if err := db.SaveBeginning(t.Context(), ahead.Beginning{Model: fmt.Sprint(i), Path: "/api/chat", Body: []byte(`{}`), At: sessiontest.At(10 + i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = db.Beginnings(t.Context()); err != nil || len(got) != 8 || got[0].Model != "19" {
		t.Errorf("%d kept, %v", len(got), err)
	}
}
