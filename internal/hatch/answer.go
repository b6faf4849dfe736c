package hatch

import (
	"encoding/json"
	"strconv"
	"strings"

	"toolbelt/catalog"
)

// Bounds of an answer.
const (
	maxGroupsListed = 10
	maxEchoBytes    = 80 // of the model's own words
	maxShown        = 60 // names of what is visible and of what is not
)

// Answer is the text for the model, given which of the names that were asked for are visible now, in the array, and which are not.
// It says that and nothing else, and on a miss lists at most 30 names that exist, nearest first.
func (l Load) Answer(visible, hidden []string) string { return l.AnswerLate(visible, nil, hidden) }

// AnswerLate is Answer where some of the names, late, are not in the array but were made callable through call_tool: their definitions come with the answer.
func (l Load) AnswerLate(visible, late, hidden []string) string {
	parts := append([]string(nil), l.notes...)
	if len(visible) > 0 {
		parts = append(parts, "You can call these tools now: "+listed(visible, maxShown)+".")
	}
	if len(hidden) > 0 {
		parts = append(parts, "There is no room for: "+listed(hidden, maxShown)+". If you need one of them, call "+LoadTools+" with its name.")
	}
	parts = append(parts, l.misses()...)
	if len(late) > 0 {
		parts = append(parts, LateText(l.loader.Tools(late)))
	}
	if len(parts) == 0 {
		parts = append(parts, "No tool was loaded.")
	}
	return strings.Join(parts, "\n")
}

// misses says what could not be found, and what there is.
func (l Load) misses() []string {
	var parts []string
	switch {
	case l.unread:
		parts = append(parts, "No name could be read. Call "+LoadTools+` like this: {"name": "`+l.example()+`"}.`)
	case len(l.missed) > 0:
		quotes := make([]string, 0, len(l.missed))
		for _, name := range l.missed {
			quotes = append(quotes, echo(name))
		}
		parts = append(parts, "There is no tool and no group "+strings.Join(quotes, ", ")+".")
	default:
		return nil
	}
	return append(parts, l.loader.inventory(l.near)...)
}

// example is a name to show how a call is written.
func (l Load) example() string {
	for _, name := range append(l.near.groups, l.near.tools...) {
		if name := plain(name, nameBytes); name != "" {
			return name
		}
	}
	return "name"
}

// inventory lists names that exist: at most maxListed, groups and tools together.
func (l *Loader) inventory(n near) []string {
	if l.tools.Len() == 0 {
		return []string{"There are no tools."}
	}
	var parts []string
	groups := n.groups[:min(len(n.groups), maxGroupsListed)]
	if len(groups) > 0 {
		parts = append(parts, "Groups"+share(len(groups), len(l.groups))+": "+listed(groups, maxListed)+".")
	}
	tools := n.tools[:min(len(n.tools), maxListed-len(groups))]
	return append(parts, "Tools"+share(len(tools), l.tools.Len())+": "+listed(tools, maxListed)+".")
}

// share says how many of how many are listed, where it is not all of them.
func share(n, of int) string {
	if n >= of {
		return ""
	}
	return " (" + strconv.Itoa(n) + " of " + strconv.Itoa(of) + ")"
}

// echo quotes what the model asked for, cut and made harmless.
func echo(s string) string { return `"` + plain(clip(s, 4*maxEchoBytes), maxEchoBytes) + `"` }

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(text)
}

// Tools returns the tools of these names, in their order; names that the catalog lacks are left out.
func (l *Loader) Tools(names []string) []catalog.Tool {
	var out []catalog.Tool
	for _, name := range names {
		if id, ok := l.tools.Lookup(name); ok {
			out = append(out, l.tools.Tool(id))
		}
	}
	return out
}
