package proxy_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"toolbelt/internal/proxy"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// scripted is an engine that gives its answers one after the other and keeps the requests' bodies.
type scripted struct {
	kind    string
	answers []string // one that begins with a number is a status and its body

	mu     sync.Mutex
	bodies []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	if n >= len(s.answers) {
		http.Error(w, `{"error":"asked too often"}`, http.StatusTeapot)
		return
	}
	answer := s.answers[n]
	if code, rest, ok := strings.Cut(answer, " "); ok {
		if status, err := strconv.Atoi(code); err == nil {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Engine", "second")
			w.WriteHeader(status)
			io.WriteString(w, rest)
			return
		}
	}
	w.Header().Set("Content-Type", s.kind)
	for piece := range strings.SplitAfterSeq(answer, "\n") {
		io.WriteString(w, piece)
		if s.kind != "application/json" {
			http.NewResponseController(w).Flush()
		}
	}
}

func (s *scripted) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

const (
	ndjson    = "application/x-ndjson"
	heldLine  = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"load_tools","arguments":{"name":"x"}}}]},"done":false}` + "\n"
	saidLine  = `{"model":"m","message":{"role":"assistant","content":"hello"},"done":false}` + "\n"
	firstDone = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":7}` + "\n"
	lastDone  = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":120,"eval_count":3}` + "\n"
	plainHeld = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"load_tools","arguments":{"name":"x"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":7}`
	plainSaid = `{"model":"m","message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop","prompt_eval_count":120,"eval_count":3}`
)

// inRounds puts a daemon before the engine whose planner has load_tools in the array, and answers it with a body that says which round it is for.
func inRounds(t *testing.T, s *scripted) *rig {
	t.Helper()
	r := start(t, engine(t, s.ServeHTTP), nil)
	r.planner.plan = func(q turn.Request) (*turn.Plan, error) {
		p := firstTwo(q)
		p.Own = []string{"load_tools"}
		return p, nil
	}
	r.planner.again = func(p *turn.Plan, round turn.Round) (*turn.Plan, error) {
		next := *p
		next.Body = fmt.Appendf(nil, `{"round":%d,"held":%d,"last":%v}`, round.Asked+1, len(round.Held), round.Last)
		return &next, nil
	}
	return r
}

func post(t *testing.T, r *rig, body string) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(r.daemon.URL+"/api/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("reading the answer: %v", err)
	}
	return res, string(text)
}

func plainBody() string {
	return strings.Replace(chatBody(toolsJSON(4)), "{", `{"stream":false,`, 1)
}

func TestAHiddenRoundIsOneAnswer(t *testing.T) {
	s := &scripted{kind: ndjson, answers: []string{heldLine + firstDone, saidLine + lastDone}}
	r := inRounds(t, s)
	_, got := post(t, r, chatBody(toolsJSON(4)))
	if strings.Contains(got, "load_tools") || strings.Count(got, `"done":true`) != 1 || strings.Count(got, "hello") != 1 {
		t.Errorf("the client got %s", got)
	}
	if !strings.Contains(got, `"prompt_eval_count":120`) || !strings.Contains(got, `"eval_count":10`) {
		t.Errorf("the counts are not the last prompt's and the sum of what was generated: %s", got)
	}
	if asked := s.asked(); len(asked) != 2 || asked[1] != `{"round":1,"held":1,"last":false}` {
		t.Errorf("the engine was asked %q", asked)
	}
	if n := r.handler.Counts().HiddenRounds; n != 1 || r.planner.commits() != 2 {
		t.Errorf("%d hidden rounds, %d commits", n, r.planner.commits())
	}
	if called := take(t, r.planner.observed, "the observation"); len(called) > 0 {
		t.Errorf("called: %q", called)
	}
}

func TestAHiddenRoundOfAPlainAnswer(t *testing.T) {
	s := &scripted{kind: "application/json", answers: []string{plainHeld, plainSaid}}
	res, got := post(t, inRounds(t, s), plainBody())
	if strings.Contains(got, "load_tools") || !strings.Contains(got, `"content":"hello"`) || !strings.Contains(got, `"eval_count":10`) {
		t.Errorf("the client got %s", got)
	}
	if res.ContentLength != int64(len(got)) {
		t.Errorf("Content-Length %d for %d bytes", res.ContentLength, len(got))
	}
}

// TestTheModelIsAnsweredThreeTimes: then one round more shows everything; where the model asks even then, or its engine drops the call, the client's own request is
// sent, and the answer to that is the engine's, whatever it calls.
func TestTheModelIsAnsweredThreeTimes(t *testing.T) {
	held, said := heldLine+firstDone, saidLine+lastDone
	for _, c := range []struct {
		name, fourth, fifth string // answers to the round that shows everything, and to the client's own request
		asked               int
		want                string
	}{
		{"the fourth answers", said, "", 5, "hello"},
		{"it asks again", held, said, 6, "hello"},
		{"its call is dropped", firstDone, said, 6, "hello"},
		{"it asks without end", held, held, 6, "load_tools"},
		{"it says nothing", held, firstDone, 6, `"done":true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: ndjson, answers: []string{held, held, held, held, c.fourth, c.fifth}}
			body := chatBody(toolsJSON(4))
			_, got := post(t, inRounds(t, s), body)
			asked := s.asked()
			if len(asked) != c.asked || asked[3] != `{"round":3,"held":1,"last":false}` || asked[4] != `{"round":4,"held":1,"last":true}` || c.asked == 6 && asked[5] != body {
				t.Errorf("the engine was asked %q", asked[1:])
			}
			if strings.Count(got, `"done":true`) != 1 || !strings.Contains(got, c.want) || c.want != "load_tools" && strings.Contains(got, "load_tools") {
				t.Errorf("the client got %s", got)
			}
		})
	}
}

func TestALaterRoundFails(t *testing.T) {
	for _, c := range []struct {
		name, second string
		stream       bool
		status       int
		want         string
	}{
		{"stream, status", `500 {"error":"out of memory"}`, true, 200, `"error":`},
		{"stream, cut off", saidLine, true, 200, "hello"},
		{"plain, status", `503 {"error":"overloaded"}`, false, 503, `{"error":"overloaded"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: ndjson, answers: []string{heldLine + firstDone, c.second}}
			body := chatBody(toolsJSON(4))
			if !c.stream {
				s.kind, s.answers[0], body = "application/json", plainHeld, plainBody()
			}
			r := inRounds(t, s)
			res, got := post(t, r, body)
			if res.StatusCode != c.status || !strings.Contains(got, c.want) || strings.Contains(got, "load_tools") {
				t.Errorf("status %d, %s", res.StatusCode, got)
			}
			if c.status == 503 && res.Header.Get("X-Engine") != "second" {
				t.Error("the headers are not the second answer's")
			}
			take(t, r.planner.observed, "the observation")
		})
	}
}

// TestACallThatCannotBeAnswered: the engine gets the client's own request, with every tool.
func TestACallThatCannotBeAnswered(t *testing.T) {
	for name, again := range map[string]func(*turn.Plan, turn.Round) (*turn.Plan, error){
		"error": func(*turn.Plan, turn.Round) (*turn.Plan, error) { return nil, errors.New("broken") },
		"panic": func(*turn.Plan, turn.Round) (*turn.Plan, error) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{kind: ndjson, answers: []string{heldLine + firstDone, saidLine + lastDone}}
			r := inRounds(t, s)
			r.planner.again = again
			body := chatBody(toolsJSON(4))
			_, got := post(t, r, body)
			if asked := s.asked(); len(asked) != 2 || asked[1] != body {
				t.Errorf("the engine was asked %q", asked)
			}
			if !strings.Contains(got, "hello") || strings.Contains(got, "load_tools") {
				t.Errorf("the client got %s", got)
			}
			if n := r.planner.commits(); n != 1 {
				t.Errorf("the plan is kept %d times, though its request was sent once", n)
			}
		})
	}
}

func TestOursBesideRealCalls(t *testing.T) {
	both := `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"load_tools","arguments":{"name":"x"}}},{"function":{"name":"tool_1","arguments":{}}}]},"done":false}` + "\n"
	s := &scripted{kind: ndjson, answers: []string{both + firstDone}}
	r := inRounds(t, s)
	_, got := post(t, r, chatBody(toolsJSON(4)))
	if strings.Contains(got, "load_tools") || !strings.Contains(got, "tool_1") || !strings.HasSuffix(got, firstDone) {
		t.Errorf("the client got %s", got)
	}
	if called := take(t, r.planner.observed, "the observation"); len(called) != 1 || called[0] != "tool_1" {
		t.Errorf("called: %q", called)
	}
}

func TestAnEmptyAnswerIsAskedForAgain(t *testing.T) {
	s := &scripted{kind: ndjson, answers: []string{firstDone, saidLine + lastDone}}
	_, got := post(t, inRounds(t, s), chatBody(toolsJSON(4)))
	if strings.Count(got, `"done":true`) != 1 || !strings.Contains(got, "hello") {
		t.Errorf("the client got %s", got)
	}
	// A planner that has nothing to offer leaves the empty answer as it is.
	s = &scripted{kind: ndjson, answers: []string{firstDone}}
	r := inRounds(t, s)
	r.planner.again = nil
	if _, got := post(t, r, chatBody(toolsJSON(4))); got != firstDone {
		t.Errorf("the client got %s", got)
	}
}

func TestAnAnswerWithNothingOfOursIsTheEnginesOwn(t *testing.T) {
	called := strings.Replace(plainSaid, `"content"`, `"tool_calls":[],"content"`, 1)
	for _, c := range []struct{ kind, request, answer string }{
		{ndjson, chatBody(toolsJSON(4)), saidLine + lastDone},
		{ndjson, chatBody(toolsJSON(4)), saidLine},
		{ndjson, chatBody(toolsJSON(4)), "no JSON at all\n\n"},
		{ndjson, chatBody(toolsJSON(4)), heldLine[:20]},
		{ndjson, chatBody(toolsJSON(4)), `{"error":"x"}` + "\n"},
		{"application/json", plainBody(), strings.Replace(called, `"eval_count":3`, `"eval_count":NaN`, 1)},
		{"application/json", plainBody(), called + "}"},
	} {
		s := &scripted{kind: c.kind, answers: []string{c.answer}}
		if _, got := post(t, inRounds(t, s), c.request); got != c.answer {
			t.Errorf("the client got %q for %q", got, c.answer)
		}
	}
}

// TestTheAnswerToTheClientsOwnRequestHasNothingOfOurs: not even where a name in it begins one of ours, and the limit of tokens cuts it there.
func TestTheAnswerToTheClientsOwnRequestHasNothingOfOurs(t *testing.T) {
	own := `data: {"id":"a","created":1,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"load","arguments":""}}]},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"a","created":1,"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"
	s := &scripted{kind: "text/event-stream", answers: []string{strings.NewReplacer(`"load"`, `"load_tools"`, "length", "tool_calls").Replace(own), own}}
	r := inRounds(t, s)
	r.planner.again = func(*turn.Plan, turn.Round) (*turn.Plan, error) { return nil, errors.New("broken") }
	if _, got := r.post("/v1/chat/completions", chatBodyOf("/v1/chat/completions", true)); got != own {
		t.Errorf("the client got %s", got)
	}
}

// keeper is a planner that knows under which id the engine keeps an answer.
type keeper struct {
	*fakePlanner
	kept map[string]string
}

func (k keeper) Kept(_ session.Identity, answer string) string { return k.kept[answer] }

// TestARequestGoesOnFromTheLastRound: nothing but the id changes, and the client reads its own.
func TestARequestGoesOnFromTheLastRound(t *testing.T) {
	const answer = `{"id":"r9","object":"response","status":"completed","previous_response_id":"last","output":[],"usage":{"input_tokens":1,"output_tokens":1}}`
	const flat = `{"type":"function","name":"a"}`
	for _, c := range []struct{ name, body, want, answer string }{
		{"with tools", `{ "model":"m","previous_response_id" : "first", "input":"x", "tools":[` + flat + `]}`, `{ "model":"m","previous_response_id" : "last", "input":"x", "tools":[` + flat + `]}`, strings.Replace(answer, "last", "first", 1)},
		{"without", `{"previous_response_id":"first","input":"previous_response_id","metadata":{"previous_response_id":"first"}}`, `{"previous_response_id":"last","input":"previous_response_id","metadata":{"previous_response_id":"first"}}`, answer},
		{"an answer that is not known", `{"previous_response_id":"other","input":"x","tools":[` + flat + `]}`, "", answer},
		{"none", `{"previous_response_id":null,"input":"x","tools":[` + flat + `]}`, "", answer},
		{"another protocol", `{"previous_response_id":"first","messages":[],"tools":[]}`, "", answer},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: "application/json", answers: []string{answer}}
			path := "/v1/responses"
			if c.name == "another protocol" {
				path = "/v1/chat/completions"
			}
			upstream, err := proxy.ParseUpstream(engine(t, s.ServeHTTP))
			if err != nil {
				t.Fatal(err)
			}
			k := keeper{newFakePlanner(), map[string]string{"first": "last"}}
			k.plan = unchanged
			handler, err := proxy.New(proxy.Config{Upstream: upstream}, k, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(c.body)))
			if c.want == "" {
				c.want = c.body
			}
			if got := s.asked(); len(got) != 1 || got[0] != c.want {
				t.Errorf("the engine got %q, want %q", got, c.want)
			}
			if got := w.Body.String(); got != c.answer {
				t.Errorf("the client got %s, want %s", got, c.answer)
			}
		})
	}
}

// TestSeveralAnswersHaveNoHiddenRounds: a call of ours in one of them could not be answered.
func TestSeveralAnswersHaveNoHiddenRounds(t *testing.T) {
	for extra, answers := range map[string]bool{`"n":2,`: false, `"n":1,`: true, "": true} {
		url, _ := recorder(t)
		r := start(t, url, nil)
		r.post("/v1/chat/completions", strings.Replace(chatBody(toolsJSON(4)), "{", "{"+extra, 1))
		if asked := r.planner.seen(); len(asked) != 1 || asked[0].Answers != answers {
			t.Errorf("with %q the planner was told that calls of ours can be answered: %v, want %v", extra, !answers, answers)
		}
	}
}
