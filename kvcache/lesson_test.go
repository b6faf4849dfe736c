package kvcache_test

import (
	"testing"
	"time"

	"toolbelt/kvcache"
)

func TestWhatWasLearnedIsTakenUp(t *testing.T) {
	b, _ := newBelief()
	if _, ok := b.Lesson("m"); ok {
		t.Error("nothing was learned, and there is a lesson")
	}
	for i := range 20 {
		exchange(b, asking(b, "s", "m", 2+i%7, 1+2*(i%5)), 500+40*(i%7))
	}
	data, ok := b.Lesson("m:latest")
	if !ok {
		t.Fatal("there is no lesson")
	}
	again := kvcache.NewBelief(time.Now)
	if err := again.Teach("m", data); err != nil {
		t.Fatal(err)
	}
	if got, want := again.Rates("m"), b.Rates("m"); got != want {
		t.Errorf("rates %+v, want %+v", got, want)
	}
	other := kvcache.NewBelief(time.Now)
	for _, bad := range []string{"", "{}", "[]", `{"weights":[1]}`, `{"weights":[12,9e9,0,5,0.2,0],"covariance":[[1],[1],[1],[1],[1],[1]],"answers":3}`, `{"weights":[12,0.2,0.3,5,0.2,0],"covariance":[[-1],[1],[1],[1],[1],[1]],"answers":3}`} {
		if err := other.Teach("m", []byte(bad)); err == nil {
			t.Errorf("%s is taken up", bad)
		}
	}
	if other.Rates("m").Answers != 0 {
		t.Error("something was taken up")
	}
}

func FuzzTeach(f *testing.F) {
	f.Add([]byte(`{"weights":[12,0.2,0.3,5,0.2,0],"covariance":[[1,0,0,0,0,0],[0,1,0,0,0,0],[0,0,1,0,0,0],[0,0,0,1,0,0],[0,0,0,0,1,0],[0,0,0,0,0,1]],"answers":3,"pace":5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := kvcache.NewBelief(time.Now)
		_ = b.Teach("m", data)
		if tokens := b.Rates("m").ToolTokens(3, 1000); tokens < 0 || tokens > 1<<20 {
			t.Errorf("3 tools of 1,000 bytes are %d tokens", tokens)
		}
	})
}
