package synth

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"toolbelt/embed"
	"toolbelt/skills"
	"toolbelt/skills/runs"
)

// item is a run made ready to be compared.
type item struct {
	run    runs.Run
	vector embed.Vector
	level  float64 // mean cosine with unrelated requests
	spread float64 // standard deviation of the same
	tools  []int32 // distinct, ascending numbers
}

// minSpread is as in skills: less is not divided by.
const minSpread = 0.05

// embedGoals makes items of runs; one whose goal has nothing to embed is left out.
func embedGoals(ctx context.Context, e embed.Embedder, fit []runs.Run) ([]*item, error) {
	background, err := e.Embed(ctx, embed.Query, skills.Background())
	if err != nil {
		return nil, err
	}
	numbers := map[string]int32{}
	known := map[string]*item{}
	var items []*item
	for _, r := range fit {
		it := &item{run: r}
		if twin := known[r.Goal]; twin != nil {
			it.vector, it.level, it.spread = twin.vector, twin.level, twin.spread
		} else {
			vectors, err := e.Embed(ctx, embed.Query, []string{r.Goal})
			if err != nil {
				return nil, err
			}
			if vectors[0] == nil {
				continue
			}
			it.vector = vectors[0]
			it.level, it.spread = against(it.vector, background)
			known[r.Goal] = it
		}
		for _, name := range r.Names() {
			n, ok := numbers[name]
			if !ok {
				n = int32(len(numbers))
				numbers[name] = n
			}
			it.tools = append(it.tools, n)
		}
		slices.Sort(it.tools)
		it.tools = slices.Compact(it.tools)
		items = append(items, it)
	}
	return items, nil
}

func against(v embed.Vector, background []embed.Vector) (level, spread float64) {
	var sum, squares, n float64
	for _, b := range background {
		if len(b) != len(v) {
			continue
		}
		c := float64(vek32.Dot(v, b))
		sum, squares, n = sum+c, squares+c*c, n+1
	}
	if n == 0 {
		return 0, minSpread
	}
	level = sum / n
	return level, max(minSpread, math.Sqrt(max(0, squares/n-level*level)))
}

// cluster is a group of alike runs.
type cluster struct {
	items  []*item
	sum    []float32 // of the vectors
	length float64   // of sum
	tools  map[int32]int
	core   []int32 // tools of at least half of the runs, ascending
	level  float64 // mean of the items'
	spread float64
}

// group puts each run, oldest first, to the group that it is likest, or begins a new one with it. Likeness is that of the request with the mean of
// the group's, in deviations over unrelated ones, where the tools are alike. A second round puts each run where it fits best
// by then, so that less depends on the order of time.
func group(ctx context.Context, items []*item, o Options) ([]*cluster, error) {
	var groups []*cluster
	byTool := map[int32][]int{}
	place := func(it *item) {
		best := nearest(it, groups, byTool, o)
		if best < 0 {
			best = len(groups)
			groups = append(groups, &cluster{sum: make([]float32, len(it.vector)), tools: map[int32]int{}})
		}
		for _, t := range it.tools {
			if list := byTool[t]; groups[best].tools[t] == 0 && !slices.Contains(list, best) {
				byTool[t] = append(list, best)
			}
		}
		groups[best].add(it)
	}
	for i, it := range items {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		place(it)
	}
	next := make([]*cluster, len(groups))
	for i := range next {
		next[i] = &cluster{sum: make([]float32, len(groups[i].sum)), tools: map[int32]int{}}
	}
	for i, it := range items {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if at := nearest(it, groups, byTool, o); at >= 0 {
			next[at].add(it)
		}
	}
	return slices.DeleteFunc(next, func(c *cluster) bool { return len(c.items) == 0 }), nil
}

// nearest is the place of the group that the run is likest, -1 where it is like none.
func nearest(it *item, groups []*cluster, byTool map[int32][]int, o Options) int {
	best, bestHeight := -1, 0.0
	seen := map[int]bool{}
	for _, t := range it.tools {
		for _, at := range byTool[t] {
			if seen[at] {
				continue
			}
			seen[at] = true
			g := groups[at]
			overlap := g.overlap(it)
			if overlap < o.Tools {
				continue
			}
			h := g.height(it)
			if h < o.goals(overlap) {
				continue
			}
			if h += overlapWeight * overlap; best < 0 || h > bestHeight || h == bestHeight && at < best {
				best, bestHeight = at, h
			}
		}
	}
	return best
}

// overlapWeight is how many deviations of likeness of the request all tools in common count as.
const overlapWeight = 3

// goals is how alike the requests must be where the tools overlap so much: τ at Options.Tools, and the less the more tools are in common, since who calls
// the same four tools is likely to do the same, in whatever words it was asked for.
func (o Options) goals(overlap float64) float64 {
	if o.Tools >= 1 {
		return o.Goals
	}
	return o.Goals * (1 - sameTools*(overlap-o.Tools)/(1-o.Tools))
}

// sameTools is the share of τ that is given up where all tools are in common.
const sameTools = 1.0

func (c *cluster) add(it *item) {
	n := float64(len(c.items))
	c.level = (c.level*n + it.level) / (n + 1)
	c.spread = (c.spread*n + it.spread) / (n + 1)
	c.items = append(c.items, it)
	for i, x := range it.vector {
		c.sum[i] += x
	}
	c.length = math.Sqrt(float64(vek32.Dot(c.sum, c.sum)))
	for _, t := range it.tools {
		c.tools[t]++
	}
	c.core = c.core[:0]
	for t, n := range c.tools {
		if 2*n >= len(c.items) {
			c.core = append(c.core, t)
		}
	}
	slices.Sort(c.core)
}

// overlap is the share of tools that the run and the group's core have in common.
func (c *cluster) overlap(it *item) float64 {
	common := 0
	for i, j := 0, 0; i < len(c.core) && j < len(it.tools); {
		switch {
		case c.core[i] == it.tools[j]:
			common, i, j = common+1, i+1, j+1
		case c.core[i] < it.tools[j]:
			i++
		default:
			j++
		}
	}
	return float64(common) / float64(max(1, len(c.core)+len(it.tools)-common))
}

// height is how far the cosine of the run's request with the group's mean stands above what unrelated requests give them.
func (c *cluster) height(it *item) float64 {
	if c.length < 1e-6 {
		return 0
	}
	cosine := float64(vek32.Dot(it.vector, c.sum)) / c.length
	return (cosine - (it.level+c.level)/2) / ((it.spread + c.spread) / 2)
}

func (c *cluster) succeeded() int {
	n := 0
	for _, it := range c.items {
		if it.run.Outcome == runs.Succeeded {
			n++
		}
	}
	return n
}

func (c *cluster) enough(o Options) bool {
	return len(c.items) >= o.Seen && float64(c.succeeded()) >= o.Success*float64(len(c.items))
}

// central are the group's requests, each once, the one nearest to all first; requests of runs that failed come last.
func (c *cluster) central() []*item {
	list := slices.Clone(c.items)
	nearness := map[*item]float32{}
	for _, it := range list {
		nearness[it] = vek32.Dot(it.vector, c.sum)
		if it.run.Outcome != runs.Succeeded {
			nearness[it] -= float32(2 * len(list))
		}
	}
	slices.SortStableFunc(list, func(a, b *item) int {
		switch na, nb := nearness[a], nearness[b]; {
		case na > nb:
			return -1
		case na < nb:
			return 1
		}
		return strings.Compare(a.run.Goal, b.run.Goal)
	})
	return slices.CompactFunc(list, func(a, b *item) bool { return a.run.Goal == b.run.Goal })
}
