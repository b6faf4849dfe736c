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
