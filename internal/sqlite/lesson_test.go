package sqlite_test

import (
	"path/filepath"
	"testing"
)

func TestLessons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db := mustOpen(t, path)
	for _, lesson := range []struct{ engine, model, text string }{{"e", "m", "1"}, {"e", "m", "2"}, {"e", "n", "3"}, {"é", "m", "4"}, {"e2", "m", "5"}} {
		if err := db.SaveLesson(t.Context(), lesson.engine, lesson.model, []byte(lesson.text)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := db.Lessons(t.Context(), "e")
	if err != nil || len(got) != 2 || string(got["m"]) != "2" || string(got["n"]) != "3" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := db.Lessons(t.Context(), "é"); err != nil || string(got["m"]) != "4" {
		t.Errorf("%q, %v", got, err)
	}
}
