package telemetry

import (
	"fmt"
	"slices"
)

// NoData says what to do where nothing was counted yet.
const NoData = "Run the daemon with TOOLBELT_MODE=shadow for a day: it changes nothing, and this report then says what selection would have done with your own requests."

// enoughCalls is how many calls a recall wants before anything follows from it.
const enoughCalls = 30

// Advice says what to do next, the most important first; a sentence each. core is what is configured.
func (r Report) Advice(core []string) []string {
	if len(r.Modes) == 0 {
		return []string{NoData}
	}
	var list []string
	if fresh := r.unconfigured(core); len(fresh) > 0 {
		list = append(list, fmt.Sprintf("Put %s into CORE, with the line above in toolbelt.yaml, so that no turn hides what is used all the time.", count(len(fresh), "tool")))
	}
	for _, m := range r.Modes {
		list = append(list, m.advice()...)
	}
	if len(r.Missed) > 0 {
		list = append(list, fmt.Sprintf("To see why a tool is hidden for a message: toolbelt explain --tool %q --tools FILE \"MESSAGE\"", r.Missed[0].Tool))
	}
	if r.nameless() {
		list = append(list, "TOOLBELT_LEARN=off keeps no names of the tools called: without it this report names those that were missed and those for CORE.")
	}
	return list
}

// unconfigured are the tools for CORE that it lacks.
func (r Report) unconfigured(core []string) []string {
	var names []string
	for _, c := range r.Core {
		if !slices.Contains(core, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	return names
}

// CoreWith is the configured CORE, and behind it what it should have besides.
func (r Report) CoreWith(core []string) []string { return slices.Concat(core, r.unconfigured(core)) }

// nameless reports whether tools were called and none of them has a name.
func (r Report) nameless() bool { return r.named == 0 && r.called > 0 }

func (m Mode) advice() []string {
	var list []string
	if m.Lists() == 0 {
		return []string{m.allFell()}
	}
	if n := m.Fallbacks["embedder failed"]; n > 0 {
		list = append(list, fmt.Sprintf("On %s no embedder could read the request, so every tool was visible: the builtin one knows English alone; \"ollama pull embeddinggemma\" knows many languages.", count(n, "turn")))
	}
	if m.Truncated > 0 {
		list = append(list, fmt.Sprintf("On %s the engine read only a part of the prompt: its context is too small for it; raise num_ctx, or show fewer tools.", count(m.Truncated, "turn")))
	}
	_, low, _ := m.Recall.Share()
	switch {
	case m.Recall.Calls < enoughCalls:
		list = append(list, fmt.Sprintf("%s in %s %s too few to judge by: wait for %d or more.", count(m.Recall.Calls, "call"), m.label(), are(m.Recall.Calls), enoughCalls))
	case m.Mode == Shadow && m.Saving.Judged > 0 && m.Saving.Tokens < 0:
		list = append(list, "Selection would have made the engine read more than it saved: leave it in shadow mode, or try it with --strategy late.")
	case m.Mode == Shadow && low >= .9:
		list = append(list, "Set TOOLBELT_MODE=on: at least 9 of 10 tools called would have been visible, and the model can ask for the others.")
	case m.Mode == Shadow:
		list = append(list, "Before TOOLBELT_MODE=on, bring recall up: by CORE, by a larger --max-tools, or by a lower --tau.")
	case m.Saving.Judged > 0 && m.Saving.Tokens < 0:
		list = append(list, "Selection makes the engine read more than it saves: try --strategy late, or a larger --max-tools so that lists change less.")
	case low < .9:
		list = append(list, "Tools are missed: put them into CORE, or try a larger --max-tools or a lower --tau.")
	}
	return list
}

// allFell says what follows from every tool being visible on all turns.
func (m Mode) allFell() string {
	most := ""
	for reason, n := range m.Fallbacks {
		if most == "" || n > m.Fallbacks[most] || n == m.Fallbacks[most] && reason < most {
			most = reason
		}
	}
	if most == "small array" {
		return "The app sends few and short tools: there is nothing to save."
	}
	return fmt.Sprintf("In %s every tool was visible on all turns, most often for this reason: %s. \"toolbelt config\" shows the settings, /toolbelt/readyz the state.", m.label(), most)
}

func (m Mode) label() string {
	if m.Mode == Shadow {
		return "shadow mode"
	}
	return "mode on"
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
