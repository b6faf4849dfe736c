package chat_test

import (
	"encoding/json"
	"math/rand"
	"slices"
	"testing"

	"toolbelt/internal/chat"
)

func TestRender(t *testing.T) {
	a, b, a2 := `{"function":{"name":"a","x":1}}`, `{ "function":{"name":"b"} }`, `{"function":{"name":"\u0061","x":2}}`
	search := `{"type":"web_search"}`
	body := `{"seed":1.0, "tools" : [ ` + a + ` ,` + b + `,` + a2 + "\n," + search + `, ` + search + ` ] ,"seed":1.0}`
	r := decode(t, chat.OpenAI, body)
	first, second := r.Elements[3].Key, r.Elements[4].Key
	for name, test := range map[string]struct {
		order []string
		want  []string // nil: the very body
	}{
		"one":                           {[]string{"b"}, []string{b}},
		"twins go together":             {[]string{"a"}, []string{a, a2}},
		"another order":                 {[]string{"b", "a"}, []string{b, a, a2}},
		"unknown names are skipped":     {[]string{"x", "b", "", "y"}, []string{b}},
		"a name twice counts once":      {[]string{"b", "a", "b", "a"}, []string{b, a, a2}},
		"others in their place":         {[]string{first, "b", second}, []string{search, b, search}},
		"all, but twins brought near":   {[]string{"a", "b", first, second}, []string{a, a2, b, search, search}},
		"nothing left":                  {[]string{"x"}, nil},
		"empty order":                   {[]string{}, nil},
		"nil order":                     {nil, nil},
		"a prefix is no spelling of it": {[]string{"\x00"}, nil},
	} {
		got := chat.Render([]byte(body), r, test.order)
		if test.want == nil {
			if string(got) != body {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		var want []json.RawMessage
		for _, element := range test.want {
			want = append(want, json.RawMessage(element))
		}
		for i := range want { // as the standard library cuts them
			want[i] = json.RawMessage(element(t, string(want[i])))
		}
		checkEdit(t, []byte(body), got, want)
	}
}

func element(t *testing.T, raw string) string {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte("["+raw+"]"), &list); err != nil {
		t.Fatal(err)
	}
	return string(list[0])
}

func TestRenderReturnsTheVeryBodyWhereNothingChanges(t *testing.T) {
	for _, test := range []struct {
		body  string
		order []string
	}{
		{`{"tools":[{"function":{"name":"a"}} ,{"function":{"name":"b"}}]}`, []string{"a", "b"}},
		{`{"tools":[{"function":{"name":"a"}} ,{"function":{"name":"a"}}]}`, []string{"x", "a", "a"}},
		{`{"tools":[]}`, []string{"a"}},
		{`{"tools":null}`, []string{"a"}},
		{`{}`, []string{"a"}},
		{`{"tools":[{"function":{"name":"a"}}]}`, []string{"b"}},
	} {
		body := []byte(test.body)
		r := decode(t, chat.Ollama, test.body)
		if got := chat.Render(body, r, test.order); &got[0] != &body[0] || len(got) != len(body) {
			t.Errorf("%s by %q: another slice: %s", test.body, test.order, got)
		}
	}
}

// Any order over any request changes nothing but the array, and the array is the chosen elements, byte for byte.
func TestRenderChangesNothingElse(t *testing.T) {
	o := oddJSON{rand.New(rand.NewSource(3))}
	edited := 0
	for range 800 {
		body := []byte(o.request())
		r := decode(t, chat.OpenAI, string(body))
		_, _, elements, _ := toolsSpan(body)
		var keys []string
		for _, e := range r.Elements {
			if !slices.Contains(keys, e.Key) {
				keys = append(keys, e.Key)
			}
		}
		o.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		keys = keys[:o.Intn(len(keys)+1)]

		var want []json.RawMessage
		for _, key := range keys {
			for i, e := range r.Elements {
				if e.Key == key {
					want = append(want, elements[i])
					if name := nameOf(elements[i]); e.Selectable() && name != key {
						t.Fatalf("key %q of a tool named %q", key, name)
					}
				}
			}
		}
		if len(want) == 0 {
			want = elements
		}
		got := chat.Render(body, r, append(keys, "gone"))
		checkEdit(t, body, got, want)
		if &got[0] != &body[0] {
			edited++
			if again := decode(t, chat.OpenAI, string(got)); len(again.Elements) != len(want) {
				t.Fatalf("the edited body has %d elements, want %d", len(again.Elements), len(want))
			}
		}
	}
	if edited < 300 {
		t.Errorf("only %d of the bodies were edited", edited)
	}
}
