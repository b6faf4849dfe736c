package conversation_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
	"toolbelt/kvcache"
)

// step is a request to the engine and what the app did between the one before and this.
type step struct {
	said
	fresh   bool // the history was edited, or there is none
	newTurn bool // a user's message is new
	retried bool // the app sends the same again
	kept    bool // the app has the answer to the request before in its history
	last    bool // the model has asked so often that everything is shown

	begun     []string // what the model said in the rounds before
	choice    choice   // what the app wants called
	untouched bool     // the app's own bytes went on
	restart   string   // "kept" or "lost": the daemon was started anew since the request before
}

// lostPrefix says where a conversation that was only continued lost what the engine had of it, "" where it did not.
// unsaid are texts before hidden calls that need not be at their place any more.
func lostPrefix(set setting, before, now step, unsaid []string) string {
	own := func(name string) bool { return name == callTool || isOurs([]string{name}) }
	if !slices.ContainsFunc(before.request.Tools, func(name string) bool { return !own(name) }) {
		return "" // all are to be asked for, and none was: the next turn is the first with a list
	}
	if before.untouched || now.untouched || set.strategy == kvcache.Late && now.choice.forces() {
		return ""
	}
	asks := func(name string) bool { return isOurs([]string{name}) }
	if !slices.ContainsFunc(before.request.Tools, asks) && slices.ContainsFunc(now.request.Tools, asks) {
		return "" // an answer has shown everything, or the app has more tools: something is hidden again, and can be asked for
	}
	if now.restart == "kept" && set.strategy == kvcache.Append && !now.last && len(gone(before.request.Tools, now.request.Tools)) == 0 {
		headBefore, _ := inTwo(before.request.Prompt)
		if head, _ := inTwo(now.request.Prompt); !strings.HasPrefix(head, headBefore) {
			return fmt.Sprintf("after a restart the first system block does not go on: %s", apart(headBefore, head))
		}
	}
	if now.fresh || set.strategy == kvcache.Rebuild && now.newTurn {
		return ""
	}
	frozen := set.strategy == kvcache.Late && slices.Contains(now.request.Tools, callTool) // not where the engine has refused what is ours: there new tools are appended
	if frozen && !now.last {
		if a, b := gjson.GetBytes(before.request.Body, "tools").Raw, gjson.GetBytes(now.request.Body, "tools").Raw; a != b {
			return fmt.Sprintf("the array changed from %q to %q", before.request.Tools, now.request.Tools)
		}
	}
	if left := gone(before.request.Tools, now.request.Tools); len(left) > 0 && !now.last {
		if frozen || slices.Contains(left, loadTools) {
			return fmt.Sprintf("%q left the array", left)
		}
		return "" // evicted
	}
	headBefore, restBefore := inTwo(before.request.Prompt)
	head, rest := inTwo(now.request.Prompt)
	if !strings.HasPrefix(head, headBefore) && !now.last {
		return fmt.Sprintf("the first system block does not go on: %s", apart(headBefore, head))
	}
	const header, end = "<|im_start|>assistant\n", "<|im_end|>\n"
	must := strings.TrimSuffix(restBefore, header)
	if turn, ok := turnOf(set, before); ok && now.kept {
		must += header + turn + end
	} else if set.strategy == kvcache.Late && (before.isEmpty(set) || now.retried) {
		must = strings.TrimSuffix(withoutHiddenEnd(must), end) // a note was added to it
	}
	if !strings.HasPrefix(rest, must) {
		for _, text := range unsaid {
			must = strings.ReplaceAll(must, text, "")
			rest = strings.ReplaceAll(rest, text, "")
		}
		must, rest = strings.ReplaceAll(must, header+end, ""), strings.ReplaceAll(rest, header+end, "") // a message that held nothing but that
	}
	if !strings.HasPrefix(rest, must) {
		return fmt.Sprintf("the conversation does not go on: %s", apart(must, rest))
	}
	return ""
}

// withoutHiddenEnd takes hidden turns away from the end of a conversation.
func withoutHiddenEnd(rest string) string {
	const begin = "<|im_start|>"
	turns := strings.Split(rest, begin)
	for {
		n := len(turns)
		for n > 1 && strings.HasPrefix(turns[n-1], "tool\n") {
			n--
		}
		last := turns[n-1]
		if !strings.HasPrefix(last, "assistant\n") || !strings.Contains(last, `"name": "`+loadTools) && !strings.Contains(last, `"name": "`+toolSearch) {
			return strings.Join(turns, begin)
		}
		turns = turns[:n-1]
	}
}

// gone are the names that the second list lacks.
func gone(before, now []string) []string {
	return slices.DeleteFunc(slices.Clone(before), func(n string) bool { return slices.Contains(now, n) })
}

// inTwo splits a prompt behind its first system block, and spells calls of the bridge in one way: Ollama's Messages
// read arguments in a random order.
func inTwo(prompt string) (head, rest string) {
	head, rest, _ = strings.Cut(prompt, "<|im_end|>\n")
	return head, bridgeOrder().ReplaceAllString(rest, `{"name":$2,"arguments":$1}`)
}

func bridgeOrder() *regexp.Regexp {
	return regexp.MustCompile(`\{"arguments":(\{[^{}]*\}),"name":("[^"]*")\}`)
}

// apart shows where two texts part.
func apart(want, got string) string {
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	from := max(0, n-60)
	return fmt.Sprintf("…%q, not …%q", got[from:min(len(got), n+100)], want[from:min(len(want), n+100)])
}

// isEmpty reports whether the engine could make nothing of what the model said.
func (s said) isEmpty(set setting) bool {
	real, ours := fates(set, s)
	return s.round.Text == "" && s.round.Thinking == "" && len(real) == 0 && !ours
}

// turnOf is an answer as it stands in the prompt of the request that follows; false where it may stand there in another way.
func turnOf(set setting, one step) (string, bool) {
	real, ours := fates(set, one.said)
	round := one.round
	switch {
	case one.failed(), set.drops, ours && (len(real) > 0 || saysCut(set, one.said)), len(real)+len(round.Calls) == 0 && round.Text == "":
		return "", false
	case set.protocol == enginetest.Responses && round.Text != "" && len(round.Calls) > 0:
		return "", false
	case set.protocol == enginetest.Responses && round.Text != "": // items that follow one another are messages of their own
		return "", false
	}
	text := round.Text
	for _, c := range round.Calls {
		var arguments api.ToolCallFunctionArguments
		if json.Unmarshal([]byte(c.Arguments), &arguments) != nil || c.Name == callTool && ours || set.strategy == kvcache.Late && !slices.Contains(one.request.Tools, c.Name) {
			return "", false
		}
		if c.Name == callTool && !strings.HasPrefix(c.Arguments, `{"name":`) {
			return "", false
		}
		text += `<tool_call>{"name": "` + c.Name + `", "arguments": ` + arguments.String() + `}</tool_call>`
	}
	return text, true
}

// unanswered says which call in the history that the engine was sent has no result, "" where all have.
func unanswered(messages []api.Message) string {
	for i, m := range messages {
		if len(m.ToolCalls) == 0 {
			continue
		}
		for k, c := range m.ToolCalls {
			if i+1+k >= len(messages) || messages[i+1+k].Role != "tool" {
				return fmt.Sprintf("call %d of message %d (%s) has no result", k, i, c.Function.Name)
			}
			if id := messages[i+1+k].ToolCallID; id != "" && c.ID != "" && id != c.ID {
				return fmt.Sprintf("call %d of message %d has the id %q, its result %q", k, i, c.ID, id)
			}
		}
	}
	for i, m := range messages {
		if m.Role == "tool" && (i == 0 || messages[i-1].Role != "tool" && len(messages[i-1].ToolCalls) == 0) {
			return fmt.Sprintf("message %d is the result of no call", i)
		}
	}
	return ""
}

// lateNote begins the text that tells the model of tools which the array lacks.
const lateNote = "\n\nYou have more tools now. Call them with "

// unknown says what the conversation speaks of that the array lacks, or of what it has two, "" where all is well: the bridge, where notes or calls name it. kept: the engine may have
// kept a conversation that the daemon has lost, or goes on with the app's own request.
func unknown(r *enginetest.Request, kept bool) string {
	seen := map[string]bool{}
	for _, name := range r.Tools {
		if seen[name] {
			return fmt.Sprintf("the array has %q twice", name)
		}
		seen[name] = true
	}
	if seen[callTool] || kept {
		return ""
	}
	for i, m := range r.Messages {
		if strings.Contains(m.Content, lateNote) {
			return fmt.Sprintf("message %d tells of %s, which the array lacks", i, callTool)
		}
		for _, c := range m.ToolCalls {
			if c.Function.Name == callTool {
				return fmt.Sprintf("message %d calls %s, which the array lacks", i, callTool)
			}
		}
	}
	return ""
}
