package loaderlog

import "toolbelt/internal/turn"

// Loaded writes what a call of load_tools or tool_search did: TOOL_LOADER {json} with "event": "load_tools". bundle is the group or tool that was found, "" on a
// miss: what the model asked for may be the user's words. The lists are those of the plan that answers the call.
func (l *Logger) Loaded(p *turn.Plan, bundle string) {
	if l == nil {
		return
	}
	var o object
	o.integer("turn", p.Turn)
	o.text("event", "load_tools")
	o.text("bundle", bundle)
	o.sorted("admitted", p.Admitted)
	o.sorted("evicted", p.Evicted)
	o.sorted("skipped_at_cap", p.Skipped)
	o.sorted("loaded", p.Order())
	o.text("session", p.Session)
	l.stamped("TOOL_LOADER ", o.end())
}
