package conversation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"toolbelt/internal/enginetest"
)

// archive is an engine that keeps its answers, as the Responses API has it: a request that names one in previous_response_id brings only what is new, and the
// engine behind it is asked with the whole.
type archive struct {
	engine http.Handler

	mu    sync.Mutex
	items map[string][]json.RawMessage // by the id of an answer: all items up to its end

}

func newArchive(engine http.Handler) *archive {
	return &archive{engine: engine, items: map[string][]json.RawMessage{}}
}

// sentHeader carries what the daemon has sent, where the engine is asked with more than that.
const sentHeader = "X-Sent"

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the daemon has given up
	}
	var request map[string]json.RawMessage
	if r.URL.Path != string(enginetest.Responses) || json.Unmarshal(body, &request) != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.engine.ServeHTTP(w, r)
		return
	}
	items, wrong := a.whole(request)
	if wrong != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":"previous_response_id","code":"previous_response_not_found"}}`, wrong)
		return
	}
	delete(request, "previous_response_id")
	request["input"] = raw(items)
	expanded := raw(request)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(expanded)), int64(len(expanded))
	r.Header.Set(sentHeader, string(body))
	var answer bytes.Buffer
	a.engine.ServeHTTP(&teed{w, &answer}, r)
	a.keep(answer.Bytes(), items)
}

// raw is v as JSON; all that comes here was JSON.
func raw(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// whole is the input of a request behind all that came before.
func (a *archive) whole(request map[string]json.RawMessage) (items []json.RawMessage, wrong string) {
	if previous := gjson.ParseBytes(request["previous_response_id"]).Str; previous != "" {
		a.mu.Lock()
		before, ok := a.items[previous]
		a.mu.Unlock()
		if !ok {
			return nil, fmt.Sprintf("Previous response with id '%s' not found.", previous)
		}
		items = append(items, before...)
	}
	input := gjson.ParseBytes(request["input"])
	if input.Type == gjson.String {
		return append(items, raw(map[string]string{"type": "message", "role": "user", "content": input.Str})), ""
	}
	for _, item := range input.Array() {
		items = append(items, json.RawMessage(item.Raw))
	}
	return items, ""
}

// keep notes a whole answer.
func (a *archive) keep(answer []byte, items []json.RawMessage) {
	response := gjson.ParseBytes(answer)
	for line := range strings.Lines(string(answer)) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			if event := gjson.Parse(data); event.Get("type").Str == "response.completed" || event.Get("type").Str == "response.incomplete" {
				response = event.Get("response")
			}
		}
	}
	id := response.Get("id").Str
	if id == "" || !response.Get("output").IsArray() {
		return
	}
	all := append([]json.RawMessage(nil), items...)
	for _, item := range response.Get("output").Array() {
		text := item.Raw
		if arguments := item.Get("arguments"); arguments.Exists() && !gjson.Valid(arguments.Str) { // it would not read them again
			text = strings.Replace(text, arguments.Raw, `"{}"`, 1)
		}
		if kind := item.Get("type").Str; kind == "message" || kind == "function_call" {
			all = append(all, json.RawMessage(text))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items[id] = all
}

// sent is what the daemon has sent, which an archive made more of.
func (s said) sent() []byte {
	if text := s.request.Header.Get(sentHeader); text != "" {
		return []byte(text)
	}
	return s.request.Body
}

// point is a place of a conversation that the engine can go on from: the answer that ended there, and how many entries of the history it has.
type point struct {
	answer  string
	entries int
}

// chainedBody is the body of a request that goes on from the newest point, and what it would be without one.
func (k *talk) chainedBody(stream bool, more []string) (body, whole []byte) {
	whole = k.app.body(k.history, stream, more...)
	if k.rig.archive == nil || len(k.points) == 0 {
		return whole, whole
	}
	p := k.points[len(k.points)-1]
	if p.entries >= len(k.history) {
		return whole, whole
	}
	return k.app.body(k.history[p.entries:], stream, append([]string{"previous_response_id", k.app.str(p.answer)}, more...)...), whole
}

// forgets drops the points that lie behind the first entries of the history.
func (k *talk) forgets(entries int) {
	for len(k.points) > 0 && k.points[len(k.points)-1].entries > entries {
		k.points = k.points[:len(k.points)-1]
	}
}

// turns is a conversation as its model sees it, hidden turns and some texts left out: who speaks, the texts that follow one another in one piece.
func (a *app) turns(body []byte, without []string) []string {
	var list []string
	ours := map[string]bool{}
	said := false
	for _, item := range gjson.GetBytes(body, "input").Array() {
		role, id := roleOf(item), item.Get("call_id").Str
		switch {
		case role == "call" && isOurs([]string{item.Get("name").Str}):
			ours[id] = true
			continue
		case role == "tool" && ours[id]:
			continue
		}
		text := strings.Join(messageOf(item, "").texts, "")
		if slices.Contains(without, text) {
			continue
		}
		if role == "call" {
			name, arguments := item.Get("name").Str, item.Get("arguments").Str
			if inner := gjson.Parse(arguments); name == callTool {
				name, arguments = inner.Get("name").Str, inner.Get("arguments").Raw
			}
			text = name + " " + canonical(arguments)
		}
		if role == "user" || role == "tool" {
			if at := strings.Index(text, lateNote); at >= 0 {
				text = text[:at]
			}
		}
		if said && role == "assistant" {
			list[len(list)-1] += text
			continue
		}
		said = role == "assistant"
		list = append(list, role+": "+text)
	}
	return list
}

// sameConversation compares what the engine was asked with what the app has, "" where it is the same. said is what the model has said since, before calls of the
// daemon's tools, and unsaid what it said there in answers that failed: that may be in it or not.
func (a *app) sameConversation(asked, whole []byte, said, unsaid []string) string {
	got, want := a.turns(asked, unsaid), a.turns(whole, unsaid)
	if gjson.GetBytes(whole, "input").Type == gjson.String {
		want = []string{"user: " + gjson.GetBytes(whole, "input").Str}
	}
	if text := strings.Join(said, ""); text != "" {
		want = append(want, "assistant: "+text)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("the engine knows of %q, which the app does not have there", got[i])
		case i >= len(got):
			return fmt.Sprintf("the engine knows nothing of %q", want[i])
		case got[i] != want[i]:
			return fmt.Sprintf("entry %d is %q to the engine, and %q to the app", i, got[i], want[i])
		}
	}
	return ""
}
