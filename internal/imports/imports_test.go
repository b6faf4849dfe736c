// Package imports_test holds the direction of imports: who may know of whom, for the whole tree.
package imports_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "toolbelt"

// rule says what a package of this module may import of this module.
type rule struct {
	may   []string // in all its files
	tests []string // in its tests besides; test packages need not be named
}

// below are lists that several rules share.
var (
	nouns   = []string{"catalog", "embed"}
	turning = []string{"catalog", "embed", "selector", "bundles", "skills", "skills/runs", "kvcache", "internal/admission", "internal/chat", "internal/hatch", "internal/learn", "internal/session"}
	serving = append([]string{"internal/turn"}, turning...)
)

// rules is the table, the lowest packages first. A package may import what its rule names, and nothing else.
func rules() map[string]rule {
	return map[string]rule{
		"catalog":            {},
		"internal/behind":    {},
		"internal/hop":       {},
		"internal/slip":      {},
		"embed":              {may: []string{"catalog"}},
		"selector":           {may: nouns},
		"bundles":            {may: []string{"catalog"}},
		"skills":             {may: nouns},
		"skills/runs":        {may: []string{"catalog", "internal/behind"}},
		"skills/skillmd":     {may: []string{"catalog", "skills"}},
		"skills/synth":       {may: append([]string{"skills", "skills/runs"}, nouns...)},
		"kvcache":            {may: []string{"catalog"}},
		"internal/session":   {may: []string{"catalog", "internal/behind"}},
		"internal/chat":      {may: []string{"catalog", "kvcache"}},
		"internal/admission": {may: []string{"catalog", "selector", "internal/session"}},
		"internal/learn":     {may: append([]string{"selector", "internal/behind"}, nouns...)},
		"internal/hatch":     {may: []string{"bundles", "catalog", "internal/slip"}},
		"internal/engine":    {may: []string{"catalog", "kvcache"}},
		"internal/turn":      {may: turning, tests: []string{"internal/ingest"}},

		"internal/telemetry": {may: []string{"kvcache", "internal/behind", "internal/chat", "internal/session", "internal/turn"}},
		"internal/loaderlog": {may: []string{"kvcache", "internal/session", "internal/turn"}},
		"internal/ingest":    {may: serving},
		"internal/ahead":     {may: []string{"catalog", "kvcache", "internal/chat", "internal/hop", "internal/turn"}, tests: []string{"embed", "internal/ingest", "internal/session"}},
		"internal/sqlite":    {may: []string{"catalog", "embed", "kvcache", "skills", "skills/runs", "internal/ahead", "internal/learn", "internal/session", "internal/telemetry"}},
		"internal/proxy":     {may: append([]string{"internal/hop"}, serving...)},
		"internal/sidecar":   {may: append([]string{"skills/runs", "skills/skillmd", "skills/synth", "internal/ahead"}, serving...)},
		"eval":               {may: append([]string{"skills/runs", "skills/synth", "internal/ingest"}, serving...)},

		"config":       {may: []string{"bundles"}},
		"cmd/toolbelt": {may: everything()},

		"internal/imports": {},
	}
}

// testPackages serve tests only: no other file may import them. A missing one is no fault.
func testPackages() map[string]rule {
	return map[string]rule{
		"embed/embedtest":              {may: nouns},
		"embed/storetest":              {may: nouns},
		"skills/skillstest":            {may: []string{"catalog", "embed", "skills"}},
		"internal/learn/learntest":     {may: []string{"catalog", "embed", "internal/learn"}},
		"internal/session/sessiontest": {may: []string{"catalog", "internal/session"}},
		"internal/enginetest":          {},
		"internal/chat/edittest":       {},
		"internal/conversation":        {may: append([]string{"internal/proxy", "internal/ingest", "internal/sqlite"}, serving...)},
		"internal/clients":             {may: []string{"catalog"}},
	}
}

// everything is what the command wires together.
func everything() []string {
	return append([]string{"config", "eval", "skills/runs", "skills/skillmd", "skills/synth", "internal/ahead", "internal/engine", "internal/hop", "internal/ingest", "internal/loaderlog", "internal/proxy", "internal/sidecar", "internal/slip", "internal/sqlite", "internal/telemetry"}, serving...)
}

// file is what one Go file imports of this module.
type file struct {
	path    string // slash-separated, from the root
	imports []string
}

func (f file) pkg() string { return strings.TrimSuffix(f.path[:strings.LastIndex(f.path, "/")+1], "/") }

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func TestImportsGoOneWay(t *testing.T) {
	files, err := scan(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files", len(files))
	}
	for _, complaint := range check(files, rules(), testPackages()) {
		t.Error(complaint)
	}
}

// check returns a sentence for each file, package and rule that breaks the table.
func check(files []file, table, helpers map[string]rule) []string {
	complaints := map[string]bool{}
	seen := map[string]bool{}
	for _, f := range files {
		pkg := f.pkg()
		seen[pkg] = true
		r, ok := table[pkg]
		_, helper := helpers[pkg]
		if helper {
			r = helpers[pkg]
		}
		if !ok && !helper {
			complaints[fmt.Sprintf("%s: the package has no rule in the table of internal/imports", pkg)] = true
			continue
		}
		for _, imported := range f.imports {
			if _, forTests := helpers[imported]; forTests && !f.isTest() && !helper {
				complaints[fmt.Sprintf("%s imports %s, which is for tests", f.path, imported)] = true
			} else if !forTests && !r.allows(pkg, imported, f.isTest()) {
				complaints[fmt.Sprintf("%s imports %s, against the direction of imports", f.path, imported)] = true
			}
		}
	}
	for pkg := range table {
		if !seen[pkg] {
			complaints[fmt.Sprintf("%s: there is a rule, but no such package", pkg)] = true
		}
	}
	list := make([]string, 0, len(complaints))
	for complaint := range complaints {
		list = append(list, complaint)
	}
	sort.Strings(list)
	return list
}

// allows reports whether a file of pkg may import a package. A test may import its own package, and what its package may.
func (r rule) allows(pkg, imported string, test bool) bool {
	return slices.Contains(r.may, imported) || test && (imported == pkg || slices.Contains(r.tests, imported))
}

// scan reads the imports of all Go files below dir: not those of other modules, of testdata, or in folders that Go skips too.
func scan(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path == dir {
				return nil
			}
			_, noModule := os.Stat(filepath.Join(path, "go.mod"))
			if noModule == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "deps_tmp" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			return nil
		}
		imports, err := importsOf(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.ToSlash(relative), imports})
		return nil
	})
	return files, err
}

// importsOf returns the packages of this module that a file imports, without the module's name.
func importsOf(path string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ours := strings.CutPrefix(imported, module+"/"); ours {
			list = append(list, rest)
		}
	}
	return list, nil
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("there is no go.mod above the test")
		}
		dir = parent
	}
}

func TestCheckComplains(t *testing.T) {
	table := map[string]rule{"low": {}, "high": {may: []string{"low"}, tests: []string{"other"}}, "other": {}, "gone": {}}
	helpers := map[string]rule{"low/lowtest": {may: []string{"low"}}}
	files := []file{
		{"low/a.go", []string{"high"}},
		{"low/a_test.go", []string{"low", "low/lowtest"}},
		{"low/lowtest/a.go", []string{"low", "high"}},
		{"high/a.go", []string{"low", "low/lowtest", "other"}},
		{"high/a_test.go", []string{"low", "other", "high"}},
		{"other/a.go", nil},
		{"new/a.go", nil},
		{"a.go", nil},
	}
	want := []string{
		": the package has no rule in the table of internal/imports",
		"gone: there is a rule, but no such package",
		"high/a.go imports low/lowtest, which is for tests",
		"high/a.go imports other, against the direction of imports",
		"low/a.go imports high, against the direction of imports",
		"low/lowtest/a.go imports high, against the direction of imports",
		"new: the package has no rule in the table of internal/imports",
	}
	if got := check(files, table, helpers); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestScanReadsImports(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"a/a.go":            "package a\n\nimport (\n\t\"fmt\"\n\tb \"toolbelt/b/c\"\n\t\"toolbeltish/d\"\n)\n\nvar _ = fmt.Sprint(b.X)\n",
		"a/testdata/x.go":   "package broken\nimport (\n",
		"other/go.mod":      "module other\n",
		"other/x.go":        "package x\n\nimport \"toolbelt/a\"\n",
		".hidden/x.go":      "package x\n\nimport \"toolbelt/a\"\n",
		"a/_skipped.go":     "package x\n\nimport \"toolbelt/a\"\n",
		"a/readme.txt":      "import \"toolbelt/a\"\n",
		"deps_tmp/x/x.go":   "package x\n\nimport \"toolbelt/a\"\n",
		"b/c/c_test.go":     "package c_test\n\nimport _ \"toolbelt/b/c\"\n",
		"b/testdata/y/y.go": "package y\n",
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(files), "[{a/a.go [b/c]} {b/c/c_test.go [b/c]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
