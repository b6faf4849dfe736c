package eval

import (
	"context"
	"slices"

	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// planned is the daemon's own way: the real plan, with sessions.
type planned struct {
	planner *turn.Planner
	session string
	last    *turn.Plan
}

func (p *planned) turn(ctx context.Context, r turn.Request) (visible, seed []string, err error) {
	plan, err := p.planner.Plan(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	p.planner.Commit(plan)
	p.last = plan
	for _, t := range plan.Tools {
		if t.Reason == session.Seed {
			seed = append(seed, t.Name)
		}
	}
	return plan.Order(), seed, nil
}

func (p *planned) used(names []string) {
	var o turn.Outcome
	for _, name := range names {
		o.Called = append(o.Called, chat.Call{Name: name})
	}
	p.planner.Observe(p.last, o)
}

// topped shows CORE and what ranks best on the turn, whatever was there before.
type topped struct {
	rank ranker
	core []string
	cap  int
}

func (t *topped) turn(ctx context.Context, r turn.Request) (visible, seed []string, err error) {
	ranked, err := t.rank(ctx, r.Chat)
	if err != nil {
		return nil, nil, err
	}
	visible = slices.Clone(t.core[:min(len(t.core), t.cap)])
	for _, name := range ranked {
		if len(visible) >= t.cap {
			break
		}
		if !slices.Contains(visible, name) {
			visible = append(visible, name)
		}
	}
	return visible, nil, nil
}

func (t *topped) used([]string) {}

// gaia is GAIA's loader: a list that grows up to the cap, then gives up the least recently used for each newcomer; sent sorted by name.
type gaia struct {
	lookup *lookup
	core   map[string]bool
	cap    int
	loaded map[string]*loadedTool
	clock  int
}

type loadedTool struct{ loaded, used int }

func newGAIA(l *lookup, core []string, limit int) *gaia {
	g := &gaia{lookup: l, core: map[string]bool{}, cap: limit, loaded: map[string]*loadedTool{}}
	for _, name := range core {
		g.core[name] = true
		g.loaded[name] = &loadedTool{}
	}
	return g
}

func (g *gaia) turn(ctx context.Context, r turn.Request) (visible, seed []string, err error) {
	candidates, err := g.lookup.byGAIA(ctx, r.Chat)
	if err != nil {
		return nil, nil, err
	}
	fresh := map[string]bool{}
	for _, name := range candidates {
		if g.loaded[name] != nil {
			continue
		}
		if len(g.loaded) >= g.cap {
			victim := g.victim(fresh)
			if victim == "" {
				continue
			}
			delete(g.loaded, victim)
		}
		g.clock++
		g.loaded[name] = &loadedTool{loaded: g.clock}
		fresh[name] = true
	}
	for name := range g.loaded {
		visible = append(visible, name)
	}
	slices.Sort(visible)
	return visible, nil, nil
}

// victim is the least recently used tool (loaded, where it was never used) that is neither CORE nor new on this turn; "" where there is none.
func (g *gaia) victim(fresh map[string]bool) string {
	best := ""
	age := func(name string) int { return max(g.loaded[name].loaded, g.loaded[name].used) }
	for name := range g.loaded {
		if !g.core[name] && !fresh[name] && (best == "" || age(name) < age(best)) {
			best = name
		}
	}
	return best
}

func (g *gaia) used(names []string) {
	for _, name := range names {
		if t := g.loaded[name]; t != nil {
			g.clock++
			t.used = g.clock
		}
	}
}
