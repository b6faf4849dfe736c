package hatch

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"toolbelt/catalog"
)

// What a word of a query counts for a tool that has it.
const (
	nameScore = 3
	textScore = 1 // in the description or a parameter's name
)

// Bounds of a search.
const (
	maxHits       = 10 // tools in an answer
	maxOpened     = 5  // tools that one search makes visible
	maxQueryWords = 16
)

// Search is what one call of tool_search asks for: a Load of what is to become visible, and the tools that were found besides.
type Search struct {
	Load
	hits []string // best first, at most maxHits; Named are among them
	miss string   // the query, where nothing was found
}

// Search reads the arguments of a tool_search call ({"query": "…"}, or as Load reads them) and finds tools by words: one in a tool's name counts 3, in its
// description or parameters' names 1; a word of four letters or more may be part of a longer one. Of equal scores the earlier tool goes first. To become visible
// are the best, at most 5, with at least half of the best score; the answer lists 10. "select:a,b" loads these names as Load does. Where nothing is found, the answer lists 30 names.
// Cost: linear in the distinct words of the catalog and the tools that have the query's; the first call of a Loader reads all descriptions
// and schemas, about ten microseconds a tool.
func (l *Loader) Search(arguments []byte) Search {
	a := ask(arguments, "query", "q", "pattern", "search", "text", "name", "names")
	query := strings.Join(a.names, " ")
	if list, ok := strings.CutPrefix(strings.TrimSpace(query), "select:"); ok {
		if parts := split(list + ","); len(parts) > 0 {
			return Search{Load: l.find(asked{names: parts})}
		}
		return Search{Load: l.find(asked{})}
	}
	if strings.TrimSpace(query) == "" {
		return Search{Load: l.find(asked{})}
	}
	scores := l.words.of(l.tools).score(queryWords(query), l.tools.Len())
	ranked := best(scores, maxHits)
	s := Search{Load: Load{loader: l}}
	for _, c := range ranked {
		name := l.toolName(c.at)
		s.hits = append(s.hits, name)
		if len(s.Named) < maxOpened && 2*c.likeness >= ranked[0].likeness {
			s.Named = append(s.Named, name)
		}
	}
	if len(s.hits) == 0 {
		s.miss = query
		n := scanNames(query, l.tools.Len(), l.toolName).nearest
		s.near.tools = distinct(append(names(n, l.toolName), l.first().tools...), nil)
	} else {
		s.Bundle = s.hits[0]
	}
	return s
}

// Answer is the text for the model: what was found, a line each, and which of it is visible now and which is not.
func (s Search) Answer(visible, hidden []string) string { return s.AnswerLate(visible, nil, hidden) }

// AnswerLate is Answer where some of the names, late, were made callable through call_tool.
func (s Search) AnswerLate(visible, late, hidden []string) string {
	if s.miss != "" {
		parts := append([]string{"No tool was found for " + echo(s.miss) + "."}, s.loader.inventory(s.near)...)
		return strings.Join(parts, "\n")
	}
	if len(s.hits) == 0 {
		return s.Load.AnswerLate(visible, late, hidden)
	}
	parts := []string{"Found:"}
	for _, t := range s.loader.Tools(s.hits) {
		line := written(t.Name)
		if about := plain(firstLine(t.Description), maxEchoBytes); about != "" {
			line += ": " + about
		}
		parts = append(parts, line)
	}
	shown := append(append(slices.Clone(visible), late...), hidden...)
	if rest := distinct(s.hits, shown); len(rest) > 0 {
		hidden = append(slices.Clone(hidden), rest...)
	}
	if len(visible) > 0 {
		parts = append(parts, "You can call these tools now: "+listed(visible, maxShown)+".")
	}
	if len(hidden) > 0 {
		parts = append(parts, "You cannot call these yet: "+listed(hidden, maxShown)+". If you need one of them, call "+LoadTools+" with its name.")
	}
	if len(late) > 0 {
		parts = append(parts, LateText(s.loader.Tools(late)))
	}
	return strings.Join(parts, "\n")
}

// queryWords returns the words of a query that are looked for, each once: those that say something, or all where none does.
func queryWords(query string) []string {
	var words, all []string
	catalog.Words(clip(query, maxArgumentBytes), func(w string) {
		w = singular(w)
		if len(all) < maxQueryWords && !slices.Contains(all, w) {
			all = append(all, w)
		}
		if len(w) > 1 && !among(empty, w) && len(words) < maxQueryWords && !slices.Contains(words, w) {
			words = append(words, w)
		}
	})
	if len(words) == 0 {
		return all
	}
	return words
}

// best returns the positions with the highest scores over 0, best first, at most limit; of equal ones the earlier stands first.
func best(scores []int32, limit int) []candidate {
	var list []candidate
	for i, score := range scores {
		if score > 0 {
			list = append(list, candidate{i, int(score)})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.likeness, a.likeness) })
	return list[:min(len(list), limit)]
}

// lexicon is which tools have which words. It is made when it is first asked for.
type lexicon struct {
	once  sync.Once
	terms []string // distinct, in the order of first appearance
	names [][]catalog.ID
	texts [][]catalog.ID // by term; ids ascend
}

// of fills the lexicon from the catalog, which must be the same at every call.
func (x *lexicon) of(tools *catalog.Catalog) *lexicon {
	x.once.Do(func() {
		at := map[string]int{}
		add := func(word string, id catalog.ID, inName bool) {
			word = singular(word)
			i, ok := at[word]
			if !ok {
				i = len(x.terms)
				at[word] = i
				x.terms = append(x.terms, word)
				x.names, x.texts = append(x.names, nil), append(x.texts, nil)
			}
			list := &x.texts[i]
			if inName {
				list = &x.names[i]
			}
			if n := len(*list); n == 0 || (*list)[n-1] != id {
				*list = append(*list, id)
			}
		}
		for i := range tools.Len() {
			id := catalog.ID(i)
			t := tools.Tool(id)
			catalog.Words(clip(t.Name, maxNameBytes), func(w string) { add(w, id, true) })
			catalog.Words(clip(t.Description, maxTextBytes), func(w string) { add(w, id, false) })
			for _, p := range t.ParameterNames() {
				catalog.Words(p, func(w string) { add(w, id, false) })
			}
		}
	})
	return x
}

// maxTextBytes is how much of a description is read.
const maxTextBytes = 8 << 10

// score returns each tool's score for the words.
func (x *lexicon) score(words []string, tools int) []int32 {
	scores := make([]int32, tools)
	inName, inText := newMarks(tools), newMarks(tools)
	for _, word := range words {
		inName.clear()
		inText.clear()
		for i, term := range x.terms {
			if term != word && (len(word) < 4 || len(term) < len(word) || !strings.Contains(term, word)) {
				continue
			}
			for _, id := range x.names[i] {
				if inName.set(id) {
					scores[id] += nameScore
				}
			}
			for _, id := range x.texts[i] {
				if inText.set(id) {
					scores[id] += textScore
				}
			}
		}
	}
	return scores
}

// marks is a set of tools that is emptied at no cost.
type marks struct {
	round int32
	last  []int32
}

func newMarks(n int) *marks { return &marks{last: make([]int32, n)} }

func (m *marks) clear() { m.round++ }

// set adds id and reports whether it was new since the last clear.
func (m *marks) set(id catalog.ID) bool {
	if m.last[id] == m.round {
		return false
	}
	m.last[id] = m.round
	return true
}
