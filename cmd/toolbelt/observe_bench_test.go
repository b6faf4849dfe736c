package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/embed"
	"toolbelt/internal/chat"
	"toolbelt/internal/ingest"
	"toolbelt/internal/session"
	"toolbelt/internal/sqlite"
	"toolbelt/internal/turn"
	"toolbelt/skills"
)

// BenchmarkPlanWhileObserving is BenchmarkPlan of internal/turn with 38 tools, once without and once with what observes runs and writes them to
// a database, in turns of 200 plans each; an iteration is a turn of both. A run of three calls follows each plan in either, so with
// observation several writes wait at any time: far more than people can ask for. It reports medians over the iterations of each turn's p50 and p95.
func BenchmarkPlanWhileObserving(b *testing.B) {
	without, with := newObserved(b, false), newObserved(b, true)
	var figures [4][]float64 // p50 and p95 without, then with
	for b.Loop() {
		for k, o := range []*observed{without, with} {
			times := o.plans(b, 200)
			figures[2*k] = append(figures[2*k], times[len(times)/2])
			figures[2*k+1] = append(figures[2*k+1], times[len(times)*95/100])
		}
	}
	for k, name := range []string{"p50-µs-without", "p95-µs-without", "p50-µs-with", "p95-µs-with"} {
		slices.Sort(figures[k])
		b.ReportMetric(figures[k][len(figures[k])/2], name)
	}
	b.ReportMetric(0, "ns/op") // of both together: no figure
}

// observed is a planner, and what it is told to.
type observed struct {
	planner *turn.Planner
	tools   string
	asked   int
}

func newObserved(b *testing.B, observe bool) *observed {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	builtin, err := embed.NewBuiltin()
	if err != nil {
		b.Fatal(err)
	}
	arrays, err := ingest.New(ingest.Config{Builtin: builtin, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(arrays.Close)
	demo, err := os.ReadFile("../../eval/demotools.json")
	if err != nil {
		b.Fatal(err)
	}
	parts := turn.Parts{Sessions: session.New(time.Now), Snapshots: arrays, Builtin: builtin, QueryKey: []byte("k")}
	if observe {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "t.db"), log)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		library, err := skills.Open(b.Context(), skills.Parts{Store: db, Local: builtin, Log: log})
		if err != nil {
			b.Fatal(err)
		}
		o := newObserving(settings(b), db, library, builtin, log)
		b.Cleanup(o.close)
		parts.Runs = o.recorder
	}
	return &observed{planner: turn.NewPlanner(turn.DefaultPolicy(), parts), tools: gjson.GetBytes(demo, "tools").Raw}
}

// plans makes n plans, each of a conversation of its own whose model calls three tools, and returns how long each took, in microseconds, sorted.
func (o *observed) plans(b *testing.B, n int) []float64 {
	questions := []string{"where is my parcel from the bookshop?", "turn the heating in the living room up", "what is the exchange rate of the dollar?", "add milk to the shopping list"}
	times := make([]float64, n)
	for i := range times {
		o.asked++
		body := fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"%s (%d)"}],"tools":%s}`, questions[i%len(questions)], o.asked, o.tools)
		decoded, err := chat.Decode(chat.Ollama, body)
		if err != nil {
			b.Fatal(err)
		}
		r := turn.Request{Body: body, Chat: decoded, Identity: session.Identity{Family: "ollama", Model: "m", Credential: fmt.Sprint(o.asked), Chain: chat.Chain(decoded), Body: sha256.Sum256(body)}}
		started := time.Now()
		plan, err := o.planner.Plan(context.Background(), r)
		if err != nil {
			b.Fatal(err)
		}
		o.planner.Commit(plan)
		times[i] = float64(time.Since(started).Nanoseconds()) / 1000
		o.planner.Observe(plan, turn.Outcome{Called: []chat.Call{{Name: "track_parcel"}, {Name: "save_note"}, {Name: "send_email"}}})
	}
	slices.Sort(times)
	return times
}
