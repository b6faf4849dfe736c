package turn

import (
	"slices"

	"toolbelt/catalog"
	"toolbelt/internal/chat"
	"toolbelt/internal/session"
	"toolbelt/selector"
	"toolbelt/skills"
)

// remembered is what memory of jobs has to say to a request.
type remembered struct {
	named    []string          // tools that the caller requires
	recalled []skills.Recalled // best first
}

// recall asks memory, and notes the names of what it recalled.
func (p *Planner) recall(d *draft, q selector.Query) remembered {
	m := remembered{named: d.request.Skills}
	if p.Skills == nil {
		return m
	}
	last := skills.QueryVectors{}
	for model, vectors := range q.Vectors {
		if vectors[0] != nil {
			last[model] = vectors[0]
		}
	}
	m.recalled = p.Skills.Recall(last, d.has)
	for _, r := range m.recalled {
		d.recalled = append(d.recalled, r.Procedure.Name)
	}
	return m
}

// brought is what memory brings to a turn's list, by name.
type brought struct {
	required []string // before any match: those that the caller named, then rank order, then declared order
	offered  []string // into slots that nothing else wants
	spared   []string // matches that are the last to give way to those

	firm []skills.Recalled // those that required is of
}

// sameJob is the share of two procedures' tools that is common where they are ways to do the same job.
const sameJob = 0.5

// against weighs what was recalled against the turn's matches. What a user made stands before them. A learned skill does not, and gets only slots
// that nothing else wants, where the message is likelier, or as likely, for another job: where another skill is recalled whose tools are mostly others, and
// where matches stand higher over their backgrounds than the skill does over its own and none of them was ever called in its runs. Matches that
// were called there are the last to give way to it.
func (m remembered) against(matches []selector.Match, cat *catalog.Catalog) brought {
	b := brought{required: slices.Clone(m.named)}
	for i, r := range m.recalled {
		p := r.Procedure
		for _, match := range matches {
			if name := cat.Tool(match.ID).Name; p.Knows(name) {
				b.spared = append(b.spared, name)
			}
		}
		if p.Automatic() && (m.ambiguous(i) || contradicted(r, matches, cat)) {
			b.offered = append(b.offered, p.ToolsRequired...)
		} else {
			b.required, b.firm = append(b.required, p.ToolsRequired...), append(b.firm, r)
		}
	}
	return b
}

// ambiguous reports whether another skill is recalled beside the i-th whose tools are mostly others.
func (m remembered) ambiguous(i int) bool {
	for k, other := range m.recalled {
		if k != i && m.recalled[i].Procedure.Alike(other.Procedure) < sameJob {
			return true
		}
	}
	return false
}

// contradicted reports whether matches stand higher than the skill, and it has never had to do with any of them.
func contradicted(r skills.Recalled, matches []selector.Match, cat *catalog.Catalog) bool {
	higher := false
	for _, match := range matches {
		if match.Score > r.Height {
			if r.Procedure.Knows(cat.Tool(match.ID).Name) {
				return false
			}
			higher = true
		}
	}
	return higher
}

// offer puts what skills say of the job at the end of the newest message, where that is the user's: nothing that the engine has read changes. It
// stays there in later requests, and what stands in the conversation already is not said again. Skills whose tools only fill what is free say nothing.
func (p *Planner) offer(d *draft, s *session.State) {
	if !p.policy.SkillBody || s.Plain {
		return
	}
	text, at := skills.Offer(d.chosen.brought.firm), d.newest()
	if text == "" || at < 0 || d.request.Chat.Messages[at].Role != chat.RoleUser {
		return
	}
	text = "\n\n" + text
	if !slices.ContainsFunc(s.Notes, func(n session.Note) bool { return n.Text == text }) {
		s.Notes = append(slices.Clone(s.Notes), session.Note{Anchor: d.anchor(at), Text: text})
	}
}

// Remembered is a recalled skill in an explanation.
type Remembered struct {
	Skill  string  `json:"skill"`
	Height float64 `json:"height"` // over its background, as skills.Recalled has it
	First  bool    `json:"first"`  // its tools stand before matches; otherwise they fill what nothing else wants
	Body   bool    `json:"body"`   // the model is told its text
}

// remembered are the skills that were recalled for the plan.
func (p *Planner) remembered(d *draft) []Remembered {
	if d.chosen == nil {
		return nil
	}
	var list []Remembered
	for _, r := range d.chosen.skill.recalled {
		first := slices.ContainsFunc(d.chosen.brought.firm, func(f skills.Recalled) bool { return f.Procedure.Name == r.Procedure.Name })
		list = append(list, Remembered{
			Skill: r.Procedure.Name, Height: number(r.Height), First: first,
			Body: p.policy.SkillBody && first && skills.Offer([]skills.Recalled{r}) != "",
		})
	}
	return list
}
