package skills

import (
	"context"
	"fmt"
	"math"
	"time"

	"toolbelt/embed"
)

// Why says how a procedure stands, and whether a message recalls it.
type Why struct {
	Procedure Procedure `json:"procedure"`
	Trust     float64   `json:"trust"`    // share of recalls that were of use
	Weight    float64   `json:"weight"`   // what a recall's height counts
	Recalled  *bool     `json:"recalled"` // null without a message
	Height    *float64  `json:"height"`   // of the message, weighted, by the local embedder; null without one, or where it has no direction
	Floor     float64   `json:"floor"`
	Rank      int       `json:"rank,omitempty"` // among those over the floor, from 1; 0 where it is not
	Reason    string    `json:"reason"`         // a sentence
}

// Lines are for people.
func (w Why) Lines() []string {
	p := w.Procedure
	lines := []string{fmt.Sprintf("%s, version %d: %s", p.Name, p.Version, w.Reason)}
	switch o := p.Origin; {
	case o.Kind == Learned:
		lines = append(lines, fmt.Sprintf("learned from %d runs, %d of them with success, from %s to %s", o.Runs, o.Succeeded, o.First.Format(time.DateOnly), o.Last.Format(time.DateOnly)))
		if o.Supersedes != "" {
			lines = append(lines, fmt.Sprintf("it took the place of %s", o.Supersedes))
		}
	case o.Path != "":
		lines = append(lines, fmt.Sprintf("read from %s", o.Path))
	default:
		lines = append(lines, "added by hand")
	}
	if p.Origin.Edited {
		lines = append(lines, "edited since by its user: nothing else changes it")
	}
	uses := fmt.Sprintf("recalls that were used: %d, of which %d did the job; not used: %d; trust %.2f (disabled below %.2f), weight %.2f", p.Attempts, p.Successes, p.Unused, w.Trust, TrustFloor, w.Weight)
	if !p.LastUsed.IsZero() {
		uses += ", last used on " + p.LastUsed.Format(time.DateOnly)
	}
	return append(lines, uses)
}

// Why explains the procedure of this name; without a message only how it stands. NotFound as Show.
func (l *Library) Why(ctx context.Context, name, message string) (Why, error) {
	p, err := l.Show(ctx, name)
	if err != nil {
		return Why{}, err
	}
	w := Why{Procedure: p, Trust: p.Trust(), Weight: p.Weight(l.parts.now()), Floor: float64(DefaultFloor)}
	all, err := l.List(ctx)
	if err != nil {
		return Why{}, err
	}
	switch {
	case !p.Enabled && p.Note != "":
		w.Reason = "never recalled: " + p.Note
	case !p.Enabled:
		w.Reason = "never recalled: it is disabled"
	case Superseded(all)[name]:
		w.Reason = fmt.Sprintf("never recalled: %s is, in its place", p.SupersededBy)
	default:
		w.Reason = "recalled where a message fits it"
	}
	if message == "" {
		return w, nil
	}
	return w, l.whyMessage(ctx, &w, message)
}

// whyMessage adds what the local embedder makes of a message.
func (l *Library) whyMessage(ctx context.Context, w *Why, message string) error {
	no := false
	w.Recalled = &no
	if l.parts.Local == nil {
		w.Reason = "there is no embedder to compare the message by"
		return nil
	}
	vectors, err := l.parts.Local.Embed(ctx, embed.Query, []string{message})
	if err != nil {
		return err
	}
	if vectors[0] == nil {
		w.Reason = "the message has no words to compare"
		return nil
	}
	set, query := l.Set(), QueryVectors{l.parts.Local.Model(): vectors[0]}
	for i, r := range set.RecallOf(query, set.Len(), Floor(math.Inf(-1)), nil) {
		if r.Procedure.Name == w.Procedure.Name {
			height := r.Height
			w.Height, w.Rank = &height, i+1
			break
		}
	}
	for _, r := range set.Choose(query, MostRecalled, DefaultFloor, nil) {
		if r.Procedure.Name == w.Procedure.Name {
			*w.Recalled = true
		}
	}
	switch {
	case w.Height == nil && set.has(w.Procedure.Name):
		w.Reason = "the message does not recall it: it is nearer to something that the skill is not for"
	case w.Height == nil: // it is never recalled
	case *w.Recalled:
		w.Reason = fmt.Sprintf("the message recalls it: it stands %.1f over unrelated requests, and %.1f is wanted", *w.Height, w.Floor)
	case *w.Height < w.Floor:
		w.Rank = 0
		w.Reason = fmt.Sprintf("the message does not recall it: it stands %.1f over unrelated requests, and %.1f is wanted", *w.Height, w.Floor)
	default:
		w.Reason = fmt.Sprintf("the message does not recall it: it would (%.1f over unrelated requests), but %d others fit better", *w.Height, w.Rank-1)
	}
	return nil
}

// MostRecalled is how many procedures a turn recalls at most.
const MostRecalled = 2

func (s *Set) has(name string) bool {
	for _, p := range s.procedures {
		if p.Name == name {
			return true
		}
	}
	return false
}
