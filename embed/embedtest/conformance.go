package embedtest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"toolbelt/embed"
)

// Run tests that what newEmbedder makes keeps the contract of embed.Embedder. Each subtest makes one of its own.
func Run(t *testing.T, newEmbedder func(testing.TB) embed.Embedder) {
	for _, c := range []struct {
		name string
		test func(*testing.T, embed.Embedder)
	}{
		{"model is constant", testModel},
		{"one unit vector a text, in order", testOrder},
		{"nothing to embed", testNothing},
		{"odd texts", testOdd},
		{"long texts are cut at the right side", testLong},
		{"cancelled", testCancelled},
		{"concurrent use", testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newEmbedder(t)) })
	}
}

func testModel(t *testing.T, e embed.Embedder) {
	before := e.Model()
	if before.Name == "" || before.Dim <= 0 {
		t.Fatalf("Model() = %+v: it needs a name and a dimension", before)
	}
	mustEmbed(t, e, embed.Query, "a text")
	if after := e.Model(); after != before {
		t.Errorf("Model() was %+v and is now %+v", before, after)
	}
}

// testOrder embeds more texts than fit a request and compares some with their own vectors.
func testOrder(t *testing.T, e embed.Embedder) {
	var texts []string
	for i := range 35 {
		texts = append(texts, fmt.Sprintf("read file %d", i*i))
	}
	all := mustEmbed(t, e, embed.Document, texts...)
	for _, i := range []int{0, 31, 32, 34} {
		alone := mustEmbed(t, e, embed.Document, texts[i])[0]
		if c := cosine(all[i], alone); c < 0.999 {
			t.Errorf("text %d in a batch and alone have a cosine of %v", i, c)
		}
	}
	queries := mustEmbed(t, e, embed.Query, texts[:3]...)
	if c := cosine(queries[2], mustEmbed(t, e, embed.Query, texts[2])[0]); c < 0.999 {
		t.Errorf("a query in a batch and alone have a cosine of %v", c)
	}
}

func testNothing(t *testing.T, e embed.Embedder) {
	ctx := context.Background()
	if vs, err := e.Embed(ctx, embed.Query, nil); err != nil || len(vs) != 0 {
		t.Errorf("Embed of no texts = %d vectors, %v", len(vs), err)
	}
	vs, err := e.Embed(ctx, embed.Document, []string{"", "list the files", " \t\n"})
	if err != nil || len(vs) != 3 {
		t.Fatalf("Embed of blank texts = %d vectors, %v", len(vs), err)
	}
	if vs[0] != nil || vs[2] != nil {
		t.Errorf("a blank text has a vector")
	}
	if vs[1] == nil {
		t.Errorf("the text between two blank ones has no vector")
	}
}

func testOdd(t *testing.T, e embed.Embedder) {
	texts := []string{
		"\xff\xfe broken \xc3", "zero \x00 byte", "🙂 👩‍👩‍👧 flags 🇩🇪", "مرحبا بالعالم", "请帮我读取文件", "日本語のテキスト", "é é",
		strings.Repeat("x", 5000), "{\"a\": [1, null]}", "[CLS] [SEP] [MASK]", "a", "?",
	}
	vs := mustEmbed(t, e, embed.Query, texts...)
	for i, v := range vs {
		if v == nil {
			t.Errorf("%.20q has no vector", texts[i])
		}
	}
}

func testLong(t *testing.T, e embed.Embedder) {
	first := strings.Repeat("send a mail to the finance team about invoices ", 800)
	last := strings.Repeat("draw pictures showing mountains, rivers and trees ", 800)
	q := mustEmbed(t, e, embed.Query, first, last, first+last)
	if cosine(q[2], q[1]) <= cosine(q[2], q[0]) {
		t.Errorf("of a long Query the start counts, not the end")
	}
	d := mustEmbed(t, e, embed.Document, first, last, first+last)
	if cosine(d[2], d[0]) <= cosine(d[2], d[1]) {
		t.Errorf("of a long Document the end counts, not the start")
	}
}

func testCancelled(t *testing.T, e embed.Embedder) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if vs, err := e.Embed(ctx, embed.Query, []string{"a text that was never seen"}); err == nil || vs != nil {
		t.Errorf("Embed under a cancelled context = %d vectors, %v", len(vs), err)
	}
}

func testConcurrent(t *testing.T, e embed.Embedder) {
	want := mustEmbed(t, e, embed.Query, "open the door", "close the window")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			vs, err := e.Embed(context.Background(), embed.Query, []string{"open the door", "close the window"})
			if err != nil || len(vs) != 2 {
				t.Errorf("Embed = %d vectors, %v", len(vs), err)
				return
			}
			for i := range vs {
				if cosine(vs[i], want[i]) < 0.999 {
					t.Errorf("text %d has another vector when embedded at the same time as others", i)
				}
			}
		})
	}
	wg.Wait()
}

// mustEmbed embeds and checks what holds for every answer.
func mustEmbed(t *testing.T, e embed.Embedder, kind embed.Kind, texts ...string) []embed.Vector {
	t.Helper()
	vs, err := e.Embed(context.Background(), kind, texts)
	if err != nil {
		t.Fatalf("Embed of %d texts: %v", len(texts), err)
	}
	if len(vs) != len(texts) {
		t.Fatalf("Embed of %d texts gave %d vectors", len(texts), len(vs))
	}
	for i, v := range vs {
		if v == nil {
			continue
		}
		if len(v) != e.Model().Dim {
			t.Fatalf("vector %d has %d numbers, Model().Dim is %d", i, len(v), e.Model().Dim)
		}
		if length := math.Sqrt(cosine(v, v)); math.Abs(length-1) > 1e-4 {
			t.Fatalf("vector %d has length %v", i, length)
		}
	}
	return vs
}

func cosine(a, b embed.Vector) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
