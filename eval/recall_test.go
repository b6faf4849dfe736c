package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/embed/embedtest"
	"toolbelt/eval"
)

func TestRecallOfASmallSet(t *testing.T) {
	o := options(t)
	o.Baselines, o.Replay = true, true
	r := recall(t, o, household(t))
	var methods []string
	for _, row := range r.Rows {
		methods = append(methods, row.Method)
		if row.Cases != 4 || row.Tools != 10 || row.Set != "household" {
			t.Errorf("%s: %d cases, %d tools of %q", row.Method, row.Cases, row.Tools, row.Set)
		}
		for k, v := range row.Recall {
			in := row.Intervals.Recall[k]
			if v < 0 || v > 1 || in[0] > v || in[1] < v || row.AllFound[k] > v {
				t.Errorf("%s: recall@%s %v in %v, all found %v", row.Method, k, v, in, row.AllFound[k])
			}
		}
	}
	if want := []string{"toolbelt", "bm25", "dense", "gaia"}; !slices.Equal(methods, want) {
		t.Errorf("methods %q, want %q", methods, want)
	}
	own := r.Rows[0]
	if own.Recall["5"] < .8 || own.AllFound["5"] != .75 || own.PlanUS == nil || own.PlanUS.P50 <= 0 || own.Embedder != "builtin" {
		t.Errorf("toolbelt: %+v", own)
	}
	if len(own.Misses) != 1 || own.Misses[0].Case != "c" || own.Misses[0].Needed[1] != (eval.MissedTool{Name: "no_such_tool"}) || len(own.Misses[0].Instead) == 0 {
		t.Errorf("misses %+v", own.Misses)
	}
	if s := own.Shortfall; s == nil || *s != (eval.Shortfall{Needed: 6, Missed: 1, Absent: 1, FoundUnnamed: s.FoundUnnamed}) || r.Rows[1].Shortfall != nil {
		t.Errorf("shortfall %+v", s)
	}
	if own.Floor.None != 1 || own.Floor.Apart != .5 || r.Rows[1].Embedder != "" || r.Rows[1].PlanUS != nil {
		t.Errorf("floor %+v, bm25 %+v", own.Floor, r.Rows[1])
	}
}

// Needed tools that no request can lead to are told apart from those that it should have.
func TestWhatWasMissedIsToldApart(t *testing.T) {
	dir := writeSet(t, t.TempDir(), "missed", map[string]string{
		"catalog.jsonl": `
{"name":"one__send_letter","description":"Send a letter to somebody by post."}
{"name":"two__sendLetter","description":"Deliver mail."}
{"name":"post_parcel","description":"Send a parcel to somebody by post."}
{"name":"frobnicate","description":"Zygomorphic quux."}
{"name":"play_music","description":"Play a song on a loudspeaker"}
`,
		"cases.dev.jsonl": `
{"id":"twin","messages":[{"role":"user","content":"send a letter to somebody by post"}],"needed":["two__sendLetter"]}
{"id":"silent","messages":[{"role":"user","content":"send a letter to somebody by post"}],"needed":["frobnicate"]}
{"id":"named before","messages":[{"role":"user","content":"what would a quux do"},{"role":"user","content":"send a letter to somebody by post"}],"needed":["frobnicate"]}
{"id":"found","messages":[{"role":"user","content":"play a song"}],"needed":["play_music"]}
{"id":"none","messages":[{"role":"user","content":"thank you"}],"needed":[]}
`})
	d, err := eval.ReadDataset(filepath.Join(dir, "missed"), "dev", false)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Ks = []int{1}
	r := recall(t, o, d)
	if s := *r.Rows[0].Shortfall; s.Needed != 4 || s.Missed != 3 || s.Absent != 0 || s.Twin != 1 || s.Unnamed != 1 || s.Far < s.Silent || s.Silent != 1 {
		t.Errorf("%+v", s)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "UNNAMED") {
		t.Errorf("%v: %s", err, table.String())
	}
}

func TestTheFixedNamesOfTheJSON(t *testing.T) {
	o := options(t)
	o.Replay = true
	data, err := json.Marshal(recall(t, o, household(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"rows.0.set", "rows.0.method", "rows.0.embedder", "rows.0.tools", "rows.0.cases", "rows.0.recall.5", "rows.0.all_found.5", "rows.0.ndcg5", "rows.0.mrr", "rows.0.plan_us.p50", "rows.0.plan_us.p95",
		"replay.0.set", "replay.0.method", "replay.0.embedder", "replay.0.cap", "replay.0.cases", "replay.0.visible_recall", "replay.0.all_visible", "replay.0.changes_per_turn", "replay.0.tools_per_turn",
		"rows.0.floor.apart", "rows.0.shortfall.missed", "rows.0.shortfall.unnamed", "replay.0.tokens_per_turn", "replay.0.admitted_when_none_needed", "replay.0.none_needed.early", "replay.0.none_needed.idle_admits",
	} {
		if !gjson.GetBytes(data, path).Exists() {
			t.Errorf("no %s in %s", path, data)
		}
	}
}

// figures are a report without what differs from run to run by nature.
func figures(t *testing.T, r *eval.RecallReport) string {
	t.Helper()
	for i := range r.Rows {
		r.Rows[i].PlanUS = nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheSameSeedGivesTheSameFigures(t *testing.T) {
	o := options(t)
	o.Baselines, o.Replay, o.Long = true, true, true
	d := household(t)
	if a, b := figures(t, recall(t, o, d)), figures(t, recall(t, o, d)); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}

func TestTheMeanIsOverSets(t *testing.T) {
	one, other := household(t), household(t)
	other.Name, other.Cases = "other", other.Cases[4:]
	r := recall(t, options(t), one, other)
	if len(r.Mean) != 1 || math.Abs(r.Mean[0].MRR-(r.Rows[0].MRR+r.Rows[1].MRR)/2) > 1e-9 || r.Mean[0].Cases != 5 {
		t.Errorf("mean %+v of %+v", r.Mean, r.Rows)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*eval.RecallOptions){
		"no k":                   func(o *eval.RecallOptions) { o.Ks = nil },
		"k 0":                    func(o *eval.RecallOptions) { o.Ks = []int{0} },
		"k too large":            func(o *eval.RecallOptions) { o.Ks = []int{5, 1001} },
		"k descends":             func(o *eval.RecallOptions) { o.Ks = []int{5, 5} },
		"cap 0":                  func(o *eval.RecallOptions) { o.Cap = 0 },
		"tau":                    func(o *eval.RecallOptions) { o.Tau = math.NaN() },
		"history without replay": func(o *eval.RecallOptions) { o.History = true },
		"learn without learner":  func(o *eval.RecallOptions) { o.Replay, o.Learn = true, true },
		"cases are a path":       func(o *eval.RecallOptions) { o.Cases = "../x" },
		"no embedder":            func(o *eval.RecallOptions) { o.Embedders.First = nil },
	} {
		o := options(t)
		change(&o)
		if _, err := eval.Recall(context.Background(), nil, o); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%s: %v, want an Invalid one", name, err)
		}
	}
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := options(t)
	o.Progress = func(step string, _, _ int) {
		if strings.HasPrefix(step, "second:") {
			cancel()
		}
	}
	second := household(t)
	second.Name = "second"
	r, err := eval.Recall(ctx, []*eval.Dataset{household(t), second}, o)
	if err == nil || len(r.Rows) != 1 || !strings.Contains(r.Partial, `interrupted at the set "second"`) {
		t.Fatalf("%d rows, partial %q, error %v", len(r.Rows), r.Partial, err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table":    func(b *bytes.Buffer) error { return r.WriteTable(b) },
		"Markdown": func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"HTML":     func(b *bytes.Buffer) error { return r.WriteHTML(b) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil || !strings.Contains(strings.ToLower(out.String()), "not complete") {
			t.Errorf("%s does not say that it is partial (%v)", name, err)
		}
	}
}

func TestReportsCarryUserTextUnharmed(t *testing.T) {
	o := options(t)
	o.Replay, o.Baselines = true, true
	r := recall(t, o, household(t))
	var err error
	if r.Scale, err = eval.Scale(context.Background(), builtin(t), []int{10, 100}, nil); err != nil {
		t.Fatal(err)
	}
	var page, text bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "http://", "https://", "ZgotmplZ", "NaN", "Inf"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page.String(), "<svg"); n != 3 || !strings.Contains(page.String(), "&lt;script&gt;") {
		t.Errorf("%d pictures", n)
	}
	if err := r.WriteMarkdown(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `&lt;script>alert(1)&lt;/script> \| \*`) {
		t.Errorf("the Markdown has the message as %s", text.String())
	}
}

func TestScale(t *testing.T) {
	points, err := eval.Scale(context.Background(), builtin(t), []int{1, 20, 700}, nil)
	if err != nil || len(points) != 3 {
		t.Fatalf("%v, %v", points, err)
	}
	for i, n := range []int{1, 20, 700} {
		if p := points[i]; p.Tools != n || p.PlanUS.P50 <= 0 || p.SelectUS.P95 < p.SelectUS.P50 {
			t.Errorf("%+v", p)
		}
	}
	names := map[string]bool{}
	for _, tool := range eval.GeneratedTools(3000) {
		names[tool.Name] = true
	}
	if len(names) != 3000 || !reflect.DeepEqual(eval.GeneratedTools(50), eval.GeneratedTools(50)) {
		t.Errorf("%d distinct names of 3000", len(names))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if points, err := eval.Scale(ctx, builtin(t), []int{10}, nil); err == nil || len(points) > 0 {
		t.Errorf("cancelled: %v, %v", points, err)
	}
}

// memory is an embed.Store.
type memory map[string]embed.Vector

func (m memory) key(model embed.Model, h catalog.Hash) string { return fmt.Sprint(model, h) }

func (m memory) Vectors(_ context.Context, model embed.Model, docs []catalog.Hash) (map[catalog.Hash]embed.Vector, error) {
	found := map[catalog.Hash]embed.Vector{}
	for _, h := range docs {
		if v, ok := m[m.key(model, h)]; ok {
			found[h] = v
		}
	}
	return found, nil
}

func (m memory) PutVectors(_ context.Context, model embed.Model, docs []catalog.Hash, vectors []embed.Vector) error {
	for i, h := range docs {
		m[m.key(model, h)] = vectors[i]
	}
	return nil
}

func TestAnEnginesVectorsAreMadeOnce(t *testing.T) {
	store, o := memory{}, options(t)
	o.Baselines, o.Replay = true, true
	d := household(t)
	run := func(engine *embedtest.Fake, alone bool) *eval.RecallReport {
		o.Embedders = eval.Embedders{First: builtin(t), Engine: eval.NewVectors(engine, store)}
		if alone {
			o.Embedders = eval.Embedders{First: o.Embedders.Engine}
		}
		return recall(t, o, d)
	}
	first, second := embedtest.NewFake("engine", 32), embedtest.NewFake("engine", 32)
	a, b := run(first, false), run(second, false)
	if first.Calls() == 0 || second.Calls() != 0 {
		t.Errorf("%d calls in the first run, %d in the second", first.Calls(), second.Calls())
	}
	seen := map[string]int{}
	for _, text := range first.Texts() {
		seen[text]++
		if seen[text] > 2 { // once as a query and once as a document at most
			t.Errorf("%q was embedded %d times", text, seen[text])
		}
	}
	if a.Rows[0].Embedder != "builtin+engine" || a.Rows[2].Embedder != "engine" || figures(t, a) != figures(t, b) {
		t.Errorf("embedders %q and %q, or the kept vectors give other figures", a.Rows[0].Embedder, a.Rows[2].Embedder)
	}
	if alone := run(second, true); alone.Rows[0].Embedder != "engine" {
		t.Errorf("alone it is %q", alone.Rows[0].Embedder)
	}
	o.Embedders = eval.Embedders{First: builtin(t), Engine: eval.NewVectors(broken(), nil)}
	if r, err := eval.Recall(context.Background(), []*eval.Dataset{d}, o); err == nil || r.Partial == "" {
		t.Errorf("an engine that fails: %v", err)
	}
}

// full is a store that takes nothing.
type full struct{ memory }

func (full) PutVectors(context.Context, embed.Model, []catalog.Hash, []embed.Vector) error {
	return errors.New("the disk is full")
}

func TestACacheThatFailsStopsNothing(t *testing.T) {
	o := options(t)
	engine := embedtest.NewFake("engine", 32)
	o.Embedders.Engine = eval.NewVectors(engine, full{memory{}})
	r := recall(t, o, household(t))
	if len(r.Rows) != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), "the disk is full") {
		t.Errorf("%d rows, notes %q", len(r.Rows), r.Notes)
	}
}

func broken() *embedtest.Fake {
	f := embedtest.NewFake("engine", 32)
	f.Break(embedtest.Failing)
	return f
}

func TestVectorsKeepTheContract(t *testing.T) {
	embedtest.Run(t, func(t testing.TB) embed.Embedder { return eval.NewVectors(builtin(t), memory{}) })
}

// TestThePublicSets checks the baselines against figures that were measured by other means.
func TestThePublicSets(t *testing.T) {
	data := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(data); err != nil {
		t.Skip("the public sets are not here: ", err)
	}
	var sets []*eval.Dataset
	for _, name := range []string{"mcp_proxy45", "gaia"} {
		d, err := eval.ReadDataset(filepath.Join(data, name), "dev", false)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, d)
	}
	o := options(t)
	o.Ks, o.Cap, o.Baselines, o.Replay = []int{14}, 14, true, true
	r := recall(t, o, sets...)
	for _, row := range r.Rows {
		if row.Set == "mcp_proxy45" && row.Method == "bm25" && math.Abs(row.Recall["14"]-.731) > .02 {
			t.Errorf("BM25 on mcp_proxy45: recall@14 %.3f, known is .731", row.Recall["14"])
		}
	}
	var own, gaia eval.ReplayRow
	for _, row := range r.Replay {
		if row.LongestList > 14 {
			t.Errorf("%s by %s: a list of %d", row.Set, row.Method, row.LongestList)
		}
		switch {
		case row.Set == "gaia" && row.Method == "toolbelt":
			own = row
		case row.Set == "gaia" && row.Method == "gaia":
			gaia = row
		}
	}
	if own.Cases != 68 || own.VisibleRecall < gaia.VisibleRecall+.05 {
		t.Errorf("on gaia toolbelt shows %.3f of what is needed on %d turns, GAIA's rule %.3f", own.VisibleRecall, own.Cases, gaia.VisibleRecall)
	}
}
