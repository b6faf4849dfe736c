package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"toolbelt/internal/chat"
	"toolbelt/internal/chat/edittest"
)

// talk is a random request of any protocol, edits that it can take, and what of the edited one is ours.
type talk struct {
	oddJSON
	protocol chat.Protocol
	messages []string
	edits    chat.Edits
	ours     edittest.Ours
}

func newTalk(o oddJSON, p chat.Protocol) *talk {
	t := &talk{oddJSON: o, protocol: p}
	t.ours = edittest.Ours{
		Names: []string{"load_tools", "tool_search", "call_tool"}, Bridge: "call_tool",
		Appended: map[int]string{}, Cut: map[int]string{}, CutParts: map[int]string{}, TextInput: false,
	}
	return t
}

// letters is the content of a random JSON string.
func (t *talk) letters() string {
	var b strings.Builder
	for range t.Intn(4) {
		s := t.str()
		b.WriteString(s[1 : len(s)-1])
		b.WriteString(t.pick("", "a", "x ", `\n`, `\/`, `\u0007`))
	}
	return b.String()
}

func unquoted(content string) string {
	var text string
	if err := json.Unmarshal([]byte(`"`+content+`"`), &text); err != nil {
		panic(err)
	}
	return text
}

func (t *talk) object(members ...string) string {
	if t.Intn(3) == 0 {
		members = append(members, t.member(`"extra"`, t.value(2)))
	}
	t.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return t.wrap("{", members, "}")
}

func (t *talk) word(key, value string) string { return t.member(`"`+key+`"`, `"`+value+`"`) }

func (t *talk) added() string { return t.pick("+", "\n\nA tool: {\"x\"}", "é\\", "\x01", "😀\"") }

// content is the content of a user or tool message, to which something is appended now and then.
func (t *talk) content(kind string) string {
	index, isText := len(t.messages), t.Intn(2) == 0 || t.protocol == chat.Ollama
	if t.Intn(2) == 0 {
		text := t.added()
		t.ours.Appended[index] = text
		t.edits.Append = append(t.edits.Append, chat.Appended{Message: index, Text: text})
	}
	if isText {
		return `"` + t.letters() + `"`
	}
	var parts []string
	for range t.Intn(3) {
		parts = append(parts, t.object(t.word("type", kind), t.word("text", t.letters())))
		if t.Intn(3) == 0 {
			parts = append(parts, t.object(t.word("type", "image_url"), t.word("image_url", "u")))
		}
	}
	return t.wrap("[", parts, "]")
}

// said is the content of an assistant message, from which something is cut now and then.
func (t *talk) said(kind string) string {
	head, rest := t.letters(), t.letters()
	isText := t.Intn(2) == 0 || t.protocol == chat.Ollama
	index := len(t.messages)
	if t.Intn(2) == 0 && head != "" {
		t.ours.Cut[index] = head
		t.edits.Cut = append(t.edits.Cut, chat.Cut{Message: index, Text: unquoted(head)})
	}
	if isText {
		return `"` + head + rest + `"`
	}
	parts := []string{t.object(t.word("type", kind), t.word("text", head+rest))}
	if t.Intn(2) == 0 {
		parts = append(parts, t.object(t.word("type", kind), t.word("text", t.letters())))
	}
	content := t.wrap("[", parts, "]")
	if t.ours.Cut[index] != "" && rest == "" && len(parts) > 1 { // the part goes
		delete(t.ours.Cut, index)
		second := len(parts[1]) - len(strings.TrimLeft(parts[1], " \t\r\n"))
		t.ours.CutParts[index] = strings.TrimLeft(parts[0], " \t\r\n") + "," + parts[1][:second]
	}
	return content
}

// called is the name and arguments of a call, which is bridged now and then.
func (t *talk) called(key string, call int) []string {
	if t.Intn(2) == 0 {
		t.edits.Bridge = append(t.edits.Bridge, chat.Bridged{Message: len(t.messages), Call: call, Bridge: "call_tool"})
	}
	members := []string{t.member(`"name"`, t.pick(`"a"`, `"\u0061"`, `"files/re\/ad"`, `"検索"`))}
	arguments := t.wrap("{", []string{t.member(`"p"`, t.value(2))}, "}")
	if t.protocol == chat.OpenAI || t.protocol == chat.Responses {
		quoted, _ := json.Marshal(arguments)
		arguments = t.pick(string(quoted), string(quoted), `""`, `" {}"`, `"{\"cut"`, `"\"x\""`, `"\u007b}"`, `" "`)
	}
	if t.Intn(6) > 0 {
		members = append(members, t.member(`"`+key+`"`, arguments))
	}
	return members
}

func (t *talk) message() string {
	switch t.protocol {
	case chat.Responses:
		return t.item()
	case chat.Anthropic:
		return t.blocks()
	}
	switch t.Intn(5) {
	case 0:
		return t.pick("7", `{}`, `{"role":"system","content":"s"}`, `{"role":"user","content":null}`, `{"role":"assistant"}`)
	case 1:
		return t.object(t.word("role", "tool"), t.member(`"content"`, t.content("text")), t.word("tool_call_id", "c"), t.word("tool_name", "a"))
	case 2:
		return t.object(t.word("role", "user"), t.member(`"content"`, t.content("text")))
	}
	members := []string{t.word("role", "assistant")}
	if t.Intn(5) > 0 {
		members = append(members, t.member(`"content"`, t.said("text")))
	}
	var calls []string
	for i := range t.Intn(3) {
		calls = append(calls, t.object(t.word("id", fmt.Sprint("c", i)), t.member(`"function"`, t.object(t.called("arguments", i)...))))
	}
	if calls != nil {
		members = append(members, t.member(`"tool_calls"`, t.wrap("[", calls, "]")))
	}
	return t.object(members...)
}

func (t *talk) item() string {
	switch t.Intn(5) {
	case 0:
		return t.pick(`{"type":"reasoning","summary":[]}`, `{"type":"item_reference","id":"x"}`, `{"role":"developer","content":"x"}`)
	case 1:
		return t.object(t.word("role", "user"), t.member(`"content"`, t.content("input_text")))
	case 2:
		return t.object(t.word("role", "assistant"), t.word("type", "message"), t.member(`"content"`, t.said("output_text")))
	case 3:
		return t.object(t.word("type", "function_call_output"), t.word("call_id", "c"), t.member(`"output"`, t.content("input_text")))
	}
	return t.object(append(t.called("arguments", 0), t.word("type", "function_call"), t.word("call_id", "c"))...)
}

func (t *talk) blocks() string {
	switch t.Intn(4) {
	case 0:
		return t.object(t.word("role", "user"), t.member(`"content"`, t.content("text")))
	case 1:
		result := t.object(t.word("type", "tool_result"), t.word("tool_use_id", "c"), t.member(`"content"`, t.content("text")))
		return t.object(t.word("role", "user"), t.member(`"content"`, t.wrap("[", []string{`{"type":"tool_result","content":"x"}`, result}, "]")))
	case 2:
		return t.object(t.word("role", "assistant"), t.member(`"content"`, t.said("text")))
	}
	blocks := []string{`{"type":"thinking","thinking":"x"}`}
	for i := range 1 + t.Intn(2) {
		blocks = append(blocks, t.object(append(t.called("input", i), t.word("type", "tool_use"), t.word("id", fmt.Sprint("c", i)))...))
	}
	return t.object(t.word("role", "assistant"), t.member(`"content"`, t.wrap("[", blocks, "]")))
}

// request makes the body, and decides over tools and hidden turns.
func (t *talk) request() string {
	key, value := `"messages"`, ""
	if t.protocol == chat.Responses {
		key = `"input"`
	}
	if t.protocol == chat.Responses && t.Intn(4) == 0 {
		value = `"` + t.letters() + `"`
		if t.Intn(2) == 0 {
			t.ours.Appended[0] = t.added()
			t.edits.Append = append(t.edits.Append, chat.Appended{Text: t.ours.Appended[0]})
		}
		t.messages = []string{value}
		t.hide()
		t.ours.TextInput = len(t.edits.Hidden) > 0
	} else {
		for range t.Intn(7) {
			t.messages = append(t.messages, t.message())
		}
		value = t.wrap("[", append([]string(nil), t.messages...), "]")
		t.hide()
	}
	members := []string{t.member(key, value), t.member(`"model"`, `"m"`)}
	if t.Intn(4) > 0 {
		var tools []string
		for range 1 + t.Intn(6) {
			tools = append(tools, t.tool())
		}
		array := t.wrap("[", tools, "]")
		t.ours.Tools = []byte(array)
		members = append(members, t.member(`"tools"`, array))
	}
	for range t.Intn(3) {
		members = append(members, t.member(t.pick(`"seed"`, `"x"`), t.value(2)))
	}
	t.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return t.space() + t.wrap("{", members, "}") + t.space()
}

func (t *talk) hide() {
	for i := range t.Intn(4) {
		turn := chat.HiddenTurn{At: t.Intn(len(t.messages) + 1)}
		if t.Intn(2) == 0 {
			turn.Text = fmt.Sprint("hidden \"text\" ", i)
			t.ours.Texts = append(t.ours.Texts, turn.Text)
		}
		for k := range 1 + t.Intn(2) {
			turn.Calls = append(turn.Calls, chat.HiddenCall{
				ID: fmt.Sprintf("hidden_%d_%d", i, k), Name: t.pick("load_tools", "tool_search"),
				Arguments: []byte(t.pick(`{}`, `{"name": "\"x"}`, "")), Result: t.pick("", "Loaded.\n", `{"a":"\"`),
			})
		}
		t.edits.Hidden = append(t.edits.Hidden, turn)
	}
}
