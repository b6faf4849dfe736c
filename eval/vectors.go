package eval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Vectors is an engine's embedder that keeps every vector, in memory and in a Store, so that one run embeds what it needs once and
// the next run nothing. It takes the place of embed.Neural, without a deadline: figures must not depend on how busy an engine is.
// Safe for concurrent use.
type Vectors struct {
	embedder embed.Embedder
	store    embed.Store // nil: memory only

	mu      sync.Mutex
	known   map[catalog.Hash]embed.Vector
	trouble error // the store's first failure; it is not asked again
}

// NewVectors returns a Vectors. store may be nil.
func NewVectors(e embed.Embedder, store embed.Store) *Vectors {
	return &Vectors{embedder: e, store: store, known: map[catalog.Hash]embed.Vector{}}
}

var _ embed.Embedder = (*Vectors)(nil)

// Model is the embedder's.
func (v *Vectors) Model() embed.Model { return v.embedder.Model() }

// vectorsPerCall is how many texts are embedded, and stored, at a time.
const vectorsPerCall = 32

// Embed returns the kept vectors and embeds what is missing. What was embedded before an error is kept.
func (v *Vectors) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	return v.embed(ctx, kind, texts, func(int, int) {})
}

// Fetch embeds what is missing of the texts; progress is told how many of them are done.
func (v *Vectors) Fetch(ctx context.Context, kind embed.Kind, texts []string, progress func(done, of int)) error {
	_, err := v.embed(ctx, kind, texts, progress)
	return err
}

func (v *Vectors) embed(ctx context.Context, kind embed.Kind, texts []string, progress func(done, of int)) ([]embed.Vector, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	hashes := make([]catalog.Hash, len(texts))
	text := map[catalog.Hash]string{}
	var missing []catalog.Hash
	for i, t := range texts {
		hashes[i] = textHash(kind, t)
		if _, ok := v.known[hashes[i]]; ok {
			continue
		}
		if _, ok := text[hashes[i]]; !ok {
			text[hashes[i]] = t
			missing = append(missing, hashes[i])
		}
	}
	missing = v.recall(ctx, missing)
	for done := 0; done < len(missing); {
		batch := missing[done:min(len(missing), done+vectorsPerCall)]
		if err := v.make(ctx, kind, batch, text); err != nil {
			return nil, fmt.Errorf("embedding %d texts, %d of them done: %w", len(missing), done, err)
		}
		done += len(batch)
		progress(done, len(missing))
	}
	out := make([]embed.Vector, len(texts))
	for i, h := range hashes {
		out[i] = v.known[h]
	}
	return out, nil
}

// recall takes from the store what it has and returns what it has not.
func (v *Vectors) recall(ctx context.Context, hashes []catalog.Hash) []catalog.Hash {
	if v.store == nil || v.trouble != nil || len(hashes) == 0 {
		return hashes
	}
	stored, err := v.store.Vectors(ctx, v.Model(), hashes)
	if err != nil {
		v.fails(ctx, fmt.Errorf("reading the kept vectors: %w", err))
		return hashes
	}
	var missing []catalog.Hash
	for _, h := range hashes {
		if vector, ok := stored[h]; ok {
			v.known[h] = vector
		} else {
			missing = append(missing, h)
		}
	}
	return missing
}

// fails notes that the store failed: it is done without from then on. A run that is interrupted is no failure of the store.
func (v *Vectors) fails(ctx context.Context, err error) {
	if ctx.Err() == nil {
		v.trouble = err
	}
}

// Trouble is why vectors are not kept any more, nil where they are.
func (v *Vectors) Trouble() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.trouble
}

func (v *Vectors) make(ctx context.Context, kind embed.Kind, batch []catalog.Hash, text map[catalog.Hash]string) error {
	texts := make([]string, len(batch))
	for i, h := range batch {
		texts[i] = text[h]
	}
	vectors, err := v.embedder.Embed(ctx, kind, texts)
	if err != nil {
		return err
	}
	for i, h := range batch {
		v.known[h] = vectors[i]
	}
	if v.store == nil || v.trouble != nil {
		return nil
	}
	if err := v.store.PutVectors(ctx, v.Model(), batch, vectors); err != nil {
		v.fails(ctx, fmt.Errorf("keeping vectors: %w", err))
	}
	return nil
}

func textHash(kind embed.Kind, text string) catalog.Hash {
	return sha256.Sum256(append([]byte{byte(kind)}, text...))
}

// Query implements turn.Neural.
func (v *Vectors) Query(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := v.Embed(ctx, embed.Query, texts)
	return vectors, v.Model(), err
}

// Queries implements ingest.Neural.
func (v *Vectors) Queries(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	return v.Query(ctx, texts)
}

// Documents implements ingest.Neural.
func (v *Vectors) Documents(ctx context.Context, texts []string) ([]embed.Vector, embed.Model, error) {
	vectors, err := v.Embed(ctx, embed.Document, texts)
	return vectors, v.Model(), err
}
