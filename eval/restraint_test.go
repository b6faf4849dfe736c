package eval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"toolbelt/eval"
)

// TestTurnsThatNeedNoTool tells what is admitted a turn early from what is admitted for nothing.
func TestTurnsThatNeedNoTool(t *testing.T) {
	d := household(t)
	said := func(words ...string) (list []json.RawMessage) {
		for _, w := range words {
			list = append(list, json.RawMessage(`{"role":"user","content":"`+w+`"}`))
		}
		return list
	}
	const table, weather = "please reserve a table in a restaurant", "will the weather forecast be good?"
	d.Cases = []eval.Case{
		{ID: "a1", Conversation: "a", Turn: 1, Messages: said(table)}, // for how many is still asked
		{ID: "a2", Conversation: "a", Turn: 2, Messages: said(table, "for four"), Needed: []string{"book_table"}},
		{ID: "a3", Conversation: "a", Turn: 3, Messages: said(table, "for four", "thank you")}, // shows what it showed
		{ID: "b1", Conversation: "b", Turn: 1, Messages: said(table)},                          // and something else is called then
		{ID: "b2", Conversation: "b", Turn: 2, Messages: said(table, weather), Needed: []string{"get_weather"}},
		{ID: "c", Messages: said(weather)}, // nothing is ever called
	}
	row := replay(t, func(o *eval.RecallOptions) { o.Cap = 2 }, d)["toolbelt"] // CORE and one
	none := row.Restraint
	if none == nil || none.Turns != 4 || none.Admitting != 3 || none.Early != 1 || none.IdleTurns != 2 || none.IdleAdmits != .5 || none.OtherAdmits != 1 || *row.AdmittedWhenNone != .75 {
		t.Fatalf("%+v, a mean of %v", none, *row.AdmittedWhenNone)
	}
	d.Cases = d.Cases[1:2]
	if row := replay(t, func(*eval.RecallOptions) {}, d)["toolbelt"]; row.Restraint != nil || row.AdmittedWhenNone != nil {
		t.Errorf("without such a turn: %+v", row.Restraint)
	}
}

func TestTurnsThatNeedNoToolHaveATable(t *testing.T) {
	o := options(t)
	o.Replay = true
	var text strings.Builder
	if err := recall(t, o, household(t)).WriteTable(&text); err != nil || !strings.Contains(text.String(), "MEAN IF IDLE") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
