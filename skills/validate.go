package skills

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"toolbelt/catalog"
)

// The limits of a procedure's fields.
const (
	MaxNameBytes           = 64
	MaxWhenToUseCharacters = 1024
	MaxToolsRequired       = 32
	MaxBodyBytes           = 64 << 10
	MaxSequence            = 64
	MaxExamples            = 8
	MaxAlsoUsed            = 64
	MaxExampleBytes        = 2 << 10
)

// Validate returns an error of kind Invalid that names the field at fault and what it may hold: a name of 1 to 64 of
// a-z 0-9 - with no - at its ends; a when_to_use that is not blank, of at most 1,024 characters; 1 to 32 tools_required,
// none empty and none twice, or none at all where there is a body; a body of at most 64 KB; counts that are not negative; a tool_sequence of
// at most 64 calls; at most 64 tools in also_used; at most 8 examples and 8 texts in not_for of at most 2 KB each; all of it UTF-8.
func (p Procedure) Validate() error {
	for _, check := range []func() error{p.checkName, p.checkWhenToUse, p.checkTools, p.checkBody, p.checkCounts, p.checkLearned} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Procedure) checkName() error {
	const allowed = "name must be 1 to 64 of a-z, 0-9 and -, and neither begin nor end with -"
	if p.Name == "" {
		return invalid("the skill has no name: %s", allowed)
	}
	if len(p.Name) > MaxNameBytes {
		return invalid("the skill's name has %d bytes: %s", len(p.Name), allowed)
	}
	for _, c := range []byte(p.Name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return invalid("the skill's name is %q: %s", p.Name, allowed)
		}
	}
	if p.Name[0] == '-' || p.Name[len(p.Name)-1] == '-' {
		return invalid("the skill's name is %q: %s", p.Name, allowed)
	}
	return nil
}

func (p Procedure) checkWhenToUse() error {
	const allowed = "it must say in 1 to 1,024 characters when to use the skill"
	switch {
	case !utf8.ValidString(p.WhenToUse):
		return invalid("when_to_use of the skill %q is not UTF-8: %s", p.Name, allowed)
	case strings.TrimSpace(p.WhenToUse) == "":
		return invalid("when_to_use of the skill %q is empty: %s", p.Name, allowed)
	}
	if n := utf8.RuneCountInString(p.WhenToUse); n > MaxWhenToUseCharacters {
		return invalid("when_to_use of the skill %q has %d characters: %s", p.Name, n, allowed)
	}
	return nil
}

func (p Procedure) checkTools() error {
	const allowed = "it must name 1 to 32 tools, each once"
	if n := len(p.ToolsRequired); n < 1 && p.Body == "" || n > MaxToolsRequired {
		return invalid("tools_required of the skill %q names %d tools: %s", p.Name, n, allowed)
	}
	seen := make(map[string]bool, len(p.ToolsRequired))
	for i, name := range p.ToolsRequired {
		switch {
		case name == "":
			return invalid("tools_required of the skill %q has an empty name at place %d: %s", p.Name, i+1, allowed)
		case !utf8.ValidString(name):
			return invalid("tools_required of the skill %q has a name that is not UTF-8 at place %d: %s", p.Name, i+1, allowed)
		case seen[name]:
			return invalid("tools_required of the skill %q names %q twice: %s", p.Name, name, allowed)
		}
		seen[name] = true
	}
	return nil
}

func (p Procedure) checkBody() error {
	switch {
	case len(p.Body) > MaxBodyBytes:
		return invalid("body of the skill %q has %d bytes: it may have %d", p.Name, len(p.Body), MaxBodyBytes)
	case !utf8.ValidString(p.Body):
		return invalid("body of the skill %q is not UTF-8", p.Name)
	}
	return nil
}

func (p Procedure) checkCounts() error {
	if p.Successes < 0 || p.Attempts < p.Successes || p.Unused < 0 {
		return invalid("the skill %q counts %d successes in %d attempts: attempts must be at least successes, and neither negative", p.Name, p.Successes, p.Attempts)
	}
	return nil
}

func (p Procedure) checkLearned() error {
	if n := len(p.ToolSequence); n > MaxSequence {
		return invalid("tool_sequence of the skill %q has %d calls: it may have %d", p.Name, n, MaxSequence)
	}
	for i, name := range p.ToolSequence {
		if name == "" || !utf8.ValidString(name) {
			return invalid("tool_sequence of the skill %q has no usable name at place %d", p.Name, i+1)
		}
	}
	if n := len(p.Origin.AlsoUsed); n > MaxAlsoUsed {
		return invalid("also_used of the skill %q names %d tools: it may name %d", p.Name, n, MaxAlsoUsed)
	}
	for what, list := range map[string][]string{"examples": p.Examples, "not_for": p.NotFor} {
		if n := len(list); n > MaxExamples {
			return invalid("%s of the skill %q has %d texts: it may have %d", what, p.Name, n, MaxExamples)
		}
		for i, text := range list {
			if len(text) > MaxExampleBytes || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
				return invalid("%s of the skill %q: text %d must be 1 to %d bytes of UTF-8", what, p.Name, i+1, MaxExampleBytes)
			}
		}
	}
	if p.SupersededBy == p.Name && p.Name != "" {
		return invalid("the skill %q cannot be superseded by itself", p.Name)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
}
