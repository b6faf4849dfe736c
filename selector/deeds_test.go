package selector

import (
	"strings"
	"testing"
	"unicode/utf8"

	"toolbelt/catalog"
	"toolbelt/embed"
)

func TestWhatAToolDoes(t *testing.T) {
	for _, test := range []struct{ name, description, want string }{
		{"get_order", "", "read"}, // an order is what it is about
		{"create_order", "", "make"},
		{"ProductSearch", "", "read"},
		{"cancelBooking", "", "remove"},
		{"files__write_file", "Reads nothing.", "make"},
		{"search.files", "", ""}, // before the dot is the server
		{"get_deleted_items", "", "read"},
		{"lamp", "Deletes the lamp.", "remove"},
		{"lamp", "A lamp that can be deleted.", ""},
		{"convert_currency", "", ""}, // it only computes
		{"发送", "", ""},
		{"", "", ""},
	} {
		cat := catalog.New([]catalog.Tool{{Name: test.name, Description: test.description}})
		if cat.Len() == 0 {
			continue // a tool without a name is none
		}
		if got := deedsOf(cat)[0].String(); got != test.want {
			t.Errorf("%q, %q: %q, want %q", test.name, test.description, got, test.want)
		}
	}
}

func TestWhatARequestAsksFor(t *testing.T) {
	for text, want := range map[string]deed{
		"Please delete it and tell me what is left": removes | reads,
		"Creating two files":                        makes,
		"it was posted, and updated":                sends | changes,
		"book a table":                              makes,
		"San Francisco, tomorrow at nine":           0,
		"borra la nota y crea otra":                 0,
		"creature features":                         0,
		"":                                          0,
	} {
		if got := asked(text); got != want {
			t.Errorf("%q asks for %b, want %b", text, got, want)
		}
	}
	// A clause says less than the message, and what was said before belongs to it.
	q := Query{Texts: []string{"yes, the second one", "delete one of my notes\nyes, the second one", "yes"}}
	if got := q.asks(); got != removes {
		t.Errorf("with the message before: %b, want %b", got, removes)
	}
}

// notebook is a catalog whose tools differ by hardly more than what they do.
func notebook() *catalog.Catalog {
	var tools []catalog.Tool
	for _, verb := range strings.Fields("remove share read edit write") {
		tools = append(tools, toolOf(verb+"_note", "For a note in the notebook of the user."))
	}
	for _, name := range strings.Fields("lamp_on lamp_off door_lock oven_heat radio_play") {
		tools = append(tools, toolOf(name, "For the house."))
	}
	return catalog.New(tools)
}

func TestWhatNobodyAsksForFalls(t *testing.T) {
	e, cat := builtin(t), notebook()
	ix := indexBy(t, cat, e)
	place := func(message, tool string) int {
		id, ok := cat.Lookup(tool)
		if !ok {
			t.Fatalf("no tool %q", tool)
		}
		return ix.Explain(queryOf(t, []string{message}, e), id).Place
	}
	for message, first := range map[string]string{
		"what is in my note from yesterday, does it say any time?": "read_note",
		"please delete my note from yesterday":                     "remove_note",
		"update my note from yesterday":                            "edit_note",
		"send my note from yesterday to Ann":                       "share_note",
		"create a note about yesterday":                            "write_note",
	} {
		if got := place(message, first); got != 1 {
			t.Errorf("%q: %s stands at %d", message, first, got)
		}
		for _, other := range []string{"remove_note", "edit_note", "share_note", "write_note"} {
			if got := place(message, other); other != first && got == 1 {
				t.Errorf("%q: %s stands first", message, other)
			}
		}
	}
}

func TestARequestWithoutAVerbMovesNothing(t *testing.T) {
	e := builtin(t)
	ix := indexBy(t, notebook(), e)
	for _, message := range []string{"my note from yesterday", "la nota de ayer, por favor", "昨天的笔记", "???"} {
		q := queryOf(t, []string{message}, e)
		for i := range notebook().Len() {
			if x := ix.Explain(q, catalog.ID(i)); x.Asked != 0 {
				t.Errorf("%q: tool %d moved by %g", message, i, x.Asked)
			}
		}
	}
}

func TestExplainSaysWhatIsAskedFor(t *testing.T) {
	e, cat := builtin(t), notebook()
	ix := indexBy(t, cat, e)
	q := queryOf(t, []string{"please delete my note from yesterday"}, e)
	see := func(tool string) Explanation {
		id, _ := cat.Lookup(tool)
		return ix.Explain(q, id)
	}
	removed, written, read, lamp := see("remove_note"), see("write_note"), see("read_note"), see("lamp_on")
	if removed.Deed != "remove" || !(removed.Asked > 0) || written.Deed != "make" || written.Asked != -2*removed.Asked {
		t.Errorf("removing: %q, %g; making: %q, %g", removed.Deed, removed.Asked, written.Deed, written.Asked)
	}
	if read.Asked != 0 || lamp.Deed != "" || lamp.Asked != 0 {
		t.Errorf("reading moved by %g; a lamp does %q and moved by %g", read.Asked, lamp.Deed, lamp.Asked)
	}
	if see := ix.Explain(queryOf(t, []string{"what does my note say?"}, e), 2); see.Deed != "read" || !(see.Asked > 0) {
		t.Errorf("reading, asked for: %q, %g", see.Deed, see.Asked)
	}
}

func FuzzDeeds(f *testing.F) {
	f.Add("delete_note", "Deletes.", "delete my note")
	f.Add("s__", "\xff", "ing ed s")
	f.Add("ed", "", "")
	f.Fuzz(func(t *testing.T, name, description, message string) {
		cat := catalog.New([]catalog.Tool{{Name: name, Description: description}, {Name: "other"}})
		ix, err := NewIndex(cat)
		if err != nil {
			t.Fatal(err)
		}
		s := ix.Score(Query{Texts: []string{message}, Vectors: map[embed.Model][]embed.Vector{}})
		for _, r := range s.Rank {
			if r != r {
				t.Errorf("a rank is no number (valid UTF-8: %v)", utf8.ValidString(name+message))
			}
		}
	})
}
