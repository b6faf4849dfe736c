package eval_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/catalog"
	"toolbelt/eval"
)

// traffic writes a file of requests and reads it.
func traffic(t *testing.T, skipBroken bool, lines ...string) (*eval.Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "may.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return eval.ReadDataset(path, "dev", skipBroken)
}

const (
	openAITools = `"tools":[{"type":"function","function":{"name":"find","description":"Find a note.","parameters":{}}},{"type":"function","function":{"name":"mail","description":"Send a mail."}}]`
	findCall    = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"find","arguments":"{}"}}]}`
	found       = `{"role":"tool","tool_call_id":"1","content":"milk"}`
)

// TestRecordedRequestsAreASet follows one conversation through the requests that an app sends for it, in each protocol.
func TestRecordedRequestsAreASet(t *testing.T) {
	for name, lines := range map[string][]string{
		"OpenAI": {
			`{"model":"m",` + openAITools + `,"messages":[{"role":"system","content":"It is nine."},{"role":"user","content":"find the list"}]}`,
			`{"model":"m",` + openAITools + `,"messages":[{"role":"system","content":"It is ten."},{"role":"user","content":[{"type":"text","text":"find the list"}]},` + findCall + `,` + found + `]}`,
			`{"model":"m",` + openAITools + `,"messages":[{"role":"user","content":"find the list"},` + findCall + `,` + found + `,{"role":"assistant","content":"Milk."},{"role":"user","content":"thanks"},{"role":"assistant","content":"Bye."},{"role":"user","content":"more"}]}`,
		},
		"Ollama": {
			`{"model":"m",` + openAITools + `,"messages":[{"role":"user","content":"find the list"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"find","arguments":{}}}]},{"role":"tool","tool_name":"find","content":"milk"},
				{"role":"assistant","content":"Milk."},{"role":"user","content":"thanks"},{"role":"assistant","content":"Bye."},{"role":"user","content":"more"}]}`,
		},
		"Anthropic": {
			`{"model":"m","system":"s","tools":[{"name":"find","description":"Find a note.","input_schema":{"type":"object"}},{"name":"mail","input_schema":{}}],"messages":[{"role":"user","content":"find the list"},
				{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"find","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"milk"}]},
				{"role":"assistant","content":"Milk."},{"role":"user","content":"thanks"},{"role":"assistant","content":"Bye."},{"role":"user","content":"more"}]}`,
		},
		"Responses": {
			`{"model":"m","tools":[{"type":"function","name":"find","description":"Find a note.","parameters":{}},{"type":"function","name":"mail"}],"input":[{"role":"user","content":"find the list"},
				{"type":"function_call","call_id":"1","name":"find","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"milk"},
				{"role":"assistant","content":"Milk."},{"role":"user","content":[{"type":"input_text","text":"thanks"}]},{"role":"assistant","content":"Bye."},{"role":"user","content":"more"}]}`,
		},
	} {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "\n", " ")
		}
		d, err := traffic(t, false, lines...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Name != "may" || len(d.Tools) != 2 || d.Tools[0].Name != "find" || d.Tools[0].Description != "Find a note." || len(d.Cases) != 2 || d.Open != 1 || len(d.Unknown) != 0 {
			t.Errorf("%s: %q, tools %+v, %d cases, %d open, unknown %q", name, d.Name, d.Tools, len(d.Cases), d.Open, d.Unknown)
			continue
		}
		first, second := d.Cases[0], d.Cases[1]
		if !slices.Equal(first.Needed, []string{"find"}) || !slices.Equal(first.Steps, []string{"find"}) || len(second.Needed) != 0 || first.Turn != 1 || second.Turn != 2 || first.Conversation != second.Conversation {
			t.Errorf("%s: cases %+v", name, d.Cases)
		}
		if len(first.Messages) != 1 || len(second.Messages) != 2 || gjson.GetBytes(second.Messages[1], "content").String() != "thanks" {
			t.Errorf("%s: messages %s, %s", name, first.Messages, second.Messages)
		}
	}
}

// TestConversationsThatBranch begins two conversations with the same words: what follows each is a conversation, and both are drawn together.
func TestConversationsThatBranch(t *testing.T) {
	begin := `{` + openAITools + `,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hi."},`
	d, err := traffic(t, false,
		begin+`{"role":"user","content":"find x"},`+findCall+`]}`,
		begin+`{"role":"user","content":"mail y"},{"role":"assistant","content":"No."},{"role":"user","content":"do"},{"role":"assistant","content":"No."}]}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	conversations := eval.Conversations(d.Cases)
	if len(d.Cases) != 4 || len(conversations) != 2 || len(conversations[0]) != 2 || len(conversations[1]) != 2 || conversations[1][1].Turn != 3 {
		t.Errorf("%d conversations of %+v", len(conversations), d.Cases)
	}
	for _, c := range d.Cases {
		if c.Group != d.Cases[0].Group {
			t.Errorf("turn %s is torn from the others", c.ID)
		}
	}
}

// The tools of several requests are one catalog, each by its latest definition; repeated calls are steps.
func TestToolsAndCallsOfSeveralRequestsAreJoined(t *testing.T) {
	d, err := traffic(t, false,
		`{"messages":[{"role":"user","content":"go"},`+findCall+`,`+found+`,`+findCall+`]}`,
		`{"tools":[{"type":"function","function":{"name":"find","description":"old"}}],"messages":[{"role":"user","content":"go"},`+findCall+`]}`,
		`{"tools":[{"type":"function","function":{"name":"other"}},{"type":"function","function":{"name":"find","description":"new"}}],"messages":[{"role":"user","content":"go"}]}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Tools) != 2 || d.Tools[0].Description != "new" || len(d.Cases) != 1 || !slices.Equal(d.Cases[0].Steps, []string{"find", "find"}) || len(d.Cases[0].Needed) != 1 {
		t.Errorf("tools %+v, cases %+v", d.Tools, d.Cases)
	}
}

// A file of labelled cases has its catalog beside it.
func TestAFileOfCasesIsReadWithItsCatalog(t *testing.T) {
	dir := filepath.Join(writeSet(t, t.TempDir(), "s", map[string]string{"catalog.jsonl": householdCatalog, "mine.jsonl": householdCases}), "s")
	d, err := eval.ReadDataset(filepath.Join(dir, "mine.jsonl"), "dev", false)
	if err != nil || d.Name != "mine" || len(d.Cases) != 5 || len(d.Tools) != 10 || len(d.Bundles) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	if found, err := eval.FindDatasets(filepath.Join(dir, "mine.jsonl"), nil); err != nil || len(found) != 1 {
		t.Errorf("found %q, %v", found, err)
	}
	if _, err := eval.FindDatasets(filepath.Join(dir, "mine.jsonl"), []string{"other"}); catalog.KindOf(err) != catalog.NotFound {
		t.Errorf("another set in a file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "catalog.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := eval.ReadDataset(filepath.Join(dir, "mine.jsonl"), "dev", false); catalog.KindOf(err) != catalog.NotFound || !strings.Contains(err.Error(), "catalog.jsonl") {
		t.Errorf("without a catalog: %v", err)
	}
}

func TestBrokenTraffic(t *testing.T) {
	good := `{` + openAITools + `,"messages":[{"role":"user","content":"find x"},` + findCall + `]}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"no JSON":             {[]string{good, `{"messages":`}, "may.jsonl:2"},
		"no user":             {[]string{good, `{"messages":[{"role":"system","content":"x"}]}`}, "may.jsonl:2"},
		"no messages":         {[]string{good, `{"model":"x"}`}, "may.jsonl:2"},
		"messages no array":   {[]string{good, `{"messages":7}`}, "may.jsonl:2"},
		"said twice":          {[]string{good, `{"messages":[],"messages":[]}`}, "may.jsonl:2"},
		"a case among them":   {[]string{good, `{"messages":[{"role":"user","content":"x"}],"needed":[]}`}, "may.jsonl:2"},
		"no tools":            {[]string{`{"messages":[{"role":"user","content":"x"},` + findCall + `]}`}, "no tools"},
		"nothing is answered": {[]string{`{` + openAITools + `,"messages":[{"role":"user","content":"x"}]}`}, "none has an answer"},
		"empty":               {[]string{"", " "}, "no tools"},
	} {
		if _, err := traffic(t, false, c.lines...); catalog.KindOf(err) != catalog.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", name, err, c.want)
		}
		if len(c.lines) < 2 || c.lines[0] != good {
			continue
		}
		d, err := traffic(t, true, c.lines...)
		if err != nil || len(d.Cases) != 1 || len(d.Skipped) != 1 {
			t.Errorf("%s, skipped: %+v, %v", name, d, err)
		}
	}
}

func FuzzTraffic(f *testing.F) {
	f.Add(`{` + openAITools + `,"messages":[{"role":"user","content":"hi"},` + findCall + `,{"role":"user","content":""}]}` + "\n" + `{"messages":[{"role":"user","content":"hi"},{"role":"user"}]}`)
	f.Add(`{"input":"x","tools":[{"name":"a","input_schema":{}}]}` + "\n" + `{"system":[],"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`)
	f.Fuzz(func(t *testing.T, lines string) {
		d, err := traffic(t, true, lines)
		if err != nil {
			if catalog.KindOf(err) == catalog.Internal {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		for _, turns := range eval.Conversations(d.Cases) {
			for i, c := range turns {
				if len(c.Messages) == 0 || i > 0 && c.Turn <= turns[i-1].Turn {
					t.Fatalf("turn %d after others: %+v", c.Turn, turns)
				}
			}
		}
	})
}
