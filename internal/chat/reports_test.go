package chat_test

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolbelt/internal/chat"
	"toolbelt/internal/chat/edittest"
)

// report is one collected fault of another tool filter or engine, with small inputs that show it.
type report struct {
	Requests []struct {
		Path string          `json:"path"`
		Body json.RawMessage `json:"body"`
	} `json:"requests"`
	Chunks [][]json.RawMessage `json:"chunks"`
	Matrix struct {
		ToolChoice []json.RawMessage `json:"tool_choice"`
		Paths      []string          `json:"paths"`
	} `json:"matrix"`
}

// reports reads the collection that may lie beside the repository; without it the test is skipped.
func reports(t *testing.T) map[string]report {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/bugs/*.json")
	if len(files) == 0 {
		t.Skip("no collection of bug reports beside the repository")
	}
	all := map[string]report{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r report
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		all[number] = r
	}
	return all
}

func TestReportedRequestsAreEditedInTheirToolsAlone(t *testing.T) {
	random := rand.New(rand.NewSource(5))
	seen := 0
	for number, report := range reports(t) {
		for _, request := range report.Requests {
			p := chat.ProtocolOf(request.Path)
			if p == chat.Unknown {
				continue
			}
			seen++
			r := decode(t, p, string(request.Body))
			_, _, elements, _ := toolsSpan(request.Body)
			if len(r.Elements) != len(elements) {
				t.Fatalf("report %s: %d elements, want %d", number, len(r.Elements), len(elements))
			}
			var keys []string
			for i, e := range r.Elements {
				if name := nameOf(elements[i]); e.Selectable() != (name != "") || name != "" && e.Key != name {
					t.Errorf("report %s: element %d has the key %q, its name is %q", number, i, e.Key, name)
				}
				if !slices.Contains(keys, e.Key) {
					keys = append(keys, e.Key)
				}
			}
			for range 20 {
				random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
				order := keys[:1+random.Intn(len(keys))]
				var want []json.RawMessage
				for _, key := range order {
					for i, e := range r.Elements {
						if e.Key == key {
							want = append(want, elements[i])
						}
					}
				}
				checkEdit(t, request.Body, chat.Render(request.Body, r, order), want)
			}
		}
	}
	if seen == 0 {
		t.Error("no request of a known path")
	}
}

func TestReportedRequestsTakeEveryEdit(t *testing.T) {
	for number, report := range reports(t) {
		for _, request := range report.Requests {
			for _, p := range protocols {
				r := decode(t, p, string(request.Body))
				ours := edittest.Ours{Names: []string{"load_tools"}}
				var e chat.Edits
				if _, _, _, ok := toolsSpan(request.Body); ok {
					start, end, _, _ := toolsSpan(request.Body)
					ours.Tools = request.Body[start:end]
					e.Own = []chat.OwnTool{own(1)}
					e.Order = []string{}
				}
				for i, element := range r.Elements {
					if i%2 == 0 {
						e.Order = append(e.Order, element.Key)
					}
				}
				if len(r.Messages) > 0 {
					e.Hidden = []chat.HiddenTurn{loaded(0, ""), loaded(len(r.Messages), "")}
					ours.TextInput = request.Body[r.MessagesStart] == '"'
				}
				got, err := chat.Apply(request.Body, r, e)
				if err != nil {
					t.Fatalf("report %s: %v", number, err)
				}
				back, err := edittest.Strip(p.Family(), got, ours)
				if err != nil || !bytes.Equal(back, request.Body) {
					t.Errorf("report %s as %s: %v\n got %s\nwant %s", number, p.Family(), err, back, request.Body)
				}
			}
		}
	}
}

func TestReportedChoicesHistoriesAndStreams(t *testing.T) {
	all := reports(t)
	want := []chat.Choice{chat.Auto, chat.Required, chat.Named}
	for i, request := range all["01"].Requests {
		if r := decode(t, chat.OpenAI, string(request.Body)); r.Choice != want[i] {
			t.Errorf("choice %d of the first report: %v, want %v", i, r.Choice, want[i])
		}
	}
	r := decode(t, chat.OpenAI, string(all["06"].Requests[0].Body))
	if len(r.Called) != 2 || !slices.Contains(r.Called, "svc02__op0") || !slices.Contains(r.Called, "gone_tool") || r.Continues {
		t.Errorf("called %q, continues %v", r.Called, r.Continues)
	}
	want = []chat.Choice{chat.Auto, chat.Auto, chat.NoTools, chat.Required, chat.Named}
	for i, choice := range all["08"].Matrix.ToolChoice {
		for _, path := range all["08"].Matrix.Paths {
			p := chat.ProtocolOf(path)
			if p == chat.Unknown {
				continue
			}
			body := `{"tools":[],"tool_choice":` + string(choice) + `}`
			if string(choice) == `"(omitted)"` {
				body = `{"tools":[]}`
			}
			if r := decode(t, p, body); r.Choice != want[i] || (r.Choice == chat.Named) != (len(r.ChoiceNames) == 1) {
				t.Errorf("%s %s: %v of %q", path, choice, r.Choice, r.ChoiceNames)
			}
		}
	}
	var entries []string
	for _, chunk := range all["05"].Chunks {
		for _, entry := range chunk {
			var line bytes.Buffer
			if err := json.Compact(&line, entry); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, line.String())
		}
	}
	for _, size := range []int{1 << 20, 1} {
		calls, _ := scan(chat.OpenAI, events, strings.ReplaceAll(toolEvents(entries...), "\n", "\r\n"), size)
		if !reflect.DeepEqual(bare(calls), []chat.Call{{ID: "call_1", Name: "note_write"}, {ID: "call_2", Name: "note_write"}}) {
			t.Errorf("calls %+v", calls)
		}
	}
}
