package sidecar_test

import (
	"context"
	"testing"

	"toolbelt/catalog"
	"toolbelt/internal/ahead"
	"toolbelt/internal/sidecar"
)

// foreseeing knows one conversation.
type foreseeing struct{}

func (foreseeing) Prefetch(_ context.Context, session, draft string) (ahead.Draft, error) {
	switch {
	case session != "s1":
		return ahead.Draft{}, catalog.NewError(catalog.NotFound, "no conversation", nil)
	case draft == "same":
		return ahead.Draft{Why: "the list would stay as it is"}, nil
	}
	return ahead.Draft{Added: []string{"send_email"}, Reading: true}, nil
}

func TestPrefetch(t *testing.T) {
	const path = "/toolbelt/v1/prefetch"
	r := start(t, func(p *sidecar.Parts) { p.Prefetcher = foreseeing{} })
	if got := r.call("POST", path, `{"session":"s1","draft":"send an email"}`, 202); got["reading"] != true || got["tools_added"].([]any)[0] != "send_email" {
		t.Errorf("%v", got)
	}
	if got := r.call("POST", path, `{"session":"s1","draft":"same"}`, 202); got["reading"] != false || got["why"] == "" || len(got["tools_added"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	r.fails("POST", path, `{"session":"s2","draft":"x"}`, 404, "no conversation")
	r.fails("POST", path, `{"draft":"x"}`, 400, `"session" is missing`)
	r.fails("POST", path, `{"session":"s1"}`, 400, `"draft" is missing`)
	r.fails("POST", path, `{"session":7,"draft":"x"}`, 400, "session")
	start(t, nil).fails("POST", path, `{"session":"s1","draft":"x"}`, 503, "off")
}
