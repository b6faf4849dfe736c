package sidecar_test

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolbelt/internal/sidecar"
	"toolbelt/skills"
	"toolbelt/skills/runs"
	"toolbelt/skills/synth"
)

// passes is a Learning that finds one job.
type passes struct{ learned int }

func (p *passes) Look(context.Context) (synth.Report, error) {
	return synth.Report{Runs: 4, Proposals: []synth.Proposal{{Action: synth.Add, Procedure: skills.Procedure{Name: "job"}}}}, nil
}

func (p *passes) Learn(ctx context.Context) (synth.Report, []synth.Proposal, error) {
	p.learned++
	report, err := p.Look(ctx)
	return report, report.Proposals, err
}

// remembered is a Memory that tells what it was asked to erase.
type remembered struct {
	filter runs.Filter
	broken bool
}

func (m *remembered) MemoryStats(context.Context) (runs.Stats, error) {
	return runs.Stats{Runs: 7, Learned: 2}, nil
}

func (m *remembered) ExportMemory(_ context.Context, w io.Writer) error {
	if m.broken {
		return errors.New("no disk")
	}
	_, err := io.WriteString(w, "{\"toolbelt_memory\":1}\n")
	return err
}

func (m *remembered) EraseMemory(_ context.Context, f runs.Filter) (runs.Erased, error) {
	m.filter = f
	return runs.Erased{Runs: 3}, nil
}

// keeping is a rig with all that keeps.
func keeping(t *testing.T) (*rig, *passes, *remembered) {
	learning, memory := &passes{}, &remembered{}
	r := start(t, func(p *sidecar.Parts) {
		p.Keeper, p.Learning, p.Memory = p.Editor.(sidecar.SkillKeeper), learning, memory
	})
	return r, learning, memory
}

func TestSkillsAreEditedExplainedAndExported(t *testing.T) {
	r, _, _ := keeping(t)
	r.call("POST", "/toolbelt/v1/skills", `{"name":"report","when_to_use":"write the report","tools_required":["read"]}`, 201)
	edited := r.call("PUT", "/toolbelt/v1/skills/report", `{"when_to_use":"write the weekly report","tools_required":["read","mail"],"body":"Do it."}`, 200)
	if edited["version"] != 2.0 || edited["when_to_use"] != "write the weekly report" {
		t.Errorf("%v", edited)
	}
	r.fails("PUT", "/toolbelt/v1/skills/nope", `{"when_to_use":"x","tools_required":["read"]}`, 404, `"nope"`)
	r.fails("PUT", "/toolbelt/v1/skills/report", `{"name":"other","when_to_use":"x","tools_required":["read"]}`, 400, "cannot be changed")
	r.fails("PUT", "/toolbelt/v1/skills/report", `{"when_to_use":"x"}`, 400, "tools_required")
	if why := r.call("POST", "/toolbelt/v1/skills/report/why", `{}`, 200); why["recalled"] != nil || why["reason"] == "" {
		t.Errorf("%v", why)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt/v1/skills/report/skill.md", nil))
	text := w.Body.String()
	if w.Code != 200 || !strings.HasPrefix(text, "---\nname: report\n") || !strings.Contains(text, "Do it.") {
		t.Fatalf("%d %s", w.Code, text)
	}
	r.fails("POST", "/toolbelt/v1/import", `{"skill_md":"---\nname: report\ndescription: y\ntools_required: [a]\n---\n"}`, 409, `"report"`)
	r.fails("POST", "/toolbelt/v1/import", `{"skill_md":"nothing"}`, 400, "front matter")
	again := r.call("POST", "/toolbelt/v1/import", `{"skill_md":"---\nname: report\ndescription: y\ntools_required: [a]\n---\n","replace":true}`, 200)
	if skill := again["skill"].(map[string]any); skill["version"] != 3.0 || skill["when_to_use"] != "y" {
		t.Errorf("%v", again)
	}
	r.call("POST", "/toolbelt/v1/import", `{"skill_md":"---\nname: other\ndescription: y\ntools_required: [a]\n---\n"}`, 200)
}

func TestLearnAndMemory(t *testing.T) {
	r, learning, memory := keeping(t)
	if answer := r.call("POST", "/toolbelt/v1/learn", `{"dry_run":true}`, 200); learning.learned != 0 || len(answer["done"].([]any)) != 0 || answer["dry_run"] != true {
		t.Errorf("a dry run: %v", answer)
	}
	if answer := r.call("POST", "/toolbelt/v1/learn", `{}`, 200); learning.learned != 1 || len(answer["done"].([]any)) != 1 {
		t.Errorf("%v", answer)
	}
	if stats := r.call("GET", "/toolbelt/v1/memory", "", 200); stats["runs"] != 7.0 || stats["learned_skills"] != 2.0 {
		t.Errorf("%v", stats)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/toolbelt/v1/memory/export", nil))
	if w.Code != 200 || w.Body.String() != "{\"toolbelt_memory\":1}\n" || w.Header().Get("Content-Type") != "application/jsonl" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{`{}`, `{"all":true,"tool":"x"}`, `{"all":false}`} {
		r.fails("POST", "/toolbelt/v1/memory/erase", body, 400, "what is to be erased")
	}
	r.fails("POST", "/toolbelt/v1/memory/erase", `{"since":"yesterday"}`, 400, "reading the request")
	if erased := r.call("POST", "/toolbelt/v1/memory/erase", `{"session":"s","since":"2026-05-01T00:00:00Z"}`, 200); erased["runs"] != 3.0 || memory.filter.Session != "s" || !memory.filter.From.Equal(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %+v", erased, memory.filter)
	}
	r.call("POST", "/toolbelt/v1/memory/erase", `{"all":true}`, 200)
	if memory.filter != (runs.Filter{}) {
		t.Errorf("%+v", memory.filter)
	}
	memory.broken = true
	r.call("GET", "/toolbelt/v1/memory/export", "", 500)
}

func TestWhatIsOffSaysSo(t *testing.T) {
	r := start(t, nil)
	r.fails("POST", "/toolbelt/v1/learn", `{}`, 503, "learning is off")
	r.fails("GET", "/toolbelt/v1/memory", "", 503, "memory is off")
	r.fails("GET", "/toolbelt/v1/memory/export", "", 503, "memory is off")
	r.fails("POST", "/toolbelt/v1/memory/erase", `{"all":true}`, 503, "memory is off")
	r.fails("PUT", "/toolbelt/v1/skills/x", `{}`, 503, "off")
	r.fails("POST", "/toolbelt/v1/skills/x/why", `{}`, 503, "off")
}
