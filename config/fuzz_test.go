package config_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/config"
)

// FuzzLoad feeds the loader arbitrary files: it must answer with a valid Config or one sentence that names the file.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "mode: on\n", "tau: .inf\n", "max_tools: 0x10\n", "core: [a, b]\n", "<<: {mode: on}\n",
		"bundles:\n- &b {name: a, members: &m [b, c]}\n- {<<: *b, name: d}\n", "a: &a [*a]\n", "token: !!binary aGk=\n", "? [a]\n: b\n",
		"mode: |\n  on\n", "upstream: http://[::1\n", "upstream: \"\"", "hosts: [a, b]\n", "budget: 1h\n", "!!map {}\n", "%YAML 1.1\n---\nmode: off\n",
	} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "toolbelt.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, from, err := config.Load(config.Sources{File: path, Dir: filepath.Dir(path)})
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q is not one sentence", err)
			}
			return
		}
		s := c.Selection
		if math.IsNaN(s.Threshold) || s.Threshold < 0 || s.Threshold > 20 || s.MaxTools < 1 || s.MaxTools > 1000 || s.Budget <= 0 {
			t.Fatalf("out of range: %+v", s)
		}
		if c.Embed.Deadline <= 0 || c.Embed.Deadline > s.Budget || c.Serve.Upstream == "" {
			t.Fatalf("not usable: %+v", c)
		}
		for _, b := range s.Bundles {
			if b.Name == "" || len(b.Members) == 0 {
				t.Fatalf("bundle %+v", b)
			}
		}
		if len(c.Settings(from)) != len(from.Origins) {
			t.Fatalf("%d settings, %d origins", len(c.Settings(from)), len(from.Origins))
		}
	})
}
