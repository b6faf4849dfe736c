package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"toolbelt/bundles"
)

const (
	maxFileBytes = 1 << 20
	maxList      = 10_000
)

// find returns the file to read: the one that was named, which must exist, else the first of the
// default places that does, else "". A place that cannot be looked at counts as empty.
func find(named string, places []string) string {
	if named != "" {
		return named
	}
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			return place
		}
	}
	return ""
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %v", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration file: %v", err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("reading the configuration file %q: it is longer than %d bytes", path, maxFileBytes)
	}
	return data, nil
}

// document is the configuration file as a koanf parser: it keeps every scalar's own text, so that a
// number or a word means the same here and in a variable, and it remembers the keys' lines.
type document struct {
	path  string
	lines map[string]int
}

func (d *document) errorf(line int, format string, args ...any) error {
	where := d.path
	if line > 0 {
		where = fmt.Sprintf("%s, line %d", d.path, line)
	}
	return fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
}

// Unmarshal implements koanf.Parser. Keys whose value is empty or null are left out.
func (d *document) Unmarshal(data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := unreadable(data); line > 0 {
		return nil, d.errorf(line, "not valid YAML: it holds bytes that are no UTF-8 text")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return map[string]any{}, nil
	} else if err != nil {
		return nil, d.syntax(data, err)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, d.errorf(0, "there is more than one document; keep all settings before the second ---")
	} else if !errors.Is(err, io.EOF) {
		return nil, d.syntax(data, err)
	}
	if len(root.Content) != 1 || isNull(root.Content[0]) {
		return map[string]any{}, nil
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, d.errorf(top.Line, "expected lines of the form key: value")
	}
	return d.mapping(top)
}

// Marshal implements koanf.Parser; nothing is ever written.
func (d *document) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("the configuration file is only read")
}

func (d *document) mapping(top *yaml.Node) (map[string]any, error) {
	known := map[string]setting{}
	for _, s := range settings() {
		known[s.key] = s
	}
	values := map[string]any{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, node := top.Content[i], resolve(top.Content[i+1])
		name := key.Value
		if _, ok := known[name]; !ok || key.Kind != yaml.ScalarNode {
			return nil, d.errorf(key.Line, "unknown key %q%s", clip(name), suggestion(name, asKey))
		}
		if first, twice := d.lines[name]; twice {
			return nil, d.errorf(key.Line, "the key %q stands in line %d already", name, first)
		}
		d.lines[name] = key.Line
		if isNull(node) {
			continue
		}
		v, err := d.value(name, node)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	return values, nil
}

func (d *document) value(name string, node *yaml.Node) (any, error) {
	switch name {
	case "core":
		return d.names(name, node)
	case "bundles":
		return d.bundles(node)
	case "hosts": // a list in YAML, or the variable's comma list
		if node.Kind == yaml.SequenceNode {
			list, err := d.names(name, node)
			return strings.Join(list, ","), err
		}
	}
	if node.Kind != yaml.ScalarNode {
		return nil, d.errorf(node.Line, "%s: got %s, allowed is a single value", name, kindName(node))
	}
	return node.Value, nil
}

// names reads a list of distinct, non-empty texts.
func (d *document) names(what string, node *yaml.Node) ([]string, error) {
	if node.Kind != yaml.SequenceNode || len(node.Content) > maxList {
		return nil, d.errorf(node.Line, "%s: got %s, allowed is a list of at most %d names", what, kindName(node), maxList)
	}
	list := make([]string, 0, len(node.Content))
	seen := map[string]bool{}
	for i, element := range node.Content {
		element = resolve(element)
		if element.Kind != yaml.ScalarNode || isNull(element) || strings.TrimSpace(element.Value) == "" {
			return nil, d.errorf(element.Line, "%s: entry %d is %s, allowed is a name", what, i+1, kindName(element))
		}
		if seen[element.Value] {
			return nil, d.errorf(element.Line, "%s: %q stands there twice", what, clip(element.Value))
		}
		seen[element.Value] = true
		list = append(list, element.Value)
	}
	return list, nil
}

func (d *document) bundles(node *yaml.Node) ([]bundles.Bundle, error) {
	const shape = "a bundle is {name: …, description: …, members: […]}"
	if node.Kind != yaml.SequenceNode || len(node.Content) > maxList {
		return nil, d.errorf(node.Line, "bundles: got %s, allowed is a list of at most %d bundles; %s", kindName(node), maxList, shape)
	}
	list := make([]bundles.Bundle, 0, len(node.Content))
	seen, members := map[string]bool{}, 0
	for i, element := range node.Content {
		element = resolve(element)
		what := fmt.Sprintf("bundles: bundle %d", i+1)
		if element.Kind != yaml.MappingNode {
			return nil, d.errorf(element.Line, "%s is %s; %s", what, kindName(element), shape)
		}
		b, err := d.bundle(what, element)
		if err != nil {
			return nil, err
		}
		if b.Name == "" || len(b.Members) == 0 {
			return nil, d.errorf(element.Line, "%s lacks a name or members; %s", what, shape)
		}
		if seen[b.Name] {
			return nil, d.errorf(element.Line, "%s: there is another bundle %q", what, clip(b.Name))
		}
		if members += len(b.Members); members > 10*maxList {
			return nil, d.errorf(element.Line, "bundles: there are more than %d members in all", 10*maxList)
		}
		seen[b.Name] = true
		list = append(list, b)
	}
	return list, nil
}

func (d *document) bundle(what string, node *yaml.Node) (b bundles.Bundle, err error) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, v := node.Content[i], resolve(node.Content[i+1])
		if seen[key.Value] {
			return b, d.errorf(key.Line, "%s: the key %q stands there twice", what, clip(key.Value))
		}
		seen[key.Value] = true
		switch key.Value {
		case "members":
			if b.Members, err = d.names(what+": members", v); err != nil {
				return b, err
			}
		case "name", "description":
			if v.Kind != yaml.ScalarNode {
				return b, d.errorf(v.Line, "%s: %s is %s, allowed is a text", what, key.Value, kindName(v))
			}
			text := strings.TrimSpace(v.Value)
			if isNull(v) {
				text = ""
			}
			if key.Value == "name" {
				b.Name = text
			} else {
				b.Description = text
			}
		default:
			return b, d.errorf(key.Line, "%s: unknown key %q; allowed are name, description and members", what, clip(key.Value))
		}
	}
	return b, nil
}

func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && (node.Tag == "!!null" || node.Value == "" && node.Style == 0)
}

func kindName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return fmt.Sprintf("a list of %d", len(node.Content))
	}
	if isNull(node) || strings.TrimSpace(node.Value) == "" {
		return "empty"
	}
	return fmt.Sprintf("%q", clip(node.Value))
}

func clip(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

// places are where a file that nobody named is looked for.
func places(env map[string]string, dir string) []string {
	var list []string
	if base := xdg(env, "XDG_CONFIG_HOME", ".config"); base != "" {
		list = append(list, filepath.Join(base, "toolbelt", "toolbelt.yaml"))
	}
	return append(list, filepath.Join(dir, "toolbelt.yaml"))
}

// xdg returns a base directory: the variable's where that is absolute, else the folder in the home directory, else "".
func xdg(env map[string]string, name, folder string) string {
	if base := env[name]; filepath.IsAbs(base) {
		return base
	}
	if home := homeOf(env); home != "" {
		return filepath.Join(home, folder)
	}
	return ""
}

func homeOf(env map[string]string) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := env[name]; filepath.IsAbs(home) {
			return home
		}
	}
	return ""
}
