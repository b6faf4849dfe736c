package kvcache_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"toolbelt/kvcache"
)

// clock is a time that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) pass(long time.Duration) { c.at = c.at.Add(long) }

func newBelief() (*kvcache.Belief, *clock) {
	c := &clock{time.Date(2024, 5, 3, 12, 0, 0, 0, time.UTC)}
	return kvcache.NewBelief(c.now), c
}

// asking is a request of the session with so many tools and so many messages.
func asking(b *kvcache.Belief, session, model string, tools, messages int) kvcache.Prompt {
	p := kvcache.Prompt{Session: session, Model: model, System: []kvcache.Piece{b.Piece(kvcache.System, []byte("Be kind to all who ask, and brief."))}}
	for i := range tools {
		p.Tools = append(p.Tools, b.Piece(kvcache.Tool, fmt.Appendf(nil, "%d %s", i, strings.Repeat("tool ", 60))))
	}
	for i := range messages {
		role := kvcache.User
		if i%2 == 1 {
			role = kvcache.Assistant
		}
		p.Messages = append(p.Messages, b.Piece(role, fmt.Appendf(nil, "%s %d %s", session, i, strings.Repeat("word ", 20))))
	}
	return p
}

// exchange sends a prompt and has it answered.
func exchange(b *kvcache.Belief, p kvcache.Prompt, tokens int) kvcache.Verdict {
	b.Sent(p)
	return b.Answered(p, kvcache.Answer{PromptTokens: tokens, OutputTokens: 25})
}

func TestWhyNothingIsHeld(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(b *kvcache.Belief, c *clock)
		change func(p *kvcache.Prompt)
		want   string
		kept   bool // something is held all the same, or of this session
	}{
		{name: "it goes on", kept: true},
		{name: "another conversation before it", before: func(b *kvcache.Belief, _ *clock) {
			exchange(b, asking(b, "other", "m", 5, 1), 700)
		}, want: kvcache.OtherRequest, kept: true},
		{name: "a title before it", before: func(b *kvcache.Belief, _ *clock) {
			exchange(b, kvcache.Prompt{Session: "t", Model: "m", Messages: []kvcache.Piece{b.Piece(kvcache.User, []byte("a title"))}}, 20)
		}, want: kvcache.OtherRequest},
		{name: "something unreadable before it", before: func(b *kvcache.Belief, c *clock) { b.Foreign("m:latest", c.now()) }, want: kvcache.OtherRequest},
		{name: "something for another model before it", before: func(b *kvcache.Belief, c *clock) { b.Foreign("n", c.now()) }, kept: true},
		{name: "another model of the same file", before: func(b *kvcache.Belief, c *clock) {
			b.SetFacts("m", kvcache.Facts{Digest: "d"})
			b.SetFacts("n", kvcache.Facts{Digest: "d"})
			exchange(b, asking(b, "s", "n", 5, 1), 700)
		}, want: kvcache.OtherRequest},
		{name: "a file that is known only now", before: func(b *kvcache.Belief, c *clock) { b.SetFacts("m", kvcache.Facts{Digest: "d"}) }, kept: true},
		{name: "another context", change: func(p *kvcache.Prompt) { p.Context = 2048 }, want: kvcache.OptionsChanged},
		{name: "the same context said aloud", before: func(b *kvcache.Belief, c *clock) { b.SetFacts("m", kvcache.Facts{Context: 8192}) },
			change: func(p *kvcache.Prompt) { p.Context = 8192 }, kept: true},
		{name: "more threads", change: func(p *kvcache.Prompt) { p.Options = kvcache.LoadOptions([]byte(`{"num_thread": 3}`)) }, want: kvcache.OptionsChanged},
		{name: "another temperature", change: func(p *kvcache.Prompt) {
			p.Options = kvcache.LoadOptions([]byte(`{"temperature": 1, "num_gpu": null}`))
		}, kept: true},
		{name: "the model is not loaded any more", before: func(b *kvcache.Belief, c *clock) { c.pass(1); b.Loaded(c.now(), nil) }, want: kvcache.Unloaded},
		{name: "not loaded when last looked at, before it was asked", before: func(b *kvcache.Belief, c *clock) { b.Loaded(c.now().Add(-1), nil) }, kept: true},
		{name: "the model is loaded", before: func(b *kvcache.Belief, c *clock) {
			c.pass(1)
			b.Loaded(c.now(), map[string]kvcache.Loaded{"m:latest": {}})
			c.pass(4 * time.Minute)
		}, kept: true},
		{name: "the usual keep-alive is over", before: func(b *kvcache.Belief, c *clock) {
			b.Loaded(c.now().Add(-1), nil)
			exchange(b, asking(b, "s", "m", 5, 1), 700)
			c.pass(6 * time.Minute)
		}, want: kvcache.KeepAliveOver},
		{name: "the engine said that it goes earlier", before: func(b *kvcache.Belief, c *clock) {
			c.pass(1)
			b.Loaded(c.now(), map[string]kvcache.Loaded{"m": {Until: c.now().Add(time.Minute)}})
			c.pass(2 * time.Minute)
		}, want: kvcache.KeepAliveOver},
		{name: "an engine that does not unload", before: func(_ *kvcache.Belief, c *clock) { c.pass(1000 * time.Hour) }, kept: true},
		{name: "a clock that goes back", before: func(_ *kvcache.Belief, c *clock) { c.pass(-1000 * time.Hour) }, kept: true},
		{name: "loaded by somebody else, for another context", before: func(b *kvcache.Belief, c *clock) {
			for _, context := range []int{8192, 2048} {
				c.pass(1)
				b.Loaded(c.now(), map[string]kvcache.Loaded{"m": {Context: context}})
			}
		}, want: kvcache.OptionsChanged},
		{name: "a request that the engine refused", before: func(b *kvcache.Belief, c *clock) {
			p := asking(b, "other", "m", 9, 1)
			b.Sent(p)
			b.Answered(p, kvcache.Answer{Refused: true})
		}, kept: true},
		{name: "a request dropped before its first token", before: func(b *kvcache.Belief, c *clock) {
			p := asking(b, "s", "m", 5, 5)
			b.Sent(p)
			b.Answered(p, kvcache.Answer{Dropped: true})
		}, kept: true},
		{name: "a request that shares nothing, dropped before its first token", before: func(b *kvcache.Belief, c *clock) {
			p := asking(b, "s", "m", 5, 5)
			p.System[0].Hash++
			b.Sent(p)
			b.Answered(p, kvcache.Answer{Dropped: true})
		}, want: kvcache.Changed},
		{name: "a new engine", before: func(b *kvcache.Belief, _ *clock) { b.Restarted() }, want: kvcache.Restarted},
		{name: "another system text", change: func(p *kvcache.Prompt) { p.System[0].Hash++ }, want: kvcache.Changed},
		{name: "another session", change: func(p *kvcache.Prompt) { p.Session = "new" }, want: kvcache.NeverSeen, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, now := newBelief()
			first := asking(b, "s", "m", 5, 1)
			exchange(b, first, 700)
			if c.before != nil {
				c.before(b, now)
			}
			p := asking(b, "s", "m", 5, 3)
			if c.change != nil {
				c.change(&p)
			}
			e := b.Expect(p)
			if again := b.Expect(p); again != e {
				t.Errorf("expecting changes what is expected: %+v, then %+v", e, again)
			}
			if e.Lost != c.want || (e.Kept > 0) != c.kept {
				t.Errorf("lost %q, kept %d; want %q, something kept: %v", e.Lost, e.Kept, c.want, c.kept)
			}
			if e.Kept+e.Evaluated != e.Prompt || e.Evaluated < 1 {
				t.Errorf("%+v does not add up", e)
			}
			if (e.KeptTools > 0) != c.kept || (e.KeptBytes > 0) != c.kept {
				t.Errorf("%d tools and %d bytes are kept", e.KeptTools, e.KeptBytes)
			}
		})
	}
}

func TestKeepAliveOfTheRequest(t *testing.T) {
	for _, c := range []struct {
		keepAlive, passes time.Duration
		want              string
	}{
		{0, 4 * time.Minute, ""},
		{0, 6 * time.Minute, kvcache.KeepAliveOver},
		{-1, 1000 * time.Hour, ""},
		{time.Hour, 59 * time.Minute, ""},
		{time.Hour, 61 * time.Minute, kvcache.KeepAliveOver},
		{kvcache.Unload, time.Second, kvcache.KeepAliveOver},
	} {
		b, now := newBelief()
		b.Loaded(now.now(), map[string]kvcache.Loaded{"m": {}})
		p := asking(b, "s", "m", 3, 1)
		p.KeepAlive = c.keepAlive
		b.Sent(p)
		now.pass(time.Hour) // an answer that takes long does not count
		if e := b.Expect(p); e.Lost != "" {
			t.Errorf("%v: lost %q while it is answered", c.keepAlive, e.Lost)
		}
		b.Answered(p, kvcache.Answer{})
		now.pass(c.passes)
		if e := b.Expect(p); e.Lost != c.want {
			t.Errorf("%v after %v: lost %q, want %q", c.keepAlive, c.passes, e.Lost, c.want)
		}
	}
}

func TestHowMuchIsHeld(t *testing.T) {
	const prompt = 500
	for _, c := range []struct {
		name      string
		facts     kvcache.Facts
		next      func(b *kvcache.Belief) kvcache.Prompt
		from, to  int // evaluated
		keptTools int
	}{
		{"the same again", kvcache.Facts{}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 1) }, 1, 1, 5},
		{"it goes on after the answer", kvcache.Facts{}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 3) }, 10, 60, 5},
		{"one tool more", kvcache.Facts{}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 6, 3) }, 110, 250, 5},
		{"the last tool less", kvcache.Facts{}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 4, 1) }, 15, 60, 4},
		{"tools at the last user message, the next question", kvcache.Facts{Placement: kvcache.LastUser},
			func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 3) }, 400, 700, 0},
		{"tools at the last user message, the same question", kvcache.Facts{Placement: kvcache.LastUser},
			func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 2) }, 1, 40, 5},
		{"no tools in the template", kvcache.Facts{Placement: kvcache.NoTools}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 9, 3) }, 10, 60, 0},
		{"a sliding window, going on", kvcache.Facts{Sliding: true, Window: 512}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 3) }, 10, 60, 5},
		{"a sliding window, one tool more", kvcache.Facts{Sliding: true, Window: 512}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 6, 3) }, 500, 800, 0},
		{"a sliding window, the same again", kvcache.Facts{Sliding: true, Window: 512}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 1) }, 500, 500, 0},
		{"a window that holds all, the same again", kvcache.Facts{Sliding: true, Window: 1024}, func(b *kvcache.Belief) kvcache.Prompt { return asking(b, "s", "m", 5, 1) }, 1, 1, 5},
		{"an answer that is not echoed", kvcache.Facts{}, func(b *kvcache.Belief) kvcache.Prompt {
			p := asking(b, "s", "m", 5, 3)
			p.Messages[1] = b.Piece(kvcache.Assistant, []byte(strings.Repeat("other ", 300)))
			return p
		}, 300, 600, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := newBelief()
			b.SetFacts("m", c.facts)
			first := asking(b, "s", "m", 5, 1)
			tokens := prompt
			if c.facts.Placement == kvcache.NoTools {
				tokens = 60
			}
			exchange(b, first, tokens)
			if e := b.Expect(c.next(b)); e.Evaluated < c.from || e.Evaluated > c.to || e.KeptTools != c.keptTools {
				t.Errorf("%d evaluated and %d tools kept, want %d to %d and %d", e.Evaluated, e.KeptTools, c.from, c.to, c.keptTools)
			}
		})
	}
}

func TestPlacementOfToolsAndSystemText(t *testing.T) {
	// What differs decides what is held: with another system text, only what stands before it.
	for _, c := range []struct {
		facts kvcache.Facts
		want  int
	}{
		{kvcache.Facts{Placement: kvcache.BeforeConversation}, 0},
		{kvcache.Facts{Placement: kvcache.BeforeConversation, ToolsFirst: true}, 5},
		{kvcache.Facts{Placement: kvcache.LastUser, SystemLast: true}, 5}, // which stand before it there, too
	} {
		b, _ := newBelief()
		b.SetFacts("m", c.facts)
		p := asking(b, "s", "m", 5, 1)
		exchange(b, p, 500)
		p.System = []kvcache.Piece{b.Piece(kvcache.System, []byte("something else"))}
		if e := b.Expect(p); e.KeptTools != c.want {
			t.Errorf("%+v: %d tools are kept, want %d", c.facts, e.KeptTools, c.want)
		}
	}
	b, _ := newBelief()
	b.SetFacts("m", kvcache.Facts{Placement: kvcache.LastUser, DropsAfterResult: true})
	p := asking(b, "s", "m", 5, 1)
	whole := b.Expect(p).Prompt
	p.Messages = append(p.Messages, b.Piece(kvcache.Result, []byte("done")))
	if after := b.Expect(p).Prompt; after >= whole/2 {
		t.Errorf("after a tool's result %d tokens are expected, of %d before: the tools are not shown then", after, whole)
	}
}

func TestRatesAreLearned(t *testing.T) {
	b, _ := newBelief()
	const perText, perTool, around = 0.31, 0.19, 7.0
	system := asking(b, "", "m", 0, 0).System[0]
	for i := range 40 {
		p := asking(b, fmt.Sprint("s", i%3), "m", 2+i%7, 1+2*(i%5))
		sum := 20.0
		for _, m := range append(p.Messages, system) {
			sum += perText*float64(m.Bytes) + around
		}
		for _, tool := range p.Tools {
			sum += perTool * float64(tool.Bytes)
		}
		exchange(b, p, int(math.Round(sum)))
	}
	r := b.Rates("m:latest")
	if r.Answers == 0 {
		t.Error("nothing was learned")
	}
	if got := r.ToolTokens(1, 300); got < 53 || got > 61 {
		t.Errorf("a definition of 300 bytes is taken for %d tokens, want about 57", got)
	}
	if got := r.PieceTokens([]kvcache.Piece{{Bytes: 100, Signs: 4, Role: kvcache.User}}); got < 35 || got > 41 {
		t.Errorf("a message of 100 bytes is taken for %d tokens, want about 38", got)
	}
	if r := b.Rates("another"); r != kvcache.UsualRates() {
		t.Errorf("another model has learned, too: %+v", r)
	}
}

func TestNonsenseTeachesNothing(t *testing.T) {
	b, _ := newBelief()
	p := asking(b, "s", "m", 5, 1)
	before := b.Rates("m").ToolTokens(1, 1000)
	for _, u := range []kvcache.Answer{{PromptTokens: 1 << 40}, {PromptTokens: -7, OutputTokens: -9}, {}, {PromptTokens: 1 << 62, EvaluatedTokens: 1 << 62, CachedTokens: 1 << 62, PromptDuration: math.MaxInt64}} {
		b.Sent(p)
		b.Answered(p, u)
		if e := b.Expect(asking(b, "s", "m", 6, 3)); e.Evaluated < 1 || e.Kept < 0 || e.Prompt != e.Kept+e.Evaluated {
			t.Errorf("after %+v: %+v", u, e)
		}
	}
	if after := b.Rates("m").ToolTokens(1, 1000); after != before {
		t.Errorf("a definition was worth %d tokens, now %d", before, after)
	}
	b.Answered(asking(b, "never sent", "m", 1, 1), kvcache.Answer{PromptTokens: 100})
}

func TestTwoDaemonsOnOneEngineAreNoticed(t *testing.T) {
	b, _ := newBelief()
	exchange(b, asking(b, "s", "m", 20, 1), 2000)
	next := asking(b, "s", "m", 20, 3)
	b.Sent(next)
	v := b.Answered(next, kvcache.Answer{PromptTokens: 2060, EvaluatedTokens: 2059})
	if !v.Contradicted || v.Evaluated != 2059 || v.Estimated || v.Expected.Evaluated > 100 {
		t.Errorf("all was evaluated where little was expected: %+v", v)
	}
	after := asking(b, "s", "m", 20, 5)
	b.Sent(after)
	if v := b.Answered(after, kvcache.Answer{PromptTokens: 2120, CachedTokens: 2080}); v.Contradicted || v.Evaluated != 40 {
		t.Errorf("what was expected came: %+v", v)
	}
	if answers, of := b.Contradicted(); answers != 1 || of != 2 {
		t.Errorf("%d of %d answers contradicted, want 1 of 2", answers, of)
	}
}

func TestEvaluatedByTheTime(t *testing.T) {
	b, _ := newBelief()
	const pace = 10 * time.Millisecond
	send := func(p kvcache.Prompt, tokens, evaluated int) kvcache.Verdict {
		b.Sent(p)
		return b.Answered(p, kvcache.Answer{PromptTokens: tokens, OutputTokens: 25, PromptDuration: time.Duration(evaluated) * pace})
	}
	if v := send(asking(b, "s", "m", 10, 1), 900, 900); v.Evaluated != 0 || v.Contradicted {
		t.Errorf("before the pace is known: %+v", v)
	}
	if v := send(asking(b, "s", "m", 10, 3), 960, 40); !v.Estimated || v.Evaluated > 100 || v.Contradicted {
		t.Errorf("it went on: %+v", v)
	}
	if v := send(asking(b, "s", "m", 10, 5), 1020, 1020); v.Evaluated < 700 || !v.Contradicted {
		t.Errorf("all was evaluated: %+v", v)
	}
}

func TestTruncatedTurns(t *testing.T) {
	b, _ := newBelief()
	b.SetFacts("m", kvcache.Facts{Context: 2048})
	p := asking(b, "s", "m", 38, 1)
	if v := exchange(b, p, 2048); !v.Truncated {
		t.Errorf("a count at the context: %+v", v)
	}
	if e := b.Expect(p); e.Lost != kvcache.Overflowed {
		t.Errorf("after it: %+v", e)
	}
	small := asking(b, "s", "m", 5, 1)
	if v := exchange(b, small, 470); v.Truncated {
		t.Errorf("a small one: %+v", v)
	}
	if e := b.Expect(small); e.Lost != "" || e.Evaluated != 1 {
		t.Errorf("after a small one: %+v", e)
	}
	b.Sent(small)
	b.Answered(small, kvcache.Answer{PromptTokens: 470, OutputTokens: 1600}) // the context was shifted while it answered
	if e := b.Expect(small); e.Lost != kvcache.Overflowed {
		t.Errorf("after an answer that does not fit: %+v", e)
	}
}

func TestContextIsLearned(t *testing.T) {
	b, _ := newBelief()
	for i := range 5 {
		exchange(b, asking(b, fmt.Sprint(i), "m", 3, 1), 280)
	}
	big := asking(b, "big", "m", 90, 1)
	if v := exchange(b, big, 4096); !v.Truncated {
		t.Errorf("much less than expected, and 4096: %+v", v)
	}
	if got := b.Facts("m", 0).Context; got != 4096 {
		t.Errorf("the context is taken for %d", got)
	}
	if got := b.Facts("m", 16384).Context; got != 16384 {
		t.Errorf("of who asks for 16384 it is taken for %d", got)
	}
	if v := exchange(b, asking(b, "bigger", "m", 60, 3), 4700); v.Truncated {
		t.Errorf("more than the context that was known: %+v", v)
	}
	if got := b.Facts("m", 0).Context; got != 0 {
		t.Errorf("then nobody knows it, but it is taken for %d", got)
	}
	b.Loaded(time.Now(), map[string]kvcache.Loaded{"m": {Context: 8192}})
	b.SetFacts("m", kvcache.Facts{MaxContext: 32768})
	if got := b.Facts("m", 0).Context; got != 8192 {
		t.Errorf("the engine says 8192, it is taken for %d", got)
	}
	if got := b.Facts("m", 100_000).Context; got != 32768 {
		t.Errorf("more than the model was trained for: %d", got)
	}
}

func TestBeliefIsBoundedAndSafe(t *testing.T) {
	b := kvcache.NewBelief(time.Now)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 300 {
				p := asking(b, fmt.Sprint(g, i), fmt.Sprint("m", i%70), 2, 1)
				b.Expect(p)
				b.Sent(p)
				switch i % 4 {
				case 0:
					b.Answered(p, kvcache.Answer{PromptTokens: 150})
				case 1:
					b.Foreign(p.Model, time.Now())
				case 2:
					b.SetFacts(p.Model, kvcache.Facts{Digest: fmt.Sprint(i % 9)})
				default:
					b.Loaded(time.Now(), map[string]kvcache.Loaded{p.Model: {Context: 4096}})
				}
			}
		})
	}
	all.Wait()
	if n := len(b.Held()); n == 0 || n > 32 {
		t.Errorf("%d slots are kept", n)
	}
	huge := kvcache.Prompt{Session: "s", Model: "huge", Messages: make([]kvcache.Piece, 20_000)}
	b.Sent(huge)
	b.Answered(huge, kvcache.Answer{PromptTokens: 100_000})
	if e := b.Expect(huge); e.Evaluated < 1 {
		t.Errorf("%+v", e)
	}
	b.Expect(kvcache.Prompt{})
	b.Sent(kvcache.Prompt{})
}

func BenchmarkExpect(b *testing.B) {
	belief := kvcache.NewBelief(time.Now)
	p := asking(belief, "s", "m", 40, 60)
	exchange(belief, p, 8000)
	for b.Loop() {
		belief.Expect(p)
	}
}
