package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

const prefix = "TOOLBELT_"

// Sources is where settings come from.
type Sources struct {
	Environ []string          // NAME=value, as os.Environ returns it; a variable that is empty counts as not set
	Flags   map[string]string // by key ("max_tools"), only flags that were given
	File    string            // of --config; "" where the flag was not given
	Dir     string            // working directory, absolute; relative paths and ./toolbelt.yaml start from it
}

// Load reads and validates every setting. Precedence, the weakest first: defaults, other programs'
// variables (OLLAMA_HOST, LEMONADE_…), the file, TOOLBELT_ variables, flags. The file is the one that --config or
// TOOLBELT_CONFIG names, which must exist, else toolbelt/toolbelt.yaml in the XDG configuration
// directory, else ./toolbelt.yaml, else none. An error is one sentence that names the variable,
// the flag or the file and key, what it held and what is allowed; it never holds a secret.
func Load(src Sources) (Config, Provenance, error) {
	l := &loader{src: src, env: environment(src.Environ), merged: koanf.New("\x00")}
	l.from.Origins = map[string]Origin{}
	for _, layer := range []func() error{l.defaults, l.file, l.variables, l.flags} {
		if err := layer(); err != nil {
			return Config{}, Provenance{}, err
		}
	}
	var c Config
	for _, s := range settings() {
		if err := l.apply(&c, s); err != nil {
			return Config{}, Provenance{}, err
		}
	}
	if err := l.together(&c); err != nil {
		return Config{}, Provenance{}, err
	}
	return c, l.from, nil
}

type loader struct {
	src    Sources
	env    map[string]string
	merged *koanf.Koanf
	from   Provenance
	doc    document
}

func environment(environ []string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, text, ok := strings.Cut(entry, "="); ok && strings.TrimSpace(text) != "" {
			vars[name] = strings.TrimSpace(text)
		}
	}
	return vars
}

// add merges one layer over those before it and notes where its keys came from.
func (l *loader) add(p koanf.Provider, parser koanf.Parser, origin func(key string) Origin) error {
	layer := koanf.New("\x00")
	if err := layer.Load(p, parser); err != nil {
		return err
	}
	for _, s := range settings() {
		if layer.Exists(s.key) {
			l.from.Origins[s.key] = origin(s.key)
		}
	}
	return l.merged.Merge(layer)
}

func (l *loader) defaults() error {
	ours, others := map[string]any{}, map[string]any{}
	names := map[string]string{}
	for _, s := range settings() {
		ours[s.key] = s.std
		if text := l.env[s.fallback]; s.fallback == "OLLAMA_HOST" && text != "" {
			others[s.key], names[s.key] = text, s.fallback
		}
	}
	if base := xdg(l.env, "XDG_DATA_HOME", filepath.Join(".local", "share")); base != "" {
		ours["db"] = filepath.Join(base, "toolbelt", "toolbelt.db")
	}
	if err := l.add(confmap.Provider(ours, ""), nil, func(string) Origin { return Origin{} }); err != nil {
		return err
	}
	return l.add(confmap.Provider(others, ""), nil, func(key string) Origin { return Origin{Environment, names[key]} })
}

func (l *loader) file() error {
	named, what := l.src.File, "--config"
	if named == "" {
		named, what = l.env[prefix+"CONFIG"], prefix+"CONFIG"
	}
	if named != "" {
		path, err := value{text: named, dir: l.src.Dir, home: homeOf(l.env)}.path()
		if err != nil {
			return fmt.Errorf("%s: got %q, %v", what, named, err)
		}
		named = path
	}
	path := find(named, places(l.env, l.src.Dir))
	if path == "" {
		return nil
	}
	data, err := readFile(path)
	if err != nil && named != "" {
		return fmt.Errorf("%s: %v", what, err)
	}
	if err != nil {
		return err
	}
	l.from.File = path
	l.doc = document{path: path, lines: map[string]int{}}
	return l.add(rawbytes.Provider(data), &l.doc, func(string) Origin { return Origin{File, path} })
}

func (l *loader) variables() error {
	known := map[string]setting{}
	for _, s := range settings() {
		known[s.key] = s
	}
	read := func(name, text string) (string, any) {
		key := strings.ToLower(strings.TrimPrefix(name, prefix))
		s, ok := known[key]
		switch {
		case name == prefix+"CONFIG" || isScripts(name):
			return "", nil
		case !ok || name != variable(key):
			l.warn(name + " is set, but there is no such setting" + suggestion(key, variable))
			return "", nil
		case s.fileOnly:
			l.warn(fmt.Sprintf("%s is set, but %q is read from the configuration file only", name, key))
			return "", nil
		case strings.TrimSpace(text) == "":
			return "", nil
		}
		return key, strings.TrimSpace(text)
	}
	err := l.add(env.Provider("", env.Opt{Prefix: prefix, TransformFunc: read,
		EnvironFunc: func() []string { return l.src.Environ }}), nil,
		func(key string) Origin { return Origin{Environment, variable(key)} })
	sort.Strings(l.from.Warnings)
	return err
}

// isScripts reports whether a variable is read by the scripts that build, test and measure, not by the program.
func isScripts(name string) bool {
	switch name {
	case prefix + "ENGINE_DIR", prefix + "NODE_DIR", prefix + "PYTHON_DIR":
		return true
	}
	return strings.HasPrefix(name, prefix+"TEST_")
}

func (l *loader) warn(sentence string) { l.from.Warnings = append(l.from.Warnings, sentence) }

func asKey(key string) string { return key }

func variable(key string) string { return prefix + strings.ToUpper(key) }

func flagName(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

func (l *loader) flags() error {
	given := map[string]any{}
	for _, s := range settings() {
		text, ok := l.src.Flags[s.key]
		if ok && strings.TrimSpace(text) == "" {
			return fmt.Errorf("%s: got an empty value", flagName(s.key))
		}
		if ok {
			given[s.key] = strings.TrimSpace(text)
		}
	}
	return l.add(confmap.Provider(given, ""), nil, func(key string) Origin { return Origin{Flag, flagName(key)} })
}

// apply validates one merged value and puts it into c.
func (l *loader) apply(c *Config, s setting) error {
	origin := l.from.Origins[s.key]
	v := value{dir: l.src.Dir, home: homeOf(l.env)}
	if origin.Source == File {
		v.dir = filepath.Dir(origin.Name)
	}
	switch raw := l.merged.Get(s.key).(type) {
	case string:
		v.text = strings.TrimSpace(raw)
	default:
		v.raw = raw
	}
	if err := s.set(c, v); err != nil {
		return l.refuse(s, origin, v.text, err)
	}
	return nil
}

func (l *loader) refuse(s setting, origin Origin, text string, err error) error {
	got := fmt.Sprintf("got %q", clip(text))
	if s.secret {
		got = "got a value that is not shown here"
	}
	switch origin.Source {
	case File:
		return l.doc.errorf(l.doc.lines[s.key], "%s: %s, %v", s.key, got, err)
	case Environment, Flag:
		return fmt.Errorf("%s: %s, %v", origin.Name, got, err)
	}
	return fmt.Errorf("%s: %s, %v", s.key, got, err)
}

// together settles what one setting means for another.
func (l *loader) together(c *Config) error {
	if c.Embed.Deadline > c.Selection.Budget {
		if l.from.Origins["embed_deadline"].Source != Default {
			return fmt.Errorf("%s: got %v, allowed is at most the budget of %v (%s)", l.name("embed_deadline"),
				c.Embed.Deadline, c.Selection.Budget, l.from.Origins["budget"])
		}
		c.Embed.Deadline = c.Selection.Budget * 4 / 5
	}
	switch c.Embed.Kind {
	case Lemonade:
		if err := l.lemonade(c); err != nil {
			return err
		}
		if c.Embed.Model == "" {
			return errors.New("the embedder lemonade needs TOOLBELT_EMBED_MODEL: the name of an embedding model that it serves")
		}
	case OpenAI:
		if c.Embed.URL == "" || c.Embed.Model == "" {
			return errors.New("the embedder openai needs TOOLBELT_EMBED_URL, such as http://127.0.0.1:8000/v1, and TOOLBELT_EMBED_MODEL")
		}
	default:
		l.unused(c)
	}
	return nil
}

// unused warns of what only the OpenAI-compatible embedders read.
func (l *loader) unused(c *Config) {
	for _, key := range []string{"embed_url", "embed_key"} {
		if origin := l.from.Origins[key]; origin.Source != Default {
			l.warn(fmt.Sprintf("%s is set (%s), but the embedder %s does not use it", key, origin, c.Embed.Kind))
		}
	}
}

// lemonade reads Lemonade's own variables, for its embedder only: their key is for nobody else.
func (l *loader) lemonade(c *Config) error {
	for _, s := range embedSettings() {
		text := l.env[s.fallback]
		if s.fallback == "" || text == "" || l.from.Origins[s.key].Source != Default {
			continue
		}
		origin := Origin{Environment, s.fallback}
		if err := s.set(c, value{text: text}); err != nil {
			return l.refuse(s, origin, text, err)
		}
		l.from.Origins[s.key] = origin
	}
	return nil
}

func (l *loader) name(key string) string {
	if o := l.from.Origins[key]; o.Source != File {
		return o.Name
	}
	return fmt.Sprintf("%s, line %d: %s", l.doc.path, l.doc.lines[key], key)
}
