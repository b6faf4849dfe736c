package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"toolbelt/internal/ahead"
	"toolbelt/internal/chat"
	"toolbelt/internal/engine"
	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/sidecar"
	"toolbelt/internal/turn"
	"toolbelt/kvcache"
)

// prefixParts are what knows the engine's cache.
type prefixParts struct {
	belief *kvcache.Belief
	prober *engine.Prober
	reader *ahead.Reader // nil where nothing is selected

	overflows, truncated atomic.Int64 // prompts that did not fit: expected, and found
	warned               sync.Map     // when, by what
}

// readAhead makes what knows the engine's cache and has it read ahead. Where nothing is selected there is nothing to know.
func (w *wiring) readAhead(planner *turn.Planner) {
	if policyOf(w.cfg).Off != "" {
		return
	}
	client := engine.Client{Base: w.upstream, HTTP: http.DefaultClient}
	w.prober = engine.NewProber(client, w.db, w.belief, &w.traffic, engine.Options{
		Log: w.log, Measure: w.cfg.Prefix.Prewarm, OnLoad: func(model string) { w.reader.Loaded(model) },
	})
	policy := kvcache.DefaultWarmPolicy()
	policy.Off = !w.cfg.Prefix.Prewarm || policyOf(w.cfg).Shadow
	cfg := ahead.Config{
		Upstream: w.upstream, Loaded: w.prober.Loaded, Belief: w.belief, Quiet: &w.traffic, Policy: policy, Drafter: planner, Now: time.Now, Log: w.log,
	}
	if w.cfg.Selection.Learn {
		cfg.Store = w.db
	}
	w.reader = ahead.New(cfg)
	w.takeUp()
}

// takeUp takes up what earlier processes learned of the engine's models, and keeps at the end what this one has.
func (w *wiring) takeUp() {
	engine := w.upstream.String()
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	lessons, err := w.db.Lessons(ctx, engine)
	if err != nil {
		w.log.Warn("what was learned of models cannot be read", "error", err)
	}
	for model, lesson := range lessons {
		if err := w.belief.Teach(model, lesson); err != nil {
			w.log.Debug("what was learned of a model is left out", "model", model, "error", err)
		}
	}
	w.onClose(w.keepLessons)
}

// keepLessons stores what was learned of the models' tokens.
func (w *wiring) keepLessons() {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	for _, held := range w.belief.Held() {
		lesson, ok := w.belief.Lesson(held.Model)
		if !ok {
			continue
		}
		if err := w.db.SaveLesson(ctx, w.upstream.String(), held.Model, lesson); err != nil {
			w.log.Warn("what was learned of a model is not kept", "model", held.Model, "error", err)
		}
	}
}

// prefetcher is the reader as the sidecar sees it: no interface of nothing.
func (w *wiring) prefetcher() sidecar.Prefetcher {
	if w.reader == nil {
		return nil
	}
	return w.reader
}

// prefix is the belief as the planner sees it; what is sent is told to whom it concerns.
type prefix struct {
	*kvcache.Belief
	w *wiring
}

// Sent implements turn.Prefix.
func (p prefix) Sent(prompt kvcache.Prompt) {
	if context := p.Facts(prompt.Model, prompt.Context).Context; context > 0 {
		if e := p.Expect(prompt); e.Prompt > context {
			p.w.overflows.Add(1)
			p.w.warnOnce("overflow "+prompt.Model, "a prompt does not fit the context of the model: the engine will cut it without a word. Give the model more room (num_ctx in the app, or OLLAMA_CONTEXT_LENGTH for Ollama)",
				"model", prompt.Model, "context", context, "expected", e.Prompt, "tools", len(prompt.Tools))
		}
	}
	p.Belief.Sent(prompt)
	if p.w.reader != nil {
		p.w.prober.Saw(prompt.Model)
		p.w.reader.Passed(prompt.Model, true)
	}
}

// Answered implements turn.Prefix. A prompt that was cut is said and counted; the next list is smaller.
func (p prefix) Answered(prompt kvcache.Prompt, a kvcache.Answer) kvcache.Verdict {
	v := p.Belief.Answered(prompt, a)
	if v.Truncated {
		p.w.truncated.Add(1)
		p.w.warnOnce("truncated "+prompt.Model, "the engine has cut a prompt to its context: what was said first, and some of the tools, did not reach the model. The next list will be smaller",
			"model", prompt.Model, "expected", v.Expected.Prompt, "read", a.PromptTokens)
	}
	return v
}

// warnEvery is how long a warning that would come with each request is not said again.
const warnEvery = 10 * time.Minute

// warnOnce logs a warning, unless the same one was logged a short while ago.
func (w *wiring) warnOnce(what, message string, args ...any) {
	now := time.Now()
	if last, said := w.warned.Swap(what, now); said && now.Sub(last.(time.Time)) < warnEvery {
		w.warned.Store(what, last)
		return
	}
	w.log.Warn(message, args...)
}

// passed notes what the engine is asked without a plan.
func (w *wiring) passed(planner *turn.Planner) proxy.Passed {
	return func(r *chat.Request, id session.Identity) {
		if r != nil {
			planner.Passed(r, id)
			if w.reader != nil {
				w.reader.Passed(r.Model, false)
			}
			return
		}
		for _, held := range w.belief.Held() { // of which model nobody knows
			w.belief.Foreign(held.Model, time.Now())
		}
		if w.reader != nil {
			w.reader.PassedUnread()
		}
	}
}

// answered notes that the engine holds a conversation.
func (w *wiring) answered(p *turn.Plan, path string, header http.Header) {
	if w.reader != nil {
		w.reader.Answered(p, path, header)
	}
}

// prewarm are the counts of what was read ahead.
func (w *wiring) prewarm() sidecar.Prewarm {
	if w.reader == nil {
		return sidecar.Prewarm{}
	}
	s := w.reader.Stats()
	return sidecar.Prewarm{On: w.cfg.Prefix.Prewarm, Done: s.Done, Dropped: s.Dropped, Failed: s.Failed, Skipped: s.Skipped, TookMS: int(s.Took.Milliseconds())}
}

// models is what the engine is believed to hold.
func (w *wiring) models() []sidecar.Model {
	var list []sidecar.Model
	for _, held := range w.belief.Held() {
		f := w.belief.Facts(held.Model, 0)
		list = append(list, sidecar.Model{
			Model: held.Model, Tools: f.Placement.String(), Strategy: string(kvcache.Choose(f, kvcache.LateFrom)), Context: f.Context,
			Session: held.Session, Tokens: held.Tokens, Lost: held.Lost,
		})
	}
	return list
}
