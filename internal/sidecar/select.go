package sidecar

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
)

// family is the API family of sessions that apps name here, so that they never mix with those of the proxy.
const family = "sidecar"

// maxNameBytes bounds a session's name.
const maxNameBytes = 256

type selectRequest struct {
	Session    string          `json:"session"`
	Messages   json.RawMessage `json:"messages"`
	Tools      json.RawMessage `json:"tools"`
	SkillTools []string        `json:"skill_tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Model      string          `json:"model"`
}

type selectResponse struct {
	Session   string      `json:"session"` // as the app named it, else the id
	ID        string      `json:"id"`      // opaque
	Turn      int         `json:"turn"`
	Tools     []turn.Tool `json:"tools"`
	Admitted  []string    `json:"admitted"`
	Evicted   []string    `json:"evicted"`
	Skipped   []string    `json:"skipped"`
	Fallback  *string     `json:"fallback"`
	Repeated  bool        `json:"repeated"`
	Embedder  string      `json:"embedder"`
	Threshold float64     `json:"threshold"`
	MaxTools  int         `json:"max_tools"`
	PlanUS    int64       `json:"plan_us"`
}

// selectTools answers which tools to show for the conversation's next model call. The plan is kept at once: who asks
// is about to use it.
func (a *api) selectTools(w http.ResponseWriter, r *http.Request) error {
	var in selectRequest
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	request, tools, err := a.planned(in, r.UserAgent())
	if err != nil {
		return err
	}
	plan, err := a.Planner.Plan(r.Context(), request)
	if err != nil {
		return err
	}
	a.Planner.Commit(plan)
	if in.Session != "" {
		a.memory.put(session.Product(r.UserAgent()), in.Session, plan.Session, tools)
	}
	writeJSON(w, http.StatusOK, answer(in.Session, plan))
	return nil
}

// planned is the request as a planner takes it, and the tools that it brings or stands on.
func (a *api) planned(in selectRequest, agent string) (turn.Request, []byte, error) {
	if err := in.check(); err != nil {
		return turn.Request{}, nil, err
	}
	tools, err := a.toolsFor(in, session.Product(agent))
	if err != nil {
		return turn.Request{}, nil, err
	}
	body, err := in.asChat(tools)
	if err != nil {
		return turn.Request{}, nil, err
	}
	request, err := chat.Decode(chat.OpenAI, body)
	if err != nil {
		return turn.Request{}, nil, catalog.NewError(catalog.Invalid, "reading the messages and tools: "+strings.TrimPrefix(err.Error(), "the request goes on unedited: "), nil)
	}
	if !request.HasTools() {
		return turn.Request{}, nil, catalog.NewError(catalog.Invalid, "\"tools\" holds no function tool with a name: nothing can be selected", nil)
	}
	id := session.Identity{
		Family: family, Model: in.Model, Agent: session.Product(agent), Explicit: in.Session,
		Chain: chat.Chain(request), Replies: request.Replies, Continues: request.Continues, Body: catalog.Hash(sha256.Sum256(body)),
	}
	return turn.Request{Body: body, Chat: request, Identity: id, Skills: in.SkillTools}, tools, nil
}

func (in selectRequest) check() error {
	invalid := func(format string, args ...any) error {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf(format, args...), nil)
	}
	switch {
	case len(in.Session) > maxNameBytes:
		return invalid("\"session\" has %d bytes; at most %d are allowed", len(in.Session), maxNameBytes)
	case isAbsent(in.Messages):
		return invalid("\"messages\" is missing: send the conversation as OpenAI's chat completions take it")
	case in.Messages[0] != '[':
		return invalid("\"messages\" must be an array")
	case !isAbsent(in.Tools) && in.Tools[0] != '[':
		return invalid("\"tools\" must be an array")
	}
	for _, name := range in.SkillTools {
		if name == "" {
			return invalid("\"skill_tools\" holds an empty name")
		}
	}
	return nil
}

// toolsFor returns the array to select from: the request's own, what the session brought last, or the configured catalog.
func (a *api) toolsFor(in selectRequest, agent string) ([]byte, error) {
	if !isAbsent(in.Tools) {
		return in.Tools, nil
	}
	if in.Session != "" {
		if tools := a.memory.tools(agent, in.Session); tools != nil {
			return tools, nil
		}
	}
	if a.defaults != nil {
		return a.defaults, nil
	}
	return nil, catalog.NewError(catalog.Invalid, fmt.Sprintf("\"tools\" is missing: the session %q has not sent any (or too long ago), and no catalog is configured", in.Session), nil)
}

// asChat writes the request as a chat request, so that the same code plans both.
func (in selectRequest) asChat(tools []byte) ([]byte, error) {
	model, err := json.Marshal(in.Model)
	if err != nil {
		return nil, fmt.Errorf("writing the model's name: %v", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%s,"messages":%s,"tools":%s`, model, in.Messages, tools)
	if !isAbsent(in.ToolChoice) {
		fmt.Fprintf(&b, `,"tool_choice":%s`, in.ToolChoice)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func answer(name string, p *turn.Plan) selectResponse {
	out := selectResponse{
		Session: name, ID: p.Session, Turn: p.Turn, Tools: make([]turn.Tool, len(p.Tools)),
		Admitted: present(p.Admitted), Evicted: present(p.Evicted), Skipped: present(p.Skipped),
		Repeated: p.Repeated, Embedder: p.Embedder, Threshold: finite(p.Threshold()), MaxTools: p.MaxTools(), PlanUS: p.Elapsed.Microseconds(),
	}
	if name == "" {
		out.Session = p.Session
	}
	if p.Fallback != "" {
		out.Fallback = &p.Fallback
	}
	for i, t := range p.Tools {
		t.Score = finite(t.Score)
		out.Tools[i] = t
	}
	return out
}

// present makes a list that JSON shows as [] where it is empty.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// finite is x, or 0 where JSON has no word for it.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
