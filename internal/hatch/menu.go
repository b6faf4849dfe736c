package hatch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

// text is the part of load_tools's description that says what there is, in at most room bytes of JSON: a line for each group that has hidden
// members, those with most of them first; where that is too long, shorter lines, then names alone; without groups, words of the
// tools' names.
func (m MenuInput) text(room int) string {
	core := make(map[string]bool, len(m.Core))
	for _, name := range m.Core {
		core[name] = true
	}
	groups := offered(m.Groups, core)
	if len(groups) == 0 {
		return m.topics(core, room)
	}
	const heading = " Groups:"
	for _, gist := range []int{60, 40, 25} {
		if text, ok := lines(heading, groups, gist, room); ok {
			return text
		}
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = plain(g.Name, nameBytes)
	}
	return enumerate(heading+" ", names, room)
}

// offered returns the groups with members outside CORE, those with most of them first.
func offered(groups []bundles.Bundle, core map[string]bool) []bundles.Bundle {
	type counted struct {
		bundles.Bundle
		hidden int
	}
	var list []counted
	for _, g := range groups {
		c := counted{Bundle: bundles.Bundle{Name: g.Name, Description: g.Description}}
		for _, name := range g.Members {
			if core[name] {
				continue
			}
			c.hidden++
			if len(c.Members) < gistMembers {
				c.Members = append(c.Members, name)
			}
		}
		if c.hidden > 0 && plain(g.Name, nameBytes) != "" {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b counted) int { return cmp.Compare(b.hidden, a.hidden) })
	out := make([]bundles.Bundle, len(list))
	for i, c := range list {
		out[i] = c.Bundle
	}
	return out
}

// gistMembers is how many members of a group its line may name, and nameBytes the bytes of a name in a menu.
const (
	gistMembers = 8
	nameBytes   = 48
)

// lines writes one line a group with a gist of at most gistBytes, and false where that takes more than room bytes of JSON, in which a line break is two.
func lines(heading string, groups []bundles.Bundle, gistBytes, room int) (string, bool) {
	var b strings.Builder
	b.WriteString(heading)
	for i, g := range groups {
		b.WriteByte('\n')
		b.WriteString(plain(g.Name, nameBytes))
		if gist := gistOf(g, gistBytes); gist != "" {
			b.WriteString(": ")
			b.WriteString(gist)
		}
		if b.Len()+i+1 > room {
			return "", false
		}
	}
	return b.String(), true
}

// gistOf says in one line what a group is for: the first line of its description, else what its members' names say beside the group's own name.
func gistOf(g bundles.Bundle, limit int) string {
	if line := plain(firstLine(g.Description), limit); line != "" {
		return line
	}
	own := map[string]bool{}
	catalog.Words(g.Name, func(w string) { own[w] = true })
	var names []string
	for _, member := range g.Members {
		var words []string
		catalog.Words(member, func(w string) {
			if !own[w] {
				words = append(words, w)
			}
		})
		if name := strings.Join(words, " "); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return plain(strings.Join(names, ", "), limit)
}

// enumerate writes as many names as fit in room bytes, and how many more there are; nothing where none fits.
func enumerate(heading string, names []string, room int) string {
	text := heading
	const tail = 20 // bytes of " and 1234567890 more"
	for i, name := range names {
		next := text
		if i > 0 {
			next += ", "
		}
		next += name
		left := len(names) - i - 1
		if len(next) > room || left > 0 && len(next)+tail > room {
			if i == 0 {
				return ""
			}
			return text + " and " + strconv.Itoa(len(names)-i) + " more"
		}
		text = next
	}
	return text
}

// topicNames is how many names of a catalog without groups are read for its topics, and maxTopics how many topics are tried.
const (
	topicNames = 4096
	maxTopics  = 160
)

// topics names what the tools of a catalog without groups are about, in at most room bytes: the words that most of their names have, until each has one.
func (m MenuInput) topics(core map[string]bool, room int) string {
	if m.Tools == nil {
		return ""
	}
	names := hiddenNames(m.Tools, core)
	tools := map[string][]int{} // by word
	var words []string
	for i, name := range names {
		var own []string
		catalog.Words(name, func(w string) {
			if len(w) >= 3 && len(w) <= 24 && !among(verbs, w) {
				own = append(own, singular(w))
			}
		})
		for _, w := range slices.Backward(own) { // what a tool is about stands last in most names
			list := tools[w]
			if list == nil {
				words = append(words, w)
			}
			if len(list) == 0 || list[len(list)-1] != i {
				tools[w] = append(list, i)
			}
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(len(tools[b]), len(tools[a])) })
	covered := make([]bool, len(names))
	var topics []string
	for _, w := range words {
		if w := plain(w, nameBytes); w == "" {
			continue
		}
		fresh := false
		for _, i := range tools[w] {
			fresh = fresh || !covered[i]
			covered[i] = true
		}
		if fresh {
			if topics = append(topics, w); len(topics) == maxTopics {
				break
			}
		}
	}
	return enumerateTopics(" They are about: ", topics, room)
}

// enumerateTopics writes as many topics as fit.
func enumerateTopics(heading string, topics []string, room int) string {
	text := heading
	for i, topic := range topics {
		next := text
		if i > 0 {
			next += ", "
		}
		if next += topic; len(next) > room {
			break
		}
		text = next
	}
	if text == heading {
		return ""
	}
	return text
}

// hiddenNames returns the names outside CORE, of a large catalog an evenly spread part.
func hiddenNames(c *catalog.Catalog, core map[string]bool) []string {
	step := (c.Len() + topicNames - 1) / topicNames
	var names []string
	for i := 0; i < c.Len(); i += max(step, 1) {
		if name := c.Tool(catalog.ID(i)).Name; !core[name] && len(name) <= maxNameBytes {
			names = append(names, name)
		}
	}
	return names
}
