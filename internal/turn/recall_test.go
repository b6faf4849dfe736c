package turn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolbelt/internal/session"
	"toolbelt/internal/turn"
	"toolbelt/skills"
)

// remembers is a turn.Skills that recalls the same for every message.
type remembers []skills.Recalled

func (r remembers) Recall(skills.QueryVectors, func(string) bool) []skills.Recalled { return r }

var _ turn.Skills = remembers{}

// learnt is a recalled skill that nobody has edited.
func learnt(name string, height float64, tools ...string) skills.Recalled {
	return skills.Recalled{Height: height, Procedure: skills.Procedure{Name: name, ToolsRequired: tools, Origin: skills.Origin{Kind: skills.Learned}}}
}

// A learned skill's tools stand before matches unless the message is likelier for another job; a user's own always do.
func TestWhenARecalledSkillComesBeforeMatches(t *testing.T) {
	const low, high = 0.5, 1000 // under and over every match of the message
	also := func(r skills.Recalled, tools ...string) skills.Recalled {
		r.Procedure.Origin.AlsoUsed = tools
		return r
	}
	own := func(r skills.Recalled) skills.Recalled {
		r.Procedure.Origin.Kind = skills.Own
		return r
	}
	edited := func(r skills.Recalled) skills.Recalled {
		r.Procedure.Origin.Edited = true
		return r
	}
	job := []string{"generate_image", "run_unit_tests"}
	for _, c := range []struct {
		name     string
		recalled remembers
		first    bool // its tools are visible though matches want every slot
	}{
		{"it stands higher than any match", remembers{learnt("job", high, job...)}, true},
		{"matches stand higher", remembers{learnt("job", low, job...)}, false},
		{"matches stand higher, and its runs used one", remembers{also(learnt("job", low, job...), "play_music", "track_parcel")}, true},
		{"matches stand higher, and it is its user's", remembers{own(learnt("job", low, job...))}, true},
		{"matches stand higher, and its user edited it", remembers{edited(learnt("job", low, job...))}, true},
		{"another job fits too", remembers{learnt("job", high, job...), learnt("other", high, "set_alarm", "book_flight")}, false},
		{"another way to do the job fits too", remembers{learnt("job", high, job...), learnt("same", high, slices.Concat(job, []string{"set_alarm"})...)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, setup{skills: c.recalled, policy: func(p *turn.Policy) { p.MaxTools, p.Overflow, p.Threshold, p.Words = 4, 0, 0.5, 0.01 }})
			p := h.plan(body(t, demoTools(t), "", user("where is my parcel? play some music, send an e-mail, translate this text, and tell me the weather")))
			if len(p.Matched) < 8 {
				t.Fatalf("only %q match: nothing wants the slots", p.Matched)
			}
			for _, name := range job {
				if got := reason(p, name) == session.Skill; got != c.first {
					t.Errorf("%s is %q; matches are %q", name, reason(p, name), p.Matched)
				}
			}
		})
	}
}

// Where slots are free, what a doubtful skill requires is visible all the same.
func TestADoubtfulSkillFillsFreeSlots(t *testing.T) {
	h := newHarness(t, setup{skills: remembers{learnt("job", 0.5, "generate_image", "run_unit_tests")}})
	p := h.plan(body(t, demoTools(t), "", user("where is my parcel?")))
	if len(p.Matched) == 0 || reason(p, "generate_image") != session.Skill || reason(p, "run_unit_tests") != session.Skill {
		t.Errorf("matched %q, visible %v", p.Matched, p.Tools)
	}
}

// A skill's text and the text that brings a late tool stand at the same message, and both stay where they were.
func TestWhatASkillSaysBesideALateTool(t *testing.T) {
	job := learnt("job", 1000, "generate_image")
	job.Procedure.Body = "Ask for the size first."
	var now remembers
	h := newHarness(t, setup{skills: &now, policy: func(p *turn.Policy) { late(p); p.SkillBody = true }})
	history := []message{user("where is my parcel?")}
	h.proxied(body(t, demoTools(t), "", history...))
	now = remembers{job}
	history = append(history, answer("on its way"), user("make a picture of a fox"))
	second := h.proxied(body(t, demoTools(t), "", history...))
	text := gjson.GetBytes(second.Body, "messages.2.content").String()
	for _, want := range []string{"make a picture of a fox", "You have more tools now", `"generate_image"`, "\n\nHow job was done before:\nAsk for the size first."} {
		if strings.Count(text, want) < 1 {
			t.Errorf("the message lacks %q: %q", want, text)
		}
	}
	now = nil
	history = append(history, answer("which size?"), user("large"))
	third := h.proxied(body(t, demoTools(t), "", history...))
	for _, at := range []string{"messages.0", "messages.2", "tools"} {
		if a, b := gjson.GetBytes(second.Body, at).Raw, gjson.GetBytes(third.Body, at).Raw; a != b {
			t.Errorf("%s was %s and is %s", at, a, b)
		}
	}
	if strings.Count(string(third.Body), "How job was done before") != 1 {
		t.Errorf("it is not there once: %s", third.Body)
	}
}
