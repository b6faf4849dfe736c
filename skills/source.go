package skills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"

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
	documents  map[string]embed.Vector // of when_to_use, by text
	requests   map[string]embed.Vector // of examples, by text
}

func (m made) len() int { return len(m.background) + len(m.documents) + len(m.requests) }

// wanted are texts to make vectors of, each once.
type wanted struct{ documents, requests []string }

func (w wanted) len() int { return len(w.documents) + len(w.requests) }

// missing are the texts that the source does not know; disabled procedures' among them.
func (s *source) missing(procedures []Procedure) wanted {
	var w wanted
	documents, requests := map[string]bool{}, map[string]bool{}
	for _, p := range procedures {
		if _, ok := s.made.documents[p.WhenToUse]; !ok && !documents[p.WhenToUse] {
			documents[p.WhenToUse] = true
			w.documents = append(w.documents, p.WhenToUse)
		}
		for _, text := range slices.Concat(p.Examples, p.NotFor) {
			if _, ok := s.made.requests[text]; !ok && !requests[text] {
				requests[text] = true
				w.requests = append(w.requests, text)
			}
		}
	}
	return w
}

// ask has e make vectors of what is wanted, and of the background where that is not known yet; of nothing where nothing is
// wanted. With errModelChanged, what was made before is of no use any more.
func (s *source) ask(ctx context.Context, w wanted, e Neural) (made, error) {
	m := made{model: s.made.model}
	if w.len() == 0 {
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
	var err error
	if m.documents, err = vectorsOf(ctx, e.Documents, w.documents, m.model); err == nil {
		m.requests, err = vectorsOf(ctx, e.Queries, w.requests, m.model)
	}
	if err != nil {
		return made{}, err
	}
	return m, nil
}

// vectorsOf returns what a model makes of the texts, by text.
func vectorsOf(ctx context.Context, ask func(context.Context, []string) ([]embed.Vector, embed.Model, error), texts []string, by embed.Model) (map[string]embed.Vector, error) {
	byText := make(map[string]embed.Vector, len(texts))
	if len(texts) == 0 {
		return byText, nil
	}
	vectors, model, err := ask(ctx, texts)
	if err == nil && model != by {
		return nil, errModelChanged
	}
	if err == nil {
		err = check(vectors, len(texts), model)
	}
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		byText[text] = vectors[i]
	}
	return byText, nil
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
	s.made.documents = joined(s.made.documents, m.documents)
	s.made.requests = joined(s.made.requests, m.requests)
}

// joined is a map of its own with both maps' vectors.
func joined(a, b map[string]embed.Vector) map[string]embed.Vector {
	all := make(map[string]embed.Vector, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// view is what the source knows of the procedures. What it knows of other texts is forgotten.
func (s *source) view(procedures []Procedure) View {
	n := len(procedures)
	v := View{Model: s.made.model, Background: s.made.background, Vectors: make([]embed.Vector, n), Examples: make([][]embed.Vector, n), NotFor: make([][]embed.Vector, n)}
	documents, requests := make(map[string]embed.Vector, len(procedures)), map[string]embed.Vector{}
	for i, p := range procedures {
		if vector, ok := s.made.documents[p.WhenToUse]; ok {
			v.Vectors[i], documents[p.WhenToUse] = vector, vector
		}
		for _, part := range []struct {
			texts []string
			into  *[]embed.Vector
		}{{p.Examples, &v.Examples[i]}, {p.NotFor, &v.NotFor[i]}} {
			for _, text := range part.texts {
				if vector, ok := s.made.requests[text]; ok {
					*part.into, requests[text] = append(*part.into, vector), vector
				}
			}
		}
	}
	s.made.documents, s.made.requests = documents, requests
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
