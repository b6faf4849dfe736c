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
		f.Add([]byte(body), true)
	}
	o := oddJSON{rand.New(rand.NewSource(4))}
	for range 20 {
		f.Add([]byte(o.request()), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, ollama bool) {
		p := chat.OpenAI
		if ollama {
			p = chat.Ollama
		}
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
