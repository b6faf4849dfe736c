// Package skillmd reads and writes procedures in the public Agent Skills format: a folder that holds a SKILL.md, YAML front matter
// before Markdown. What is ours stands under metadata.toolbelt; the tools that GAIA's skills name, under
// metadata.gaia.tools_required, are read as well. Other files of a skill's folder are not kept.
package skillmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"toolbelt/catalog"
	"toolbelt/skills"
)

const (
	// FileName is what a skill's file is called, in any case.
	FileName = "SKILL.md"
	// MaxFileBytes bounds one SKILL.md.
	MaxFileBytes = 1 << 20
	// Format is the version of what stands under metadata.toolbelt.
	Format = 1
)

// Document is a procedure as it was read, and what a user must know of it.
type Document struct {
	Procedure skills.Procedure
	Warnings  []string // sentences
}

// front is the front matter that is understood.
type front struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	License     string `yaml:"license,omitempty"`
	Version     string `yaml:"version,omitempty"`
	Metadata    struct {
		Version  string `yaml:"version,omitempty"`
		Toolbelt *ours  `yaml:"toolbelt,omitempty"`
		GAIA     struct {
			ToolsRequired []string `yaml:"tools_required"`
		} `yaml:"gaia"`
	} `yaml:"metadata"`
	ToolsRequired []string `yaml:"tools_required"`
}

// ours is metadata.toolbelt.
type ours struct {
	Format        int      `yaml:"format" json:"format"`
	ToolsRequired []string `yaml:"tools_required,flow" json:"tools_required"`
	ToolSequence  []string `yaml:"tool_sequence,flow,omitempty" json:"tool_sequence,omitempty"`
	Version       int      `yaml:"version,omitempty" json:"version,omitempty"`
	Learned       *learned `yaml:"learned,omitempty" json:"learned,omitempty"`
}

type learned struct {
	Runs      int `yaml:"runs" json:"runs"`
	Succeeded int `yaml:"succeeded" json:"succeeded"`
}

// Parse reads a SKILL.md. An error is of kind Invalid and says what is wrong, with the line where YAML is; Conflict where the file is of
// a newer version of ours. Unknown fields are kept for Write. The procedure is enabled, of kind Imported, and valid.
func Parse(data []byte) (Document, error) {
	if len(data) > MaxFileBytes {
		return Document{}, invalid("it has %d bytes, at most %d are read", len(data), MaxFileBytes)
	}
	if !utf8.Valid(data) {
		return Document{}, invalid("it is not UTF-8 text")
	}
	head, body, err := split(data)
	if err != nil {
		return Document{}, err
	}
	var f front
	var all map[string]any
	if err := decode(head, &all); err != nil {
		return Document{}, err
	}
	if err := decode(head, &f); err != nil {
		return Document{}, err
	}
	d, err := f.document(all)
	if err != nil {
		return Document{}, err
	}
	d.Procedure.Body = strings.TrimSpace(string(body))
	if len(d.Procedure.ToolsRequired) == 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the skill %q names no tools: it brings none (add them under metadata.toolbelt.tools_required)", f.Name))
		if d.Procedure.Body == "" {
			return Document{}, invalid("it has neither tools nor a text: there is nothing to remember")
		}
	}
	return d, d.Procedure.Validate()
}

func invalid(format string, args ...any) error {
	return catalog.NewError(catalog.Invalid, "reading the SKILL.md: "+fmt.Sprintf(format, args...), nil)
}

// split parts front matter and text.
func split(data []byte) (head, body []byte, err error) {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, "\n \t"), []byte("---\n"))
	if !ok {
		return nil, nil, invalid("it does not begin with front matter: a line of --- , then name: and description:, then another line of ---")
	}
	if body, ok := bytes.CutPrefix(rest, []byte("---\n")); ok {
		return nil, body, nil
	}
	at := bytes.Index(rest, []byte("\n---\n"))
	if at < 0 {
		if head, ok := bytes.CutSuffix(bytes.TrimRight(rest, "\n \t"), []byte("\n---")); ok {
			return head, nil, nil
		}
		return nil, nil, invalid("its front matter does not end: a line of --- is missing")
	}
	return rest[:at+1], rest[at+5:], nil
}

// maxAliases bounds YAML aliases, by which a short text can stand for a huge one.
const maxAliases = 0

func decode(head []byte, into any) error {
	if bytes.Count(head, []byte("*")) > maxAliases && aliased(head) {
		return invalid("its front matter uses YAML aliases, which are not read")
	}
	err := yaml.NewDecoder(bytes.NewReader(head)).Decode(into)
	if errors.Is(err, io.EOF) {
		return invalid("its front matter is empty: name and description are needed")
	}
	if err != nil {
		return invalid("its front matter is broken: %s", strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: "))
	}
	return nil
}

// aliased reports whether the YAML has an alias.
func aliased(head []byte) bool {
	var root yaml.Node
	if yaml.Unmarshal(head, &root) != nil {
		return false // decoding says what is wrong
	}
	var has func(n *yaml.Node) bool
	has = func(n *yaml.Node) bool { return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, has) }
	return has(&root)
}

func (f front) document(all map[string]any) (Document, error) {
	var d Document
	p := &d.Procedure
	p.Name, p.WhenToUse, p.Enabled = strings.TrimSpace(f.Name), strings.TrimSpace(f.Description), true
	p.Origin = skills.Origin{Kind: skills.Imported, License: f.License, Release: f.Version}
	if p.Origin.Release == "" {
		p.Origin.Release = f.Metadata.Version
	}
	if o := f.Metadata.Toolbelt; o != nil {
		if o.Format > Format {
			return d, catalog.NewError(catalog.Conflict, fmt.Sprintf("reading the SKILL.md: it is of format %d, this program knows %d: use the newer program", o.Format, Format), nil)
		}
		p.ToolsRequired, p.ToolSequence = o.ToolsRequired, o.ToolSequence
		if o.Learned != nil {
			p.Origin.Runs, p.Origin.Succeeded = o.Learned.Runs, o.Learned.Succeeded
		}
	}
	for _, other := range [][]string{f.Metadata.GAIA.ToolsRequired, f.ToolsRequired, allowed(all["allowed-tools"])} {
		if len(p.ToolsRequired) == 0 {
			p.ToolsRequired = other
		}
	}
	p.ToolsRequired = distinct(p.ToolsRequired)
	if n := len(p.ToolsRequired); n > skills.MaxToolsRequired {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the skill %q names %d tools: the first %d are kept", f.Name, n, skills.MaxToolsRequired))
		p.ToolsRequired = p.ToolsRequired[:skills.MaxToolsRequired]
	}
	extra, err := extraOf(all)
	p.Origin.Extra = extra
	return d, err
}

// allowed are the names in an allowed-tools field: a list, or words such as "Read Bash(git:*)".
func allowed(field any) []string {
	var words []string
	switch v := field.(type) {
	case string:
		words = strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, s)
			}
		}
	}
	var names []string
	for _, w := range words {
		if name, _, _ := strings.Cut(strings.TrimSpace(w), "("); name != "" && !strings.ContainsAny(name, "*:)") {
			names = append(names, name)
		}
	}
	return names
}

func distinct(names []string) []string {
	var once []string
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" && !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return once
}

// extraOf is what the front matter says besides what a procedure has fields for, as a JSON object; "" where that is nothing.
func extraOf(all map[string]any) (string, error) {
	extra := maps.Clone(all)
	for _, known := range []string{"name", "description", "license", "version"} {
		delete(extra, known)
	}
	if metadata, ok := extra["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "toolbelt")
		if extra["metadata"] = metadata; len(metadata) == 0 {
			delete(extra, "metadata")
		}
	} else if extra["metadata"] == nil {
		delete(extra, "metadata")
	}
	if len(extra) == 0 {
		return "", nil
	}
	text, err := json.Marshal(extra)
	if err != nil {
		return "", invalid("its front matter has keys that are no texts: %v", err)
	}
	return string(text), nil
}

// Write writes p as a SKILL.md. Parse reads it back to the same name, words, tools, text, licence, release and extra fields.
func Write(p skills.Procedure) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	put := func(key string, value any) error {
		var k, v yaml.Node
		if err := k.Encode(key); err != nil {
			return err
		}
		if err := v.Encode(value); err != nil {
			return err
		}
		root.Content = append(root.Content, &k, &v)
		return nil
	}
	extra := map[string]any{}
	if p.Origin.Extra != "" {
		if err := json.Unmarshal([]byte(p.Origin.Extra), &extra); err != nil {
			return nil, fmt.Errorf("writing the skill %q: %w", p.Name, err)
		}
	}
	metadata, _ := extra["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	o := ours{Format: Format, ToolsRequired: append([]string{}, p.ToolsRequired...), ToolSequence: p.ToolSequence, Version: p.Version}
	if p.Origin.Runs > 0 {
		o.Learned = &learned{p.Origin.Runs, p.Origin.Succeeded}
	}
	metadata["toolbelt"] = o
	delete(extra, "metadata")
	fields := []struct {
		key   string
		value any
		there bool
	}{{"name", p.Name, true}, {"description", p.WhenToUse, true}, {"license", p.Origin.License, p.Origin.License != ""}, {"version", p.Origin.Release, p.Origin.Release != ""}}
	for _, f := range fields {
		if f.there {
			if err := put(f.key, f.value); err != nil {
				return nil, err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if err := put(key, extra[key]); err != nil {
			return nil, err
		}
	}
	if err := put("metadata", metadata); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("---\n")
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the skill %q: %w", p.Name, err)
	}
	fmt.Fprintf(&out, "---\n\n%s\n", strings.TrimSpace(p.Body))
	return out.Bytes(), nil
}
