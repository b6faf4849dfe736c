package eval_test

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolbelt/eval"
)

// picture is the report's only picture, as text.
func picture(t *testing.T, pictures map[string]func(io.Writer) error, name string) string {
	t.Helper()
	if len(pictures) != 1 || pictures[name] == nil {
		t.Fatalf("the report has %d pictures, want %s alone", len(pictures), name)
	}
	var out strings.Builder
	if err := pictures[name](&out); err != nil {
		t.Fatal(err)
	}
	_, drawn, _ := strings.Cut(out.String(), "</style>")
	return drawn
}

var svgText = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

func words(picture string) []string {
	var list []string
	for _, found := range svgText.FindAllStringSubmatch(picture, -1) {
		list = append(list, strings.TrimSpace(found[1]))
	}
	return list
}

func TestBarsStandBeforeTheGrid(t *testing.T) {
	cell := func(variant string, ms float64) eval.TTFTCell {
		return eval.TTFTCell{Scenario: "cold", Variant: variant, Catalog: "mine", By: "hand", Trials: 1, TTFT: &eval.Percentiles{P50: ms, P95: ms}}
	}
	report := &eval.TTFTReport{Cells: []eval.TTFTCell{cell("all", 130_000), cell("gaia", 30_000)}}
	drawn := picture(t, report.Pictures(), "ttft-first-mine.svg")
	grid, bar := strings.LastIndex(drawn, "var(--line)"), strings.Index(drawn, "fill:var(--a)")
	if grid < 0 || bar < 0 || grid > bar {
		t.Errorf("the grid's last line is drawn at %d, the first bar at %d", grid, bar)
	}
	for _, tick := range []string{"0", "20", "100", "120"} {
		if !slices.Contains(words(drawn), tick) {
			t.Errorf("there is no tick %s among %q", tick, words(drawn))
		}
	}
}

func TestLinesHaveTicksWhereTheyWereMeasured(t *testing.T) {
	for name, tc := range map[string]struct {
		clones        []int
		ticks, absent []string
	}{
		"few":             {clones: []int{0, 7, 23, 40}, ticks: []string{"0", "7", "23", "40"}, absent: []string{"10", "20"}},
		"too near":        {clones: []int{0, 31, 32, 40}, ticks: []string{"0", "10", "40"}, absent: []string{"31", "32"}},
		"more than eight": {clones: []int{0, 11, 22, 33, 44, 55, 66, 77, 88}, ticks: []string{"20", "80"}, absent: []string{"11", "88"}},
	} {
		report := &eval.SlopeReport{Base: 20}
		for _, n := range tc.clones {
			report.Points = append(report.Points, eval.SlopePoint{Variant: "all", Clones: n, TTFT: &eval.Percentiles{P50: 5000 + float64(n), P95: 6000}})
		}
		got := words(picture(t, report.Pictures(), "slope.svg"))
		for _, tick := range tc.ticks {
			if !slices.Contains(got, tick) {
				t.Errorf("%s: there is no tick %s among %q", name, tick, got)
			}
		}
		for _, tick := range tc.absent {
			if slices.Contains(got, tick) {
				t.Errorf("%s: %s is a tick: %q", name, tick, got)
			}
		}
	}
}

func TestCostsAreShownTheDearestFirst(t *testing.T) {
	report := &eval.CostReport{Lists: []eval.ListCost{{Name: "core", Tools: 1}}}
	for i := range 70 {
		tokens := 100 + i
		report.PerTool = append(report.PerTool, eval.ToolCost{Name: fmt.Sprintf("tool_%02d", i), Tokens: &tokens})
	}
	report.PerTool[0].Tokens = new(int)
	*report.PerTool[0].Tokens = 500
	report.PerTool[69].Tokens = nil
	got := words(picture(t, report.Pictures(), "cost.svg"))
	for _, want := range []string{"500  core", "tool_00", "tool_68", "168"} {
		if !slices.Contains(got, want) {
			t.Errorf("the picture lacks %q: %q", want, got)
		}
	}
	for _, dropped := range []string{"tool_69", "tool_01"} { // not counted, and not one of the 60 that cost most
		if slices.Contains(got, dropped) {
			t.Errorf("the picture shows %q", dropped)
		}
	}
	if n := len((&eval.CostReport{PerTool: []eval.ToolCost{{Name: "a"}}}).Pictures()); n != 0 {
		t.Errorf("a report without counts has %d pictures", n)
	}
}
