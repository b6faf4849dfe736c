// Package sidecar is the daemon's own JSON API under /toolbelt/: selection for apps that keep their own
// connection to the engine, what the daemon knows of sessions and skills, and how it does.
package sidecar

import (
	"context"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/internal/ahead"
	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/skills"
)

// Planner makes the same plans as for the proxy.
type Planner interface {
	Plan(ctx context.Context, r turn.Request) (*turn.Plan, error)
	Commit(p *turn.Plan)
	// ObserveSession counts calls in the newest turn of a session, by its opaque id. NotFound names an unknown one.
	ObserveSession(session string, called []string) error
	// SettleSession notes whether the newest turn of a session did what was asked for, after ObserveSession counted its calls; counted names a skill
	// whose use is counted otherwise, "" for none. NotFound as there.
	SettleSession(session string, called []string, success bool, counted string) error
}

// Explainer says why a tool is visible or hidden in the plan that a request would get, and keeps nothing. NotFound names a tool that the request
// does not bring.
type Explainer interface {
	Explain(ctx context.Context, r turn.Request, tool string) (turn.Explanation, error)
}

// Sessions are the conversations that are known.
type Sessions interface {
	// List returns the newest state of each, the most recent first.
	List() []session.State
	// Get returns the newest state of one, by its opaque id.
	Get(id string) (session.State, bool)
	// Label returns what is known of an app, by its opaque id.
	Label(app string) session.Label
}

// Skills are the remembered procedures, to read and to count. Errors have the kinds of skills.Library.
type Skills interface {
	List(ctx context.Context) ([]skills.Procedure, error)
	Show(ctx context.Context, name string) (skills.Procedure, error)
	Count(ctx context.Context, name string, success bool) error
}

// SkillEditor changes the procedures. Errors have the kinds of skills.Library.
type SkillEditor interface {
	Add(ctx context.Context, p skills.Procedure) (skills.Procedure, error)
	Enable(ctx context.Context, name string) (skills.Procedure, error)
	Disable(ctx context.Context, name string) (skills.Procedure, error)
	Remove(ctx context.Context, name string) error
}

// Prefetcher has the engine read what a message that is still being written would bring. NotFound names an unknown conversation.
type Prefetcher interface {
	Prefetch(ctx context.Context, session, draft string) (ahead.Draft, error)
}

// Parts are what the API works with. All are required but Prefetcher, Metrics and Tools.
type Parts struct {
	Planner    Planner
	Explainer  Explainer
	Sessions   Sessions
	Skills     Skills
	Editor     SkillEditor
	Status     func() Status
	Keeper     SkillKeeper    // nil: skills are not edited here
	Learning   Learning       // nil: learning is off
	Memory     Memory         // nil: memory is off
	Prefetcher Prefetcher     // nil: nothing is read ahead
	Metrics    http.Handler   // nil: none
	Tools      []catalog.Tool // for selections that bring none, in order; nil for none
	Log        *slog.Logger
}

// api serves the routes.
type api struct {
	Parts
	defaults []byte // Tools as a JSON array, nil without any
	memory   *memory
}

// New returns the handler of everything under /toolbelt/, and of /toolbelt itself. Who may come in is not
// its business (see package proxy).
func New(parts Parts) (http.Handler, error) {
	var defaults []byte
	if len(parts.Tools) > 0 {
		var err error
		if defaults, err = catalog.JSON(parts.Tools); err != nil {
			return nil, err
		}
	}
	a := &api{Parts: parts, defaults: defaults, memory: newMemory()}
	mux := http.NewServeMux()
	byPath := map[string]methods{}
	for _, r := range a.routes() {
		if byPath[r.path] == nil {
			byPath[r.path] = methods{}
		}
		byPath[r.path][r.method] = r.serve
	}
	for path, m := range byPath {
		if path == "/toolbelt/" {
			path += "{$}"
		}
		mux.Handle(path, a.guard(m))
	}
	mux.Handle("/toolbelt/", a.guard(methods{"": a.unknown}))
	return mux, nil
}

// route is one operation.
type route struct {
	method, path string
	serve        operation
}

// operation answers a request, or returns why it could not.
type operation func(w http.ResponseWriter, r *http.Request) error

// routes is the whole API. The OpenAPI document describes exactly these.
func (a *api) routes() []route {
	const v1 = "/toolbelt/v1/"
	return []route{
		{"GET", "/toolbelt/", a.home},
		{"GET", "/toolbelt/healthz", a.healthz},
		{"GET", "/toolbelt/readyz", a.readyz},
		{"GET", "/toolbelt/metrics", a.metrics},
		{"GET", v1 + "openapi.json", a.openAPI},
		{"POST", v1 + "select", a.selectTools},
		{"POST", v1 + "explain", a.explain},
		{"POST", v1 + "prefetch", a.prefetch},
		{"POST", v1 + "outcomes", a.outcomes},
		{"GET", v1 + "sessions", a.sessions},
		{"GET", v1 + "sessions/{id}", a.session},
		{"GET", v1 + "skills", a.skills},
		{"POST", v1 + "skills", a.addSkill},
		{"GET", v1 + "skills/{name}", a.skill},
		{"DELETE", v1 + "skills/{name}", a.removeSkill},
		{"POST", v1 + "skills/{name}/enable", a.enableSkill},
		{"POST", v1 + "skills/{name}/disable", a.disableSkill},
		{"PUT", v1 + "skills/{name}", a.editSkill},
		{"POST", v1 + "skills/{name}/why", a.whySkill},
		{"GET", v1 + "skills/{name}/skill.md", a.exportSkill},
		{"POST", v1 + "import", a.importSkill},
		{"POST", v1 + "learn", a.learn},
		{"GET", v1 + "memory", a.memoryStats},
		{"GET", v1 + "memory/export", a.exportMemory},
		{"POST", v1 + "memory/erase", a.eraseMemory},
	}
}

// methods are the operations of one path. The method "" stands for all.
type methods map[string]operation

func (m methods) find(method string) operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if serve, ok := m[method]; ok {
		return serve
	}
	return m[""]
}

func (m methods) allowed() string {
	var names []string
	for name := range m {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// guard runs an operation, and answers its error or its panic.
func (a *api) guard(m methods) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				a.Log.Error("panic", "method", r.Method, "path", r.URL.Path, "panic", v)
				writeError(w, failure{http.StatusInternalServerError, "internal", "the daemon could not do this; its log says why"})
			}
		}()
		serve := m.find(r.Method)
		if serve == nil {
			w.Header().Set("Allow", m.allowed())
			writeError(w, failure{http.StatusMethodNotAllowed, "invalid", r.Method + " is not allowed for " + r.URL.Path + ": use " + m.allowed()})
			return
		}
		if m[r.Method] != nil && writes(r) && !isJSON(r) {
			why := fmt.Sprintf("%s %s wants Content-Type: application/json, not %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
			a.Log.Info("request refused", "status", http.StatusUnsupportedMediaType, "method", r.Method, "path", r.URL.Path, "why", why)
			writeError(w, failure{http.StatusUnsupportedMediaType, "invalid", why})
			return
		}
		if err := serve(w, r); err != nil {
			f := failureOf(err)
			if f.status == http.StatusInternalServerError {
				a.Log.Error("a request could not be served", "method", r.Method, "path", r.URL.Path, "why", err.Error())
			}
			writeError(w, f)
		}
	})
}

// writes reports whether a request changes something, or may: a DELETE without a body cannot come from another site's page unasked.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return r.Method != http.MethodDelete || r.ContentLength != 0
}

// isJSON reports whether a request says that its body is JSON. A page of another site cannot say so unasked.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

func (a *api) unknown(_ http.ResponseWriter, r *http.Request) error {
	return catalog.NewError(catalog.NotFound, "there is nothing at "+r.URL.Path+"; /toolbelt/v1/openapi.json lists what there is", nil)
}
