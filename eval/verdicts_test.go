package eval_test

import (
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

// What a reader said of needed tools tells what of a shortfall is the labels'.
func TestVerdictsTellWhatOfTheMissesIsTheLabels(t *testing.T) {
	o := options(t)
	d := household(t)
	var lines strings.Builder
	for _, c := range d.Cases {
		for place := range c.Needed {
			verdict := "chosen"
			if c.ID == "c" && place == 1 {
				verdict = "other" // the tool that the catalog does not have
			}
			lines.WriteString("household\t" + c.ID + "\t" + string(rune('1'+place)) + "\t" + verdict + "\n")
		}
	}
	var err error
	if o.Verdicts, err = eval.ReadVerdicts(strings.NewReader("# a comment\r\n\n" + lines.String())); err != nil {
		t.Fatal(err)
	}
	r := recall(t, o, d)
	s := r.Rows[0].Review
	if s == nil || s.NotChosen != 1 || s.Chosen+s.Equal+s.Unread != 0 || s.FoundRead != 5 || s.FoundChosen != 5 {
		t.Fatalf("review %+v", s)
	}
	last := r.Rows[0].Recall["5"]
	if s.Most != last || s.Without != 1 {
		t.Errorf("recall %v: at most %v, want the same; %v without the label that was not chosen, want 1", last, s.Most, s.Without)
	}
	o.Verdicts = eval.Verdicts{{Set: "household", Case: "c", Place: 2}: eval.Equal}
	if s := recall(t, o, d).Rows[0].Review; s.Equal != 1 || s.Most != 1 || s.FoundRead != 0 {
		t.Errorf("as good as another: %+v", s)
	}
	o.Verdicts = eval.Verdicts{}
	if s := recall(t, o, d).Rows[0].Review; s.Unread != 1 {
		t.Errorf("without a verdict: %+v", s)
	}
	o.Verdicts = nil
	if r := recall(t, o, d); r.Rows[0].Review != nil {
		t.Errorf("without a reader: %+v", r.Rows[0].Review)
	}
}

func TestAsManyMissesAsAreAskedForAreReported(t *testing.T) {
	o := options(t)
	d := household(t)
	o.Ks = []int{1, 8}
	few := recall(t, o, d).Rows[0].Misses
	o.Misses = 3
	if all := recall(t, o, d).Rows[0].Misses; len(all) != 1 || len(few) != 1 || len(all[0].Instead) <= len(few[0].Instead) {
		t.Errorf("misses %+v, by default %+v", all, few)
	}
	o.Misses = -1
	if err := o.Valid(); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("-1 misses: %v", err)
	}
}

var badVerdicts = []struct{ text, want string }{
	{"a\tb\t1", "line 1: it has 3 columns"},
	{"a b 1 chosen", "line 1: it has 1 columns"},
	{"# head\na\tb\t0\tchosen", `line 2: the place is "0"`},
	{"a\tb\tone\tchosen", `line 1: the place is "one"`},
	{"a\tb\t1\tmaybe", `line 1: the verdict is "maybe"`},
	{"a\tb\t1\tchosen\na\tb\t1\tother", `line 2: there is a verdict on tool 1 of case "b" already`},
	{strings.Repeat("x", 1<<17), "too long"},
}

func TestBadVerdicts(t *testing.T) {
	for _, c := range badVerdicts {
		if _, err := eval.ReadVerdicts(strings.NewReader(c.text)); catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzReadVerdicts(f *testing.F) {
	for _, c := range badVerdicts {
		f.Add(c.text)
	}
	f.Add("set\tcase\t1\tchosen\r\n\n#\n")
	f.Fuzz(func(t *testing.T, text string) {
		verdicts, err := eval.ReadVerdicts(strings.NewReader(text))
		if err != nil && (catalog.KindOf(err) != catalog.Invalid || verdicts != nil) {
			t.Fatalf("%v, %v", verdicts, err)
		}
		if len(verdicts) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d verdicts of %q", len(verdicts), text)
		}
	})
}
