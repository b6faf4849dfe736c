package turn

import (
	"slices"
	"strconv"
	"strings"

	"toolbelt/bundles"
	"toolbelt/catalog"
	"toolbelt/internal/admission"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/kvcache"
	"toolbelt/selector"
)

// draft is one plan in the making.
type draft struct {
	request  Request
	found    session.Found
	under    string       // names the settings that a list is made under
	core     []string     // the session's CORE, as configured or the app's own
	hash     catalog.Hash // of the tools array
	snapshot *Snapshot    // nil until it is known
	chosen   *chosen      // nil where no list was chosen
	recalled []string     // procedures that fit, by name

	budget kvcache.Budget // of the list
	rates  kvcache.Rates  // of the model's tokens
	search bool           // the request has one of Anthropic's tool-search tools, and ours stands in its place
	remade bool           // the list is made anew, best first: the engine has lost it anyway
}

// begin settles how the session's list is kept, where it is made from nothing or anew.
func (d *draft) begin(p *Planner) {
	s := &d.found.State
	d.remade = p.lost(d) || s.Policy != d.under
	if d.remade || !s.HasList() {
		*s = s.Forget()
		s.Strategy = string(p.ready(d))
		s.Own = nil
	}
}

// answerReserve is the room in the context that is left for the answer and the template's own words, in tokens.
const answerReserve = 512

// sameArray reports whether the turn's list was made from this request's array; of a list that an earlier process made it is enough that the
// array has all of it.
func (d *draft) sameArray() bool {
	if !d.found.State.Catalog.IsZero() {
		return d.found.State.Catalog == d.hash
	}
	return d.hasWholeList()
}

// hasWholeList reports whether the session has a list and this request's array all of it.
func (d *draft) hasWholeList() bool {
	for _, v := range d.found.State.List {
		if !slices.ContainsFunc(d.request.Chat.Elements, func(e chat.Element) bool { return e.Key == v.Name }) {
			return false
		}
	}
	return d.found.State.HasList() || d.found.State.Fallback != ""
}

// keepable reports whether the session's list can be sent again for want of a better one: the array has all of it, and it is more than a seed.
func (d *draft) keepable() bool {
	chosen := func(v session.Visible) bool { return v.Reason != session.Seed }
	return d.found.State.HasList() && d.hasWholeList() && slices.ContainsFunc(d.found.State.List, chosen)
}

// settled reports whether what an earlier request of the turn got still holds: a list does, and so does a fallback since an embedder failed. Other
// fallbacks follow from the settings and from the request, which are looked at anew.
func (d *draft) settled() bool {
	return d.found.State.Fallback == "" || strings.HasPrefix(d.found.State.Fallback, embedderFailed)
}

// pins are the tools that may not be hidden: named by tool_choice, or called in the history, the oldest first.
func (d *draft) pins() []string {
	pins := slices.Clone(d.request.Chat.ChoiceNames)
	for _, name := range slices.Backward(d.request.Chat.Called) {
		if !slices.Contains(pins, name) {
			pins = append(pins, name)
		}
	}
	return pins
}

// ids are those of the names that the catalog has, each once.
func (d *draft) ids(names []string) []catalog.ID {
	var ids []catalog.ID
	for _, name := range names {
		if id, ok := d.snapshot.Catalog().Lookup(name); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// places is the list as it was, less the tools that this catalog no longer has: those have freed their slots.
func (d *draft) places() []admission.Place {
	var places []admission.Place
	for _, v := range d.found.State.List {
		if id, ok := d.snapshot.Catalog().Lookup(v.Name); ok {
			places = append(places, admission.Place{ID: id, Matched: v.Matched, Used: v.Used})
		}
	}
	return places
}

// tokenBudget is the budget in tokens, 0 for none.
func (d *draft) tokenBudget() int {
	tokens := d.budget.Tokens
	if limit := d.inTokens(d.budget.Bytes); d.budget.Bytes > 0 && (tokens == 0 || limit < tokens) {
		tokens = max(1, limit)
	}
	return tokens
}

// inTokens estimates the tokens of so many bytes of definitions.
func (d *draft) inTokens(bytes int) int { return d.rates.ToolTokens(1, bytes) }

// size is the bytes of an element of the array.
func (d *draft) size(key string) int {
	for _, e := range d.request.Chat.Elements {
		if e.Key == key {
			return e.End - e.Start
		}
	}
	return 0
}

// openers are the matches that may bring their bundle mates: all but CORE.
func (d *draft) openers(matches []selector.Match) []bundles.Opener {
	cat := d.snapshot.Catalog()
	out := make([]bundles.Opener, 0, len(matches))
	for _, m := range matches {
		if !slices.Contains(d.core, cat.Tool(m.ID).Name) {
			out = append(out, bundles.Opener{ID: m.ID, Score: m.Score})
		}
	}
	return out
}

func mateIDs(mates []bundles.Mate) []catalog.ID {
	ids := make([]catalog.ID, len(mates))
	for i, m := range mates {
		ids[i] = m.ID
	}
	return ids
}

// order is the order to send of the tools that are wanted in the array: what previous had stays where it was, what is new follows; elements that are not ours to
// choose keep their places.
func (d *draft) order(previous, tools []string) []string {
	if len(d.request.Chat.Elements) == len(d.request.Chat.Tools) { // all are tools to choose from
		return kvcache.Order(previous, tools)
	}
	wanted := slices.Clone(tools)
	visible := make(map[string]bool, len(tools))
	for _, name := range tools {
		visible[name] = true
	}
	var fixed []string
	var before []int
	ahead := 0
	for _, e := range d.request.Chat.Elements {
		switch {
		case d.served(e):
		case e.Selectable():
			if visible[e.Key] {
				ahead++
			}
		case slices.Contains(previous, e.Key):
			wanted = append(wanted, e.Key)
		default:
			fixed, before = append(fixed, e.Key), append(before, ahead)
		}
	}
	return kvcache.InsertFixed(kvcache.Order(previous, wanted), fixed, before)
}

// served reports whether an element is left out since a tool of ours does its work.
func (d *draft) served(e chat.Element) bool { return d.search && e.Key == d.request.Chat.ToolSearch }

// deferred reports whether the app wants some of its tools hidden until they are selected or asked for.
func (d *draft) deferred() bool {
	return slices.ContainsFunc(d.request.Chat.Elements, func(e chat.Element) bool { return e.Deferred })
}

// tokens estimates what an element of the array costs.
func (d *draft) tokens(key string) int { return d.inTokens(d.size(key)) }

func quote(s string) string { return strconv.Quote(s) }
