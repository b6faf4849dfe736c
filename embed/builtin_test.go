package embed_test

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

type golden struct {
	Text   string    `json:"text"`
	IDs    []int     `json:"ids"`
	Vector []float32 `json:"vector"`
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	f, err := os.Open("testdata/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) < 30 {
		t.Fatalf("golden.jsonl has %d texts, want 30", len(all))
	}
	return all
}

func newBuiltin(t testing.TB) *embed.Builtin {
	t.Helper()
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuiltinGolden(t *testing.T) {
	b := newBuiltin(t)
	for _, g := range readGolden(t) {
		if n := b.Tokens(g.Text); n != len(g.IDs) {
			t.Errorf("Tokens(%q) = %d, want %d", g.Text, n, len(g.IDs))
		}
		for _, kind := range []embed.Kind{embed.Query, embed.Document} {
			vs, err := b.Embed(context.Background(), kind, []string{g.Text})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, g.Text, vs[0], g.Vector, 1e-4)
		}
	}
}

func compare(t *testing.T, text string, got, want embed.Vector, within float64) {
	t.Helper()
	if (got == nil) != (want == nil) || len(got) != len(want) {
		t.Errorf("%.60q: a vector of %d numbers, want %d", text, len(got), len(want))
		return
	}
	for i := range got {
		if !(math.Abs(float64(got[i]-want[i])) <= within) {
			t.Errorf("%.60q: number %d is %v, want %v", text, i, got[i], want[i])
			return
		}
	}
}

const words30 = "please open the quarterly report in my documents folder, total the amounts for each customer, " +
	"draw a chart of the monthly revenue and send everything to the finance team by mail before noon"

func BenchmarkBuiltin30Words(b *testing.B) {
	e := newBuiltin(b)
	ctx, texts := context.Background(), []string{words30}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(ctx, embed.Query, texts); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBuiltinConforms(t *testing.T) {
	embedtest.Run(t, func(t testing.TB) embed.Embedder { return newBuiltin(t) })
}

// TestQueryReadsTheEndOnly puts 30,000 words before texts of more than 512 tokens: nothing may change.
func TestQueryReadsTheEndOnly(t *testing.T) {
	b := newBuiltin(t)
	for name, filler := range map[string]string{
		"words":        "please read the annual report, chapter 7; ",
		"no blanks":    "a.b/c-",
		"ideographs":   "请帮我读取文件",
		"blank space":  strings.Repeat(" ", 300) + "word",
		"long words":   strings.Repeat("ab", 80) + " ",
		"special":      "[SEP][MASK] [CLS]",
		"emoji":        "🙂 👍🏽 ",
		"combining":    "e\u0301 \u0301 a\u0308. ",
		"broken UTF-8": "ok \xff\xc3 \xe4\xb8 yes ",
	} {
		text := strings.Repeat(filler, 600)
		if b.Tokens(text) < 512 {
			t.Fatalf("%s: the text is too short for this test", name)
		}
		texts := []string{text, strings.Repeat("mountain ", 30000) + text}
		vs, err := b.Embed(context.Background(), embed.Query, texts)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, name, vs[1], vs[0], 1e-5)
	}
}

func TestBuiltinBoundsWhatItReads(t *testing.T) {
	b := newBuiltin(t)
	text := "alpha" + strings.Repeat(" ", 1<<20) + "omega"
	for kind, want := range map[embed.Kind]string{embed.Query: "omega", embed.Document: "alpha"} {
		vs, err := b.Embed(context.Background(), kind, []string{text, want})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, want, vs[0], vs[1], 1e-6)
	}
	vs, err := b.Embed(context.Background(), embed.Query, []string{strings.Repeat("é", 1<<20)})
	if err != nil || vs[0] == nil {
		t.Errorf("a word of a million characters: %v, %v", vs, err)
	}
}

func TestBuiltinAllocatesTwice(t *testing.T) {
	b := newBuiltin(t)
	texts := []string{words30, "naïve café 日本語"}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := b.Embed(context.Background(), embed.Query, texts); err != nil {
			t.Error(err)
		}
	}); n > 2 {
		t.Errorf("Embed allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { b.Tokens(words30) }); n > 0 {
		t.Errorf("Tokens allocates %v times", n)
	}
}

func BenchmarkBuiltin20000Tokens(b *testing.B) {
	e := newBuiltin(b)
	texts := []string{strings.Repeat("please read the annual report of the finance team ", 20000/9)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(context.Background(), embed.Query, texts); err != nil {
			b.Fatal(err)
		}
	}
}
