package learn_test

import (
	"fmt"
	"testing"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/learn"
	"toolbelt/internal/learn/learntest"
)

// BenchmarkRecall is one recall over this many examples of one app, by one view of 256 numbers.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := learntest.NewMemory()
			var tools []catalog.Tool
			for i := range 200 {
				tools = append(tools, catalog.Tool{Name: fmt.Sprint("t", i)})
			}
			cat := catalog.New(tools)
			var c learn.Change
			for i := range n {
				tool := cat.Tool(catalog.ID(i % 200))
				c.Put = append(c.Put, learn.Example{App: "app", Tool: tool.Name, Hash: tool.Hash(), Text: fmt.Sprint(distinct(i), i), Hits: 1, Last: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
			}
			if err := store.SaveLearned(b.Context(), 0, c); err != nil {
				b.Fatal(err)
			}
			r := start(b, func(c *learn.Config) { c.Store = store })
			r.tools = cat
			r.flush()
			a := r.ask(lamps, "t1")
			if r.examples() != n {
				b.Fatalf("%d examples", r.examples())
			}
			for b.Loop() {
				r.learner.Recall(a)
			}
		})
	}
}
