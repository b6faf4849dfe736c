package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
	"toolbelt/embed"
	"toolbelt/internal/sidecar"
	"toolbelt/internal/turn"
)

const selectPath = "/toolbelt/v1/select"

func TestSelect(t *testing.T) {
	r := start(t, nil)
	first := r.call("POST", selectPath, `{"session":"s","tools":`+offered()+`,"messages":`+messages("what is the weather forecast for the city of Rome")+`}`, 200)
	if first["session"] != "s" || first["turn"] != 1.0 || first["fallback"] != nil || first["id"] == "" || first["id"] == "s" {
		t.Errorf("%v", first)
	}
	for _, field := range []string{"tools", "admitted", "evicted", "skipped", "embedder", "plan_us", "threshold", "max_tools", "repeated"} {
		if first[field] == nil {
			t.Errorf("%s is missing in %v", field, first)
		}
	}
	if got := names(first); !slices.Contains(got, "get_weather") || len(got) > 4 {
		t.Fatalf("selected %v", got)
	}
	for _, v := range first["tools"].([]any) {
		if tool := v.(map[string]any); tool["reason"] == "" || tool["score"] == nil {
			t.Errorf("%v", tool)
		}
	}
	// The next turn brings no tools: those of the session are taken, and what was visible stays first.
	second := r.call("POST", selectPath, `{"session":"s","messages":`+messages("what is the weather forecast for the city of Rome", "send an email to somebody")+`}`, 200)
	if got := names(second); second["turn"] != 2.0 || got[0] != names(first)[0] || !slices.Contains(got, "send_email") {
		t.Errorf("turn %v, selected %v", second["turn"], got)
	}
	if second["id"] != first["id"] {
		t.Errorf("the session changed from %v to %v", first["id"], second["id"])
	}
	if admitted := fmt.Sprint(second["admitted"]); !strings.Contains(admitted, "send_email") || strings.Contains(admitted, "get_weather") {
		t.Errorf("admitted %s", admitted)
	}
	// Another session knows nothing of it.
	r.fails("POST", selectPath, `{"session":"other","messages":`+messages("x")+`}`, 400, `"other"`)
}

func TestSelectWithoutASession(t *testing.T) {
	r := start(t, nil)
	a := r.call("POST", selectPath, `{"tools":`+offered()+`,"messages":`+messages("weather forecast")+`}`, 200)
	if a["session"] == "" || a["session"] != a["id"] {
		t.Errorf("%v", a)
	}
	b := r.call("POST", selectPath, `{"tools":`+offered()+`,"messages":`+messages("weather forecast", "an email to somebody")+`}`, 200)
	if b["id"] != a["id"] || b["turn"] != 2.0 {
		t.Errorf("the conversation was not known again: %v and %v", a["id"], b)
	}
	r.fails("POST", selectPath, `{"messages":`+messages("x")+`}`, 400, "tools")
}

func TestSelectSaysWhyItFellBack(t *testing.T) {
	r := start(t, nil)
	answer := r.call("POST", selectPath, `{"session":"s","messages":`+messages("hi")+`,"tools":[`+tool("a", "A")+","+tool("b", "B")+`]}`, 200)
	if why, ok := answer["fallback"].(string); !ok || why == "" || !slices.Equal(names(answer), []string{"a", "b"}) {
		t.Errorf("%v", answer)
	}
}

func TestSelectTakesSkillToolsAndChoices(t *testing.T) {
	r := start(t, nil)
	answer := r.call("POST", selectPath, `{"session":"s","model":"m","messages":`+messages("weather forecast for the city")+`,"tools":`+offered()+`,"skill_tools":["set_alarm"],"tool_choice":{"type":"function","function":{"name":"git_commit"}}}`, 200)
	reasons := map[string]any{}
	for _, v := range answer["tools"].([]any) {
		reasons[v.(map[string]any)["name"].(string)] = v.(map[string]any)["reason"]
	}
	if reasons["set_alarm"] != "skill" || reasons["git_commit"] != "pin" {
		t.Errorf("%v", reasons)
	}
}

// Tools may have MCP's shape, and what is no function tool is passed over.
func TestSelectReadsOtherShapes(t *testing.T) {
	r := start(t, nil)
	answer := r.call("POST", selectPath, `{"session":"s","messages":`+messages("hi")+`,"tools":[{"name":"mcp_tool","description":"d","inputSchema":{}},{"type":"web_search"},`+tool("b", "B")+`]}`, 200)
	if got := names(answer); !slices.Equal(got, []string{"mcp_tool", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestSelectFromTheConfiguredCatalog(t *testing.T) {
	r := start(t, func(p *sidecar.Parts) {
		p.Tools = []catalog.Tool{{Name: "alpha", Description: "first", Schema: catalog.Schema(`{"type":"object"}`)}, {Name: "beta"}}
	})
	if got := names(r.call("POST", selectPath, `{"session":"s","messages":`+messages("hi")+`}`, 200)); !slices.Equal(got, []string{"alpha", "beta"}) {
		t.Errorf("%v", got)
	}
	// A session's own tools come before it.
	r.call("POST", selectPath, `{"session":"s","messages":`+messages("hi", "ho")+`,"tools":[`+tool("own", "O")+`]}`, 200)
	if got := names(r.call("POST", selectPath, `{"session":"s","messages":`+messages("hi", "ho", "ha")+`}`, 200)); !slices.Equal(got, []string{"own"}) {
		t.Errorf("%v", got)
	}
}

func TestNewRefusesACatalogThatIsNoJSON(t *testing.T) {
	if _, err := sidecar.New(sidecar.Parts{Tools: []catalog.Tool{{Name: "x", Schema: catalog.Schema(`{`)}}}); catalog.KindOf(err) != catalog.Invalid {
		t.Errorf("%v", err)
	}
}

func TestSelectBadInput(t *testing.T) {
	r := start(t, nil)
	good := `"messages":` + messages("hi") + `,"tools":` + offered()
	for _, c := range []struct{ body, text string }{
		{"", "empty"},
		{"{", "too early"},
		{"[]", "object"},
		{`"x"`, "object"},
		{"nonsense", "invalid character"},
		{"{" + good + "} {}", "more than one"},
		{"{" + good + "} x", "invalid character"},
		{"{}", `"messages"`},
		{`{"messages":null}`, `"messages"`},
		{`{"messages":"hi","tools":[]}`, "array"},
		{`{"messages":{},"tools":[]}`, "array"},
		{`{"messages":` + messages("hi") + `,"tools":{}}`, "array"},
		{`{"messages":` + messages("hi") + `,"tools":[]}`, "nothing can be selected"},
		{`{"messages":` + messages("hi") + `,"tools":[1,{"type":"function"}]}`, "nothing can be selected"},
		{`{` + good + `,"session":7}`, `"session" must be a string`},
		{`{` + good + `,"session":"` + strings.Repeat("x", 257) + `"}`, "257"},
		{`{` + good + `,"skill_tools":"x"}`, `"skill_tools" must be an array`},
		{`{` + good + `,"skill_tools":[""]}`, "empty name"},
		{`{` + good + `,"temperature":1}`, `unknown field "temperature"`},
	} {
		r.fails("POST", selectPath, c.body, 400, c.text)
	}
	r.fails("POST", selectPath, `{`+good+`,"model":"`+strings.Repeat("x", 4<<20)+`"}`, 413, "4194304")
}

// failing is a planner that cannot plan.
type failing struct {
	sidecar.Planner
	err   error
	value any
	plan  *turn.Plan
}

func (f failing) Plan(context.Context, turn.Request) (*turn.Plan, error) {
	if f.value != nil {
		panic(f.value)
	}
	return f.plan, f.err
}

func (failing) Commit(*turn.Plan) {}

func TestKindsBecomeStatuses(t *testing.T) {
	body := `{"session":"s","tools":` + offered() + `,"messages":` + messages("hi") + `}`
	for _, c := range []struct {
		err    error
		status int
	}{
		{catalog.NewError(catalog.Invalid, "wrong", nil), 400},
		{catalog.NewError(catalog.NotFound, "gone", nil), 404},
		{catalog.NewError(catalog.Conflict, "there", nil), 409},
		{catalog.NewError(catalog.Unavailable, "down", nil), 503},
		{catalog.NewError(catalog.Internal, "ours", nil), 500},
		{errors.New("plain"), 500},
	} {
		r := start(t, func(p *sidecar.Parts) { p.Planner = failing{err: c.err} })
		r.fails("POST", selectPath, body, c.status, c.err.Error())
		if logged := r.log.Len() > 0; logged != (c.status == 500) {
			t.Errorf("%v: log %q", c.err, r.log.String())
		}
	}
	r := start(t, func(p *sidecar.Parts) { p.Planner = failing{value: "secret reason"} })
	r.fails("POST", selectPath, body, 500, "log")
	if !strings.Contains(r.log.String(), "secret reason") {
		t.Errorf("log: %s", r.log.String())
	}
}

func TestScoresAreAlwaysJSON(t *testing.T) {
	plan := &turn.Plan{Session: "x", Tools: []turn.Tool{{Name: "a", Score: math.NaN()}, {Name: "b", Score: math.Inf(-1)}}}
	r := start(t, func(p *sidecar.Parts) { p.Planner = failing{plan: plan} })
	if got := names(r.call("POST", selectPath, `{"tools":`+offered()+`,"messages":`+messages("hi")+`}`, 200)); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestOutcomesAndSessions(t *testing.T) {
	r := start(t, nil)
	if list := r.call("GET", "/toolbelt/v1/sessions", "", 200)["sessions"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	picked := r.call("POST", selectPath, `{"session":"my session/1","tools":`+offered()+`,"messages":`+messages("what is the weather forecast for the city")+`}`, 200)
	id := picked["id"].(string)
	hidden := "translate"
	if slices.Contains(names(picked), hidden) {
		t.Fatalf("%s is visible: %v", hidden, names(picked))
	}
	// By the app's name and by the id.
	r.call("POST", "/toolbelt/v1/outcomes", `{"session":"my session/1","called":["get_weather","get_weather"],"success":true}`, 200)
	counted := r.call("POST", "/toolbelt/v1/outcomes", `{"session":"`+id+`","called":["`+hidden+`","`+hidden+`"]}`, 200)
	if fmt.Sprint(counted["called"]) != "["+hidden+"]" {
		t.Errorf("%v", counted)
	}
	for _, name := range []string{id, "my%20session%2F1"} {
		state := r.call("GET", "/toolbelt/v1/sessions/"+name, "", 200)
		if state["session"] != id || state["turn"] != 1.0 || state["escapes"] != 1.0 || fmt.Sprint(state["called"]) != "["+hidden+"]" || state["core"] == nil {
			t.Errorf("%v", state)
		}
		if client := fmt.Sprint(state["client"]); client != "map[agent:test family:sidecar tools:[get_weather translate]]" {
			t.Errorf("the app is %s", client)
		}
		used := ""
		for _, v := range state["list"].([]any) {
			if entry := v.(map[string]any); entry["used"] == 1.0 {
				used += entry["name"].(string)
			}
		}
		if used != "get_weather" {
			t.Errorf("used: %q in %v", used, state["list"])
		}
	}
	if list := r.call("GET", "/toolbelt/v1/sessions", "", 200)["sessions"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	// What was called while hidden is visible from the next request on.
	next := r.call("POST", selectPath, `{"session":"my session/1","messages":`+messages("what is the weather forecast for the city", "and tomorrow")+`}`, 200)
	if !slices.Contains(names(next), hidden) {
		t.Errorf("%v", names(next))
	}
	r.fails("GET", "/toolbelt/v1/sessions/nobody", "", 404, "nobody")
}

func TestOutcomesBadInput(t *testing.T) {
	r := start(t, nil)
	r.call("POST", selectPath, `{"session":"s","tools":`+offered()+`,"messages":`+messages("hi")+`}`, 200)
	const path = "/toolbelt/v1/outcomes"
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{``, 400, "empty"},
		{`{}`, 400, `"session"`},
		{`{"session":"s"}`, 400, `"called"`},
		{`{"session":"s","called":null}`, 400, `"called"`},
		{`{"session":"s","called":"x"}`, 400, `"called" must be an array`},
		{`{"session":"s","called":[1]}`, 400, `must be a string`},
		{`{"session":"s","called":[""]}`, 400, "empty name"},
		{`{"session":"s","called":[` + strings.Repeat(`"x",`, 1024) + `"x"]}`, 400, "1025"},
		{`{"session":"s","called":[],"success":"yes"}`, 400, `"success" must be true or false`},
		{`{"session":"s","called":[],"extra":1}`, 400, `"extra"`},
		{`{"session":"nobody","called":[]}`, 404, "nobody"},
		{`{"session":"s","called":[],"skill":"none"}`, 400, `"success"`},
		{`{"session":"s","called":[],"skill":"none","success":true}`, 404, "none"},
	} {
		r.fails("POST", path, c.body, c.status, c.text)
	}
}

func TestSkills(t *testing.T) {
	r := start(t, nil)
	const path = "/toolbelt/v1/skills"
	if list := r.call("GET", path, "", 200)["skills"].([]any); len(list) != 0 {
		t.Errorf("%v", list)
	}
	const tidy = `{"name":"tidy-up","when_to_use":"the user wants order","tools_required":["read_file"],"body":"1. look"}`
	if p := r.call("POST", path, tidy, 201); p["name"] != "tidy-up" || p["enabled"] != true || p["version"] != 1.0 {
		t.Errorf("%v", p)
	}
	r.fails("POST", path, tidy, 409, "tidy-up")
	if list := r.call("GET", path, "", 200)["skills"].([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	if p := r.call("POST", path+"/tidy-up/disable", "", 200); p["enabled"] != false {
		t.Errorf("%v", p)
	}
	if p := r.call("POST", path+"/tidy-up/enable", "", 200); p["enabled"] != true {
		t.Errorf("%v", p)
	}
	r.call("POST", selectPath, `{"session":"s","tools":`+offered()+`,"messages":`+messages("hi")+`}`, 200)
	r.call("POST", "/toolbelt/v1/outcomes", `{"session":"s","skill":"tidy-up","success":true}`, 200)
	r.call("POST", "/toolbelt/v1/outcomes", `{"session":"s","called":["read_file"],"skill":"tidy-up","success":false}`, 200)
	r.fails("POST", "/toolbelt/v1/outcomes", `{"session":"nobody","skill":"tidy-up","success":true}`, 404, "nobody")
	if p := r.call("GET", path+"/tidy-up", "", 200); p["attempts"] != 2.0 || p["successes"] != 1.0 || p["body"] != "1. look" {
		t.Errorf("%v", p)
	}
	r.call("DELETE", path+"/tidy-up", "", 204)
	for _, request := range []string{"GET ", "DELETE ", "POST /enable", "POST /disable"} {
		method, suffix, _ := strings.Cut(request, " ")
		r.fails(method, path+"/tidy-up"+suffix, "", 404, "tidy-up")
	}
	for _, c := range []struct{ body, text string }{
		{``, "empty"},
		{`{"name":"Not Good","when_to_use":"x","tools_required":["a"]}`, "Not Good"},
		{`{"name":"a","when_to_use":"","tools_required":["a"]}`, "when_to_use"},
		{`{"name":"a","when_to_use":"x"}`, "tools"},
		{`{"name":"a","when_to_use":"x","tools_required":["a"],"attempts":7}`, `"attempts"`},
	} {
		r.fails("POST", path, c.body, 400, c.text)
	}
}

func TestHealth(t *testing.T) {
	r := start(t, nil)
	if h := r.call("GET", "/toolbelt/healthz", "", 200); h["status"] != "ok" {
		t.Errorf("%v", h)
	}
	ready := r.call("GET", "/toolbelt/readyz", "", 200)
	if ready["ready"] != true || len(ready["reasons"].([]any)) != 0 || ready["version"] != "1.2.3" || ready["embedder"].(map[string]any)["state"] != "off" {
		t.Errorf("%v", ready)
	}
	if list, ok := ready["calibrations"].([]any); !ok || len(list) != 0 {
		t.Errorf("%v", ready["calibrations"])
	}
	r.status.Measured = sidecar.Calibrations([]embed.Measured{{Model: embed.Model{Name: "m", Digest: "d"}, Tools: 7, Requests: 64, Mean: 0.5, Deviation: math.NaN(), Floor: 2.25, Generic: 30, Ceiling: 5.5}})
	if m := r.call("GET", "/toolbelt/readyz", "", 200)["calibrations"].([]any)[0].(map[string]any); m["model"] != "m" || m["digest"] != "d" || m["tools"] != 7.0 || m["requests"] != 64.0 || m["mean"] != 0.5 || m["deviation"] != 0.0 || m["floor"] != 2.25 || m["generic_requests"] != 30.0 || m["ceiling"] != 5.5 {
		t.Errorf("%v", m)
	}
	r.status.Ready, r.status.Reasons = false, []string{"the engine's embedder is still opening"}
	if ready := r.call("GET", "/toolbelt/readyz", "", 503); ready["ready"] != false || len(ready["reasons"].([]any)) != 1 {
		t.Errorf("%v", ready)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt/", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "1.2.3") || !strings.Contains(w.Body.String(), "http://127.0.0.1:11434") || !strings.Contains(w.Body.String(), "still opening") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPathsAndMethods(t *testing.T) {
	r := start(t, nil)
	for _, path := range []string{"/toolbelt/x", "/toolbelt/v1/", "/toolbelt/v1/nothing", "/toolbelt/v1/skills/a/b", "/toolbelt/v1/sessions/a/b"} {
		r.fails("GET", path, "", 404, path)
		r.fails("POST", path, "", 404, path)
	}
	for path, allow := range map[string]string{
		"/toolbelt/": "GET, HEAD", "/toolbelt/healthz": "GET, HEAD", "/toolbelt/v1/select": "POST", "/toolbelt/v1/skills": "GET, HEAD, POST",
		"/toolbelt/v1/skills/a": "DELETE, GET, HEAD, PUT", "/toolbelt/v1/skills/a/enable": "POST", "/toolbelt/v1/sessions": "GET, HEAD",
	} {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, httptest.NewRequest("PATCH", path, nil))
		if w.Code != 405 || w.Header().Get("Allow") != allow {
			t.Errorf("%s: %d, Allow %q", path, w.Code, w.Header().Get("Allow"))
		}
		r.fails("PATCH", path, "", 405, allow)
	}
	for _, path := range []string{"/toolbelt/healthz", "/toolbelt/v1/openapi.json", "/toolbelt/v1/skills"} {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, httptest.NewRequest("HEAD", path, nil))
		if w.Code != 200 {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
	if doc := r.call("GET", "/toolbelt/v1/openapi.json", "", 200); doc["openapi"] != "3.1.0" {
		t.Errorf("%v", doc["openapi"])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt", nil))
	if w.Code/100 != 3 || w.Header().Get("Location") != "/toolbelt/" {
		t.Errorf("/toolbelt: %d %q", w.Code, w.Header().Get("Location"))
	}
}

// However many sessions bring however many tools, what is remembered stays bounded, the newest being known.
func TestOldToolsAreForgotten(t *testing.T) {
	r := start(t, func(p *sidecar.Parts) { p.Planner = failing{plan: &turn.Plan{Session: "x"}} })
	large := `[` + tool("a", strings.Repeat("long ", 600_000)) + `]`
	for i := range 12 {
		r.call("POST", selectPath, fmt.Sprintf(`{"session":"s%d","tools":%s,"messages":%s}`, i, large, messages("hi")), 200)
	}
	r.fails("POST", selectPath, `{"session":"s0","messages":`+messages("hi")+`}`, 400, "too long ago")
	r.call("POST", selectPath, `{"session":"s11","messages":`+messages("hi")+`}`, 200)
}

// attentive notes what the planner is told to have failed.
type attentive struct {
	sidecar.Planner
	told []string
}

func (f *attentive) SettleSession(session string, tools []string, success bool, counted string) error {
	if success || len(tools) == 0 {
		return f.Planner.SettleSession(session, tools, success, counted)
	}
	f.told = append(f.told, session+" "+strings.Join(tools, ","))
	return f.Planner.SettleSession(session, tools, success, counted)
}

func TestOutcomesTellOfFailures(t *testing.T) {
	var planner attentive
	r := start(t, func(p *sidecar.Parts) {
		planner.Planner = p.Planner
		p.Planner = &planner
	})
	id := r.call("POST", "/toolbelt/v1/select", `{"session":"s","messages":`+messages("weather in Rome?")+`,"tools":`+offered()+`}`, 200)["id"].(string)
	const path = "/toolbelt/v1/outcomes"
	r.call("POST", path, `{"session":"s","called":["get_weather"]}`, 200)
	r.call("POST", path, `{"session":"s","called":["get_weather"],"success":true}`, 200)
	r.call("POST", path, `{"session":"s","called":[],"success":false}`, 200)
	if len(planner.told) > 0 {
		t.Errorf("told of failures: %q", planner.told)
	}
	r.call("POST", path, `{"session":"s","called":["get_weather","play_music"],"success":false}`, 200)
	if len(planner.told) != 1 || planner.told[0] != id+" get_weather,play_music" {
		t.Errorf("told %q", planner.told)
	}
	r.fails("POST", path, `{"session":"nobody","called":["get_weather"],"success":false}`, 404, "nobody")
}
