package sidecar_test

import (
	"fmt"
	"slices"
	"testing"
)

const explainPath = "/toolbelt/v1/explain"

func explainBody(session, tool, text string) string {
	return fmt.Sprintf(`{"session":%q,"tools":%s,"messages":%s,"tool":%q}`, session, offered(), messages(text), tool)
}

func TestExplain(t *testing.T) {
	r := start(t, nil)
	shown := r.call("POST", explainPath, explainBody("s", "get_weather", "weather forecast for the city"), 200)
	if shown["visible"] != true || shown["verdict"] != "visible" || shown["reason"] != "semantic" || shown["why"] == "" || shown["do"] == "" {
		t.Errorf("%v", shown)
	}
	signals := shown["signals"].(map[string]any)
	if signals["place"] != 1.0 || signals["of"] != 9.0 || signals["words"].(float64) < 0.9 || !(signals["bm25"].(float64) > 0) {
		t.Errorf("signals %v", signals)
	}
	if floor := shown["floor"].(map[string]any); floor["tau"] != 2.1 || floor["over"] != true {
		t.Errorf("floor %v", floor)
	}
	hidden := r.call("POST", explainPath, explainBody("s", "git_commit", "weather forecast for the city"), 200)
	if hidden["visible"] != false || hidden["verdict"] != "below_floor" || hidden["reason"] != nil {
		t.Errorf("%v", hidden)
	}
	slots := hidden["slots"].(map[string]any)
	if slots["max_tools"] != 4.0 || slots["skipped"] == nil || slots["last"] != "get_weather" || len(slots["tools"].([]any)) != 1 {
		t.Errorf("slots %v", slots)
	}
}

// What is explained is what the next selection does, and explaining changes nothing of it.
func TestExplainKeepsNothing(t *testing.T) {
	r := start(t, nil)
	for range 3 {
		r.call("POST", explainPath, explainBody("s", "get_weather", "weather forecast for the city"), 200)
	}
	if list := r.call("GET", "/toolbelt/v1/sessions", "", 200)["sessions"].([]any); len(list) != 0 {
		t.Errorf("explaining made sessions: %v", list)
	}
	r.fails("POST", explainPath, `{"session":"s","messages":`+messages("hi")+`,"tool":"get_weather"}`, 400, "tools")
	body := `{"session":"s","tools":` + offered() + `,"messages":` + messages("weather forecast for the city") + `}`
	picked := r.call("POST", selectPath, body, 200)
	if picked["turn"] != 1.0 || !slices.Contains(names(picked), "get_weather") {
		t.Errorf("%v", picked)
	}
	// The turn is decided now: its list is explained as it is, by a session's own tools.
	again := r.call("POST", explainPath, `{"session":"s","messages":`+messages("weather forecast for the city")+`,"tool":"git_commit"}`, 200)
	if again["verdict"] != "decided_before" || again["turn"] != 1.0 || again["signals"] == nil {
		t.Errorf("%v", again)
	}
	if next := r.call("POST", selectPath, `{"session":"s","messages":`+messages("weather forecast for the city", "thanks")+`}`, 200); next["turn"] != 2.0 {
		t.Errorf("%v", next)
	}
}

func TestExplainSaysWhyEverythingIsVisible(t *testing.T) {
	r := start(t, nil)
	e := r.call("POST", explainPath, `{"messages":`+messages("hi")+`,"tools":[`+tool("a", "A")+`],"tool":"a"}`, 200)
	if e["verdict"] != "fallback" || e["visible"] != true || e["fallback"] != "small array" || e["slots"].(map[string]any)["tools"] != nil {
		t.Errorf("%v", e)
	}
}

func TestExplainBadInput(t *testing.T) {
	r := start(t, nil)
	good := `"messages":` + messages("hi") + `,"tools":` + offered()
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{"", 400, "empty"},
		{"{}", 400, `"tool"`},
		{`{` + good + `}`, 400, `"tool"`},
		{`{` + good + `,"tool":""}`, 400, `"tool"`},
		{`{` + good + `,"tool":7}`, 400, `"tool" must be a string`},
		{`{"tool":"x"}`, 400, `"messages"`},
		{`{` + good + `,"tool":"get_weather","extra":1}`, 400, `"extra"`},
		{`{` + good + `,"tool":"weather_get"}`, 404, `near to it: "get_weather"`},
		{`{` + good + `,"tool":"Get_Weather"}`, 404, `near to it: "get_weather"`},
		{`{` + good + `,"tool":"\u0000"}`, 404, "no tool"},
		{`{"messages":` + messages("hi") + `,"tools":[],"tool":"x"}`, 400, "nothing can be selected"},
	} {
		r.fails("POST", explainPath, c.body, c.status, c.text)
	}
}
