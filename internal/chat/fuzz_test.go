package chat_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"testing"

	"toolbelt/internal/chat"
)

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","tools":[{"type":"function","function":{"name":"a"}} , null,{"type":"x"}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"tool_choice":{"function":{"name":"a"}}}`,
		`{"\u0074ools":[1,"\\",[],{}],"options":{"num_ctx":1}}`, `{"tools":[`, `[[[`, ``, "{\"tools\":[\"\xff\"]}",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"a"}}]}]}`,
	} {
		f.Add([]byte(body), uint8(chat.Ollama))
	}
	o := oddJSON{rand.New(rand.NewSource(4))}
	for range 20 {
		f.Add([]byte(o.request()), uint8(chat.OpenAI))
	}
	for _, p := range protocols {
		f.Add([]byte(newTalk(o, p).request()), uint8(p))
	}
	f.Fuzz(func(t *testing.T, body []byte, protocol uint8) {
		p := protocols[int(protocol)%len(protocols)]
		before := bytes.Clone(body)
		r, err := chat.Decode(p, body)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if r != nil {
				t.Fatal("a request and an error")
			}
			return
		}
		if !json.Valid(body) {
			t.Fatal("decoded, but the standard library does not take it for JSON")
		}
		checkRequest(t, body, r)
		checkHistory(t, body, r)
		order := make([]string, 0, len(r.Elements))
		for i := len(r.Elements) - 1; i >= 0; i -= 2 {
			order = append(order, r.Elements[i].Key)
		}
		if got := chat.Render(body, r, order); !json.Valid(got) {
			t.Fatalf("rendered %q", got)
		}
		chat.Window(r)
		if len(chat.Chain(r)) != len(r.Users) {
			t.Fatal("a chain of another length")
		}
	})
}

// checkRequest fails unless the elements lie in the array, in order, disjoint, each valid JSON.
func checkRequest(t *testing.T, body []byte, r *chat.Request) {
	t.Helper()
	if len(r.Elements) == 0 && r.ToolsEnd == 0 {
		return
	}
	if r.ToolsStart < 0 || r.ToolsEnd > len(body) || body[r.ToolsStart] != '[' || body[r.ToolsEnd-1] != ']' || !json.Valid(body[r.ToolsStart:r.ToolsEnd]) {
		t.Fatalf("array at %d:%d", r.ToolsStart, r.ToolsEnd)
	}
	at, selectable := r.ToolsStart+1, 0
	for i, e := range r.Elements {
		if e.Start < at || e.End <= e.Start || e.End >= r.ToolsEnd || !json.Valid(body[e.Start:e.End]) {
			t.Fatalf("element %d at %d:%d: %q", i, e.Start, e.End, body)
		}
		if between := bytes.Trim(body[at:e.Start], " \t\r\n"); i == 0 && len(between) != 0 || i > 0 && string(between) != "," {
			t.Fatalf("%q stands before element %d", between, i)
		}
		at = e.End
		if e.Selectable() {
			if selectable >= len(r.Tools) || r.Tools[selectable].Name != e.Key {
				t.Fatalf("element %d is not tool %d", i, selectable)
			}
			selectable++
		}
	}
	if rest := bytes.Trim(body[at:r.ToolsEnd-1], " \t\r\n"); len(rest) != 0 || selectable != len(r.Tools) {
		t.Fatalf("%q stands after the last element; %d of %d tools", rest, selectable, len(r.Tools))
	}
	if len(r.Called) > 8 {
		t.Fatalf("%d called", len(r.Called))
	}
}

// checkHistory fails unless the messages lie in their array, in order, each valid JSON, and no text is longer than the body.
func checkHistory(t *testing.T, body []byte, r *chat.Request) {
	t.Helper()
	at := r.MessagesStart
	for i, m := range r.Messages {
		if m.Start < at || m.End <= m.Start || m.End > r.MessagesEnd || !json.Valid(body[m.Start:m.End]) || m.Hash.IsZero() {
			t.Fatalf("message %d at %d:%d: %q", i, m.Start, m.End, body)
		}
		at = m.End
	}
	if r.MessagesEnd > len(body) || r.SystemBytes > r.TextBytes {
		t.Fatalf("messages at %d:%d, %d bytes of text, %d of them the system's", r.MessagesStart, r.MessagesEnd, r.TextBytes, r.SystemBytes)
	}
}

// FuzzEdit has any edits made of any body: the result is JSON that reads as one request more, or an error.
func FuzzEdit(f *testing.F) {
	o := oddJSON{rand.New(rand.NewSource(6))}
	for i := range 40 {
		p := protocols[i%len(protocols)]
		f.Add([]byte(newTalk(o, p).request()), uint8(p), uint16(i*977), "x")
	}
	for _, body := range []string{`{"messages":[{"role":"assistant","content":"\ud800","tool_calls":[{"function":{"name":"a","arguments":"\u007b}"}}]}],"tools":[]}`,
		`{"input":"x"}`, `{"input":[{"type":"function_call","name":"a"}]}`, `{"messages":[{"role":"user","content":[]},7],"tools":[{"name":"a"}],"options":{"num_predict":7}}`} {
		for _, p := range protocols {
			f.Add([]byte(body), uint8(p), uint16(1), "\xed\n\"")
			f.Add([]byte(body), uint8(p), uint16(0), "x")
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, protocol uint8, at uint16, text string) {
		p := protocols[int(protocol)%len(protocols)]
		r, err := chat.Decode(p, body)
		if err != nil {
			return
		}
		before := bytes.Clone(body)
		for n, e := range anyEdits(r, int(at), text) {
			got, err := chat.Apply(body, r, e)
			if !bytes.Equal(body, before) {
				t.Fatalf("edit %d changed the body", n)
			}
			if err != nil && (len(got) != len(body) || len(got) > 0 && &got[0] != &body[0]) {
				t.Fatalf("edit %d: an error and another body", n)
			}
			if !json.Valid(got) {
				t.Fatalf("edit %d gave %q", n, got)
			}
			if _, again := chat.Decode(p, got); again != nil {
				t.Fatalf("edit %d gave %q: %v", n, got, again)
			}
			if warm, err := chat.Warm(body, r, 1+int(at)%(1+len(r.Messages)), e); err == nil && !json.Valid(warm) {
				t.Fatalf("warming with edit %d: %q", n, warm)
			}
		}
	})
}

// anyEdits are edits of each kind, and all of them, somewhere near a place.
func anyEdits(r *chat.Request, at int, text string) []chat.Edits {
	m := at % (len(r.Messages) + 2)
	call := []byte(`{"name":"x"}`)
	all := chat.Edits{
		Order:  []string{text},
		Own:    []chat.OwnTool{{Name: text, Description: text, After: at % 5}},
		Hidden: []chat.HiddenTurn{{At: m, Text: text, Calls: []chat.HiddenCall{{ID: text, Name: text, Arguments: call, Result: text}}}, {At: 0, Text: text}},
		Append: []chat.Appended{{Message: m, Text: text}, {Message: at % 3, Text: text}},
		Bridge: []chat.Bridged{{Message: m, Call: at % 2, Bridge: text}},
		Cut:    []chat.Cut{{Message: m, Text: text}},
	}
	for i, e := range r.Elements {
		if i%2 == at%2 {
			all.Order = append(all.Order, e.Key)
		}
	}
	return []chat.Edits{all, {}, {Order: all.Order, Own: all.Own}, {Hidden: all.Hidden}, {Append: all.Append}, {Append: all.Append[:1]}, {Bridge: all.Bridge}, {Cut: all.Cut}, {Hidden: all.Hidden, Append: all.Append[:1]}}
}
