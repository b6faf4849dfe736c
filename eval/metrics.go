package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Measures are averages over cases. The maps are keyed by k, in decimal.
type Measures struct {
	Recall   map[string]float64 `json:"recall"`    // share of the needed tools, or their substitutes, among the first k
	AllFound map[string]float64 `json:"all_found"` // share of the cases with all of them among the first k
	NDCG5    float64            `json:"ndcg5"`     // of the first 5; each needed tool counts once, at its first place
	MRR      float64            `json:"mrr"`       // 1 / place of the first needed tool
}

// Percentiles of a measured time.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Interval is a 95 % interval, low and high.
type Interval [2]float64

// Intervals are those of the Measures.
type Intervals struct {
	Recall   map[string]Interval `json:"recall"`
	AllFound map[string]Interval `json:"all_found"`
	NDCG5    Interval            `json:"ndcg5"`
	MRR      Interval            `json:"mrr"`
}

// accepts reports whether name stands for the needed tool.
func (c Case) accepts(needed, name string) bool {
	return name == needed || slices.Contains(c.Alternatives[needed], name)
}

// found is the share of the case's needed tools, or their substitutes, among names. The case needs at least one.
func (c Case) found(names []string) float64 {
	hits := 0
	for _, n := range c.Needed {
		if c.place(n, names) > 0 {
			hits++
		}
	}
	return float64(hits) / float64(len(c.Needed))
}

// place is where the needed tool, or a substitute, first stands among names, from 1; 0 where nowhere.
func (c Case) place(needed string, names []string) int {
	return 1 + slices.IndexFunc(names, func(name string) bool { return c.accepts(needed, name) })
}

// judged is what one case came to: recall at each k, all-found at each k, nDCG@5, MRR, in that order.
type judged struct {
	cluster string
	values  []float64
}

func judge(c Case, ranked []string, ks []int) judged {
	j := judged{cluster: c.cluster(), values: make([]float64, 2*len(ks)+2)}
	for i, k := range ks {
		share := c.found(ranked[:min(k, len(ranked))])
		j.values[i] = share
		if share == 1 {
			j.values[len(ks)+i] = 1
		}
	}
	gain, ideal, first := 0.0, 0.0, 0
	for i, n := range c.Needed {
		if i < 5 {
			ideal += 1 / math.Log2(float64(i+2))
		}
		at := c.place(n, ranked)
		if at > 0 && at <= 5 {
			gain += 1 / math.Log2(float64(at+1))
		}
		if at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	j.values[2*len(ks)] = min(1, gain/ideal)
	if first > 0 {
		j.values[2*len(ks)+1] = 1 / float64(first)
	}
	return j
}

// cluster names what the case is resampled with.
func (c Case) cluster() string {
	switch {
	case c.Group != "":
		return "g" + c.Group
	case c.Conversation != "":
		return "c" + c.Conversation
	}
	return "i" + c.ID
}

// resamples is how often the conversations are drawn for an interval.
const resamples = 1000

// summarize averages what was judged, with 95 % intervals by the bootstrap over conversations (percentile method; Efron, 1979).
func summarize(all []judged, ks []int, seed uint64) (Measures, Intervals) {
	width := 2*len(ks) + 2
	sums, counts := clusterSums(all, width)
	total, n := make([]float64, width), 0.0
	for i := range sums {
		addTo(total, sums[i])
		n += counts[i]
	}
	mean := make([]float64, width)
	for i := range mean {
		mean[i] = total[i] / math.Max(1, n)
	}
	drawn := make([][]float64, width)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range resamples {
		clear(total)
		n := 0.0
		for range sums {
			i := rng.IntN(len(sums))
			addTo(total, sums[i])
			n += counts[i]
		}
		for i := range total {
			drawn[i] = append(drawn[i], total[i]/math.Max(1, n))
		}
	}
	low, high := make([]float64, width), make([]float64, width)
	for i := range drawn {
		slices.Sort(drawn[i])
		low[i], high[i] = percentile(drawn[i], .025), percentile(drawn[i], .975)
	}
	return measures(mean, ks), intervals(low, high, ks)
}

func clusterSums(all []judged, width int) (sums [][]float64, counts []float64) {
	place := map[string]int{}
	for _, j := range all {
		i, ok := place[j.cluster]
		if !ok {
			i = len(sums)
			place[j.cluster] = i
			sums, counts = append(sums, make([]float64, width)), append(counts, 0)
		}
		addTo(sums[i], j.values)
		counts[i]++
	}
	return sums, counts
}

func addTo(sum, values []float64) {
	for i, v := range values {
		sum[i] += v
	}
}

func measures(values []float64, ks []int) Measures {
	m := Measures{Recall: map[string]float64{}, AllFound: map[string]float64{}}
	for i, k := range ks {
		m.Recall[strconv.Itoa(k)], m.AllFound[strconv.Itoa(k)] = values[i], values[len(ks)+i]
	}
	m.NDCG5, m.MRR = values[2*len(ks)], values[2*len(ks)+1]
	return m
}

func intervals(low, high []float64, ks []int) Intervals {
	in := Intervals{Recall: map[string]Interval{}, AllFound: map[string]Interval{}}
	for i, k := range ks {
		in.Recall[strconv.Itoa(k)] = Interval{low[i], high[i]}
		in.AllFound[strconv.Itoa(k)] = Interval{low[len(ks)+i], high[len(ks)+i]}
	}
	in.NDCG5 = Interval{low[2*len(ks)], high[2*len(ks)]}
	in.MRR = Interval{low[2*len(ks)+1], high[2*len(ks)+1]}
	return in
}

// percentile of a sorted slice, by nearest rank; 0 of an empty one.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// percentilesOf sorts times.
func percentilesOf(times []float64) Percentiles {
	slices.Sort(times)
	return Percentiles{percentile(times, .5), percentile(times, .95)}
}
