package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolbelt/config"
)

// A variable that the project's own scripts and tests read is no mistake where it is set for the program too.
func TestVariablesOfTheScriptsAreKnown(t *testing.T) {
	name := regexp.MustCompile(`TOOLBELT_[A-Z][A-Z_]*[A-Z]`)
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", "scripts"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, v := range name.FindAllString(string(data), -1) {
			found[v] = true
		}
		return err
	})
	if err != nil || !found["TOOLBELT_ENGINE_DIR"] {
		t.Fatalf("found %v, %v", found, err)
	}
	for v := range found {
		_, from, err := config.Load(config.Sources{Environ: []string{v + "="}, Dir: t.TempDir()})
		if err != nil || len(from.Warnings) > 0 {
			t.Errorf("%s: %v %v", v, from.Warnings, err)
		}
	}
	for _, v := range []string{"TOOLBELT_ENGINE", "TOOLBELT_ENGINE_DIRS", "TOOLBELT_TESTS"} {
		_, from, err := config.Load(config.Sources{Environ: []string{v + "=x"}, Dir: t.TempDir()})
		if err != nil || len(from.Warnings) != 1 || !strings.Contains(from.Warnings[0], "no such setting") {
			t.Errorf("%s: %v %v", v, from.Warnings, err)
		}
	}
}
