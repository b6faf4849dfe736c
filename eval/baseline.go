package eval

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
)

// The methods that are measured.
const (
	ByToolbelt = "toolbelt"
	ByWords    = "bm25"
	ByVectors  = "dense"
	ByGAIA     = "gaia"
	Unlearned  = "unlearned" // toolbelt without learning, beside it with
)

// lookup is a plain index of a catalog, written down on its own so that the baselines stay what they are, whatever becomes of the selector.
type lookup struct {
	catalog *catalog.Catalog
	words   *okapi
	dense   embed.Embedder
	short   []embed.Vector // by tool
	long    []embed.Vector
	tau     float64 // floor of GAIA's rule
	of      map[catalog.ID][][]catalog.ID
}

func newLookup(ctx context.Context, cat *catalog.Catalog, groups []bundles.Bundle, dense embed.Embedder, tau float64) (*lookup, error) {
	l := &lookup{catalog: cat, words: newOkapi(cat), dense: dense, tau: tau, of: map[catalog.ID][][]catalog.ID{}}
	var short, long []string
	for i := range cat.Len() {
		t := cat.Tool(catalog.ID(i))
		short, long = append(short, t.ShortText()), append(long, t.LongText())
	}
	var err error
	if l.short, err = dense.Embed(ctx, embed.Document, short); err != nil {
		return nil, err
	}
	if l.long, err = dense.Embed(ctx, embed.Document, long); err != nil {
		return nil, err
	}
	for _, b := range groups {
		var ids []catalog.ID
		for _, m := range b.Members {
			if id, ok := cat.Lookup(m); ok {
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			l.of[id] = append(l.of[id], ids)
		}
	}
	return l, nil
}

// byWords ranks by BM25 with the last message and the one before it.
func (l *lookup) byWords(_ context.Context, r *chat.Request) ([]string, error) {
	return l.sorted(l.words.score(lastTwo(r, 0))), nil
}

// byVectors ranks by cosine: the mean over a tool's two texts of the higher of those with the last message and with the last two.
func (l *lookup) byVectors(ctx context.Context, r *chat.Request) ([]string, error) {
	texts := []string{lastTwo(r, 0)}
	if len(r.Users) > 1 {
		texts = append(texts, r.Users[len(r.Users)-1])
	}
	queries, err := l.dense.Embed(ctx, embed.Query, texts)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, l.catalog.Len())
	for i := range scores {
		for _, document := range [][]embed.Vector{l.short, l.long} {
			best := -1.0
			for _, q := range queries {
				best = max(best, cosine(q, document[i]))
			}
			scores[i] += best / 2
		}
	}
	return l.sorted(scores), nil
}

// byGAIA is what GAIA's rule takes for candidates, best first: the tools at or over τ and, at the score of their best member over it, whole bundles.
func (l *lookup) byGAIA(ctx context.Context, r *chat.Request) ([]string, error) {
	scores, candidates, err := l.gaiaScores(ctx, r)
	if err != nil {
		return nil, err
	}
	return l.bestFirst(candidates, scores), nil
}

// gaiaChars is how much of the last two messages GAIA's rule embeds, from the end, in characters.
const gaiaChars = 4000

func (l *lookup) gaiaScores(ctx context.Context, r *chat.Request) (scores []float64, candidates []catalog.ID, err error) {
	scores = make([]float64, l.catalog.Len())
	text := lastTwo(r, gaiaChars)
	if strings.TrimSpace(text) == "" {
		return scores, nil, nil
	}
	queries, err := l.dense.Embed(ctx, embed.Query, []string{text})
	if err != nil {
		return nil, nil, err
	}
	taken := map[catalog.ID]bool{}
	take := func(id catalog.ID) {
		if !taken[id] {
			taken[id] = true
			candidates = append(candidates, id)
		}
	}
	own := make([]float64, len(scores))
	for i := range own {
		own[i] = cosine(queries[0], l.short[i])
		scores[i] = own[i]
	}
	for i := range own {
		id := catalog.ID(i)
		if own[i] < l.tau {
			continue
		}
		take(id)
		for _, bundle := range l.of[id] {
			for _, mate := range bundle {
				scores[mate] = max(scores[mate], own[i])
				take(mate)
			}
		}
	}
	return scores, candidates, nil
}

// lastTwo is the message before the last and the last, in that order, of which the last characters count where most is not 0.
func lastTwo(r *chat.Request, most int) string {
	text := strings.Join(r.Users[max(0, len(r.Users)-2):], "\n")
	if runes := []rune(text); most > 0 && len(runes) > most {
		return string(runes[len(runes)-most:])
	}
	return text
}

func cosine(a, b embed.Vector) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	return float64(vek32.Dot(a, b))
}

func (l *lookup) sorted(scores []float64) []string {
	ids := make([]catalog.ID, len(scores))
	for i := range ids {
		ids[i] = catalog.ID(i)
	}
	return l.bestFirst(ids, scores)
}

// bestFirst are the names of the tools by score; equal ones by name.
func (l *lookup) bestFirst(ids []catalog.ID, scores []float64) []string {
	name := func(id catalog.ID) string { return l.catalog.Tool(id).Name }
	slices.SortFunc(ids, func(a, b catalog.ID) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(name(a), name(b)))
	})
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = name(id)
	}
	return names
}

// okapi is BM25 over name, description and parameter names, k1 1.2, b 0.75, without stemming or stop words.
type okapi struct {
	tools    []map[string]float64
	length   []float64
	average  float64
	frequent map[string]float64 // in how many tools a word is
}

func newOkapi(cat *catalog.Catalog) *okapi {
	o := &okapi{frequent: map[string]float64{}}
	for i := range cat.Len() {
		t := cat.Tool(catalog.ID(i))
		counts, length := map[string]float64{}, 0.0
		for _, part := range append([]string{t.Name, t.Description}, t.ParameterNames()...) {
			catalog.Words(part, func(w string) { counts[w]++; length++ })
		}
		for w := range counts {
			o.frequent[w]++
		}
		o.tools, o.length = append(o.tools, counts), append(o.length, length)
		o.average += length
	}
	o.average = math.Max(1, o.average/math.Max(1, float64(cat.Len())))
	return o
}

func (o *okapi) score(text string) []float64 {
	scores := make([]float64, len(o.tools))
	seen := map[string]bool{}
	catalog.Words(text, func(w string) {
		df := o.frequent[w]
		if seen[w] || df == 0 {
			return
		}
		seen[w] = true
		idf := math.Log1p((float64(len(o.tools)) - df + .5) / (df + .5))
		for i, counts := range o.tools {
			if tf := counts[w]; tf > 0 {
				scores[i] += idf * tf * 2.2 / (tf + 1.2*(.25+.75*o.length[i]/o.average))
			}
		}
	})
	return scores
}
