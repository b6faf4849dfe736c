package skills_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"testing"
	"time"

	"toolbelt/embed"
	"toolbelt/embed/storetest"
	"toolbelt/skills"
)

// plane is a model of three dimensions whose texts lie in a plane, as angles in degrees; the background stands on it, and is
// about equally far from all of them.
func plane(name string) embed.Model { return embed.Model{Name: name, Dim: 3} }

func at(degrees float64) embed.Vector {
	rad := degrees * math.Pi / 180
	return embed.Vector{float32(math.Cos(rad)), float32(math.Sin(rad)), 0}
}

func around() []embed.Vector {
	return []embed.Vector{{0.1, 0, 0.995}, {-0.1, 0, 0.995}, {0, 0.1, 0.995}, {0, -0.1, 0.995}}
}

func enabled(names ...string) []skills.Procedure {
	var list []skills.Procedure
	for _, name := range names {
		list = append(list, skills.Procedure{Name: name, WhenToUse: name, ToolsRequired: []string{"t"}, Enabled: true})
	}
	return list
}

func recalledNames(recalled []skills.Recalled) []string {
	var list []string
	for _, r := range recalled {
		list = append(list, r.Procedure.Name)
	}
	return list
}

func TestRecall(t *testing.T) {
	a, b := plane("a"), plane("b")
	procedures := enabled("zero", "ten", "off", "thirty", "unknown")
	procedures[2].Enabled = false
	docs := []embed.Vector{at(0), at(10), at(0), at(30), nil}
	set := newSet(procedures, []skills.View{
		{Model: a, Vectors: docs, Background: around()},
		{Model: b, Vectors: []embed.Vector{at(80), at(0), at(0), nil, nil}, Background: append(around(), nil, embed.Vector{1, 0})},
	})
	if set.Len() != 4 {
		t.Errorf("%d procedures can be recalled, want 4", set.Len())
	}
	tests := []struct {
		name  string
		query skills.QueryVectors
		k     int
		floor skills.Floor
		want  []string
	}{
		{"best first", skills.QueryVectors{a: at(-5)}, 2, 3, []string{"zero", "ten"}},
		{"another best", skills.QueryVectors{a: at(11)}, 2, 3, []string{"ten", "zero"}},
		{"all over the floor", skills.QueryVectors{a: at(0)}, 10, 3, []string{"zero", "ten", "thirty"}},
		{"one", skills.QueryVectors{a: at(0)}, 1, 3, []string{"zero"}},
		{"none asked for", skills.QueryVectors{a: at(0)}, 0, 3, nil},
		{"like the background", skills.QueryVectors{a: {0, 0, 1}}, 2, 3, nil},
		{"an unreachable floor", skills.QueryVectors{a: at(0)}, 2, 1000, nil},
		{"no query", nil, 2, 3, nil},
		{"a model that the set has not", skills.QueryVectors{plane("c"): at(0)}, 2, 3, nil},
		{"a model of another digest", skills.QueryVectors{{Name: "a", Digest: "x", Dim: 3}: at(0)}, 2, 3, nil},
		{"a vector of another length", skills.QueryVectors{a: {1, 0}}, 2, 3, nil},
		{"a nil vector", skills.QueryVectors{a: nil}, 2, 3, nil},
		{"NaN", skills.QueryVectors{a: {float32(math.NaN()), 0, 0}}, 2, 3, nil},
		{"one model of two is NaN", skills.QueryVectors{a: at(0), b: {float32(math.NaN()), 0, 0}}, 1, 3, []string{"zero"}},
		{"two models, one says no", skills.QueryVectors{a: at(0), b: at(0)}, 1, 3, []string{"ten"}},
		{"a procedure that one model knows", skills.QueryVectors{a: at(30), b: at(90)}, 1, 3, []string{"thirty"}},
	}
	for _, test := range tests {
		if got := recalledNames(set.Recall(test.query, test.k, test.floor)); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: recalled %v, want %v", test.name, got, test.want)
		}
	}
	scores := make(map[string]float64)
	for _, r := range set.Recall(skills.QueryVectors{a: at(10), b: at(-60)}, 10, 3) {
		scores[r.Procedure.Name] = r.Score
	}
	if want := (1 + 0.5) / 2; math.Abs(scores["ten"]-want) > 1e-6 {
		t.Errorf("the score is %v, want the mean cosine %v", scores["ten"], want)
	}
}

func TestRecallFromNothing(t *testing.T) {
	q := skills.QueryVectors{plane("a"): at(0)}
	views := []skills.View{{Model: plane("a"), Vectors: []embed.Vector{at(0)}, Background: around()}}
	for name, set := range map[string]*skills.Set{
		"nil":                 nil,
		"no procedures":       newSet(nil, views),
		"no views":            newSet(enabled("x"), nil),
		"no background":       newSet(enabled("x"), []skills.View{{Model: plane("a"), Vectors: []embed.Vector{at(0)}}}),
		"no vectors":          newSet(enabled("x"), []skills.View{{Model: plane("a"), Background: around()}}),
		"other count":         newSet(enabled("x", "y"), views),
		"no dimension":        newSet(enabled("x"), []skills.View{{Vectors: []embed.Vector{{}}, Background: []embed.Vector{{}}}}),
		"a NaN":               newSet(enabled("x"), []skills.View{{Model: plane("a"), Vectors: []embed.Vector{{float32(math.NaN()), 0, 0}}, Background: around()}}),
		"a longer one":        newSet(enabled("x"), []skills.View{{Model: plane("a"), Vectors: []embed.Vector{{1, 0, 0, 0}}, Background: around()}}),
		"a disabled one only": newSet([]skills.Procedure{{Name: "x"}}, views),
	} {
		if got := set.Recall(q, 2, -1000); len(got) != 0 {
			t.Errorf("%s: recalled %v", name, got)
		}
	}
	if got := newSet(enabled("x"), views).Recall(q, 2, 3); len(got) != 1 {
		t.Errorf("beside them, a set with one procedure recalled %v", got)
	}
}

// What the caller does with its slices afterwards does not reach the set.
func TestSetIsImmutable(t *testing.T) {
	procedures, docs, background := enabled("x"), []embed.Vector{at(0)}, around()
	set := newSet(procedures, []skills.View{{Model: plane("a"), Vectors: docs, Background: background}})
	procedures[0].Name, procedures[0].ToolsRequired[0] = "y", "u"
	copy(docs[0], at(180))
	copy(background[0], at(0))
	got := set.Recall(skills.QueryVectors{plane("a"): at(0)}, 1, 3)
	if len(got) != 1 || got[0].Procedure.Name != "x" || got[0].Procedure.ToolsRequired[0] != "t" || math.Abs(got[0].Score-1) > 1e-6 {
		t.Errorf("recalled %+v", got)
	}
}

// Recall agrees with the plain definition on random vectors.
func TestRecallAgreesWithReference(t *testing.T) {
	const dim, n = 37, 50
	m := embed.Model{Name: "m", Dim: dim}
	var list []string
	var docs, background []embed.Vector
	for i := range n {
		list = append(list, fmt.Sprint(i))
		docs = append(docs, storetest.Vector(uint64(i), dim))
	}
	for i := range 40 {
		background = append(background, storetest.Vector(uint64(1000+i), dim))
	}
	set := newSet(enabled(list...), []skills.View{{Model: m, Vectors: docs, Background: background}})
	dot := func(a, b embed.Vector) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for q := range 20 {
		query := storetest.Vector(uint64(5000+q), dim)
		heights := make(map[string]float64)
		for i, d := range docs {
			var mean, variance float64
			for _, b := range background {
				mean += dot(d, b) / 40
			}
			for _, b := range background {
				variance += (dot(d, b) - mean) * (dot(d, b) - mean) / 40
			}
			if h := (dot(query, d) - mean) / math.Sqrt(variance); h >= 0.5 {
				heights[list[i]] = h
			}
		}
		got := set.Recall(skills.QueryVectors{m: query}, n, 0.5)
		if len(got) != len(heights) {
			t.Errorf("query %d: recalled %d, want %d", q, len(got), len(heights))
		}
		for i, r := range got {
			if i > 0 && heights[r.Procedure.Name] > heights[got[i-1].Procedure.Name]+1e-5 {
				t.Errorf("query %d: %s stands behind a worse one", q, r.Procedure.Name)
			}
		}
	}
}

// recallCases are procedures with paraphrases, and messages that none of them is for.
type recallCases struct {
	Procedures []struct {
		Name      string   `json:"name"`
		WhenToUse string   `json:"when_to_use"`
		Tools     []string `json:"tools"`
		Asks      []string `json:"asks"`
	} `json:"procedures"`
	Unrelated []string `json:"unrelated"`
}

func loadRecallCases(t testing.TB) recallCases {
	t.Helper()
	data, err := os.ReadFile("testdata/recall.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases recallCases
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func builtin(t testing.TB) *embed.Builtin {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func embedTexts(t testing.TB, e embed.Embedder, kind embed.Kind, texts ...string) []embed.Vector {
	t.Helper()
	vectors, err := e.Embed(t.Context(), kind, texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestDefaultFloorTellsParaphrasesFromTheRest(t *testing.T) {
	cases, e := loadRecallCases(t), builtin(t)
	var procedures []skills.Procedure
	var texts []string
	for _, c := range cases.Procedures {
		p := skills.Procedure{Name: c.Name, WhenToUse: c.WhenToUse, ToolsRequired: c.Tools, Enabled: true}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		procedures, texts = append(procedures, p), append(texts, c.WhenToUse)
	}
	set := newSet(procedures, []skills.View{{
		Model: e.Model(), Vectors: embedTexts(t, e, embed.Document, texts...), Background: embedTexts(t, e, embed.Query, skills.Background()...),
	}})
	ask := func(text string) []string {
		q := skills.QueryVectors{e.Model(): embedTexts(t, e, embed.Query, text)[0]}
		return recalledNames(set.Recall(q, 2, skills.DefaultFloor))
	}
	asked, found := 0, 0
	for _, c := range cases.Procedures {
		for _, text := range c.Asks {
			asked++
			for _, name := range ask(text) {
				if name == c.Name {
					found++
				}
			}
		}
	}
	if asked != 60 || found < 54 {
		t.Errorf("%d of %d paraphrases recalled their skill, want at least 54 of 60", found, asked)
	}
	var wrong []string
	for _, text := range cases.Unrelated {
		if len(ask(text)) > 0 {
			wrong = append(wrong, text)
		}
	}
	if len(cases.Unrelated) != 60 || len(wrong) > 3 {
		t.Errorf("%d of %d unrelated messages recalled a skill, want at most 3 of 60: %q", len(wrong), len(cases.Unrelated), wrong)
	}
}

// The background stands for what everyone asks: texts that embed, each once, and none that a skill is for.
func TestBackground(t *testing.T) {
	texts := skills.Background()
	seen := make(map[string]bool)
	for i, v := range embedTexts(t, builtin(t), embed.Query, texts...) {
		if v == nil || seen[texts[i]] {
			t.Errorf("%q embeds to nothing, or stands there twice", texts[i])
		}
		seen[texts[i]] = true
	}
	if len(texts) < 40 {
		t.Errorf("%d texts are too few to take a deviation of", len(texts))
	}
	texts[0] = "changed"
	if skills.Background()[0] == "changed" {
		t.Error("the list can be changed from outside")
	}
}

func BenchmarkRecall(b *testing.B) {
	const n, dim = 1000, 256
	for _, models := range []int{1, 2} {
		var list []string
		views := make([]skills.View, models)
		query := make(skills.QueryVectors)
		for m := range views {
			views[m].Model = embed.Model{Name: fmt.Sprint(m), Dim: dim}
			query[views[m].Model] = storetest.Vector(uint64(77+m), dim)
			for i := range 40 {
				views[m].Background = append(views[m].Background, storetest.Vector(uint64(90_000+i), dim))
			}
			for i := range n {
				views[m].Vectors = append(views[m].Vectors, storetest.Vector(uint64(i), dim))
			}
		}
		for i := range n {
			list = append(list, fmt.Sprint(i))
		}
		set := newSet(enabled(list...), views)
		b.Run(fmt.Sprintf("procedures=%d/models=%d", n, models), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Recall(query, 2, skills.DefaultFloor)
			}
		})
		b.Run(fmt.Sprintf("new/procedures=%d/models=%d", n, models), func(b *testing.B) {
			for b.Loop() {
				newSet(enabled(list...), views)
			}
		})
	}
}

// newSet is a set of procedures that are as old as they will ever be.
func newSet(procedures []skills.Procedure, views []skills.View) *skills.Set {
	return skills.NewSet(procedures, views, time.Time{})
}
