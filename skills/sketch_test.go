package skills_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"toolbelt/embed"
	"toolbelt/skills"
)

// TestASketchMissesNothing: among many procedures, those that a search through all recalls are recalled.
func TestASketchMissesNothing(t *testing.T) {
	for _, dim := range []int{256, 384, 60} {
		m := embed.Model{Name: "m", Dim: dim}
		rng := rand.New(rand.NewPCG(uint64(dim), 5))
		random := func() embed.Vector {
			v := make(embed.Vector, dim)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			_ = embed.Normalize(v)
			return v
		}
		const n = 3000
		var list []skills.Procedure
		v := skills.View{Model: m}
		for i := range n {
			list = append(list, skills.Procedure{Name: fmt.Sprint(i), WhenToUse: "w", ToolsRequired: []string{"t"}, Enabled: true})
			v.Vectors = append(v.Vectors, random())
		}
		for range 40 {
			v.Background = append(v.Background, random())
		}
		set := newSet(list, []skills.View{v})
		missed := 0
		for range 50 {
			at := rng.IntN(n)
			query := random()
			for i, x := range v.Vectors[at] {
				query[i] = query[i]*0.7 + x // a cosine of about 0.8
			}
			_ = embed.Normalize(query)
			q := skills.QueryVectors{m: query}
			got := set.Recall(q, 2, skills.DefaultFloor)
			want := set.Nearest(q)
			if len(got) == 0 && want == "" {
				missed++
				continue
			}
			if len(got) == 0 || got[0].Procedure.Name != want {
				t.Fatalf("dim %d: recalled %v, a full search finds %q", dim, recalledNames(got), want)
			}
		}
		if missed > 10 {
			t.Errorf("dim %d: a full search finds nothing for %d of 50", dim, missed)
		}
		if got := set.Recall(skills.QueryVectors{m: random()}, 2, skills.Floor(math.Inf(1))); got != nil {
			t.Errorf("over an endless floor: %v", recalledNames(got))
		}
	}
}
