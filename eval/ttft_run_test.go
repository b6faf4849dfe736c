package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/eval"
)

// Every scenario, with an engine that reuses prefixes: what is evaluated is what the order of the tools leaves of the prefix.
func TestTheHarnessFindsWhatAPrefixCacheDoes(t *testing.T) {
	for _, exact := range []bool{true, false} {
		t.Run(map[bool]string{true: "log", false: "estimated"}[exact], func(t *testing.T) {
			engine, w := &cachingEngine{}, small(t)
			if exact {
				engine.log = filepath.Join(t.TempDir(), "engine.log")
			}
			m := measure(t, engine, w, eval.TTFTOptions{Every: true})
			report, err := m.Run(context.Background(), []*eval.Workload{w})
			if err != nil {
				t.Fatal(err)
			}
			evaluated := func(scenario, variant, by string) int {
				c := cellOf(t, report, scenario, variant, by)
				if c.TTFT == nil || c.Evaluated == nil {
					t.Fatalf("%s, %s by %s was not measured: %s", scenario, variant, by, c.Why)
				}
				if c.Estimated == exact {
					t.Errorf("%s, %s: estimated %v", scenario, variant, c.Estimated)
				}
				return *c.Evaluated
			}
			if all, ours := evaluated("cold", "all", "hand"), evaluated("cold", "append", "daemon"); all < 3*ours {
				t.Errorf("cold: all tools evaluate %d tokens, ours %d; want ours far fewer", all, ours)
			}
			if c := cellOf(t, report, "cold", "all", "hand"); *c.Evaluated < *c.Prompt*9/10 {
				t.Errorf("cold, all: %d of %d tokens were evaluated, want nearly all", *c.Evaluated, *c.Prompt)
			}
			if warm, ours := evaluated("prewarmed", "append", "daemon"), evaluated("cold", "append", "daemon"); warm >= ours {
				t.Errorf("pre-warmed evaluates %d tokens, cold %d", warm, ours)
			}
			if same, floor := evaluated("turn2_same", "append", "daemon"), evaluated("turn2_same", "floor", "hand"); same != floor {
				t.Errorf("turn 2 evaluates %d tokens, by hand %d", same, floor)
			}
			if sorted, ours := evaluated("turn2_one_new", "gaia", "hand"), evaluated("turn2_one_new", "append", "hand"); ours >= sorted {
				t.Errorf("one new tool: appended %d tokens, sorted %d", ours, sorted)
			}
			if late, appended := evaluated("turn2_one_new_long", "late", "hand"), evaluated("turn2_one_new_long", "append", "hand"); appended < 5*late || appended < 1500 {
				t.Errorf("behind a long history: appended %d tokens, late %d", appended, late)
			}
			if late, appended := evaluated("turn2_one_new_long", "late", "daemon"), evaluated("turn2_one_new_long", "append", "daemon"); appended < 5*late {
				t.Errorf("behind a long history, by the daemon: appended %d tokens, late %d", appended, late)
			}
			c := cellOf(t, report, "topic_switches", "all_warm", "hand")
			if c.Requests != 2*len(w.Turns) || c.ColdStart == nil || c.Sum == nil {
				t.Errorf("topics, all warm: %d requests, cold start %v, sum %v", c.Requests, c.ColdStart, c.Sum)
			}
			if c := cellOf(t, report, "topic_switches", "append", "daemon"); c.Requests != 2*len(w.Turns) || c.Missing != 0 {
				t.Errorf("topics, append: %d requests, %d without a needed tool", c.Requests, c.Missing)
			}
			if c := cellOf(t, report, "turn2_same", "append", "daemon"); exact && (c.Foretold == nil || c.Foretold.Of != c.Trials || c.Foretold.Right != c.Trials) {
				t.Errorf("foretold %+v in %d trials: the daemon said 60 tokens, which is within 32 of %d", c.Foretold, c.Trials, *c.Evaluated)
			}
			if c := cellOf(t, report, "turn2_one_new", "append", "hand"); c.Requests != 10 || c.Trials != 10 {
				t.Errorf("%d tools were added, want each of the 10 that the list of 6 leaves", c.Requests)
			}
		})
	}
}

func TestASmallContextIsSeenToCut(t *testing.T) {
	engine := &cachingEngine{log: filepath.Join(t.TempDir(), "engine.log")}
	w, err := eval.BuiltinWorkload(eval.DemoWorkload)
	if err != nil {
		t.Fatal(err)
	}
	m := measure(t, engine, w, eval.TTFTOptions{Scenarios: []string{eval.ContextScenario}})
	report, err := m.Run(context.Background(), []*eval.Workload{w})
	if err != nil {
		t.Fatal(err)
	}
	if c := cellOf(t, report, eval.ContextScenario, "all", "hand"); c.Truncated != 2 || c.Requests != 2 || c.Cut == "" {
		t.Errorf("all tools: %d of %d cut (%q), want both of 2", c.Truncated, c.Requests, c.Cut)
	}
	if c := cellOf(t, report, eval.ContextScenario, "append", "daemon"); c.Truncated != 0 || c.Requests != 12 {
		t.Errorf("ours: %d of %d cut, want none of 12", c.Truncated, c.Requests)
	}
}

func TestNoColdFigureWithoutProof(t *testing.T) {
	for name, tc := range map[string]struct {
		engine *cachingEngine
		api    string
		why    string
	}{
		"it keeps its cache":         {&cachingEngine{forgetful: true}, eval.OllamaAPI, "not cold"},
		"it tells no counts":         {&cachingEngine{silent: true}, eval.OllamaAPI, "did not say how many tokens"},
		"openai, no counts":          {&cachingEngine{silent: true}, eval.OpenAIAPI, "did not say how many tokens"},
		"openai, llama.cpp's counts": {&cachingEngine{}, eval.OpenAIAPI, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := small(t)
			m := measure(t, tc.engine, w, eval.TTFTOptions{Scenarios: []string{eval.ColdScenario}, Variants: []string{eval.AllTools}})
			m.Target.API = tc.api
			report, err := m.Run(context.Background(), []*eval.Workload{w})
			if err != nil {
				t.Fatal(err)
			}
			c := cellOf(t, report, eval.ColdScenario, eval.AllTools, eval.ByHand)
			if tc.why == "" {
				if c.TTFT == nil || c.Estimated || *c.Evaluated < *c.Prompt*9/10 {
					t.Errorf("cell %+v: want an exact cold figure", c)
				}
				return
			}
			if c.TTFT != nil || !strings.Contains(c.Why, tc.why) {
				t.Errorf("figure %v, why %q: want none, and %q", c.TTFT, c.Why, tc.why)
			}
			data, err := json.Marshal(c)
			if err != nil || !bytes.Contains(data, []byte(`"ttft_ms":null`)) {
				t.Errorf("JSON %s, %v: want a null", data, err)
			}
		})
	}
}

func TestAModelWithoutToolsIsSaidAtOnce(t *testing.T) {
	w := small(t)
	report, err := measure(t, &cachingEngine{noTools: true}, w, eval.TTFTOptions{}).Run(context.Background(), []*eval.Workload{w})
	if report != nil || err == nil || !strings.Contains(err.Error(), "does not support tools") {
		t.Errorf("report %v, error %v: want the engine's own words", report, err)
	}
}

// An engine that restarts breaks the request under way; the trial is played again.
func TestAnEngineThatRestartsInTheMiddle(t *testing.T) {
	w := small(t)
	options := eval.TTFTOptions{Scenarios: []string{eval.ColdScenario, eval.SameScenario}}
	var lines []string
	options.Progress = func(line string) { lines = append(lines, line) }
	m := measure(t, &cachingEngine{dropsAfter: 8, drops: 1}, w, options)
	report, err := m.Run(context.Background(), []*eval.Workload{w})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cells {
		if c.TTFT == nil {
			t.Errorf("%s, %s has no figure: %s", c.Scenario, c.Variant, c.Why)
		}
	}
	if !strings.Contains(strings.Join(lines, "\n"), "the trial failed") {
		t.Errorf("progress %q: want word of the failed trial", lines)
	}
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	w, folder := small(t), t.TempDir()
	options := eval.TTFTOptions{Scenarios: []string{eval.ColdScenario}, Folder: folder}
	ctx, cancel := context.WithCancel(context.Background())
	engine := &cachingEngine{hold: func(chat int) {
		if chat == 9 {
			cancel()
		}
	}}
	report, err := measure(t, engine, w, options).Run(ctx, []*eval.Workload{w})
	if err == nil || report == nil || !strings.Contains(report.Partial, "interrupted") {
		t.Fatalf("report %+v, error %v: want what there is, marked", report, err)
	}
	path := filepath.Join(folder, "ttft.jsonl")
	before, err := os.ReadFile(path)
	if err != nil || bytes.Count(before, []byte("\n")) < 2 {
		t.Fatalf("journal %q, %v: want a trial in it", before, err)
	}
	if _, err := measure(t, &cachingEngine{}, w, options).Run(context.Background(), []*eval.Workload{w}); catalog.KindOf(err) != catalog.Conflict {
		t.Errorf("begun anew in the same folder: %v, want Conflict", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the refused run changed the journal")
	}
	cut := append(bytes.Clone(before), `{"catalog":"sma`...)
	if err := os.WriteFile(path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	options.Resume = true
	again := &cachingEngine{}
	report, err = measure(t, again, w, options).Run(context.Background(), []*eval.Workload{w})
	if err != nil || report.Partial != "" {
		t.Fatalf("resumed: %v, %q", err, report.Partial)
	}
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "not whole") {
		t.Errorf("notes %q: want one on the line that was cut off", report.Notes)
	}
	after, _ := os.ReadFile(path)
	if !bytes.HasPrefix(after, before) || bytes.Count(after, []byte("\n")) != 1+3*2 {
		t.Errorf("journal %s: want the old lines first, and six trials in all", after)
	}
}

func TestAJournalThatCannotBeGoneOnWith(t *testing.T) {
	w := small(t)
	const head = `{"journal":"toolbelt-ttft-1","engine":"e","model":"tiny","digest":"d1","num_ctx":0,"catalogs":{}}` + "\n"
	for name, tc := range map[string]struct {
		text string
		kind catalog.Kind
		says string
	}{
		"no JSON":        {"hello\n", catalog.Invalid, "line 1"},
		"another model":  {strings.Replace(head, "tiny", "huge", 1), catalog.Conflict, "huge"},
		"another format": {strings.Replace(head, "ttft-1", "ttft-9", 1), catalog.Conflict, "ttft-9"},
		"another digest": {strings.Replace(head, "d1", "d2", 1), catalog.Conflict, "d2"},
		"other tools":    {strings.Replace(head, `"catalogs":{}`, `"catalogs":{"small":"abc"}`, 1), catalog.Conflict, "small"},
		"a broken trial": {head + "{\"catalog\":1}\n", catalog.Invalid, "line 2"},
		"not a trial":    {head + "{}\n", catalog.Invalid, "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "ttft.jsonl")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := measure(t, &cachingEngine{}, w, eval.TTFTOptions{Folder: folder, Resume: true}).Run(context.Background(), []*eval.Workload{w})
			if catalog.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v (%v): want %v and %q", err, catalog.KindOf(err), tc.kind, tc.says)
			}
			if left, _ := os.ReadFile(path); string(left) != tc.text {
				t.Error("the file was changed")
			}
		})
	}
}

func TestReportsInEachForm(t *testing.T) {
	w := small(t)
	w.Name = `sm<a>ll|er`
	report, err := measure(t, &cachingEngine{log: filepath.Join(t.TempDir(), "engine.log")}, w, eval.TTFTOptions{}).Run(context.Background(), []*eval.Workload{w})
	if err != nil {
		t.Fatal(err)
	}
	var table, md, page bytes.Buffer
	for _, err := range []error{report.WriteTable(&table), report.WriteMarkdown(&md), report.WriteHTML(&page)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for form, text := range map[string]string{"table": table.String(), "Markdown": md.String(), "HTML": page.String()} {
		for _, want := range []string{"topic_switches", "all_warm", "turn2_one_new_long"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s lacks %q", form, want)
			}
		}
	}
	if strings.Contains(page.String(), "<a>") || !strings.Contains(page.String(), "<svg") {
		t.Error("the page lacks its charts, or takes a catalog's name for a tag")
	}
	pictures := report.Pictures()
	for name, write := range pictures {
		var file bytes.Buffer
		if err := write(&file); err != nil || filepath.Base(name) != name || !strings.Contains(md.String(), "]("+name+")") {
			t.Errorf("picture %q: %v; the Markdown shows it by that name: %v", name, err, strings.Contains(md.String(), name))
		}
		decoder, names := xml.NewDecoder(&file), ""
		for token, err := decoder.Token(); err != io.EOF; token, err = decoder.Token() {
			if err != nil {
				t.Fatalf("picture %q is no XML: %v", name, err)
			}
			if text, ok := token.(xml.CharData); ok {
				names += string(text) + "\n"
			}
		}
		if !strings.Contains(names, "--ink:") || !strings.Contains(names, " s  all") {
			t.Errorf("picture %q lacks its colours or figures with what they are of: %s", name, names)
		}
	}
	if len(pictures) != 2 {
		t.Errorf("%d pictures, want one of single requests and one of conversations", len(pictures))
	}
	var fixed struct {
		Engine, Model string
		Tools         int
		Cells         []struct {
			Scenario, Variant string
			Trials            int
			TTFT              *eval.Percentiles `json:"ttft_ms"`
			Prompt            *int              `json:"prompt_tokens"`
			Evaluated         *int              `json:"evaluated_tokens"`
			Cached            *int              `json:"cached_tokens"`
		}
	}
	data, _ := json.Marshal(report)
	if err := json.Unmarshal(data, &fixed); err != nil || fixed.Model != "tiny" || fixed.Tools != 16 || len(fixed.Cells) == 0 {
		t.Fatalf("JSON %+v, %v", fixed, err)
	}
	for _, c := range fixed.Cells {
		if c.TTFT != nil && (c.Prompt == nil || c.Evaluated == nil || c.Cached == nil || *c.Prompt < *c.Evaluated || c.Trials == 0) {
			t.Errorf("cell %+v", c)
		}
	}
}

func TestTTFTOptionsThatCannotBe(t *testing.T) {
	for name, o := range map[string]eval.TTFTOptions{
		"no trials": {}, "many trials": {Trials: 101}, "scenario": {Trials: 1, Scenarios: []string{"hot"}},
		"catalog's scenario": {Trials: 1, Scenarios: []string{"gaia:hot"}},
		"variant":            {Trials: 1, Variants: []string{"best"}}, "nothing to resume": {Trials: 1, Resume: true},
	} {
		if err := o.Valid(); catalog.KindOf(err) != catalog.Invalid {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
}

func TestWorkloads(t *testing.T) {
	w, err := eval.BuiltinWorkload(eval.CompactWorkload)
	if err != nil || len(w.Tools) != 60 || len(w.Core) != 5 || len(w.Turns) != 12 {
		t.Fatalf("compact: %d tools, %d CORE, %d turns, %v; want 60, 5, 12", len(w.Tools), len(w.Core), len(w.Turns), err)
	}
	if w, err := eval.BuiltinWorkload(eval.DemoWorkload); err != nil || len(w.Tools) != 38 || len(w.Turns) != 12 {
		t.Errorf("demo: %d tools, %d turns, %v; want 38, 12", len(w.Tools), len(w.Turns), err)
	}
	if _, err := eval.BuiltinWorkload("huge"); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("an unknown one: %v, want Invalid", err)
	}
	if _, err := eval.ToolsWorkload("one", []catalog.Tool{{Name: "a"}}); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("one tool: %v, want Invalid", err)
	}
	if _, err := eval.ToolsWorkload("twins", []catalog.Tool{{Name: "a"}, {Name: "a"}}); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("twins: %v, want Invalid", err)
	}
}

func TestEventsOfOpenAICompatibleEngines(t *testing.T) {
	for name, tc := range map[string]struct{ answer, fails string }{
		"content":        {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", ""},
		"no newline":     {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}", ""},
		"comments":       {": hello\n\nevent: x\ndata: {\"choices\":[{\"delta\":{\"reasoning\":\"a\"}}]}\r\n\r\ndata: [DONE]\r\n", ""},
		"broken off":     {"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "broke off"},
		"empty":          {"", "broke off"},
		"not JSON":       {"data: {\n\n", "reading the chat answer"},
		"an error":       {"data: {\"error\":{\"message\":\"out of memory\"}}\n\n", "out of memory"},
		"null in errors": {"data: {\"error\":null,\"choices\":[{\"delta\":{\"tool_calls\":[{}]},\"finish_reason\":\"tool_calls\"}]}\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tc.answer)) }))
			target := eval.NewTarget(at, http.DefaultClient, eval.OpenAIAPI, "m")
			got, err := target.Ask(context.Background(), eval.Asked{At: at, Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"x"}`)}})
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Fatalf("error %v, want one that says %q", err, tc.fails)
				}
				return
			}
			if err != nil || got.FirstToken <= 0 || got.Total < got.FirstToken {
				t.Errorf("reading %+v, %v", got, err)
			}
		})
	}
}
