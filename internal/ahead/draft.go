package ahead

import (
	"context"

	"toolbelt/catalog"
)

// Draft is what came of a message that is still being written.
type Draft struct {
	Added   []string // tools that it would bring
	Reading bool     // the engine will read them ahead, when it is quiet
	Why     string   // not, where Reading is false
}

// Prefetch has the engine read the list that a message which is still being written would get. session is the opaque id of a conversation; only the newest one of
// each model is known. An error of kind NotFound says that it is none of them.
func (r *Reader) Prefetch(ctx context.Context, session, text string) (Draft, error) {
	s := r.find(session)
	if s == nil || r.Drafter == nil {
		return Draft{}, catalog.NewError(catalog.NotFound, "no conversation \""+session+"\" is under way; /toolbelt/v1/sessions lists those that are known, and the newest of each model can be read ahead", nil)
	}
	a, added, err := r.Drafter.Draft(ctx, s.plan, text)
	switch {
	case err != nil:
		return Draft{}, err
	case r.Policy.Off:
		return Draft{Added: added, Why: "prewarm is off"}, nil
	case len(added) == 0:
		return Draft{Why: "the list would stay as it is, and the engine holds it"}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want(s, a)
	return Draft{Added: added, Reading: true}, nil
}

// find returns the slot whose conversation it is.
func (r *Reader) find(session string) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.slots {
		if s.plan != nil && s.plan.Session == session {
			return s
		}
	}
	return nil
}
