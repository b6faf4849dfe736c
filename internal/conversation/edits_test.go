package conversation_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolbelt/internal/chat/edittest"
	"toolbelt/internal/enginetest"
)

// undo takes the allowed edits back from what the engine was sent and says what is left that is not the client's, "" for nothing. texts are what
// the model said in rounds that called tools of the daemon's.
func undo(a *app, sent, theirs []byte, texts []string) string {
	family := map[enginetest.Protocol]string{
		enginetest.NativeChat: "ollama", enginetest.OpenAIChat: "openai", enginetest.Responses: "responses", enginetest.Messages: "anthropic",
	}[a.protocol]
	ours := edittest.Ours{Names: []string{loadTools, toolSearch, callTool}, Bridge: callTool, Texts: texts, Appended: map[int]string{}}
	sent, wrong := a.withoutTools(goingOnFrom(sent, theirs))
	if wrong != "" {
		return wrong
	}
	if theirs, wrong = a.withoutTools(theirs); wrong != "" {
		return wrong
	}
	after, before := a.visible(sent, texts), a.visible(theirs, nil)
	if len(after) != len(before) {
		return fmt.Sprintf("%d messages of the client's became %d", len(before), len(after))
	}
	key := a.key()
	if a.protocol == enginetest.Responses {
		ours.TextInput = gjson.GetBytes(theirs, key).Type == gjson.String && gjson.GetBytes(sent, key).IsArray()
	}
	for i, was := range slices.Backward(before) {
		now := after[i]
		gone := len(was.texts) - len(now.texts) // parts of the model's, which begin with what was cut
		switch {
		case now.role != was.role || gone > len(was.parts) || gone < 0 && now.role == "assistant":
			return fmt.Sprintf("message %d was %q and is %q", i, was.texts, now.texts)
		case now.role == "assistant":
			for k, text := range slices.Backward(was.texts[gone:]) {
				if now.texts[k] == text {
					continue
				}
				if !strings.HasSuffix(text, now.texts[k]) {
					return fmt.Sprintf("message %d was %q and is %q", i, was.texts, now.texts)
				}
				at := gjson.GetBytes(sent, now.paths[k])
				sent = slices.Concat(sent[:at.Index], []byte(a.str(text)), sent[at.Index+len(at.Raw):])
			}
			for _, k := range was.parts[:gone] {
				sent = putBack(sent, now.content, theirs, was.content, k)
			}
		default:
			more, ok := strings.CutPrefix(strings.Join(now.texts, ""), strings.Join(was.texts, ""))
			if !ok || more != "" && !strings.Contains(more, callTool) {
				return fmt.Sprintf("message %d was %q and is %q", i, was.texts, now.texts)
			}
			if more != "" {
				ours.Appended[i] = more
			}
		}
	}
	back, err := sent, error(nil)
	for more := true; more && err == nil; {
		now := ours
		now.Appended, more = lastNotes(ours.Appended)
		back, err = edittest.Strip(family, back, now)
	}
	switch {
	case err != nil:
		return err.Error()
	case string(back) != string(theirs):
		return fmt.Sprintf("without the edits it is\n%s\nthe client sent\n%s", back, theirs)
	}
	return ""
}

// lastNotes takes the last note of each message out of the map: a message in parts has one part a note. more: there are others.
func lastNotes(appended map[int]string) (notes map[int]string, more bool) {
	notes = map[int]string{}
	for i, text := range appended {
		at := max(0, strings.LastIndex(text, lateNote))
		notes[i] = text[at:]
		if delete(appended, i); at > 0 {
			appended[i], more = text[:at], true
		}
	}
	return notes, more
}

// putBack puts a text part of the client's content that went with its comma back into the content that the engine was sent, which has those before it.
func putBack(sent []byte, content string, theirs []byte, was string, part int) []byte {
	at := func(body []byte, content string, part int) (start, end int) {
		r := gjson.GetBytes(body, fmt.Sprintf("%s.%d", content, part))
		return r.Index, r.Index + len(r.Raw)
	}
	start, end := at(theirs, was, part)
	if part == 0 {
		first, _ := at(sent, content, 0)
		next, _ := at(theirs, was, 1)
		return slices.Concat(sent[:first], theirs[start:next], sent[first:])
	}
	_, last := at(sent, content, part-1)
	_, before := at(theirs, was, part-1)
	return slices.Concat(sent[:last], theirs[before:end], sent[last:])
}

// message is a message's role and texts, and where in the request its content and those of an assistant's stand: as parts of it, and their paths. Of results of tools in
// one message the last is told.
type message struct {
	role, content string
	texts, paths  []string
	parts         []int
}

func (a *app) key() string {
	if a.protocol == enginetest.Responses {
		return "input"
	}
	return "messages"
}

// visible are the messages that are not hidden turns.
func (a *app) visible(body []byte, texts []string) []message {
	all := gjson.GetBytes(body, a.key())
	if all.Type == gjson.String {
		return []message{{role: "user", texts: []string{all.Str}}}
	}
	list := all.Array()
	hidden := a.hidden(list, texts)
	var out []message
	for i, m := range list {
		if !hidden[i] {
			out = append(out, messageOf(m, fmt.Sprintf("%s.%d.content", a.key(), i)))
		}
	}
	return out
}

func messageOf(m gjson.Result, path string) message {
	one := message{role: roleOf(m), content: path}
	content := m.Get("content")
	switch {
	case m.Get("type").Str == "function_call_output":
		one.texts = []string{m.Get("output").Str}
	case content.IsArray():
		parts := content.Array()
		for k, p := range parts {
			switch p.Get("type").Str {
			case "text", "output_text", "input_text":
				one.texts, one.paths, one.parts = append(one.texts, p.Get("text").Str), append(one.paths, fmt.Sprintf("%s.%d.text", path, k)), append(one.parts, k)
			case "tool_result":
				if k == len(parts)-1 {
					one.texts = []string{p.Get("content").Str}
				}
			}
		}
	case content.Type == gjson.String:
		one.texts, one.paths = []string{content.Str}, []string{path}
	}
	return one
}

func roleOf(m gjson.Result) string {
	switch m.Get("type").Str {
	case "function_call":
		return "call"
	case "function_call_output":
		return "tool"
	}
	return m.Get("role").Str
}

// isOurs reports whether these are names of calls that the app never made.
func isOurs(names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return n != loadTools && n != toolSearch })
}

// hidden finds the hidden turns.
func (a *app) hidden(list []gjson.Result, texts []string) []bool {
	ours := make([]bool, len(list))
	ids := map[string]bool{}
	for i, m := range list {
		var names []string
		for _, c := range m.Get("tool_calls").Array() {
			names = append(names, c.Get("function.name").Str)
		}
		for _, b := range m.Get("content").Array() {
			if b.Get("type").Str == "tool_use" {
				names = append(names, b.Get("name").Str)
			}
		}
		if m.Get("type").Str == "function_call" {
			names = append(names, m.Get("name").Str)
		}
		switch {
		case !isOurs(names):
			if m.Get("type").Str == "function_call_output" && ids[m.Get("call_id").Str] {
				ours[i] = true
			}
		case a.protocol == enginetest.Responses:
			ours[i], ids[m.Get("call_id").Str] = true, true
			if i > 0 && roleOf(list[i-1]) == "assistant" && slices.Contains(texts, list[i-1].Get("content").Str) {
				ours[i-1] = true
			}
		default:
			n := len(names)
			if a.protocol == enginetest.Messages {
				n = 1
			}
			for k := i; k <= i+n && k < len(list); k++ {
				ours[k] = true
			}
		}
	}
	return ours
}

// withoutTools empties the tools array of a request, of which every element must be the app's, byte for byte and each once, or a tool of the daemon's. The array is by
// far the longest part of a request.
func (a *app) withoutTools(body []byte) (rest []byte, wrong string) {
	array := gjson.GetBytes(body, "tools")
	if !array.IsArray() {
		return body, ""
	}
	left := map[string]int{}
	for _, e := range gjson.Parse(a.tools).Array() {
		left[e.Raw]++
	}
	for _, e := range array.Array() {
		if left[e.Raw]--; left[e.Raw] < 0 && nameOf(e.Raw) != callTool && !isOurs([]string{nameOf(e.Raw)}) {
			return nil, fmt.Sprintf("a tool that is neither the app's nor the daemon's: %s", e.Raw)
		}
	}
	return slices.Concat(body[:array.Index], []byte("[]"), body[array.Index+len(array.Raw):]), ""
}

// goingOnFrom gives a request the previous_response_id of the client's: the client may know an answer of several rounds by its first, while the engine goes on
// from the last. That it is the right one shows in what the engine then knows (see sameConversation).
func goingOnFrom(sent, theirs []byte) []byte {
	got, want := gjson.GetBytes(sent, "previous_response_id"), gjson.GetBytes(theirs, "previous_response_id")
	if got.Raw == "" || want.Raw == "" {
		return sent
	}
	return slices.Concat(sent[:got.Index], []byte(want.Raw), sent[got.Index+len(got.Raw):])
}
