package conversation_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
)

// wanted is what a client should see of an answer.
type wanted struct {
	thinking, text string
	calls          []call
	output         int // tokens
	prompt         int // of the last round
	failed         bool
	numbersBadly   bool
}

// fates sorts a round's calls: those that a model with all tools would have made, and whether any was the daemon's own.
func fates(set setting, one said) (real []call, ours bool) {
	for _, c := range one.round.Calls {
		listed := slices.Contains(one.request.Tools, c.Name)
		if set.drops && !listed {
			continue
		}
		name, arguments := c.Name, c.Arguments
		if name == callTool && listed {
			inner := gjson.Parse(arguments)
			name, arguments = inner.Get("name").Str, inner.Get("arguments").Raw
		}
		if name == loadTools || name == toolSearch {
			ours = true
			continue
		}
		real = append(real, call{c.ID, name, arguments})
	}
	return real, ours
}

// failed reports whether the round's answer does not come to its end.
func (s said) failed() bool {
	return s.round.Status != 0 && s.round.Status != http.StatusOK || s.round.Error != "" || s.round.CutAfter != 0 || s.round.Stall != nil
}

// faulty reports whether the engine refused the request in a way that may be for what it holds.
func faulty(s said) bool {
	switch s.round.Status {
	case 0, http.StatusOK:
		return s.round.Error != "" && !s.request.Stream // such an engine says it by 500
	}
	return s.round.Status == http.StatusBadRequest || s.round.Status == http.StatusInternalServerError
}

// quietlyBroken reports whether the round's stream ends like a whole one, but for its last event: so Ollama's /v1 APIs break off.
func quietlyBroken(set setting, s said) bool {
	return set.style == enginetest.Ollama && set.protocol != enginetest.NativeChat && s.request.Stream && s.round.Error != "" && s.round.Status == 0 && s.round.CutAfter == 0
}

// saysCut reports whether the round's answer says that it ended at its limit. No Responses of these engines do, nor Ollama's other /v1 APIs where there are calls.
func saysCut(set setting, s said) bool {
	return s.round.Reason == "length" && (set.protocol == enginetest.NativeChat || set.style == enginetest.LlamaCpp && set.protocol != enginetest.Responses)
}

// numbersBadly reports whether the engine itself gives the parts of such an answer numbers that are not dense: Ollama's Responses, to calls behind a text
// or behind each other.
func numbersBadly(set setting, rounds []said) bool {
	if set.style != enginetest.Ollama || set.protocol != enginetest.Responses {
		return false
	}
	return slices.ContainsFunc(rounds, func(s said) bool {
		return len(s.round.Calls) > 1 || len(s.round.Calls) > 0 && s.round.Text+s.round.Thinking != ""
	})
}

// expect makes what a client should see of what was said to the engine's requests for its own, theirs. ended: it saw an end.
func expect(set setting, theirs []byte, stream, ended bool, rounds []said) (w wanted, wrong string) {
	asked, guessed := 0, false
	w.numbersBadly = numbersBadly(set, rounds)
	for i, one := range rounds {
		real, ours := fates(set, one)
		last := i == len(rounds)-1
		w.failed = one.failed()
		quiet := !last && quietlyBroken(set, one) // its calls can be answered all the same
		if quiet || one.round.CutAfter > 0 && (ended || !last) {
			w.failed = false // the answer was shorter than the cut
		}
		empty := one.round.Text == "" && one.round.Thinking == "" && len(real) == 0 && !ours
		switch again := len(real) == 0 && ours; {
		case faulty(one) && !bytes.Equal(one.sent(), theirs):
			if last || !bytes.Equal(rounds[i+1].sent(), theirs) || i+2 < len(rounds) {
				return w, fmt.Sprintf("where an edited request was refused the app's own did not follow, or not alone: %+v", one.round)
			}
			continue
		case w.failed && !last:
			return w, fmt.Sprintf("the engine was asked again after a round that failed: %+v", one.round)
		case w.failed:
		case !last && saysCut(set, one):
			return w, fmt.Sprintf("the engine was asked again after an answer that ended at its limit: %+v", one.round)
		case !last && i == 4 && !bytes.Equal(rounds[i+1].sent(), theirs):
			return w, fmt.Sprintf("after %+v, behind which everything was shown, the engine was asked for something else than the app's own request", one.round)
		case !last && i == 4 && (again || empty):
		case last && again && !saysCut(set, one):
			return w, fmt.Sprintf("a call of the daemon's own tools was not answered: %+v", one.round)
		case !last && !again && (!empty || guessed):
			return w, fmt.Sprintf("the engine was asked again after %+v", one.round)
		case !last && again:
			asked++
		case !last:
			guessed = true
		}
		silent := set.protocol == enginetest.Responses && set.style == enginetest.Ollama && !stream && (len(real) > 0 || ours)
		if one.round.Status == 0 || one.round.Status == http.StatusOK {
			w.thinking += one.round.Thinking
			if !silent { // Ollama's plain responses say nothing beside calls
				w.text = joined(set, w.text, one.round.Text)
			}
		}
		w.calls = append(w.calls, real...)
		if !quiet {
			w.output += one.request.Count.Generated
		}
		w.prompt = one.request.Count.Prompt
	}
	return w, ""
}

// joined is what two rounds say, in one text: where that is one and they would run into one another, a break of the daemon's stands between them.
func joined(set setting, before, text string) string {
	isSpace := func(end string) bool { return end == "" || strings.TrimSpace(end) == "" }
	one := set.protocol == enginetest.NativeChat || set.protocol == enginetest.OpenAIChat
	if one && before != "" && text != "" && !isSpace(before[len(before)-1:]) && !isSpace(text[:1]) {
		return before + "\n\n" + text
	}
	return before + text
}

// compare says how a view differs from what was wanted, "" where it does not.
func compare(set setting, stream bool, v *view, w wanted) string {
	if len(v.problems) > 0 {
		return strings.Join(v.problems, "; ")
	}
	if len(v.numbers) > 0 && !w.numbersBadly {
		return strings.Join(v.numbers, "; ")
	}
	if w.failed {
		return compareFailed(stream, v, w)
	}
	switch {
	case v.failure != "":
		return "an error: " + v.failure
	case !v.ended:
		return "the answer has no end"
	case v.said("text") != w.text:
		return fmt.Sprintf("the text is %q, wanted %q", v.said("text"), w.text)
	case v.said("thinking") != w.thinking:
		return fmt.Sprintf("the thinking is %q, wanted %q", v.said("thinking"), w.thinking)
	case len(v.entry.calls()) != len(w.calls):
		return fmt.Sprintf("the calls are %q, wanted %q", v.entry.calls(), w.calls)
	}
	for i, c := range v.entry.calls() {
		want := w.calls[i]
		if c.name != want.name || canonical(c.arguments) != canonical(want.arguments) || !strings.HasSuffix(c.id, want.id) {
			return fmt.Sprintf("call %d is %q, wanted %q", i, c, want)
		}
	}
	return compareEnd(set, stream, v, w)
}

// compareEnd compares how the answer ends, and the counts.
func compareEnd(set setting, stream bool, v *view, w wanted) string {
	called := map[enginetest.Protocol]string{enginetest.OpenAIChat: "tool_calls", enginetest.Messages: "tool_use"}[set.protocol]
	switch {
	case called != "" && (v.finish == called) != (len(w.calls) > 0) && v.finish != "length" && v.finish != "max_tokens":
		return fmt.Sprintf("it ends with %q after %d calls", v.finish, len(w.calls))
	case v.output != w.output:
		return fmt.Sprintf("%d tokens were generated, wanted %d", v.output, w.output)
	case set.protocol != enginetest.Messages && v.prompt != w.prompt:
		return fmt.Sprintf("the prompt has %d tokens, wanted %d", v.prompt, w.prompt)
	}
	return ""
}

// compareFailed compares an answer that breaks off: what came is the beginning of what was said.
func compareFailed(stream bool, v *view, w wanted) string {
	switch {
	case stream && !strings.HasPrefix(w.text, v.said("text")):
		return fmt.Sprintf("the text is %q, said was %q", v.said("text"), w.text)
	case stream && !strings.HasPrefix(w.thinking, v.said("thinking")):
		return fmt.Sprintf("the thinking is %q, thought was %q", v.said("thinking"), w.thinking)
	case len(v.entry.calls()) > len(w.calls):
		return fmt.Sprintf("the calls are %q, made were %q", v.entry.calls(), w.calls)
	}
	for i, c := range v.entry.calls() {
		if c.name != w.calls[i].name {
			return fmt.Sprintf("call %d is %q, made was %q", i, c, w.calls[i])
		}
	}
	return ""
}
