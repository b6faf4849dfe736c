package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"toolbelt/bundles"
	"toolbelt/config"
)

// load reads a file of this content (none where it is "") in a home of its own.
func load(t testing.TB, file string, environ []string, flags map[string]string) (config.Config, config.Provenance, error) {
	t.Helper()
	home := t.TempDir()
	environ = append([]string{"HOME=" + home}, environ...)
	if file != "" {
		path := filepath.Join(home, "toolbelt.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		environ = append(environ, "TOOLBELT_CONFIG="+path)
	}
	return config.Load(config.Sources{Environ: environ, Flags: flags, Dir: home})
}

func TestDefaults(t *testing.T) {
	c, from, err := config.Load(config.Sources{Environ: []string{"HOME=/home/ann"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Serve:     config.Serve{Listen: "127.0.0.1:11435", Upstream: "http://127.0.0.1:11434", Grace: 30 * time.Second},
		Selection: config.Selection{Mode: config.On, Memory: true, Threshold: config.DefaultThreshold, MaxTools: 14, Budget: 150 * time.Millisecond, Learn: true, LoadTools: true, ToolSearch: 100},
		Prefix:    config.Prefix{Strategy: config.AutoStrategy, Prewarm: true},
		Embed:     config.Embed{Kind: config.Auto, Deadline: 120 * time.Millisecond},
		Store:     config.Store{Path: "/home/ann/.local/share/toolbelt/toolbelt.db"},
		Log:       config.Log{Level: slog.LevelInfo},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	for _, s := range c.Settings(from) {
		if s.Origin.String() != "default" {
			t.Errorf("%s comes from %s", s.Key, s.Origin)
		}
	}
	if from.File != "" || len(from.Warnings) != 0 {
		t.Errorf("file %q, warnings %q", from.File, from.Warnings)
	}
}

func TestPrecedence(t *testing.T) {
	environ := []string{"OLLAMA_HOST=ollama-host", "TOOLBELT_UPSTREAM=env-host"}
	flags := map[string]string{"upstream": "flag-host"}
	file := "upstream: file-host\n"
	for _, test := range []struct {
		name    string
		file    string
		environ []string
		flags   map[string]string
		host    string
		origin  string
	}{
		{"default", "", nil, nil, "http://127.0.0.1:11434", "default"},
		{"ollama", "", environ[:1], nil, "ollama-host", "environment OLLAMA_HOST"},
		{"file over ollama", file, environ[:1], nil, "file-host", "file "},
		{"environment over file", file, environ, nil, "env-host", "environment TOOLBELT_UPSTREAM"},
		{"flag over all", file, environ, flags, "flag-host", "flag --upstream"},
		{"an empty variable is none", file, []string{"TOOLBELT_UPSTREAM=", "OLLAMA_HOST= "}, nil, "file-host", "file "},
		{"a null is none", "upstream:\n", environ[:1], nil, "ollama-host", "environment OLLAMA_HOST"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, from, err := load(t, test.file, test.environ, test.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Serve.Upstream; got != test.host {
				t.Errorf("upstream %q", got)
			}
			origin := from.Origins["upstream"].String()
			if test.origin == "file " {
				test.origin += from.File
			}
			if origin != test.origin {
				t.Errorf("origin %q, want %q", origin, test.origin)
			}
		})
	}
}

func TestEveryKeyInTheFile(t *testing.T) {
	c, from, err := load(t, `
listen: "[::1]:0"
upstream: https://box:8443/engine/
token: 0123
hosts: [Chat.Lan, "*.lab", 10.0.0.7]
db: data/tools.db
grace: 2m
log: DEBUG
tools: ~/tools.json
mode: shadow
memory: no
learn: "0"
load_tools: off
tool_search: 40
strategy: Late
prewarm: no
skills_dir: ~/skills
skill_writer: qwen3:4b
skill_body: on
keep_values: yes
tau: 1.5
max_tools: 20
budget: 1s
core: [read_file, "天气", read_file.v2]
bundles:
  - {name: files, description: the disk, members: [read_file, write_file]}
  - name: web
    members: &web
      - fetch
embedder: openai
embed_model: text-embedding-3-small
embed_url: https://api.example.com/v1/
embed_key: sk-1
embed_deadline: 500ms
`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(from.File)
	want := config.Config{
		Serve: config.Serve{Listen: "[::1]:0", Upstream: "https://box:8443/engine/", Token: "0123", Hosts: []string{"chat.lan", "*.lab", "10.0.0.7"}, Tools: filepath.Join(dir, "tools.json"), Grace: 2 * time.Minute},
		Selection: config.Selection{Mode: config.Shadow, Threshold: 1.5, MaxTools: 20, Budget: time.Second, ToolSearch: 40,
			Core: []string{"read_file", "天气", "read_file.v2"},
			Bundles: []bundles.Bundle{{Name: "files", Description: "the disk", Members: []string{"read_file", "write_file"}},
				{Name: "web", Members: []string{"fetch"}}}},
		Prefix: config.Prefix{Strategy: config.Late},
		Skills: config.Skills{Dir: filepath.Join(dir, "skills"), Writer: "qwen3:4b", Body: true, KeepValues: true},
		Embed:  config.Embed{Kind: config.OpenAI, Model: "text-embedding-3-small", URL: "https://api.example.com/v1", Key: "sk-1", Deadline: 500 * time.Millisecond},
		Store:  config.Store{Path: filepath.Join(dir, "data", "tools.db")},
		Log:    config.Log{Level: slog.LevelDebug},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	for _, s := range c.Settings(from) {
		if got := from.Origins[s.Key].String(); got != "file "+from.File {
			t.Errorf("%s comes from %s", s.Key, got)
		}
	}
}

func TestBadValues(t *testing.T) {
	for key, bad := range map[string][]string{
		"listen":         {"11435", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1", "a b:1", "http://127.0.0.1:1"},
		"hosts":          {"a,http://b", "a:80", "*", "a.*"},
		"log":            {"loud", "1"},
		"grace":          {"30", "-1s", "2h", "long"},
		"mode":           {"maybe", "2", "shadows"},
		"memory":         {"maybe", "2", "-1", "yess"},
		"learn":          {"maybe"},
		"load_tools":     {"maybe"},
		"tool_search":    {"on", "-1", "100001", "x"},
		"strategy":       {"best", "1", "frozen"},
		"prewarm":        {"maybe"},
		"skill_body":     {"maybe"},
		"keep_values":    {"maybe"},
		"tau":            {"x", "NaN", "+Inf", "-inf", "-0.1", "20.01", "1e400", "3,5"},
		"max_tools":      {"x", "0", "-1", "1001", "14.5", "1e1", "99999999999999999999"},
		"budget":         {"150", "0s", "-1s", "2m", "x", "1h"},
		"embed_deadline": {"120", "0", "-1ms", "2h"},
		"embedder":       {"gguf", "on"},
		"embed_url":      {"x", "ftp://x", "http://", "http://u:p@x", "http://x:99999/"},
	} {
		for _, text := range bad {
			name := "TOOLBELT_" + strings.ToUpper(key)
			_, _, err := load(t, "", []string{name + "=" + text}, nil)
			expectSentence(t, err, name, fmt.Sprintf("%q", text), "allowed")
			_, _, err = load(t, "", nil, map[string]string{key: text})
			expectSentence(t, err, "--"+strings.ReplaceAll(key, "_", "-"), fmt.Sprintf("%q", text), "allowed")
			_, _, err = load(t, "# settings\n"+key+": "+fmt.Sprintf("%q", text)+"\n", nil, nil)
			expectSentence(t, err, "toolbelt.yaml, line 2: "+key+":", fmt.Sprintf("%q", text), "allowed")
		}
	}
}

func expectSentence(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\x00") {
		t.Errorf("error %q is not one line", err)
	}
}

func TestBooleans(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "true": true, "YES": true, "On": true, "0": false, "False": false, "nO": false, "OFF": false} {
		c, _, err := load(t, "", []string{"TOOLBELT_MEMORY=" + text, "TOOLBELT_LEARN=" + text, "TOOLBELT_MODE=" + text}, nil)
		if err != nil || c.Selection.Memory != want || c.Selection.Learn != want || (c.Selection.Mode == config.On) != want {
			t.Errorf("%q: memory %v, learn %v, mode %v, error %v", text, c.Selection.Memory, c.Selection.Learn, c.Selection.Mode, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for _, test := range []struct {
		file  string
		parts []string
	}{
		{"max-tools: 3\n", []string{"line 1", `"max-tools"`, `did you mean "max_tools"?`}},
		{"upstream: \"\"\n", []string{"upstream", "allowed is an address"}},
		{"upstream: \" \"\n", []string{"upstream", "allowed is an address"}},
		{"upstream: http://\n", []string{"line 1", "upstream", `got "http://"`, "names no host"}},
		{"\n\nupstraem: x\n", []string{"line 3", `did you mean "upstream"?`}},
		{"qqqqqqqq: x\n", []string{"line 1", `unknown key "qqqqqqqq"`}},
		{"config: x\n", []string{`unknown key "config"`}},
		{"mode: on\ntau: 3\nmode: off\n", []string{"line 3", `"mode"`, "line 1"}},
		{"# a list\nmode: [on\n", []string{"line 2", "not valid YAML"}},
		{"mode: on\n\tlog: info\n", []string{"line 2", "not valid YAML"}},
		{"- a\n- b\n", []string{"line 1", "key: value"}},
		{"just words\n", []string{"line 1", "key: value"}},
		{"mode: on\n---\nmode: off\n", []string{"more than one document"}},
		{"mode: {a: b}\n", []string{"line 1", "mode: got a mapping"}},
		{"max_tools: [1, 2]\n", []string{"line 1", "max_tools: got a list of 2"}},
		{"core: read_file\n", []string{"line 1", "core", "a list"}},
		{"core:\n- a\n- a\n", []string{"line 3", `"a" stands there twice`}},
		{"core:\n- a\n- {b: c}\n", []string{"line 3", "entry 2"}},
		{"core: [a, '']\n", []string{"entry 2 is empty"}},
		{"bundles: {a: b}\n", []string{"bundles: got a mapping"}},
		{"bundles: [x]\n", []string{"bundle 1"}},
		{"bundles:\n- {members: [a]}\n", []string{"line 2", "bundle 1 lacks a name"}},
		{"bundles:\n- {name: a}\n", []string{"line 2", "bundle 1 lacks a name or members"}},
		{"bundles:\n- {name: a, tools: [b]}\n", []string{"line 2", `unknown key "tools"`, "members"}},
		{"bundles:\n- {name: a, members: [b]}\n- {name: a, members: [c]}\n", []string{"line 3", `another bundle "a"`}},
		{"bundles:\n- {name: a, members: b}\n", []string{"bundle 1: members", "allowed is a list"}},
		{"bundles:\n- {name: [a], members: [b]}\n", []string{"bundle 1: name is a list"}},
		{"mode: \"\\q\"\n", []string{"line 1", "not valid YAML"}},
		{"a: 1\n}\n", []string{"line 2", "not valid YAML"}},
		{"mode: on\ntoken: *hunter2\n", []string{"line 2", "must be quoted"}},
		{"\xff\xfe\x00", []string{"line 1", "not valid YAML"}},
		{"mode: on\nlog: \x00\n", []string{"line 2", "not valid YAML"}},
		{strings.Repeat("# long\n", 200_000), []string{"longer than"}},
	} {
		_, _, err := load(t, test.file, nil, nil)
		expectSentence(t, err, append(test.parts, "toolbelt.yaml")...)
	}
}

func TestHarmlessFiles(t *testing.T) {
	for _, file := range []string{"# nothing\n", "---\n", "null\n", "{}\n", "\xef\xbb\xbfmode: on\n", "mode: on\n...\n", "core: []\n", "core: null\n", "tau: &x 1\nmax_tools: *x\n"} {
		if _, _, err := load(t, file, nil, nil); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestWhichFile(t *testing.T) {
	home, dir, base := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(parts ...string) string {
		path := filepath.Join(parts...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("max_tools: 7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	environ := []string{"HOME=" + home}
	expect := func(want, named string, environ ...string) {
		t.Helper()
		_, from, err := config.Load(config.Sources{Environ: environ, Dir: dir, File: named})
		if err != nil || from.File != want {
			t.Errorf("read %q (%v), want %q", from.File, err, want)
		}
	}
	expect("", "", environ...)
	local := write(dir, "toolbelt.yaml")
	expect(local, "", environ...)
	inHome := write(home, ".config", "toolbelt", "toolbelt.yaml")
	expect(inHome, "", environ...)
	inBase := write(base, "toolbelt", "toolbelt.yaml")
	expect(inBase, "", append(environ, "XDG_CONFIG_HOME="+base)...)
	expect(inHome, "", append(environ, "XDG_CONFIG_HOME=relative/is/ignored")...)
	expect(local, "", "HOME=/dev/null")
	other := write(dir, "sub", "other.yaml")
	expect(other, "", append(environ, "TOOLBELT_CONFIG=sub/other.yaml")...)
	expect(other, "sub/other.yaml", append(environ, "TOOLBELT_CONFIG=missing.yaml")...)

	for what, src := range map[string]config.Sources{
		"TOOLBELT_CONFIG": {Environ: append(environ, "TOOLBELT_CONFIG=missing.yaml"), Dir: dir},
		"--config":        {Environ: environ, Dir: dir, File: "missing.yaml"},
	} {
		_, _, err := config.Load(src)
		expectSentence(t, err, what, filepath.Join(dir, "missing.yaml"), "no such file")
	}
	_, _, err := config.Load(config.Sources{Environ: environ, Dir: dir, File: "sub"})
	expectSentence(t, err, "--config", "directory")
}

func TestUnknownVariablesAreWarnings(t *testing.T) {
	_, from, err := load(t, "", []string{"TOOLBELT_MAXTOOLS=3", "TOOLBELT_CORE=a", "TOOLBELT_ZZZZZZZZ=1", "TOOLBELT_tau=99", "TOOLBELT=1", "TOOLBELT_EMBED_URL=http://x/v1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`TOOLBELT_CORE is set, but "core" is read from the configuration file only`,
		`TOOLBELT_MAXTOOLS is set, but there is no such setting; did you mean "TOOLBELT_MAX_TOOLS"?`,
		`TOOLBELT_ZZZZZZZZ is set, but there is no such setting`,
		`TOOLBELT_tau is set, but there is no such setting; did you mean "TOOLBELT_TAU"?`,
		`embed_url is set (environment TOOLBELT_EMBED_URL), but the embedder auto does not use it`,
	}
	if !reflect.DeepEqual(from.Warnings, want) {
		t.Errorf("warnings\n%s\nwant\n%s", strings.Join(from.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

func TestEmbedders(t *testing.T) {
	lemonade := []string{"LEMONADE_BASE_URL=http://lemon:8000/api/v1/", "LEMONADE_API_KEY=lemon-key"}
	for _, test := range []struct {
		name    string
		environ []string
		want    config.Embed
		err     string
	}{
		{name: "lemonade", environ: append(lemonade, "TOOLBELT_EMBEDDER=lemonade", "TOOLBELT_EMBED_MODEL=m"),
			want: config.Embed{Kind: config.Lemonade, Model: "m", URL: "http://lemon:8000/api/v1", Key: "lemon-key"}},
		{name: "ours over lemonade's", environ: append(lemonade, "TOOLBELT_EMBEDDER=Lemonade", "TOOLBELT_EMBED_MODEL=m", "TOOLBELT_EMBED_URL=http://own/v1", "TOOLBELT_EMBED_KEY=own"),
			want: config.Embed{Kind: config.Lemonade, Model: "m", URL: "http://own/v1", Key: "own"}},
		{name: "lemonade at the upstream", environ: []string{"TOOLBELT_EMBEDDER=lemonade", "TOOLBELT_EMBED_MODEL=m"}, want: config.Embed{Kind: config.Lemonade, Model: "m"}},
		{name: "lemonade's key is for nobody else", environ: append(lemonade, "TOOLBELT_EMBEDDER=openai", "TOOLBELT_EMBED_URL=http://own/v1", "TOOLBELT_EMBED_MODEL=m"),
			want: config.Embed{Kind: config.OpenAI, URL: "http://own/v1", Model: "m"}},
		{name: "off", environ: []string{"TOOLBELT_EMBEDDER=no"}, want: config.Embed{Kind: config.NoEmbedder}},
		{name: "openai lacks its URL", environ: append(lemonade, "TOOLBELT_EMBEDDER=openai", "TOOLBELT_EMBED_MODEL=m"), err: "TOOLBELT_EMBED_URL"},
		{name: "openai lacks its model", environ: []string{"TOOLBELT_EMBEDDER=openai", "TOOLBELT_EMBED_URL=http://own/v1"}, err: "TOOLBELT_EMBED_MODEL"},
		{name: "lemonade lacks its model", environ: append(lemonade, "TOOLBELT_EMBEDDER=lemonade"), err: "TOOLBELT_EMBED_MODEL"},
		{name: "bad lemonade URL", environ: []string{"TOOLBELT_EMBEDDER=lemonade", "LEMONADE_BASE_URL=lemon"}, err: `LEMONADE_BASE_URL: got "lemon"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _, err := load(t, "", test.environ, nil)
			if test.err != "" {
				expectSentence(t, err, test.err)
				return
			}
			test.want.Deadline = 120 * time.Millisecond
			if err != nil || c.Embed != test.want {
				t.Errorf("got %+v with key %q (%v), want %+v", c.Embed, c.Embed.Key.Reveal(), err, test.want)
			}
		})
	}
}

func TestDeadlineFitsTheBudget(t *testing.T) {
	c, _, err := load(t, "", []string{"TOOLBELT_BUDGET=50ms"}, nil)
	if err != nil || c.Embed.Deadline != 40*time.Millisecond {
		t.Errorf("deadline %v, error %v", c.Embed.Deadline, err)
	}
	_, _, err = load(t, "budget: 50ms\nembed_deadline: 60ms\n", nil, nil)
	expectSentence(t, err, "line 2: embed_deadline", "60ms", "50ms", "toolbelt.yaml")
	_, _, err = load(t, "budget: 50ms\n", nil, map[string]string{"embed_deadline": "60ms"})
	expectSentence(t, err, "--embed-deadline", "60ms", "50ms")
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	const secret = "hunter2-and-more"
	environ := []string{"TOOLBELT_TOKEN=" + secret, "TOOLBELT_EMBED_KEY=" + secret, "TOOLBELT_EMBEDDER=lemonade", "TOOLBELT_EMBED_MODEL=m"}
	c, from, err := load(t, "", environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Serve.Token.Reveal() != secret || c.Embed.Key.Reveal() != secret {
		t.Fatal("the secrets did not arrive")
	}
	document, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("config", "token", c.Serve.Token, "all", c)
	texts := []string{string(document), logged.String(), fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c.Serve.Token, c.Serve.Token), fmt.Sprint(c.Settings(from))}
	for _, bad := range []string{"token: " + secret + " x\n", "embed_key: " + secret + " x\n", "token: [" + secret + "]\n", "token: {" + secret + ": 1}\n", "token: *" + secret + "\n"} {
		_, _, err := load(t, bad, nil, nil)
		expectSentence(t, err, "line 1")
		texts = append(texts, fmt.Sprint(err))
	}
	_, _, err = load(t, "", []string{"TOOLBELT_TOKEN=" + secret + " é"}, nil)
	expectSentence(t, err, "TOOLBELT_TOKEN", "not shown")
	for _, text := range append(texts, fmt.Sprint(err)) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the secret stands in %s", text)
		}
	}
}

func TestEmptyFlag(t *testing.T) {
	_, _, err := load(t, "", nil, map[string]string{"listen": " "})
	expectSentence(t, err, "--listen", "empty")
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{
		":memory:": ":memory:", "/var/x.db": "/var/x.db", "x.db": "/some dir/x.db", "../x.db": "/x.db", "~/x.db": "/home/ann/x.db", "~x": "/some dir/~x",
	} {
		c, _, err := config.Load(config.Sources{Environ: []string{"HOME=/home/ann", "TOOLBELT_DB=" + text}, Dir: "/some dir"})
		if err != nil || c.Store.Path != want {
			t.Errorf("%q is %q (%v), want %q", text, c.Store.Path, err, want)
		}
	}
}

func TestHomeless(t *testing.T) {
	c, _, err := config.Load(config.Sources{Dir: t.TempDir()})
	if err != nil || c.Store.Path != "" {
		t.Errorf("database %q, error %v", c.Store.Path, err)
	}
	_, _, err = config.Load(config.Sources{Environ: []string{"TOOLBELT_DB=~/x.db"}, Dir: t.TempDir()})
	expectSentence(t, err, "TOOLBELT_DB", "home")
}
