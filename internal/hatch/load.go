package hatch

import (
	"slices"
	"strings"

	"toolbelt/bundles"
	"toolbelt/catalog"
)

// Loader resolves what calls of the meta-tools ask for, over one catalog and its groups. It is immutable, and safe for concurrent use.
type Loader struct {
	tools  *catalog.Catalog
	groups []bundles.Bundle
	words  *lexicon
}

// NewLoader returns a Loader. groups are resolved: their members are names of the catalog's tools; others are left out of what is
// loaded. A nil catalog is an empty one. Neither is changed, and both are kept. Cost: none; the first Search reads all descriptions.
func NewLoader(tools *catalog.Catalog, groups []bundles.Bundle) *Loader {
	if tools == nil {
		tools = catalog.New(nil)
	}
	return &Loader{tools: tools, groups: groups, words: &lexicon{}}
}

// Load is what one call of load_tools, or of tool_search with "select:", asks for.
type Load struct {
	// Named are the tools that the call names, each once, in its order. They are to be visible, past the cap if it must be.
	Named []string
	// Mates are the other members of the groups that it names, in the groups' order: to be visible as far as there is room.
	Mates []string
	// Bundle is the group or tool that was found, for the log: the first where there are several, "" on a miss. It never holds the model's own words.
	Bundle string

	notes  []string // what was taken for what, a sentence each
	missed []string // what was asked for and does not exist
	near   near     // what exists instead
	unread bool     // the arguments name nothing
	looked int      // how many names were compared for it so far
	loader *Loader
}

// near is what exists, nearest to what was asked for first.
type near struct{ tools, groups []string }

// Names returns Named, then Mates: what is to become visible. The slice is the caller's.
func (l Load) Names() []string { return append(slices.Clone(l.Named), l.Mates...) }

// Missed reports whether the call names something that does not exist, or nothing.
func (l Load) Missed() bool { return l.unread || len(l.missed) > 0 }

// Load reads the arguments of a load_tools call and finds what they name: {"name": "…"}, also under other keys, in a list, as a bare string. A name
// is a tool's, a group's, or near to one: other case, spaces and separators ("server.tool" for "server__tool"), without its server,
// with a slip or two where only one name is that near, or words that only a few names have. A tool goes before a group of the same name, except where the key says
// "bundle" or "group". Any input is answered: what cannot be read, and what does not exist, makes an answer that lists what does.
// Cost: a few milliseconds at 100,000 tools for a name that does not exist, a lookup for one that does.
func (l *Loader) Load(arguments []byte) Load {
	a := ask(arguments, "name", "names", "tool", "tools", "bundle", "bundles", "group", "groups")
	return l.find(a)
}

// find resolves each name that was asked for.
func (l *Loader) find(a asked) Load {
	out := Load{loader: l, unread: len(a.names) == 0}
	if out.unread {
		out.near = l.first()
		return out
	}
	for _, name := range a.names {
		l.resolve(name, a.group, &out)
	}
	out.Named, out.Mates = distinct(out.Named, nil), distinct(out.Mates, out.Named)
	return out
}

// resolve adds to out what one name stands for.
func (l *Loader) resolve(name string, group bool, out *Load) {
	for _, spelling := range spellings(name) {
		if l.exact(spelling, group, out) {
			return
		}
	}
	if parts := split(name); len(parts) > 1 {
		for _, part := range parts {
			l.resolve(part, group, out)
		}
		return
	}
	var nearest near
	seen := map[string]bool{}
	for i, spelling := range spellings(name) {
		form := folded(spelling)
		if seen[form] || out.looked > 0 && out.looked+l.tools.Len()+len(l.groups) > maxLooked {
			continue
		}
		seen[form] = true
		out.looked += l.tools.Len() + len(l.groups)
		s := l.scan(spelling)
		if i == 0 {
			nearest = near{names(s.tools.nearest, l.toolName), names(s.groups.nearest, l.groupName)}
		}
		if l.take(name, spelling, s, out) {
			return
		}
	}
	out.missed = append(out.missed, name)
	out.near.tools = distinct(append(out.near.tools, nearest.tools...), nil)
	out.near.groups = distinct(append(out.near.groups, nearest.groups...), nil)
	rest := l.first()
	out.near.tools = distinct(append(out.near.tools, rest.tools...), nil)
	out.near.groups = distinct(append(out.near.groups, rest.groups...), nil)
}

// maxLooked is how many names one call compares with what it asks for, beyond the first time: ten spellings at 10,000 tools.
const maxLooked = 100_000

// exact takes the tool or group of exactly this name.
func (l *Loader) exact(name string, group bool, out *Load) bool {
	_, isTool := l.tools.Lookup(name)
	at := slices.IndexFunc(l.groups, func(b bundles.Bundle) bool { return b.Name == name })
	switch {
	case at >= 0 && (group || !isTool):
		l.takeGroup(at, out)
	case isTool:
		out.takeTool(name)
		if at >= 0 {
			out.notes = append(out.notes, written(name)+" is a tool and a group. This is the tool. For the group call "+LoadTools+`({"bundle": `+quoted(name)+`}).`)
		}
	default:
		return false
	}
	return true
}

func (l *Load) takeTool(name string) {
	l.Named = append(l.Named, name)
	if l.Bundle == "" {
		l.Bundle = name
	}
}

func (l *Loader) takeGroup(at int, out *Load) {
	g := l.groups[at]
	if out.Bundle == "" {
		out.Bundle = g.Name
	}
	for _, member := range g.Members {
		if _, ok := l.tools.Lookup(member); ok {
			out.Mates = append(out.Mates, member)
		}
	}
}

// scans is what the catalog's names and the groups' are to one spelling.
type scans struct{ tools, groups scan }

func (l *Loader) scan(spelling string) scans {
	return scans{scanNames(spelling, l.tools.Len(), l.toolName), scanNames(spelling, len(l.groups), l.groupName)}
}

func (l *Loader) toolName(i int) string  { return l.tools.Tool(catalog.ID(i)).Name }
func (l *Loader) groupName(i int) string { return l.groups[i].Name }

// take takes what a spelling is near to, the surest way first, and notes that it was taken for what was asked.
func (l *Loader) take(asked, spelling string, s scans, out *Load) bool {
	tools, groups := sameCase(spelling, s.tools.equal, l.toolName), s.groups.equal
	if len(tools) == 0 && len(groups) == 0 {
		switch {
		case len(s.tools.slipped) == 1 && (len(s.groups.slipped) == 0 || len(s.groups.slipped) == 1 && l.groupName(s.groups.slipped[0]) == l.toolName(s.tools.slipped[0])):
			tools = s.tools.slipped
		case len(s.tools.slipped) == 0 && len(s.groups.slipped) == 1:
			groups = s.groups.slipped
		case len(s.groups.worded) == 1:
			groups = s.groups.worded
		default:
			tools = s.tools.worded
		}
	}
	switch {
	case 0 < len(tools) && len(tools) <= maxEqual:
		var found []string
		for _, i := range tools {
			out.takeTool(l.toolName(i))
			found = append(found, l.toolName(i))
		}
		out.notes = append(out.notes, "There is no "+echo(asked)+". It was taken to mean "+listed(found, maxEqual)+".")
	case len(tools) == 0 && 0 < len(groups) && len(groups) <= maxEqual:
		l.takeGroup(groups[0], out)
		out.notes = append(out.notes, "There is no "+echo(asked)+". It was taken to mean the group "+written(l.groupName(groups[0]))+".")
	default:
		return false
	}
	return true
}

// sameCase narrows the names that are folded alike to those that differ in case alone, where there are any.
func sameCase(spelling string, equal []int, name func(int) string) []int {
	var same []int
	for _, i := range equal {
		if strings.EqualFold(name(i), spelling) {
			same = append(same, i)
		}
	}
	if len(same) > 0 {
		return same
	}
	return equal
}

// spellings returns what a name may have been meant as, the likeliest first: as it is; without quotes, spaces and words such as "tools"
// around it; without its first part ("functions.read_file").
func spellings(name string) []string {
	bare := strings.Trim(name, " \t\r\n\"'`*()[]{}<>.,:;")
	list := []string{name, bare}
	if fields := strings.Fields(bare); len(fields) > 1 {
		for len(fields) > 1 && decoration(fields[0]) {
			fields = fields[1:]
		}
		for len(fields) > 1 && decoration(fields[len(fields)-1]) {
			fields = fields[:len(fields)-1]
		}
		list = append(list, strings.Join(fields, " "))
	}
	for _, separator := range []string{"__", ".", "/", ":"} {
		if _, rest, ok := strings.Cut(bare, separator); ok && rest != "" {
			list = append(list, rest)
		}
	}
	return distinct(list, nil)
}

// decoration reports whether a word beside a name says only what kind of name it is.
func decoration(word string) bool {
	return among(" the a tool tools bundle bundles group groups server function functions ", strings.ToLower(word))
}

// split returns the parts of a list that was written as one name, at most maxAsked.
func split(name string) []string {
	if !strings.Contains(name, ",") || len(name) > maxAsked*maxNameBytes {
		return nil
	}
	var parts []string
	for part := range strings.SplitSeq(name, ",") {
		if part = strings.TrimSpace(part); part != "" && len(parts) < maxAsked {
			parts = append(parts, part)
		}
	}
	return parts
}

// first returns the names that a miss lists where nothing is near: the first of each.
func (l *Loader) first() near {
	var n near
	for i := range min(l.tools.Len(), maxListed) {
		n.tools = append(n.tools, l.toolName(i))
	}
	for i := range min(len(l.groups), maxGroupsListed) {
		n.groups = append(n.groups, l.groupName(i))
	}
	return n
}

func names(list []candidate, name func(int) string) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = name(c.at)
	}
	return out
}

// distinct returns the strings that are not empty, each once, without those of not.
func distinct(list, not []string) []string {
	seen := make(map[string]bool, len(list)+len(not))
	for _, s := range not {
		seen[s] = true
	}
	var out []string
	for _, s := range list {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
