package chat_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/chat"
)

// Marks let every key through that they are of, and few others of a long array.
func TestMarksTellMostKeysApart(t *testing.T) {
	var names []string
	verbs, nouns := strings.Fields("list create delete update archive search export import share rename copy move approve reject schedule"), strings.Fields("invoice ticket branch sensor playlist recipe booking contract shipment dataset")
	for i := range 3000 {
		names = append(names, fmt.Sprintf("%s_%s_of_%s", verbs[i%15], nouns[i/15%10], nouns[i/150%10]+strings.Repeat("s", i/1500)))
	}
	var few []string
	for i := 0; i < len(names); i += 211 {
		few = append(few, names[i])
	}
	marks, passed := chat.MarksOf(few), 0
	for _, name := range names {
		if marks.May(name) {
			passed++
		} else if slices.Contains(few, name) {
			t.Errorf("%q is one of the few and may not be", name)
		}
	}
	if passed > len(names)/10 {
		t.Errorf("%d of %d keys pass for one of %d", passed, len(names), len(few))
	}
	if none := chat.MarksOf(nil); none.May("") || none.May("x") {
		t.Error("a key may be one of none")
	}
}

// FuzzRender has any order asked of any names, twins and odd ones included, and compares with the plain way of looking each name up in the whole array.
func FuzzRender(f *testing.F) {
	f.Add("a\nb\na\nc", "c\na\nc")
	f.Add("list_issues\nlist_isseus\nget", "list_isseus\n\nget\nset")
	f.Add("検索\n\x00x\né\n\xff", "é\n検索\n\xff")
	f.Add("", "\n")
	f.Add(strings.Repeat("x", 64)+"\n"+strings.Repeat("x", 128), strings.Repeat("x", 128)+"\nx")
	f.Fuzz(func(t *testing.T, all, wanted string) {
		var elements []string
		for i, name := range strings.Split(all, "\n") {
			quoted, _ := json.Marshal(name)
			elements = append(elements, fmt.Sprintf(`{"n":%d,"function":{"name":%s}}`, i, quoted))
		}
		body := []byte(`{"tools":[` + strings.Join(elements, " , ") + `],"x":1}`)
		r, err := chat.Decode(chat.OpenAI, body)
		if err != nil {
			t.Skip()
		}
		order, kept := strings.Split(wanted, "\n"), []int(nil)
		for at, key := range order {
			for i, e := range r.Elements {
				if e.Key == key && !slices.Contains(order[:at], key) {
					kept = append(kept, i)
				}
			}
		}
		want := string(body)
		if len(kept) > 0 && !(len(kept) == len(elements) && slices.IsSorted(kept)) {
			var list []string
			for _, i := range kept {
				list = append(list, elements[i])
			}
			want = `{"tools":[` + strings.Join(list, ",") + `],"x":1}`
		}
		if got := chat.Render(body, r, order); string(got) != want {
			t.Errorf("%q of %s is %s, want %s", order, body, got, want)
		}
		if got, err := chat.Apply(body, r, chat.Edits{Order: order}); err != nil || string(got) != want {
			t.Errorf("%q of %s is edited to %s (%v), want %s", order, body, got, err, want)
		}
	})
}
