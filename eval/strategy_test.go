package eval_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"toolbelt/eval"
)

func TestStrategyIsChosen(t *testing.T) {
	w := small(t)
	m := measure(t, &cachingEngine{}, w, eval.TTFTOptions{Trials: 1})
	report, err := m.Strategy(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 4 || report.Choice == "" || report.Why == "" || report.Digest != "d1" {
		t.Fatalf("report %+v: want four rows and a choice for the model d1", report)
	}
	for _, row := range report.Rows {
		if row.Short == nil || row.Long == nil || row.Missing != 0 {
			t.Errorf("row %+v: want both figures and no needed tool hidden", row)
		}
	}
	var text, md, page bytes.Buffer
	if report.WriteTable(&text) != nil || report.WriteMarkdown(&md) != nil || report.WriteHTML(&page) != nil {
		t.Fatal("writing the report failed")
	}
	for _, form := range []string{text.String(), md.String(), page.String()} {
		if !strings.Contains(form, "the choice is "+report.Choice) {
			t.Errorf("no word of the choice in %s", form)
		}
	}
}

func TestNoStrategyIsChosenOfAnInterruptedRun(t *testing.T) {
	w := small(t)
	ctx, cancel := context.WithCancel(context.Background())
	m := measure(t, &cachingEngine{hold: func(chat int) {
		if chat == 6 {
			cancel()
		}
	}}, w, eval.TTFTOptions{Trials: 1})
	report, err := m.Strategy(ctx, w)
	if err == nil || report == nil || report.Choice != "" || report.Partial == "" {
		t.Errorf("report %+v, %v: want a marked one without a choice", report, err)
	}
}

func TestSlope(t *testing.T) {
	w, err := eval.BuiltinWorkload(eval.CompactWorkload)
	if err != nil {
		t.Fatal(err)
	}
	m := measure(t, &cachingEngine{}, w, eval.TTFTOptions{Trials: 1, Cap: 14})
	report, err := m.Slope(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	if report.Base != 20 || len(report.Points) != 8 || len(report.Slopes) != 2 {
		t.Fatalf("report %+v: want 20 tools, 8 points, 2 slopes", report)
	}
	for i, clones := range []int{0, 10, 20, 40} {
		all, ours := report.Points[i], report.Points[4+i]
		if all.Clones != clones || all.Sent != 20+clones || ours.Sent >= 14 || ours.TTFT == nil {
			t.Errorf("points %+v and %+v: want every tool with %d clones, and few", all, ours, clones)
		}
	}
	all, ours := report.Slopes[0], report.Slopes[1]
	if all.TokensPerOne == nil || *all.TokensPerOne < 20 || ours.TokensPerOne == nil || *ours.TokensPerOne != 0 {
		t.Errorf("slopes %+v, %+v: want all tools to grow and ours not to", all, ours)
	}
	var text, page bytes.Buffer
	if report.WriteTable(&text) != nil || report.WriteMarkdown(&text) != nil || report.WriteHTML(&page) != nil || !strings.Contains(page.String(), "<svg") {
		t.Error("the report cannot be written")
	}
}
