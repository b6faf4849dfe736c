package skills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// source is what one embedder has made so far: of the background and of documents, by text. A text with nothing to embed is
// there with nil. The maps are never changed once they are in a source, so that a copy can be read without a lock.
type source struct {
	made    made
	failing bool
}

// made are vectors of one model.
type made struct {
	model      embed.Model
	background []embed.Vector          // of Background, or nil
	documents  map[string]embed.Vector // by text
}

func (m made) len() int { return len(m.background) + len(m.documents) }

// missing are the when_to_use texts, each once, that the source does not know; disabled procedures' among them.
func (s *source) missing(procedures []Procedure) []string {
	var list []string
	asked := make(map[string]bool)
	for _, p := range procedures {
		if _, ok := s.made.documents[p.WhenToUse]; !ok && !asked[p.WhenToUse] {
			asked[p.WhenToUse] = true
			list = append(list, p.WhenToUse)
		}
	}
	return list
}

// ask has e make vectors of the documents, and of the background where that is not known yet; of nothing where there are no
// documents. With errModelChanged, what was made before is of no use any more.
func (s *source) ask(ctx context.Context, documents []string, e Neural) (made, error) {
	m := made{model: s.made.model}
	if len(documents) == 0 {
		return m, nil
	}
	if s.made.background == nil {
		vectors, model, err := e.Queries(ctx, Background())
		if err == nil {
			err = check(vectors, len(Background()), model)
		}
		if err != nil {
			return made{}, err
		}
		m.model, m.background = model, vectors
	}
	vectors, model, err := e.Documents(ctx, documents)
	if err == nil && model != m.model {
		return made{}, errModelChanged
	}
	if err == nil {
		err = check(vectors, len(documents), model)
	}
	if err != nil {
		return made{}, err
	}
	m.documents = make(map[string]embed.Vector, len(documents))
	for i, text := range documents {
		m.documents[text] = vectors[i]
	}
	return m, nil
}

// errModelChanged says that an embedder is not the one that it was.
var errModelChanged = catalog.NewError(catalog.Conflict, "the embedding model changed meanwhile", nil)

// learn adds what was made.
func (s *source) learn(m made) {
	if m.len() == 0 {
		return
	}
	if m.background != nil {
		s.made = m
		return
	}
	all := make(map[string]embed.Vector, len(s.made.documents)+len(m.documents))
	for _, documents := range []map[string]embed.Vector{s.made.documents, m.documents} {
		for text, v := range documents {
			all[text] = v
		}
	}
	s.made.documents = all
}

// view is what the source knows of the procedures. What it knows of other documents is forgotten.
func (s *source) view(procedures []Procedure) View {
	v := View{Model: s.made.model, Background: s.made.background, Vectors: make([]embed.Vector, len(procedures))}
	kept := make(map[string]embed.Vector, len(procedures))
	for i, p := range procedures {
		if vector, ok := s.made.documents[p.WhenToUse]; ok {
			v.Vectors[i], kept[p.WhenToUse] = vector, vector
		}
	}
	s.made.documents = kept
	return v
}

// settle takes in what an ask brought, and reports whether anything is new. A failure is logged where the one before
// was none, and so is its end. That an engine's embedder is not there, or left alone for a while, is for embed.Neural to say.
func (s *source) settle(log *slog.Logger, m made, err error) bool {
	switch {
	case errors.Is(err, embed.ErrNotReady), errors.Is(err, embed.ErrOff), errors.Is(err, embed.ErrOpen):
		return false
	case errors.Is(err, errModelChanged):
		s.made = made{}
		return true
	case err != nil && !s.failing:
		log.Warn("an embedder does not embed the skills: they are recalled without it", "err", err)
	case err == nil && s.failing:
		log.Info("an embedder embeds the skills again", "embedder", s.made.model.Name)
	}
	s.failing = err != nil
	s.learn(m)
	return m.len() > 0
}

// always is a Neural that is always there.
type always struct{ embed.Embedder }

func (a always) Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := a.Embed(ctx, embed.Document, texts)
	return vectors, a.Model(), err
}

func (a always) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := a.Embed(ctx, embed.Query, texts)
	return vectors, a.Model(), err
}

// check holds an embedder to its contract: n vectors, each nil or of unit length and of the model's dimension.
func check(vectors []embed.Vector, n int, m embed.Model) error {
	if len(vectors) != n {
		return catalog.NewError(catalog.Unavailable, fmt.Sprintf("%d texts came back from %q as %d vectors", n, m.Name, len(vectors)), nil)
	}
	for _, v := range vectors {
		if v != nil && (len(v) != m.Dim || !isUnit(v)) {
			return catalog.NewError(catalog.Unavailable, fmt.Sprintf("a vector of %d numbers came back from %q: it must have %d and unit length", len(v), m.Name, m.Dim), nil)
		}
	}
	return nil
}

// isUnit is false for NaN too.
func isUnit(v embed.Vector) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Abs(sum-1) < 1e-3
}
