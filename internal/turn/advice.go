package turn

import (
	"fmt"
	"math"
	"strings"

	"toolbelt/internal/session"
)

// why says in a sentence what the verdict is and what it rests on.
func why(e Explanation) string {
	match, words := "", ""
	if e.Signals != nil {
		match = fmt.Sprintf("its match is %.2f and tau %.2f", e.Signals.Match, e.Floor.Tau)
		words = fmt.Sprintf("it has %.0f %% of the message's words and %.0f %% are wanted", 100*e.Signals.Words, 100*e.Floor.Words)
	}
	switch e.Verdict {
	case AllShown:
		return fmt.Sprintf("It is visible, as every tool is: %s.", e.Fallback)
	case Shown:
		return "It is visible: " + whyShown(e, match, words) + "."
	case Settled:
		return "It is hidden: an earlier request of this turn made the list, and a list does not change while its turn goes on."
	case ListKept:
		return "It is hidden: this turn kept the list that there was, since no embedder could judge the message (it failed, or does not read its language) or tool_choice is none."
	case NoSlot:
		text := fmt.Sprintf("It is hidden: over the floor (%s; %s), but the list of at most %d is full", match, words, e.Slots.MaxTools)
		if e.Slots.Last != "" {
			text += fmt.Sprintf(", and %q, which took the last slot for a match, ranks higher", e.Slots.Last)
		}
		return text + "."
	case NotBetter:
		return fmt.Sprintf("It is hidden: over the floor (%s), but not clearly better than the tools that were visible and would have to go.", match)
	case TooWeak:
		return fmt.Sprintf("It is hidden: over the floor (%s), but far below this turn's best match, and a list that exists is not changed for so little.", match)
	case OverBudget:
		return "It is hidden: the context that the request names has no room for more tools."
	case Dropped:
		if e.Floor.Over {
			return fmt.Sprintf("It was visible until now and is hidden: over the floor (%s; %s), but others rank higher, and the list of at most %d had outgrown its cap.", match, words, e.Slots.MaxTools)
		}
		return fmt.Sprintf("It was visible until now and is hidden: %s (%s; %s), not used lately, and the list of at most %d had outgrown its cap.", e.Floor.missed(e.Signals), match, words, e.Slots.MaxTools)
	case NoRoom:
		return fmt.Sprintf("It is hidden: it belongs with a tool that matched, but does not match by itself (%s), and the list is full.", match)
	}
	return fmt.Sprintf("It is hidden: %s (%s; %s).", e.Floor.missed(e.Signals), match, words)
}

// missed says by what a tool is no match.
func (b Bar) missed(s *Signals) string {
	switch {
	case s == nil || b.Least >= b.Tau || s.Match < b.Least:
		return "under the floor"
	case b.reaches(s):
		return fmt.Sprintf("on a turn that clearly needs a tool rank decides, and as many others rank higher as reach the floor, %d", b.Tools)
	}
	return fmt.Sprintf("under the floor, and not among the %d best by rank, which would do on a turn that clearly needs a tool", b.Tools)
}

// whyShown says what a visible tool's reason rests on.
func whyShown(e Explanation, match, words string) string {
	switch e.Reason {
	case session.Pin:
		return "tool_choice names it, or the conversation called it"
	case session.Core:
		return "it is in core"
	case session.Skill:
		return "a skill that fits requires it"
	case session.Bundle:
		return "it belongs with a tool that matched, and there was room"
	case session.Seed:
		return "nothing matched, and it is one of the few shown then"
	case session.Hatch:
		return "the model called it while it was hidden"
	case session.Kept:
		return "it was visible before, and nothing needed its place"
	}
	switch {
	case e.Signals == nil || !e.Floor.Over:
		return "the message of this turn matched it"
	case !e.Floor.reaches(e.Signals):
		return fmt.Sprintf("the message matches it (%s, but this turn clearly needs a tool: then %.2f is enough for one that ranks among as many as reach the floor, which are %d)", match, e.Floor.Least, e.Floor.Tools)
	case e.Signals.Match < e.Floor.Tau:
		return "the message matches it by its words (" + words + ")"
	}
	return "the message matches it (" + match + ")"
}

// leastTau is the lowest tau that is advised: what is nearer to a tool's background than a deviation is noise, and a floor there lets
// most tools over.
const leastTau = 1

// widerCap is how far a larger cap is looked for.
const widerCap = 16

// advice says in a sentence what would make the tool visible. A change of a setting is only named where the same plan, made with it, shows the tool.
func (p *Planner) advice(d *draft, e Explanation) string {
	core := fmt.Sprintf("put %q in core to show it on every turn", e.Tool)
	switch e.Verdict {
	case AllShown:
		return fallbackAdvice(e.Fallback)
	case Shown:
		if e.Reason == session.Core || e.Reason == session.Pin || e.Reason == session.Hatch {
			return "Nothing need be done."
		}
		return "Nothing need be done; " + core + "."
	case Settled, ListKept:
		return "Ask again with the next message, which gets a list of its own, or " + core + "."
	case OverBudget:
		return "Give the model a larger context (num_ctx), or keep fewer tools in core."
	case NotBetter, TooWeak, Outranked:
		return "Nothing is wrong; " + core + "."
	case NoSlot, NoRoom, Dropped:
		for more := 1; more <= widerCap; more++ {
			if ok, _ := p.would(d, e.Tool, func(o *Policy) { o.MaxTools += more }); ok {
				return fmt.Sprintf("Raise max_tools from %d to %d, or %s.", e.Slots.MaxTools, e.Slots.MaxTools+more, core)
			}
		}
		return "Make the list's other tools give way (see who has the slots), or " + core + "."
	}
	if tau := math.Floor(100*e.Signals.Match) / 100; tau >= leastTau && tau < e.Floor.Tau {
		if ok, over := p.would(d, e.Tool, func(o *Policy) { o.Threshold = tau }); ok {
			return fmt.Sprintf("Lower tau from %.2f to %.2f (then %d tools are over the floor for this message, now %d), or %s.", e.Floor.Tau, tau, over, len(d.chosen.matches), core)
		}
	}
	return "Describe the tool in the words that users ask for it with, or " + core + "."
}

func fallbackAdvice(why string) string {
	switch {
	case strings.HasSuffix(why, " off"):
		setting, _, _ := strings.Cut(why, " ")
		return fmt.Sprintf("Change the setting %s, if tools are to be chosen.", setting)
	case strings.HasPrefix(why, embedderFailed+errLanguage.Error()):
		return "Give the engine an embedding model that was made for many languages, such as embeddinggemma."
	case strings.HasPrefix(why, embedderFailed):
		return "Look at /toolbelt/readyz, which says how the embedders do."
	}
	if why == "tool_choice none" {
		return "Nothing need be done: the request asks for no tool."
	}
	return "Nothing need be done: hiding tools would save nothing here."
}
