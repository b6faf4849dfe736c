package eval_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"toolbelt/eval"
)

// A row that has no figures says why over its columns, and leaves those of the others where they are.
func TestRowsWithoutFiguresLeaveTheTableAligned(t *testing.T) {
	cell := func(variant string, ms float64, why string) eval.TTFTCell {
		c := eval.TTFTCell{Scenario: "cold", Variant: variant, Catalog: "mine", By: "hand", Trials: 1, Requests: 3, Why: why}
		if why == "" {
			c.TTFT = &eval.Percentiles{P50: ms, P95: ms}
			c.Interval = &eval.Interval{ms, ms}
		}
		return c
	}
	why := "the engine had kept a part of it, which it says every time that it is asked"
	report := &eval.TTFTReport{Cells: []eval.TTFTCell{cell("all", 1000, ""), cell("gaia", 0, why), cell("append", 123456, "")}}
	var out strings.Builder
	if err := report.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "tools\n")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 4 {
		t.Fatalf("the table has %d lines:\n%s", len(lines), text)
	}
	at := func(line int, cell string) int {
		before, _, found := strings.Cut(lines[line], cell)
		if !found {
			t.Fatalf("line %d lacks %q:\n%s", line, cell, text)
		}
		return utf8.RuneCountInString(before)
	}
	for _, column := range []struct{ head, first, last string }{
		{"INTERVAL", "1.00–1.00", "123.46–123.46"},
		{"CUT", "0/3", "0/3"},
	} {
		if head := at(0, column.head); head != at(1, column.first) || head != at(3, column.last) {
			t.Errorf("%s stands at %d, its figures at %d and %d:\n%s", column.head, head, at(1, column.first), at(3, column.last), text)
		}
	}
	if at(0, "P50 S") != at(2, "not measured: "+why) {
		t.Errorf("the reason does not stand where the figures would:\n%s", text)
	}
	if head := at(0, "CUT"); head > 120 {
		t.Errorf("the reason widens the table, whose last column but one begins at %d:\n%s", head, text)
	}
}
