package selector

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"toolbelt/catalog"
)

// Steps that prepare another step are seldom asked for: whoever wants an order cancelled does not say that it must be looked up first. The
// tools say so themselves, by what they require: cancel_order requires an order_id, and get_order_details reads what that stands for.
const (
	// Of what another tool requires, a tool gives all where its name promises it ("find_user_id" of a user_id). One that reads the record that is known
	// by it ("get_order_details", by order_id), or that only speaks of it in its first sentence, counts by the root of a half.
	promised  = 1
	mentioned = math.Sqrt2 / 2

	// maxGivers is how many tools may give the same thing in the same way; each counts by the root of their number. What many give leads to none of them.
	maxGivers = 8

	maxNeeds    = 8  // things that a tool requires, of which givers are known
	maxPrepared = 32 // tools that prepare the best ones of a turn

	// giverTools is how many of the best tools are prepared for; giverWeight what a sure giver of the best tool's needs rises by, in deviations of the
	// ranks; and firstPlaces the places that nothing rises into by it: what was asked for stands before what prepares it.
	giverTools  = 3
	giverWeight = 2
	firstPlaces = 5
)

// givers is a catalog's graph of which tools give what others require. Immutable.
type givers struct {
	needs [][]int32 // by tool: what it requires, as positions in given
	given [][]giver // by what is required: who gives it, the surest first
}

// giver is a tool that gives something, and how surely, in (0, 1].
type giver struct {
	tool   catalog.ID
	weight float32
}

// need is what tools require of which machines know the name and people do not: the words for whose it is, and the server that hands it out. What
// another server calls the same is something else.
type need struct{ server, words string }

// newGivers reads what the tools require and give. Linear in names, descriptions and schemas: what is required is looked up once, however
// many tools require it, among those that speak of the rarest of its words.
func newGivers(cat *catalog.Catalog) *givers {
	g := &givers{needs: make([][]int32, cat.Len())}
	readers := readers{tools: make([]reader, cat.Len()), speak: map[need][]catalog.ID{}, common: sentencesOf(cat)}
	required := make([][][]string, cat.Len())
	for i := range required {
		t := cat.Tool(catalog.ID(i))
		parameters := t.Parameters()
		readers.add(catalog.ID(i), t, parameters)
		for _, p := range parameters {
			if words := handedOut(p); len(words) > 0 {
				required[i] = append(required[i], words)
			}
		}
	}
	known := map[need]int32{}
	for i, list := range required {
		server, _ := catalog.SplitServer(cat.Tool(catalog.ID(i)).Name)
		for _, words := range list {
			at := g.at(known, &readers, server, words)
			if len(g.given[at]) > 0 && len(g.needs[i]) < maxNeeds && !slices.Contains(g.needs[i], at) {
				g.needs[i] = append(g.needs[i], at)
			}
		}
	}
	return g
}

// at is the position in given of what these words name.
func (g *givers) at(known map[need]int32, r *readers, server string, words []string) int32 {
	n := need{server, strings.Join(words, " ")}
	at, ok := known[n]
	if !ok {
		at = int32(len(g.given))
		known[n] = at
		g.given = append(g.given, r.givers(server, words))
	}
	return at
}

// prepared is a tool that prepares another.
type prepared struct {
	tool   catalog.ID
	before catalog.ID // the one that it gives something to
	worth  float32    // what the other is worth × how surely it gives, in (0, 1]
	rise   float32    // what its rank has grown by
}

// prepare returns the tools that give what these require, and those that give what the former require, each as the one of those that it is worth most to
// needs it. standing is what each of the tools is worth, in [0, 1].
func (g *givers) prepare(tools []catalog.ID, standing []float32) []prepared {
	var found []prepared
	reach := func(t catalog.ID, worth float32) {
		for _, n := range g.needs[t] {
			for _, u := range g.given[n] {
				w := worth * u.weight
				if u.tool == t || w <= 0 {
					continue
				}
				i := slices.IndexFunc(found, func(p prepared) bool { return p.tool == u.tool })
				switch {
				case i >= 0 && w > found[i].worth:
					found[i].before, found[i].worth = t, w
				case i < 0 && len(found) < maxPrepared:
					found = append(found, prepared{tool: u.tool, before: t, worth: w})
				}
			}
		}
	}
	for i, t := range tools {
		reach(t, standing[i])
	}
	for _, p := range slices.Clone(found) {
		reach(p.tool, p.worth)
	}
	return found
}

// raise ranks the tools higher that prepare the best ones, none into the first places, and returns them. What one of the best is worth is its rank as a share
// of the best one's. Cost: three passes over the ranks, and what a few tools require.
func (g *givers) raise(rank []float32) []prepared {
	if len(g.given) == 0 || len(rank) <= firstPlaces {
		return nil
	}
	top := topIDs(rank, firstPlaces)
	best := rank[top[0]]
	if !(best > 0) {
		return nil
	}
	standing := make([]float32, giverTools)
	for i := range standing {
		standing[i] = max(0, rank[top[i]]/best)
	}
	found := g.prepare(top[:giverTools], standing)
	if len(found) == 0 {
		return nil
	}
	ceiling := math.Nextafter32(rank[top[firstPlaces-1]], float32(math.Inf(-1)))
	weight := float32(giverWeight * deviationOf(rank, vek32.Mean(rank)))
	for i, p := range found {
		old := rank[p.tool]
		rank[p.tool] = max(old, min(old+weight*p.worth, ceiling))
		found[i].rise = rank[p.tool] - old
	}
	return found
}

// Step is a tool that prepares one of the best. Nobody asks for it, so its own match says little.
type Step struct {
	ID    catalog.ID
	Match float32 // match units: the best tool's × how surely the best ones need this
}

// addSteps notes what prepares the best ones.
func (s *Scores) addSteps(list []prepared) {
	if len(list) == 0 {
		return
	}
	best := s.Match[topIDs(s.Rank, 1)[0]]
	for _, p := range list {
		s.Steps = append(s.Steps, Step{p.tool, p.worth * best})
	}
}

// step is what a tool matches as a step, in match units; 0 where it is none.
func (s *Scores) step(id catalog.ID) float64 {
	i := slices.IndexFunc(s.Steps, func(t Step) bool { return t.ID == id })
	if i < 0 {
		return 0
	}
	return float64(s.Steps[i].Match)
}

// byWeight orders the surest givers first; of equal ones the catalog's first.
func byWeight(a, b giver) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.tool, b.tool))
}
