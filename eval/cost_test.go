package eval_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"toolbelt/eval"
)

func TestMeasureCost(t *testing.T) {
	w := small(t)
	at := serve(t, &cachingEngine{})
	target := eval.NewTarget(at, http.DefaultClient, eval.OllamaAPI, "tiny")
	report, err := eval.MeasureCost(context.Background(), target, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.PerTool) != 16 || report.PerTool[0].Name != w.Core[0] || report.PerTool[1].Name != w.Core[1] {
		t.Fatalf("tools %+v: want all 16, CORE first", report.PerTool)
	}
	sum := 0
	for _, tool := range report.PerTool {
		if tool.Tokens == nil || *tool.Tokens < tool.Bytes/4-1 || *tool.Tokens > tool.Bytes/4+1 {
			t.Fatalf("%s of %d bytes: %v tokens, want a quarter", tool.Name, tool.Bytes, tool.Tokens)
		}
		sum += *tool.Tokens
	}
	if all := report.Lists[1]; all.Name != "all" || *all.Tokens != sum+*report.Preamble {
		t.Errorf("list %+v: want the sum %d and the preamble %d", all, sum, *report.Preamble)
	}
	var text, md, page bytes.Buffer
	if err := report.WriteTable(&text); err != nil || !strings.Contains(text.String(), "tool_07") {
		t.Errorf("table %s, %v", text.String(), err)
	}
	if report.WriteMarkdown(&md) != nil || report.WriteHTML(&page) != nil || !strings.Contains(md.String(), "| tool_07 |") || !strings.Contains(page.String(), "tool_07") {
		t.Error("Markdown or page lack a tool")
	}
}

func TestCostOfWhatCannotBeCounted(t *testing.T) {
	w := small(t)
	for name, tc := range map[string]struct {
		engine  *cachingEngine
		context int
		says    string // in the error, or in a note
		counted bool   // some tools are
	}{
		"no counts":     {engine: &cachingEngine{silent: true}, says: "does not say"},
		"no tools":      {engine: &cachingEngine{noTools: true}, says: "does not support tools"},
		"small context": {engine: &cachingEngine{}, context: 300, says: "exceeds the context", counted: true},
	} {
		t.Run(name, func(t *testing.T) {
			target := eval.NewTarget(serve(t, tc.engine), http.DefaultClient, eval.OllamaAPI, "tiny")
			target.Context = tc.context
			report, err := eval.MeasureCost(context.Background(), target, w, nil)
			if !tc.counted {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v, want %q", err, tc.says)
				}
				return
			}
			if err != nil || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], tc.says) {
				t.Fatalf("notes %q, %v", report.Notes, err)
			}
			if report.PerTool[0].Tokens == nil || report.PerTool[15].Tokens != nil || report.Lists[1].Tokens != nil || report.Lists[1].Why == "" {
				t.Errorf("report %+v: want the first tools counted, the last not, and no sum of all", report)
			}
		})
	}
}
