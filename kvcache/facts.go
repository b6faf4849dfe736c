package kvcache

import (
	"strings"
	"time"
)

// Placement says where a model's template puts the tools.
type Placement uint8

// The placements. Where it is unknown, tools are taken to stand before the conversation, as in most templates.
const (
	PlacementUnknown   Placement = iota
	BeforeConversation           // with the system text: the conversation follows
	LastUser                     // in the last user message, or directly before it
	AfterHistory                 // behind all messages
	NoTools                      // nowhere: the template knows no tools
)

func (p Placement) String() string {
	switch p {
	case BeforeConversation:
		return "before the conversation"
	case LastUser:
		return "at the last user message"
	case AfterHistory:
		return "after the history"
	case NoTools:
		return "nowhere"
	}
	return "unknown"
}

// Facts is what is known of a model on an engine. The zero value is nothing.
type Facts struct {
	Placement        Placement
	DropsAfterResult bool // tools are shown only in a request whose last message is the user's
	ToolsFirst       bool // before the system text
	SystemLast       bool // the system text stands at the last user message

	Sliding bool // the cache goes on exactly where it stopped, or is lost: a sliding window, or a running state in place of a cache
	Window  int  // tokens of the window: a sequence that is no longer than it can be rewound. 0: none can

	Context      int // tokens that the model is, or by default will be, loaded with; 0 unknown
	MaxContext   int // tokens that it was trained for; 0 unknown
	GrammarBytes int // of tools JSON that the engine takes; 0 no limit known

	Digest     string // of the weights: models of one file share a slot; "" unknown
	Tools      bool   // the model takes tools, where ToolsKnown
	ToolsKnown bool

	Strategy Strategy  // that was measured as the best here, "" before
	Measured time.Time // when Placement was confirmed or Strategy measured; zero: never
}

// Strategy is a way to bring tools into a conversation.
type Strategy string

// The strategies.
const (
	Append  Strategy = "append"  // the array grows at its end
	Late    Strategy = "late"    // the array stays as it is; a tool that is needed later comes as text in the newest message
	Rebuild Strategy = "rebuild" // the array is made anew, best first, each time
	All     Strategy = "all"     // every tool, always
	Frozen  Strategy = "frozen"  // the array of the first turn stays
)

// LateFrom is the history, in tokens, from which late text is cheaper than appending: about one definition, which is what an append evaluates besides the history.
const LateFrom = 200

// Choose returns the strategy for a turn with so many tokens of conversation behind it. What was measured decides; before that, "append" where the conversation
// follows the tools, "rebuild" where the template puts them behind it, since they are read again on each turn whatever their order, and "frozen" where
// every change costs the whole prompt. A measured "late" is "append" while the history is shorter than LateFrom; whether a conversation must be ready for it is Choose(f, LateFrom).
func Choose(f Facts, historyTokens int) Strategy {
	switch s := f.Strategy; {
	case s == Late && historyTokens < LateFrom && !f.Sliding:
		return Append
	case s != "":
		return s
	case f.Placement == LastUser, f.Placement == AfterHistory:
		return Rebuild
	case f.Sliding:
		return Frozen
	}
	return Append
}

// Effective is the context that a request gets which asks for so many tokens (0: for none), 0 where nobody knows. An engine does not give more than the model was trained for.
func (f Facts) Effective(asked int) int {
	context := f.Context
	if asked > 0 {
		context = asked
	}
	if f.MaxContext > 0 && context > f.MaxContext {
		context = f.MaxContext
	}
	return context
}

// Budget is what a list of tools may take.
type Budget struct {
	Tokens int // at least 1; 0: no limit is known
	Bytes  int // of tools JSON; 0: no limit is known
}

// Room returns the budget of a request: its context without the conversation (system text included) and without room for the answer.
func Room(f Facts, askedContext, conversationTokens, answerTokens int) Budget {
	b := Budget{Bytes: f.GrammarBytes}
	if context := f.Effective(askedContext); context > 0 {
		b.Tokens = max(1, context-conversationTokens-answerTokens)
	}
	return b
}

// Truncated reports whether an engine that says it read promptTokens has dropped some of a prompt that was expected to have so many. An engine says nothing of
// it: the count stands exactly at the context, or, where it drops whole messages first, clearly below what was sent of a prompt that does not fit. A count above the
// context says that the context is larger than known. Where it is unknown, a count that looks like one and is well below what was expected is taken for it.
// 0 in expected or promptTokens is unknown: then only a count at the context tells.
func Truncated(f Facts, askedContext, expected, promptTokens int) bool {
	if promptTokens <= 0 {
		return false
	}
	context := f.Effective(askedContext)
	wellBelow := expected-promptTokens > max(64, expected/5)
	switch {
	case context == 0:
		return wellBelow && round(promptTokens)
	case promptTokens == context:
		return true
	}
	return wellBelow && expected > context
}

// round reports whether n looks like a context: a multiple of 512 with at most three leading binary digits set, at least 1,024.
func round(n int) bool {
	if n < 1024 {
		return false
	}
	for n%2 == 0 && n > 8 {
		n /= 2
	}
	return n <= 8
}

// canonical is a model's name without what says nothing.
func canonical(model string) string { return strings.TrimSuffix(model, ":latest") }
