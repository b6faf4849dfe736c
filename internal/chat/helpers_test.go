package chat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

func decode(t testing.TB, p chat.Protocol, body string) *chat.Request {
	t.Helper()
	r, err := chat.Decode(p, []byte(body))
	if err != nil {
		t.Fatalf("Decode(%.200s): %v", body, err)
	}
	return r
}

// toolsSpan finds the tools array of a body with the standard library alone: a reading independent of the one under test.
func toolsSpan(body []byte) (start, end int, elements []json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return 0, 0, nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, 0, nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return 0, 0, nil, false
		}
		if key == "tools" && json.Unmarshal(value, &elements) == nil && value[0] == '[' {
			end = int(d.InputOffset())
			start, ok = end-len(value), true
		}
	}
	return start, end, elements, ok
}

// nameOf is what a tool is called, read with the standard library; "" for what is not a function tool.
func nameOf(raw []byte) string {
	var tool struct {
		Type     *string
		Name     string
		Function *struct{ Name string }
	}
	if json.Unmarshal(raw, &tool) != nil || tool.Type != nil && *tool.Type != "function" {
		return ""
	}
	if tool.Function != nil {
		return tool.Function.Name
	}
	return tool.Name
}

// checkEdit fails unless edited is original with nothing but its tools array replaced by want, byte for byte.
func checkEdit(t testing.TB, original, edited []byte, want []json.RawMessage) {
	t.Helper()
	start, end, _, ok := toolsSpan(original)
	if !ok {
		t.Fatalf("no tools in the original %.300s", original)
	}
	newStart, newEnd, got, ok := toolsSpan(edited)
	if !ok {
		t.Fatalf("no tools in the edited %.300s", edited)
	}
	if !bytes.Equal(original[:start], edited[:newStart]) || !bytes.Equal(original[end:], edited[newEnd:]) {
		t.Fatalf("bytes outside the array changed:\n%s\n%s", original, edited)
	}
	if len(got) != len(want) {
		t.Fatalf("%d tools, want %d: %s", len(got), len(want), edited)
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("tool %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// oddJSON writes random JSON with all that is legal and unusual.
type oddJSON struct{ *rand.Rand }

func (o oddJSON) pick(of ...string) string { return of[o.Intn(len(of))] }

func (o oddJSON) space() string { return o.pick("", "", "", " ", "\n", "\t\r\n ", "  ") }

func (o oddJSON) str() string {
	return o.pick(`"a"`, `"\u0061"`, `"tools"`, `"]}"`, `"\\"`, `"\\\""`, `"\"tools\":["`, `""`, `"検索"`, `"\ud83d\ude00"`, `"\ud800"`, "\"\u2028\"", `"x\/y"`)
}

func (o oddJSON) value(depth int) string {
	if depth > 0 {
		switch o.Intn(4) {
		case 0:
			var members []string
			for range o.Intn(4) {
				members = append(members, o.member(o.str(), o.value(depth-1)))
			}
			return o.wrap("{", members, "}")
		case 1:
			var elements []string
			for range o.Intn(4) {
				elements = append(elements, o.value(depth-1))
			}
			return o.wrap("[", elements, "]")
		}
	}
	return o.pick("null", "true", "false", "-0.0", "1e-7", "12345678901234567890", "0.10", "1E+400", o.str())
}

func (o oddJSON) member(key, value string) string {
	return key + o.space() + ":" + o.space() + value
}

func (o oddJSON) wrap(open string, parts []string, shut string) string {
	for i := range parts {
		parts[i] = o.space() + parts[i] + o.space()
	}
	return open + o.space() + strings.Join(parts, ",") + shut
}

func (o oddJSON) tool() string {
	switch o.Intn(6) {
	case 0:
		return o.value(2)
	case 1:
		return o.wrap("{", []string{o.member(`"type"`, `"web_search"`), o.member(`"x"`, o.value(2))}, "}")
	}
	name := o.pick(`"a"`, `"\u0061"`, `"b"`, `"files.read"`, `"files/read"`, `"検索"`, `"\u691c\u7d22"`, fmt.Sprintf(`"t%d"`, o.Intn(30)))
	function := o.wrap("{", []string{o.member(`"name"`, name), o.member(`"description"`, o.str()), o.member(`"parameters"`, o.value(3))}, "}")
	return o.wrap("{", []string{o.member(`"type"`, `"function"`), o.member(`"function"`, function), o.member(`"extra"`, o.value(1))}, "}")
}

// request is a random body whose tools and messages stand once each among other members.
func (o oddJSON) request() string {
	var tools []string
	for range 1 + o.Intn(12) {
		tools = append(tools, o.tool())
	}
	members := []string{
		o.member(o.pick(`"tools"`, `"\u0074ools"`), o.wrap("[", tools, "]")),
		o.member(`"messages"`, `[{"role":"user","content":"hi","tools":`+o.value(2)+`}]`),
		o.member(`"model"`, `"m"`),
	}
	for range o.Intn(4) {
		members = append(members, o.member(o.pick(`"seed"`, `"seed"`, `"x"`, `"options"`), o.value(2)))
	}
	o.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return o.space() + o.wrap("{", members, "}") + o.space()
}
