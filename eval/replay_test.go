package eval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolbelt/eval"
	"toolbelt/internal/learn"
	"toolbelt/internal/turn"
)

func replay(t *testing.T, change func(*eval.RecallOptions), d *eval.Dataset) map[string]eval.ReplayRow {
	t.Helper()
	o := options(t)
	o.Replay = true
	change(&o)
	rows := map[string]eval.ReplayRow{}
	for _, row := range recall(t, o, d).Replay {
		rows[row.Method] = row
	}
	return rows
}

func TestReplayOfASmallSet(t *testing.T) {
	rows := replay(t, func(o *eval.RecallOptions) { o.Baselines = true }, household(t))
	if len(rows) != 6 {
		t.Fatalf("methods %v", rows)
	}
	for method, row := range rows {
		if row.Turns != 5 || row.Cases != 4 || row.LongestList > 4 || row.AdmittedWhenNone == nil || row.Learned {
			t.Errorf("%s: %+v", method, row)
		}
	}
	own := rows["toolbelt"]
	if own.VisibleRecall != .875 || own.AllVisible != .75 { // all but the tool that does not exist
		t.Errorf("toolbelt shows %v, all on %v", own.VisibleRecall, own.AllVisible)
	}
	if own.TokensPerTurn <= own.ToolsPerTurn || own.ChangesPerTurn <= 0 || own.ChangesPerTurn > 2./5 {
		t.Errorf("%+v", own)
	}
}

// wandering is one conversation of n turns that each need another tool, which the request names.
func wandering(t *testing.T, n int) *eval.Dataset {
	t.Helper()
	d := household(t)
	d.Cases = nil
	var messages []json.RawMessage
	for i := range n {
		tool := d.Tools[i%len(d.Tools)]
		messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"%s, number %d"}`, strings.ReplaceAll(tool.Name, "_", " "), i)))
		d.Cases = append(d.Cases, eval.Case{ID: fmt.Sprint(i), Messages: append([]json.RawMessage(nil), messages...), Needed: []string{tool.Name}, Conversation: "w", Turn: i})
	}
	return d
}

func TestAStrictReplayNeverShowsMoreThanTheCap(t *testing.T) {
	d := wandering(t, 20)
	for _, history := range []bool{false, true} {
		for limit := 1; limit <= 6; limit++ {
			rows := replay(t, func(o *eval.RecallOptions) { o.Cap, o.Baselines, o.History = limit, true, history }, d)
			for method, row := range rows {
				if row.LongestList > limit && !(method == "gaia" && limit < 1) {
					t.Errorf("cap %d, history %v: %s shows %d tools", limit, history, method, row.LongestList)
				}
			}
		}
	}
}

func TestLongConversationsUseTheDaemonsOwnCap(t *testing.T) {
	d := wandering(t, 40)
	strict := replay(t, func(o *eval.RecallOptions) { o.Cap = 3 }, d)["toolbelt"]
	long := replay(t, func(o *eval.RecallOptions) { o.Cap, o.Long = 3, true }, d)["toolbelt"]
	if long.LongestList <= strict.LongestList || long.Turns != 40 || long.EvictedPerTurn <= 0 || long.PrefixLostPerTurn <= 0 {
		t.Errorf("long %+v, strict %+v", long, strict)
	}
}

func TestNothingCarriesOverToAnotherConversation(t *testing.T) {
	d := household(t)
	d.Cases = nil
	for i := range 8 { // an app that always used the same tool would have made it CORE by now
		d.Cases = append(d.Cases, eval.Case{ID: fmt.Sprint(i), Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"reserve a table in a restaurant"}`)}, Needed: []string{"play_music"}, Conversation: fmt.Sprint(i)})
	}
	if row := replay(t, func(o *eval.RecallOptions) { o.Cap = 2 }, d)["toolbelt"]; row.VisibleRecall != 0 {
		t.Errorf("%v of what only other conversations used is visible", row.VisibleRecall)
	}
}

// parrot is a learner that shows what was used before, and counts what it is told.
type parrot struct {
	learn.None
	used, settled int
}

func (p *parrot) Used(string, []string) { p.used++ }

func TestLearningTakesPartInTheFirstHalf(t *testing.T) {
	p := &parrot{}
	closed := false
	rows := replay(t, func(o *eval.RecallOptions) {
		o.Learn = true
		o.Learning = func(_ context.Context, e eval.Embedders, now func() time.Time) (eval.Learning, error) {
			if e.First == nil || now().IsZero() {
				t.Error("a learner gets no embedder or no clock")
			}
			return eval.Learning{Learner: p, Settle: func(context.Context) error { p.settled++; return nil }, Close: func() { closed = true }}, nil
		}
	}, household(t))
	with, without := rows["toolbelt"], rows["unlearned"]
	if !with.Learned || without.Learned || with.Turns != without.Turns || with.Turns >= 5 || with.Turns == 0 {
		t.Errorf("with %+v, without %+v", with, without)
	}
	if p.used != 5 || p.settled != 5 || !closed {
		t.Errorf("told of %d turns, waited for %d times, closed %v", p.used, p.settled, closed)
	}
	var _ turn.Learner = p
}
