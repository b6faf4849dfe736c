package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"toolbelt/eval"
	"toolbelt/internal/learn"
)

func conversation(name string, d *eval.Dataset, turns ...[2]string) {
	var messages []json.RawMessage
	for i, turn := range turns {
		messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":%q}`, turn[0])))
		c := eval.Case{ID: fmt.Sprint(name, i), Messages: append([]json.RawMessage(nil), messages...), Conversation: name, Turn: i}
		if turn[1] != "" {
			c.Needed = []string{turn[1]}
		}
		d.Cases = append(d.Cases, c)
	}
}

// A tool that was shown and not used is needed when nothing names it: only a list that is kept has it. One that was used stays in both.
func TestAListMadeAnewForgetsWhatWasNotUsed(t *testing.T) {
	d := household(t)
	d.Cases, d.Core = nil, nil
	conversation("a", d,
		[2]string{"switch the lamps of the kitchen on", "lights_on"},
		[2]string{"what is the weather forecast for the city of Oslo?", "get_weather"},
		[2]string{"convert an amount between currencies", "lights_dim"}, // a bundle mate of the first turn's
		[2]string{"convert an amount between currencies", "lights_on"},  // used on the first
	)
	rows := replay(t, func(o *eval.RecallOptions) { o.Cap = 9 }, d)
	kept, anew, open := rows["toolbelt"], rows["rebuilt"], rows["unguarded"]
	if kept.VisibleRecall != 1 || anew.VisibleRecall != .75 || open.VisibleRecall != 1 {
		t.Fatalf("visible %v, made anew %v, unguarded %v", kept.VisibleRecall, anew.VisibleRecall, open.VisibleRecall)
	}
	if kept.GivenUp != nil || anew.GivenUp == nil || open.GivenUp == nil {
		t.Fatalf("%+v", rows)
	}
	if g := *anew.GivenUp; g != (eval.GivenUp{By: "toolbelt", Points: -25, Interval: eval.Interval{-25, -25}}) { // one conversation: nothing else can be drawn
		t.Errorf("given up %+v", g)
	}
	if g := *open.GivenUp; g != (eval.GivenUp{By: "toolbelt"}) {
		t.Errorf("given up for the guards %+v", g)
	}
	if anew.PrefixLostPerTurn <= kept.PrefixLostPerTurn || anew.Turns != kept.Turns || anew.Cases != kept.Cases {
		t.Errorf("kept %+v, anew %+v", kept, anew)
	}
}

// both are two conversations, of 20 and 7 turns.
func both(t *testing.T) *eval.Dataset {
	d := wandering(t, 20)
	for i, c := range wandering(t, 7).Cases {
		c.ID, c.Conversation = fmt.Sprint("other", i), "v"
		d.Cases = append(d.Cases, c)
	}
	return d
}

func TestWhatIsGivenUpIsTheDifferenceOfTheRows(t *testing.T) {
	d := both(t)
	for _, change := range []func(*eval.RecallOptions){
		func(o *eval.RecallOptions) {}, func(o *eval.RecallOptions) { o.Cap = 2 }, func(o *eval.RecallOptions) { o.Long = true }, func(o *eval.RecallOptions) { o.History = true },
	} {
		rows := replay(t, change, d)
		for _, method := range []string{"rebuilt", "unguarded"} {
			row := rows[method]
			want := 100 * (row.VisibleRecall - rows["toolbelt"].VisibleRecall)
			if g := row.GivenUp; math.Abs(g.Points-want) > 1e-9 || g.Interval[0] > g.Points+1e-9 || g.Interval[1] < g.Points-1e-9 {
				t.Errorf("%s: given up %+v, want %v", method, g, want)
			}
		}
	}
}

func TestALearnersListIsNotWhatIsCompared(t *testing.T) {
	rows := replay(t, func(o *eval.RecallOptions) {
		o.Learn = true
		o.Learning = func(context.Context, eval.Embedders, func() time.Time) (eval.Learning, error) {
			return eval.Learning{Learner: learn.None{}, Settle: func(context.Context) error { return nil }, Close: func() {}}, nil
		}
	}, both(t))
	if g := rows["rebuilt"].GivenUp; g == nil || g.By != "unlearned" || rows["rebuilt"].Turns != rows["unlearned"].Turns || rows["rebuilt"].Learned {
		t.Errorf("%+v", rows["rebuilt"])
	}
}

func TestWithoutASecondTurnNothingIsKept(t *testing.T) {
	d := household(t)
	d.Cases = d.Cases[3:]
	if rows := replay(t, func(*eval.RecallOptions) {}, d); len(rows) != 1 {
		t.Errorf("%+v", rows)
	}
}

func TestWhatKeepingCostsStandsInEveryReport(t *testing.T) {
	o := options(t)
	o.Replay = true
	r := recall(t, o, household(t))
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"replay.1.given_up.by", "replay.1.given_up.points", "replay.1.given_up.interval.1", "replay.1.prefix_tokens_lost_per_turn"} {
		if !gjson.GetBytes(data, path).Exists() {
			t.Errorf("no %s in %s", path, data)
		}
	}
	var text, md, page bytes.Buffer
	for _, err := range []error{r.WriteTable(&text), r.WriteMarkdown(&md), r.WriteHTML(&page)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ what, in, want string }{
		{"the table", text.String(), "GIVEN UP"}, {"Markdown", md.String(), "## What keeping the list costs"}, {"the page", page.String(), "What keeping the list costs"},
	} {
		if !strings.Contains(c.in, c.want) || strings.Count(c.in, "rebuilt") < 1 {
			t.Errorf("%s has no %q:\n%s", c.what, c.want, c.in)
		}
	}
}
