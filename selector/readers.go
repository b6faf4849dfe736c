package selector

import (
	"math"
	"slices"

	"toolbelt/catalog"
)

// readers are the tools of a catalog whose names say that they look something up, and what each speaks of.
type readers struct {
	tools  []reader              // by tool; empty where nothing is looked up
	speak  map[need][]catalog.ID // who speaks of a word, by server
	common sentences
}

// reader is what one tool speaks of, in stems.
type reader struct {
	object   []string // in its name: what is looked up
	spoken   []string // the same, and its description's first sentence
	required []string // in the names of the parameters that it requires
}

const (
	spokenBytes = 512 // of a first sentence
	maxSpeaking = 256 // tools of one server that speak of a word: more of them are no help to find who gives what it names
)

// add takes in one tool with its parameters.
func (r *readers) add(id catalog.ID, t catalog.Tool, parameters []catalog.Parameter) {
	server, name := catalog.SplitServer(t.Name)
	object, ok := lookedUp(name)
	if !ok {
		return
	}
	tool := reader{object: object, spoken: slices.Clone(object)}
	first := r.common.first(t.Description)
	catalog.Words(first[:min(len(first), spokenBytes)], func(w string) {
		if w = stem(w); !slices.Contains(tool.spoken, w) {
			tool.spoken = append(tool.spoken, w)
		}
	})
	for _, p := range parameters {
		if p.Required {
			catalog.Words(p.Name, func(w string) { tool.required = append(tool.required, stem(w)) })
		}
	}
	r.tools[id] = tool
	for _, w := range tool.spoken {
		n := need{server, w}
		r.speak[n] = append(r.speak[n], id)
	}
}

// givers returns who gives what these words name, the surest first: those whose names promise it, those that read the record known by it, and those
// that speak of it.
func (r *readers) givers(server string, words []string) []giver {
	near := r.speak[need{server, words[0]}]
	for _, w := range words[1:] {
		if ids := r.speak[need{server, w}]; len(ids) < len(near) {
			near = ids
		}
	}
	if len(near) > maxSpeaking {
		return nil
	}
	var kinds [3][]catalog.ID
	for _, id := range near {
		t := &r.tools[id]
		named, spoken, taken := hasAll(t.object, words), hasAll(t.spoken, words), hasAny(t.required, words)
		switch {
		case named && !taken:
			kinds[0] = append(kinds[0], id)
		case named:
			kinds[1] = append(kinds[1], id)
		case spoken && !taken:
			kinds[2] = append(kinds[2], id)
		}
	}
	var list []giver
	for i, weight := range [3]float64{promised, mentioned, mentioned} {
		if n := len(kinds[i]); n <= maxGivers {
			for _, id := range kinds[i] {
				list = append(list, giver{id, float32(weight / math.Sqrt(float64(n)))})
			}
		}
	}
	slices.SortFunc(list, byWeight)
	return list
}

func hasAll(list, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(list, w) })
}

func hasAny(list, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}

// lookedUp is what a tool looks up by its name, in stems: the words after the one that says so ("get_order_details": order), or those before it where none
// follow ("ProductSearch": product). It is false where no word says so.
func lookedUp(name string) (object []string, ok bool) {
	var before, after []string
	catalog.Words(name, func(w string) {
		s := stem(w)
		switch {
		case readingWord(s):
			ok = true
		case stopWord(w) || stopWord(s):
		case ok:
			after = append(after, s)
		default:
			before = append(before, s)
		}
	})
	if len(after) > 0 {
		return after, ok
	}
	return before, ok
}

// readingWord reports whether the stem, in a tool's name, says that something is looked up and nothing changed.
func readingWord(word string) bool {
	switch word {
	case "browse", "describe", "detail", "display", "fetch", "find", "get", "info", "information", "list", "locate", "look", "lookup", "query", "read", "resolve", "retrieve", "search", "show", "view":
		return true
	}
	return false
}
