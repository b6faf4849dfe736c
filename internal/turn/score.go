package turn

import (
	"context"

	"toolbelt/internal/chat"
	"toolbelt/selector"
)

// Scores returns what a plan of this request, as the first of its session, would choose by, and the name of the embedder: for those who want
// to see the whole ranking. An error means that no embedder gave usable vectors.
func (p *Planner) Scores(ctx context.Context, s *Snapshot, r *chat.Request) (selector.Scores, string, error) {
	scores, _, embedder, err := p.score(ctx, s, r)
	return scores, embedder, err
}

// score takes the first steps of a plan: window, embed, score.
func (p *Planner) score(ctx context.Context, s *Snapshot, r *chat.Request) (selector.Scores, selector.Query, string, error) {
	query, embedder, err := p.embed(ctx, s.Index, chat.Window(r))
	if err != nil {
		return selector.Scores{}, query, "", err
	}
	return s.Index.Score(query), query, embedder, nil
}

// A turn clearly needs a tool where its best match reaches clearMatch × τ; then lowMatch × τ is enough for tools that rank among as many as reach τ.
// Small talk hardly ever gets there; anything from 1.25 and from 0 to 0.5 does as well on the sets of doc/recall.md.
const (
	clearMatch = 1.5
	lowMatch   = 0.25
)

// floor is what the policy's settings come to.
func (p *Planner) floor() selector.Floor {
	tau := p.policy.Threshold
	return selector.Floor{Threshold: tau, Words: p.policy.Words, Clear: clearMatch * tau, Low: lowMatch * tau}
}
