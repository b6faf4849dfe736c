package embedtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"toolbelt/embed"
	"toolbelt/embed/embedtest"
)

func TestFakeConforms(t *testing.T) {
	embedtest.Run(t, func(testing.TB) embed.Embedder { return embedtest.NewFake("fake", 64) })
}

func TestFakeFaults(t *testing.T) {
	ctx := context.Background()
	f := embedtest.NewFake("fake", 8)
	texts := []string{"one", "two"}
	f.Break(embedtest.Failing)
	if _, err := f.Embed(ctx, embed.Query, texts); err == nil {
		t.Error("failing: no error")
	}
	f.Break(embedtest.Fewer)
	if vs, _ := f.Embed(ctx, embed.Query, texts); len(vs) != 1 {
		t.Errorf("fewer: %d vectors", len(vs))
	}
	f.Break(embedtest.OtherDim)
	if vs, _ := f.Embed(ctx, embed.Query, texts); len(vs) != 2 || len(vs[0]) == 8 {
		t.Errorf("other dimension: %v", vs)
	}
	for _, fault := range []embedtest.Fault{embedtest.NaN, embedtest.Zero} {
		f.Break(fault)
		if vs, _ := f.Embed(ctx, embed.Query, texts); len(vs) != 2 || embed.Normalize(vs[0]) == nil {
			t.Errorf("%v: %v", fault, vs)
		}
	}
	f.Break(embedtest.Hanging)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := f.Embed(short, embed.Query, texts); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hanging: %v", err)
	}
	f.Break(embedtest.Healthy)
	if vs, err := f.Embed(ctx, embed.Query, texts); err != nil || len(vs) != 2 {
		t.Errorf("healed: %v, %v", vs, err)
	}
	if f.Calls() != 7 || len(f.Texts()) != 14 {
		t.Errorf("%d calls of %d texts were counted, want 7 and 14", f.Calls(), len(f.Texts()))
	}
}
