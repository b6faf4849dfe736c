package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/selector"
)

// Shortfall tells the needed tools that are not among the first of the largest k apart, by rules that look at no rank: what part of them the
// request does not name, and what part something as good stands for. A tool may be counted by several rules. Substitutes that the
// case accepts are no miss.
type Shortfall struct {
	Needed  int `json:"needed"`  // in all cases, one a case and tool
	Missed  int `json:"missed"`  // of those, not among the first k
	Absent  int `json:"absent"`  // of the missed: the catalog has neither it nor a substitute
	Twin    int `json:"twin"`    // one of the first k has its name but for the server's, or a name and first line at a cosine of at least 0.9
	Unnamed int `json:"unnamed"` // it shares no word with the request's messages, stop words aside
	Far     int `json:"far"`     // it stands above its background no further than half of all tools do
	Silent  int `json:"silent"`  // both of the last: neither words nor vectors lead to it

	FoundUnnamed int `json:"found_unnamed"` // for comparison: of those that were found, the ones that share no word either
}

// twinCosine is from where on two tools say the same.
const twinCosine = 0.9

// shortfall counts one set's.
type shortfall struct {
	Shortfall
	cat     *catalog.Catalog
	vectors []embed.Vector // of each tool's name and first line
}

func (m *measuring) newShortfall(ctx context.Context) (*shortfall, error) {
	s := &shortfall{cat: m.bench.catalog()}
	lines := make([]string, s.cat.Len())
	for i := range lines {
		lines[i] = s.cat.Tool(catalog.ID(i)).ShortText()
	}
	var err error
	s.vectors, err = m.options.Embedders.Dense().Embed(ctx, embed.Document, lines)
	return s, err
}

// count adds one case: ranked are all tools, scores what they were ranked by, ix what gave the scores.
func (s *shortfall) count(c Case, request *chat.Request, ix *selector.Index, scores selector.Scores, ranked []string, k int) {
	shown := ranked[:min(k, len(ranked))]
	// Each tool's share of the words of all messages, by a query without vectors.
	words := ix.Score(selector.Query{Texts: []string{strings.Join(chat.Window(request)[:wholes(request)], "\n")}}).Words
	for _, needed := range c.Needed {
		s.Needed++
		id, ok := s.lookup(c, needed)
		if c.place(needed, shown) > 0 {
			if ok && words[id] == 0 {
				s.FoundUnnamed++
			}
			continue
		}
		s.Missed++
		if !ok {
			s.Absent++
			continue
		}
		if s.hasTwin(id, shown) {
			s.Twin++
		}
		far := scores.Match[id] <= medianMatch(scores.Match)
		if words[id] == 0 {
			s.Unnamed++
		}
		if far {
			s.Far++
		}
		if far && words[id] == 0 {
			s.Silent++
		}
	}
}

// wholes is how many texts of the request's window are whole messages.
func wholes(r *chat.Request) int {
	window := chat.Window(r)
	if len(window) > 1 && len(window[1]) >= len(window[0]) {
		return 2
	}
	return min(1, len(window))
}

// lookup finds the needed tool, or the first substitute that the catalog has.
func (s *shortfall) lookup(c Case, needed string) (catalog.ID, bool) {
	for _, name := range append([]string{needed}, c.Alternatives[needed]...) {
		if id, ok := s.cat.Lookup(name); ok {
			return id, true
		}
	}
	return 0, false
}

// hasTwin reports whether one of the tools shown says the same as the tool.
func (s *shortfall) hasTwin(id catalog.ID, shown []string) bool {
	name := bareName(s.cat.Tool(id).Name)
	return slices.ContainsFunc(shown, func(other string) bool {
		at, ok := s.cat.Lookup(other)
		if !ok {
			return false
		}
		a, b := s.vectors[id], s.vectors[at]
		return bareName(other) == name || a != nil && b != nil && vek32.Dot(a, b) >= twinCosine
	})
}

// bareName is the words of a name without its server's.
func bareName(name string) string {
	if _, rest, ok := strings.Cut(name, "__"); ok {
		name = rest
	}
	return catalog.Tool{Name: name}.NameText()
}

// medianMatch is the median.
func medianMatch(x []float32) float32 {
	sorted := slices.Sorted(slices.Values(x))
	return sorted[len(sorted)/2]
}

// apart is the share of the pairs of a turn that needs a tool and one that needs none in which the former's figure is higher, ties counting half:
// the area under the ROC curve. 0.5 is what chance gives; where there is no pair it is 0.
func apart(needing, none []float64) float64 {
	if len(needing) == 0 || len(none) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(none))
	below := 0.0
	for _, x := range needing {
		from, _ := slices.BinarySearch(sorted, x)
		to := from
		for to < len(sorted) && sorted[to] == x {
			to++
		}
		below += float64(from+to) / 2
	}
	return below / float64(len(needing)) / float64(len(none))
}
