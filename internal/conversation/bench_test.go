package conversation_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/enginetest"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// quantile of durations, which are sorted for it, in microseconds.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(len(all)-1, int(q*float64(len(all))))].Nanoseconds()) / 1000
}

// sixty is an app of 60 tools, and a conversation of four turns with calls that it has had.
func sixty(p enginetest.Protocol) (*app, []entry) {
	r := rand.New(rand.NewPCG(60, 60))
	a := newApp(r, p, newCatalogue(r, 60))
	a.system = "You help."
	var history []entry
	for i := range 4 {
		c := call{id: fmt.Sprint("call_", i), name: "list_file", arguments: `{"q":"x"}`}
		history = append(history, user(fmt.Sprint("find the map of town ", i)), entry{role: "assistant", blocks: []block{{kind: "call", call: c}}},
			entry{role: "tool", call: c, text: strings.Repeat("a line of the file\n", 20)}, entry{role: "assistant", blocks: []block{{kind: "text", text: "Here it is."}}})
	}
	return a, history
}

// BenchmarkHiddenTurn measures what a hidden turn costs beside the engine: from the last byte of the engine's answer that calls load_tools to the moment at which
// the engine has the next request, loopback included. 60 tools, four turns of history.
func BenchmarkHiddenTurn(b *testing.B) {
	for _, p := range protocols() {
		b.Run(strings.TrimPrefix(string(p), "/"), func(b *testing.B) {
			var mu sync.Mutex
			var ended time.Time
			var gaps []time.Duration
			engine := enginetest.New(enginetest.Options{Script: func(q *enginetest.Request) enginetest.Round {
				if len(q.Messages) > 0 && q.Last().Role == "tool" {
					return says("Here.")
				}
				return loads("One moment. ", "send_note")
			}})
			rig := newShelf(b).startBefore(b, setting{protocol: p, strategy: kvcache.Append}, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				mu.Lock()
				if !ended.IsZero() {
					gaps = append(gaps, time.Since(ended))
				}
				mu.Unlock()
				engine.ServeHTTP(w, q)
				mu.Lock()
				defer mu.Unlock()
				if ended.IsZero() {
					ended = time.Now()
				} else {
					ended = time.Time{}
				}
			}))
			a, history := sixty(p)
			n := 0
			for b.Loop() {
				n++
				body := a.body(append(slices.Clone(history), user(fmt.Sprint("and the one of village ", n))), true)
				if reply, err := rig.post(b.Context(), body); err != nil || !bytes.Contains(reply.body, []byte("Here.")) {
					b.Fatalf("error %v, %s", err, reply.body)
				}
			}
			b.ReportMetric(quantile(gaps, 0.5), "µs-hidden-p50")
			b.ReportMetric(quantile(gaps, 0.95), "µs-hidden-p95")
		})
	}
}

// BenchmarkSessionMemory measures the heap that conversations of ten turns with 60 tools hold, each with a hidden turn every other turn: 400, of which every turn is
// in memory, and 1,000, of which the oldest are not.
func BenchmarkSessionMemory(b *testing.B) {
	for _, sessions := range []int{400, 1000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			s := newShelf(b)
			a, _ := sixty(enginetest.OpenAIChat)
			for b.Loop() {
				manager := session.New(time.Now)
				planner := turn.NewPlanner(turn.DefaultPolicy(), turn.Parts{
					Sessions: manager, Snapshots: s.arrays, Builtin: s.builtin, Prefix: kvcache.NewBelief(time.Now), QueryKey: []byte("key"), Now: time.Now,
				})
				before := heap()
				for i := range sessions {
					tenTurns(b, planner, a, i)
				}
				b.ReportMetric(float64(heap()-before)/float64(sessions), "B/session")
				runtime.KeepAlive(planner)
				manager.Close()
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// tenTurns has a conversation with the planner alone.
func tenTurns(b *testing.B, planner *turn.Planner, a *app, number int) {
	var history []entry
	for i := range 10 {
		history = append(history, user(fmt.Sprintf("conversation %d: %s the %s", number, verbs()[i], words()[(number+i)%len(words())])))
		body := a.body(history, true)
		request, err := chat.Decode(chat.OpenAI, body)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := planner.Plan(b.Context(), turn.Request{Body: body, Chat: request, Answers: true, Identity: session.Identity{
			Family: "openai", Model: "m", Chain: chat.Chain(request), Replies: request.Replies, Body: catalog.Hash(sha256.Sum256(body)),
		}})
		if err != nil {
			b.Fatal(err)
		}
		planner.Commit(plan)
		if i%2 == 1 {
			held := chat.HiddenCall{ID: fmt.Sprint("h", i), Name: loadTools, Arguments: fmt.Appendf(nil, `{"name":%q}`, words()[i])}
			if plan, err = planner.Again(b.Context(), plan, turn.Round{Verdict: chat.Verdict{Held: []chat.HiddenCall{held}}}); err != nil {
				b.Fatal(err)
			}
			planner.Commit(plan)
		}
		said := fmt.Sprintf("Answer %d of %d.", i, number)
		planner.Observe(plan, turn.Outcome{Text: said, Usage: chat.Usage{Done: true, PromptTokens: 1000, OutputTokens: 10}})
		history = append(history, entry{role: "assistant", blocks: []block{{kind: "text", text: said}}})
	}
}

// What BenchmarkStreams has.
const (
	streams    = 200
	chunks     = 40
	chunkEvery = 50 * time.Millisecond // of each stream: 4,000 chunks a second in all
)

// BenchmarkStreams measures when the chunks of 200 answers at a time arrive: straight from the engine, and through the daemon, which looks for calls of its own in
// each. Engine, daemon and clients share the processor, so that the difference is what the daemon adds on a busy machine.
func BenchmarkStreams(b *testing.B) {
	engine := httptest.NewServer(http.HandlerFunc(clock))
	defer engine.Close()
	rig := newShelf(b).startBefore(b, setting{protocol: enginetest.NativeChat, strategy: kvcache.Append}, http.HandlerFunc(clock))
	a, history := sixty(enginetest.NativeChat)
	var straight, through []time.Duration
	for b.Loop() {
		straight = append(straight, listen(b, engine.URL, a, history)...)
		through = append(through, listen(b, rig.daemon.URL, a, history)...)
	}
	for _, q := range []float64{0.5, 0.95} {
		direct, daemon := quantile(straight, q), quantile(through, q)
		b.ReportMetric(direct, fmt.Sprintf("µs-straight-p%.0f", 100*q))
		b.ReportMetric(daemon, fmt.Sprintf("µs-through-p%.0f", 100*q))
		b.ReportMetric(daemon-direct, fmt.Sprintf("µs-added-p%.0f", 100*q))
	}
}

// clock is an engine whose every chunk says when it was sent.
func clock(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	flusher := http.NewResponseController(w)
	tick := time.NewTicker(chunkEvery)
	defer tick.Stop()
	for range chunks {
		<-tick.C
		fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":"%d"},"done":false}`+"\n", time.Now().UnixNano())
		if flusher.Flush() != nil {
			return
		}
	}
	io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":40}`+"\n")
}

// listen has all streams at one time and returns how old each chunk was when it was read.
func listen(b *testing.B, url string, a *app, history []entry) []time.Duration {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	ages := make([][]time.Duration, streams)
	var work sync.WaitGroup
	for i := range streams {
		work.Go(func() {
			time.Sleep(time.Duration(i) * chunkEvery / streams) // the engines' clocks do not strike at once
			body := a.body(append(slices.Clone(history), user(fmt.Sprint("and the one of village ", i))), true)
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/api/chat", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			defer res.Body.Close()
			lines := bufio.NewScanner(res.Body)
			for lines.Scan() {
				if sent := gjson.GetBytes(lines.Bytes(), "message.content").Int(); sent > 0 {
					ages[i] = append(ages[i], time.Since(time.Unix(0, sent)))
				}
			}
			if len(ages[i]) != chunks {
				b.Errorf("stream %d had %d chunks", i, len(ages[i]))
			}
		})
	}
	work.Wait()
	return slices.Concat(ages...)
}
