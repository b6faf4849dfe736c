package proxy_test

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"toolbelt/internal/turn"
)

// reply writes an engine's answer.
type reply func(w http.ResponseWriter)

func as(kind, text string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		if kind == ndjson {
			http.NewResponseController(w).Flush() // its length is not known
		}
		io.WriteString(w, text)
	}
}

// cutOff breaks the connection within an answer, whose length is announced where it is plain.
func cutOff(kind, length, text string) reply {
	return func(w http.ResponseWriter) {
		as(kind, "")(w)
		if length != "" {
			w.Header().Set("Content-Length", length)
		}
		io.WriteString(w, text)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int, kind, text string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		io.WriteString(w, text)
	}
}

// TestOddAnswersToALaterRound: a client that has got something of an answer reads an error of the protocol's at its end; one that has got nothing reads what the engine said, or
// a status of ours.
func TestOddAnswersToALaterRound(t *testing.T) {
	const page = "<html>\n<body>{\"done\":true}</body>\n</html>\n"
	inBand := func(code int, body string) bool {
		return code == 200 && strings.Count(body, `"error":`) == 1 && strings.HasPrefix(body, saidLine) && strings.HasSuffix(body, "}\n") && !strings.Contains(body, `"done":true`)
	}
	apart := strings.Replace(saidLine, "hello", `\n\nhello`, 1)
	bad := func(code int, body string) bool { return code == 502 && strings.Contains(body, `"error"`) }
	for _, c := range []struct {
		name   string
		stream bool
		second reply
		ok     func(code int, body string) bool
	}{
		{"a page", true, as("text/html", page), func(code int, body string) bool { return inBand(code, strings.ReplaceAll(body, `{\"done\":true}`, "")) }},
		{"a document that says what is wrong", true, as("application/json", `{"error":"no"}`), func(code int, body string) bool { return inBand(code, strings.ReplaceAll(body, `{\"error\":`, "")) }},
		{"nothing", true, as(ndjson, ""), inBand},
		{"blank lines", true, as(ndjson, "\n\n"), func(code int, body string) bool { return code == 200 && strings.Contains(body, `{"error":`) }},
		{"a part", true, as(ndjson, saidLine), func(code int, body string) bool {
			return code == 200 && strings.HasPrefix(body, saidLine+apart+`{"error":`)
		}},
		{"a part that is cut off", true, cutOff(ndjson, "", saidLine+heldLine[:40]), func(code int, body string) bool {
			return code == 200 && strings.HasPrefix(body, saidLine+apart+`{"error":`) && strings.HasSuffix(body, "\"}\n")
		}},
		{"an error of the engine's own", true, as(ndjson, `{"error":"out of memory"}`+"\n"), func(code int, body string) bool { return body == saidLine+`{"error":"out of memory"}`+"\n" }},
		{"too many requests", true, status(429, "application/json", `{"error":"slow"}`), func(code int, body string) bool {
			return code == 200 && strings.HasSuffix(body, `{"error":"slow"}`+"\n")
		}},
		{"too many requests, without JSON", true, status(429, "text/plain", "slow\n"), func(code int, body string) bool {
			return code == 200 && strings.HasSuffix(body, `{"error":"the engine answered 429 Too Many Requests: slow"}`+"\n")
		}},
		{"a status without a name", true, status(529, "text/plain", ""), func(code int, body string) bool {
			return code == 200 && strings.HasSuffix(body, `{"error":"the engine answered 529"}`+"\n")
		}},
		{"no content", true, status(204, "", ""), inBand},

		{"a page", false, as("text/html", page), func(code int, body string) bool { return code == 200 && body == page }},
		{"a page with a status", false, status(404, "text/html", page), func(code int, body string) bool { return code == 404 && body == page }},
		{"nothing", false, as("application/json", ""), bad},
		{"a part that is cut off", false, cutOff("application/json", "500", plainHeld[:90]), bad},
		{"no JSON", false, as("application/json", "oops"), func(code int, body string) bool { return code == 200 && body == "oops" }},
		{"an error of the engine's own", false, as("application/json", `{"error":"no"}`), func(code int, body string) bool { return code == 200 && body == `{"error":"no"}` }},
	} {
		t.Run(map[bool]string{true: "stream, ", false: "plain, "}[c.stream]+c.name, func(t *testing.T) {
			var asked atomic.Int32
			first, body := as("application/json", plainHeld), plainBody()
			if c.stream {
				first, body = as(ndjson, saidLine+heldLine+firstDone), chatBody(toolsJSON(4))
			}
			r := start(t, engine(t, func(w http.ResponseWriter, q *http.Request) {
				io.Copy(io.Discard, q.Body)
				if asked.Add(1) == 1 {
					first(w)
				} else {
					c.second(w)
				}
			}), nil)
			r.planner.plan = func(q turn.Request) (*turn.Plan, error) {
				p := firstTwo(q)
				p.Own = []string{"load_tools"}
				return p, nil
			}
			r.planner.again = func(p *turn.Plan, round turn.Round) (*turn.Plan, error) {
				next := *p
				next.Body = []byte(`{}`)
				return &next, nil
			}
			res, got := post(t, r, body)
			if !c.ok(res.StatusCode, got) || strings.Contains(got, "load_tools") || asked.Load() != 2 {
				t.Errorf("asked %d times; status %d, %s", asked.Load(), res.StatusCode, got)
			}
			if c.name == "a page" && !c.stream && res.Header.Get("Content-Type") != "text/html" {
				t.Errorf("it is said to be %q", res.Header.Get("Content-Type"))
			}
			take(t, r.planner.observed, "the observation")
		})
	}
}

// TestARoundThatIsRefusedIsTheClientsOwn: an engine that cannot do with the answer to a call of ours gets the client's own request, once.
func TestARoundThatIsRefusedIsTheClientsOwn(t *testing.T) {
	const path = "/v1/chat/completions"
	asks := `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"h","type":"function","function":{"name":"load_tools","arguments":"{\"name\":\"x\"}"}}]},"finish_reason":"tool_calls"}]}`
	fine := `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}]}`
	for _, c := range []struct {
		name     string
		answers  []string
		status   int
		asked    int
		contains string
	}{
		{"a template that knows no results", []string{asks, `400 {"error":{"message":"role tool is not supported"}}`, fine}, 200, 3, "Hello."},
		{"one that fails", []string{asks, `500 {"error":{"message":"Jinja"}}`, fine}, 200, 3, "Hello."},
		{"nothing of the client's either", []string{asks, `400 {"error":{"message":"one"}}`, `400 {"error":{"message":"two"}}`}, 400, 3, "two"},
		{"one that calls ours again", []string{asks, `400 {"error":{"message":"one"}}`, asks}, 200, 3, "load_tools"},
		{"too much to do", []string{asks, `429 {"error":{"message":"one"}}`, fine}, 429, 2, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: "application/json", answers: c.answers}
			r := inRounds(t, s)
			body := chatBodyOf(path, false)
			status, got := r.post(path, body)
			if status != c.status || !strings.Contains(got, c.contains) || len(s.asked()) != c.asked {
				t.Errorf("asked %d times; status %d, %s", len(s.asked()), status, got)
			}
			if c.asked == 3 && s.asked()[2] != body {
				t.Errorf("at last the engine was asked\n%s\nand not\n%s", s.asked()[2], body)
			}
			take(t, r.planner.observed, "the observation")
		})
	}
}

// TestAnEditedRequestThatIsRefusedIsTheClientsOwn: what the engine says of that is what it would have said alone.
func TestAnEditedRequestThatIsRefusedIsTheClientsOwn(t *testing.T) {
	const path = "/v1/chat/completions"
	body := chatBody(toolsJSON(5))
	for _, c := range []struct {
		name    string
		answers []string
		status  int
		asked   int
		want    string
	}{
		{"refused for what is ours", []string{`400 {"error":"no such role"}`, "data: [DONE]\n\n"}, 200, 2, "data: [DONE]\n\n"},
		{"refused for what is the client's", []string{`422 {"error":"one"}`, `422 {"error":"two"}`}, 422, 2, `{"error":"two"}`},
		{"too many", []string{`429 {"error":"one"}`}, 429, 1, `{"error":"one"}`},
		{"no such model", []string{`404 {"error":"one"}`}, 404, 1, `{"error":"one"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: "text/event-stream", answers: c.answers}
			engine := httptest.NewServer(s)
			defer engine.Close()
			r := start(t, engine.URL, nil)
			status, got := r.post(path, body)
			if status != c.status || got != c.want || len(s.asked()) != c.asked {
				t.Errorf("asked %d times; status %d, %q", len(s.asked()), status, got)
			}
			if first := s.asked()[0]; first == body || c.asked == 2 && s.asked()[1] != body {
				t.Errorf("the engine was asked %q", s.asked())
			}
			if r.planner.refused.Load() != 1 {
				t.Errorf("%d refusals were observed", r.planner.refused.Load())
			}
		})
	}
}

// TestADocumentThatBreaksOffInACallOfOursShowsNothingOfIt: the client sees the break alone.
func TestADocumentThatBreaksOffInACallOfOursShowsNothingOfIt(t *testing.T) {
	r := start(t, engine(t, func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		cutOff("application/json", "500", plainHeld[:90])(w)
	}), nil)
	r.planner.plan = func(q turn.Request) (*turn.Plan, error) {
		p := firstTwo(q)
		p.Own = []string{"load_tools"}
		return p, nil
	}
	res, err := http.Post(r.daemon.URL+"/api/chat", "application/json", strings.NewReader(plainBody()))
	if err != nil {
		return
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err == nil || len(got) > 0 {
		t.Errorf("error %v; the client got %q", err, got)
	}
}

// TestTheEnginesErrorOfALaterRoundKeepsItsWords: in the protocol's own form, with the kind that the engine gave it.
func TestTheEnginesErrorOfALaterRoundKeepsItsWords(t *testing.T) {
	firsts := map[string]string{}
	for _, c := range cutCalls() { // the same calls, whole enough to be answered
		firsts[c.path] = cmp.Or(firsts[c.path], strings.NewReplacer(`"length"`, `"stop"`, "max_tokens", "tool_use", "response.incomplete", "response.completed", `"incomplete"`, `"completed"`).Replace(c.answer))
	}
	for _, c := range []struct{ name, path, kind, second, want string }{
		{"Ollama", "/api/chat", ndjson, `500 {"error":"boom \"it\""}`, `{"error":"boom \"it\""}` + "\n"},
		{"OpenAI", "/v1/chat/completions", "text/event-stream", `429 {"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit"}}`, `data: {"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit"}}` + "\n\n"},
		{"OpenAI, a number for a code", "/v1/chat/completions", "text/event-stream", `503 {"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, `data: {"error":{"message":"Loading model","type":"unavailable_error","param":null,"code":null}}` + "\n\n"},
		{"OpenAI, a string", "/v1/chat/completions", "text/event-stream", `500 {"error":"boom"}`, `data: {"error":{"message":"boom","type":"server_error","param":null,"code":null}}` + "\n\n"},
		{"OpenAI, at the top", "/v1/chat/completions", "text/event-stream", `400 {"object":"error","message":"too long","type":"BadRequestError","code":400}`, `data: {"error":{"message":"too long","type":"BadRequestError","param":null,"code":null}}` + "\n\n"},
		{"Responses", "/v1/responses", "text/event-stream", `500 {"error":{"message":"boom","type":"server_error","code":"overloaded"}}`, `"code":"overloaded","message":"boom","param":null}` + "\n\n"},
		{"Anthropic", "/v1/messages", "text/event-stream", `529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"},
		{"no words", "/api/chat", ndjson, `500 {"error":{"code":7}}`, `{"error":"the engine answered 500 Internal Server Error: {\"error\":{\"code\":7}}"}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scripted{kind: c.kind, answers: []string{firsts[c.path], c.second, c.second}}
			r := inRounds(t, s)
			status, got := r.post(c.path, chatBodyOf(c.path, true))
			if status != 200 || !strings.HasSuffix(got, c.want) || len(s.asked()) > 3 {
				t.Errorf("asked %d times, status %d, the client got\n%s\nwant at its end\n%s", len(s.asked()), status, got, c.want)
			}
			if log := r.log.String(); strings.Contains(log, "boom") || !strings.Contains(log, "the engine answered ") {
				t.Errorf("the log is to have the status and not the engine's words: %s", log)
			}
		})
	}
}
