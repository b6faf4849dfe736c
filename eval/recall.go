package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/selector"
)

// RecallRow is how well selection does on one set. Recall is the mean over the cases with needed tools of the share found among the
// first k, or their substitutes; AllFound the share of those cases with all of them.
type RecallRow struct {
	Set      string             `json:"set"`
	Method   string             `json:"method"`
	Embedder string             `json:"embedder"`
	Tools    int                `json:"tools"`
	Cases    int                `json:"cases"`
	Recall   map[string]float64 `json:"recall"`
	AllFound map[string]float64 `json:"all_found"`
	NDCG5    float64            `json:"ndcg5"`
	MRR      float64            `json:"mrr"`
	PlanUS   Percentiles        `json:"plan_us"`

	Floor FloorStats `json:"floor"`
}

// Percentiles of a measured time.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// FloorStats is what the floor lets through.
type FloorStats struct {
	Recall   float64 `json:"recall"`    // of needed tools among the first 14 over the floor
	Over     float64 `json:"over"`      // mean number of tools over the floor on turns that need one, at most 14
	OverNone float64 `json:"over_none"` // the same on turns that need none; 0 where the set has none
	None     int     `json:"none"`      // how many turns need none
}

// Recall scores every case of a set on its own, as the first request of a session would be.
func Recall(ctx context.Context, d *Dataset, embedders []embed.Embedder, floor selector.Floor, ks []int) (RecallRow, error) {
	ix, err := BuildIndex(ctx, catalog.New(d.Tools), embedders)
	if err != nil {
		return RecallRow{}, err
	}
	row := RecallRow{Set: d.Name, Method: "toolbelt", Tools: ix.Catalog().Len(), Recall: map[string]float64{}, AllFound: map[string]float64{}}
	for i, e := range embedders {
		if i > 0 {
			row.Embedder += "+"
		}
		row.Embedder += e.Model().Name
	}
	var times []float64
	for _, c := range d.Cases {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		started := time.Now()
		scores, err := scoreCase(ctx, ix, embedders, c)
		if err != nil {
			return row, fmt.Errorf("case %q: %w", c.ID, err)
		}
		top := selector.Top(scores, max(14, slices.Max(ks)))
		times = append(times, float64(time.Since(started).Microseconds()))
		over := selector.Select(scores, floor, 14)
		if len(c.Needed) == 0 {
			row.Floor.None++
			row.Floor.OverNone += float64(len(over))
			continue
		}
		row.add(c, namesOf(ix, top), namesOf(ix, over), ks)
	}
	row.average(ks)
	slices.Sort(times)
	row.PlanUS = Percentiles{percentile(times, .5), percentile(times, .95)}
	return row, nil
}

func scoreCase(ctx context.Context, ix *selector.Index, embedders []embed.Embedder, c Case) (selector.Scores, error) {
	r := &chat.Request{}
	for _, m := range c.Messages {
		if m.Role == "user" {
			r.Users = append(r.Users, m.Content)
		}
	}
	q := selector.Query{Texts: chat.Window(r), Vectors: map[embed.Model][]embed.Vector{}}
	for _, e := range embedders {
		vectors, err := e.Embed(ctx, embed.Query, q.Texts)
		if err != nil {
			return selector.Scores{}, err
		}
		q.Vectors[e.Model()] = vectors
	}
	return ix.Score(q), nil
}

// BuildIndex embeds a catalog's two texts a tool with each embedder.
func BuildIndex(ctx context.Context, cat *catalog.Catalog, embedders []embed.Embedder) (*selector.Index, error) {
	var short, long []string
	for i := range cat.Len() {
		t := cat.Tool(catalog.ID(i))
		short, long = append(short, t.ShortText()), append(long, t.LongText())
	}
	var views []*selector.View
	for _, e := range embedders {
		texts := make([][]embed.Vector, 2)
		for j, list := range [][]string{short, long} {
			vectors, err := e.Embed(ctx, embed.Document, list)
			if err != nil {
				return nil, err
			}
			texts[j] = vectors
		}
		background, err := e.Embed(ctx, embed.Query, selector.Background())
		if err != nil {
			return nil, err
		}
		v, err := selector.NewView(e.Model(), cat.Len(), texts, background)
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return selector.NewIndex(cat, views...)
}

func namesOf(ix *selector.Index, matches []selector.Match) []string {
	names := make([]string, len(matches))
	for i, m := range matches {
		names[i] = ix.Catalog().Tool(m.ID).Name
	}
	return names
}

// accepts reports whether name stands for the needed tool.
func (c Case) accepts(needed, name string) bool {
	return name == needed || slices.Contains(c.Alternatives[needed], name)
}

// found is the share of the case's needed tools among names.
func (c Case) found(names []string) float64 {
	hits := 0
	for _, n := range c.Needed {
		if slices.ContainsFunc(names, func(name string) bool { return c.accepts(n, name) }) {
			hits++
		}
	}
	return float64(hits) / float64(len(c.Needed))
}

func (row *RecallRow) add(c Case, ranked, over []string, ks []int) {
	row.Cases++
	row.Floor.Recall += c.found(over)
	row.Floor.Over += float64(len(over))
	for _, k := range ks {
		share := c.found(ranked[:min(k, len(ranked))])
		row.Recall[fmt.Sprint(k)] += share
		if share == 1 {
			row.AllFound[fmt.Sprint(k)]++
		}
	}
	gain, ideal := 0.0, 0.0
	first := 0
	for i, name := range ranked {
		relevant := slices.ContainsFunc(c.Needed, func(n string) bool { return c.accepts(n, name) })
		if relevant && first == 0 {
			first = i + 1
		}
		if relevant && i < 5 {
			gain += 1 / math.Log2(float64(i+2))
		}
	}
	for i := range min(5, len(c.Needed)) {
		ideal += 1 / math.Log2(float64(i+2))
	}
	row.NDCG5 += min(1, gain/ideal)
	if first > 0 {
		row.MRR += 1 / float64(first)
	}
}

func (row *RecallRow) average(ks []int) {
	n := math.Max(1, float64(row.Cases))
	for _, k := range ks {
		row.Recall[fmt.Sprint(k)] /= n
		row.AllFound[fmt.Sprint(k)] /= n
	}
	row.NDCG5 /= n
	row.MRR /= n
	row.Floor.Recall /= n
	row.Floor.Over /= n
	row.Floor.OverNone /= math.Max(1, float64(row.Floor.None))
}

// percentile of a sorted slice, by nearest rank; 0 of an empty one.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
