package engine

import (
	"context"
	"errors"
	"time"

	"toolbelt/catalog"
	"toolbelt/kvcache"
)

// ask learns about one model.
func (p *Prober) ask(ctx context.Context, model string) {
	known, err := Ask(ctx, p.client, model)
	if err == nil {
		known.Facts = p.merge(ctx, known)
	}
	now := p.o.Now()
	p.mu.Lock()
	m, ok := p.models.Peek(model)
	if !ok {
		m = &asked{}
		p.models.Add(model, m)
	}
	before := m.known
	switch {
	case err == nil, catalog.KindOf(err) == catalog.NotFound, catalog.KindOf(err) == catalog.Invalid:
		m.due = now.Add(askAgain)
	case ctx.Err() != nil: // a client's request began, or it took too long
		m.due = now.Add(time.Second)
	default:
		m.due = now.Add(askRetry)
	}
	if err == nil {
		m.known = known
		p.noLook = false // it may be another engine now
	}
	p.mu.Unlock()
	switch {
	case err != nil:
		p.o.Log.Debug("nothing learned about a model", "model", model, "error", err)
	case before != known:
		p.tell(model, known)
	}
}

// merge puts what was measured before beside what the engine says now, and stores it.
func (p *Prober) merge(ctx context.Context, known Known) kvcache.Facts {
	f := known.Facts
	if p.store == nil {
		return f
	}
	stored, ok, err := p.store.EngineFacts(ctx, p.o.Engine, known.Key)
	if err != nil {
		if ctx.Err() == nil {
			p.o.Log.Warn("what was learned about a model cannot be read", "error", err)
		}
		return f
	}
	if ok {
		f.Strategy, f.Measured = stored.Strategy, stored.Measured
		if f.Placement == kvcache.PlacementUnknown && !stored.Measured.IsZero() {
			f.Placement, f.DropsAfterResult = stored.Placement, stored.DropsAfterResult
		}
	}
	if !ok || f != stored {
		if err := p.store.SaveEngineFacts(ctx, p.o.Engine, known.Key, f); err != nil && ctx.Err() == nil {
			p.o.Log.Warn("what was learned about a model cannot be kept", "error", err)
		}
	}
	return f
}

// look asks what is loaded.
func (p *Prober) look(ctx context.Context) {
	at := p.o.Now()
	loaded, err := p.client.running(ctx, p.o.Now)
	p.mu.Lock()
	p.looked = p.o.Now()
	p.noLook = errors.Is(err, errNoAPI)
	var fresh []string
	if err == nil {
		for model := range loaded {
			if !p.loaded[model] {
				fresh = append(fresh, model)
			}
		}
		p.loaded = make(map[string]bool, len(loaded))
		for model := range loaded {
			p.loaded[model] = true
		}
	}
	p.mu.Unlock()
	switch {
	case err == nil:
		p.belief.Loaded(at, loaded)
		for _, model := range fresh {
			if p.o.OnLoad != nil {
				p.o.OnLoad(model)
			}
		}
	case catalog.KindOf(err) == catalog.Unavailable && ctx.Err() == nil:
		p.belief.Restarted()
		p.mu.Lock()
		p.loaded = nil
		p.mu.Unlock()
		p.o.Log.Debug("the engine does not say what is loaded", "error", err)
	}
}

// Loaded asks the engine whether a model is loaded now. An engine that does not tell is taken to have it; one that does not answer has nothing.
func (p *Prober) Loaded(ctx context.Context, model string) bool {
	loaded, err := p.client.running(ctx, p.o.Now)
	if err != nil {
		return errors.Is(err, errNoAPI)
	}
	for name := range loaded {
		if p.belief.Slot(name) == p.belief.Slot(model) {
			return true
		}
	}
	return false
}

// measure finds out by two requests where a model has its tools, and keeps it. What was interrupted is tried again, what failed is not.
func (p *Prober) measure(ctx context.Context, model string) {
	p.mu.Lock()
	m, _ := p.models.Peek(model)
	known := m.known
	p.mu.Unlock()
	placement, err := Confirm(ctx, p.client, model, p.belief.Facts(model, 0).Context)
	p.belief.Foreign(model, p.o.Now())
	if ctx.Err() != nil {
		p.o.Log.Debug("measuring was interrupted", "model", model)
		p.mu.Lock()
		p.traffic = p.o.Now() // quiet has to come back first
		p.mu.Unlock()
		return
	}
	known.Facts.Placement, known.Facts.Measured = placement, p.o.Now()
	p.mu.Lock()
	m.measured = true
	if err == nil {
		m.known = known
	}
	p.mu.Unlock()
	if err != nil {
		p.o.Log.Debug("a model could not be measured", "model", model, "error", err)
		return
	}
	if p.store != nil {
		if err := p.store.SaveEngineFacts(ctx, p.o.Engine, known.Key, known.Facts); err != nil {
			p.o.Log.Warn("what was measured of a model cannot be kept", "error", err)
		}
	}
	p.tell(model, known)
}

// tell passes on what is new about a model.
func (p *Prober) tell(model string, k Known) {
	p.belief.SetFacts(model, k.Facts)
	p.o.Log.Debug("learned about a model", "model", model, "tools", k.Facts.Placement.String(), "sliding", k.Facts.Sliding, "context", k.Facts.Context)
	if p.o.OnFacts != nil {
		p.o.OnFacts(model, k)
	}
}
