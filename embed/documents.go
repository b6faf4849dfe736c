package embed

import (
	"context"

	"github.com/sony/gobreaker/v2"

	"toolbelt/catalog"
)

// Documents returns the vectors of documents, in order: those that the Store has, and the others by the embedder, a few at
// a time, stored as they come, so that what was embedded once never is again. A document without words has a nil vector. It
// takes as long as it takes: it is for the background. The error is ErrNotReady, ErrOff or ErrOpen at once, or the embedder's, or ctx's; what was
// embedded before it is stored. A Store that fails is logged and done without.
func (n *Neural) Documents(ctx context.Context, texts []string) ([]Vector, Model, error) {
	return n.unhurried(ctx, Document, texts, true)
}

// Queries is Documents for texts that are embedded as what a user says: fixed lists of requests that tools are measured against. What a
// user says now is for Query.
func (n *Neural) Queries(ctx context.Context, texts []string) ([]Vector, Model, error) {
	return n.unhurried(ctx, Query, texts, true)
}

// Unkept is Queries for texts whose vectors the Store must not have: what somebody once said.
func (n *Neural) Unkept(ctx context.Context, texts []string) ([]Vector, Model, error) {
	return n.unhurried(ctx, Query, texts, false)
}

// unhurried embeds texts in the background.
func (n *Neural) unhurried(ctx context.Context, kind Kind, texts []string, keep bool) ([]Vector, Model, error) {
	e, err := n.current()
	if err != nil {
		return nil, Model{}, err
	}
	m := e.Model()
	hashes := make([]catalog.Hash, len(texts))
	text := make(map[catalog.Hash]string, len(texts))
	var distinct []catalog.Hash
	for i, t := range texts {
		hashes[i] = storedHash(kind, t)
		if _, ok := text[hashes[i]]; !ok {
			text[hashes[i]] = t
			distinct = append(distinct, hashes[i])
		}
	}
	known := map[catalog.Hash]Vector{}
	if keep {
		known = n.stored(ctx, m, distinct)
	}
	var missing []catalog.Hash
	for _, h := range distinct {
		if _, ok := known[h]; !ok {
			missing = append(missing, h)
		}
	}
	for len(missing) > 0 {
		if err := n.quiet(ctx); err != nil {
			return nil, Model{}, err
		}
		batch := missing[:min(len(missing), documentsPerCall)]
		missing = missing[len(batch):]
		batchTexts := make([]string, len(batch))
		for i, h := range batch {
			batchTexts[i] = text[h]
		}
		vectors, err := n.embedBatch(ctx, e, kind, batchTexts)
		if err != nil {
			return nil, Model{}, err
		}
		for i, h := range batch {
			known[h] = vectors[i]
		}
		if keep {
			n.keep(ctx, m, batch, vectors)
		}
	}
	all := make([]Vector, len(texts))
	for i, h := range hashes {
		all[i] = known[h]
	}
	return all, m, nil
}

func (n *Neural) embedBatch(ctx context.Context, e Embedder, kind Kind, texts []string) ([]Vector, error) {
	if _, err := n.current(); err != nil {
		return nil, err
	}
	if n.breaker.State() == gobreaker.StateOpen {
		return nil, ErrOpen
	}
	ctx, cancel := context.WithTimeout(ctx, documentsLimit)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	n.countDocuments(1)
	defer n.countDocuments(-1)
	m := e.Model()
	check := n.watch(m)
	vectors, err := e.Embed(ctx, kind, texts)
	if err == nil {
		err = checkAnswer(vectors, len(texts), m.Dim)
	}
	check(err)
	if err != nil {
		n.failed(err)
		return nil, err
	}
	n.works()
	return vectors, nil
}

// storedHash is the key of a text's vector in the Store: a text has one as a document and another as a query.
func storedHash(kind Kind, text string) catalog.Hash {
	if kind == Query {
		return hashText("query\x00" + text)
	}
	return hashText(text)
}

func (n *Neural) countDocuments(by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.documents += by
}

// stored returns the usable vectors that the Store has, in a map that is the caller's.
func (n *Neural) stored(ctx context.Context, m Model, docs []catalog.Hash) map[catalog.Hash]Vector {
	usable := make(map[catalog.Hash]Vector, len(docs))
	if n.cfg.Store == nil || len(docs) == 0 {
		return usable
	}
	found, err := n.cfg.Store.Vectors(ctx, m, docs)
	if err != nil {
		n.cfg.Log.Warn("neural embedder: stored vectors could not be read", "why", err)
		return usable
	}
	for h, v := range found {
		if v.isUnit(m.Dim) {
			usable[h] = v
		}
	}
	return usable
}

// keep stores the vectors that are not nil.
func (n *Neural) keep(ctx context.Context, m Model, docs []catalog.Hash, vectors []Vector) {
	if n.cfg.Store == nil {
		return
	}
	kept, keptVectors := make([]catalog.Hash, 0, len(docs)), make([]Vector, 0, len(docs))
	for i, v := range vectors {
		if v != nil {
			kept, keptVectors = append(kept, docs[i]), append(keptVectors, v)
		}
	}
	if len(kept) == 0 {
		return
	}
	if err := n.cfg.Store.PutVectors(ctx, m, kept, keptVectors); err != nil {
		n.cfg.Log.Warn("neural embedder: vectors could not be stored", "why", err)
	}
}
