package embed

import (
	"context"

	"toolbelt/catalog"
)

// windowTokens is how many tokens of a text Builtin reads.
const windowTokens = 512

// Builtin is the embedder in the binary: the vector of a text is the unit-length sum of one row a token of a trained
// table. It needs no server and takes microseconds. Safe for concurrent use.
type Builtin struct {
	vocab *vocab
	table table
}

var _ Embedder = (*Builtin)(nil)

// NewBuiltin opens the embedded table. An error means that the binary is damaged. Cost: about 1 ms the first time.
func NewBuiltin() (*Builtin, error) {
	t, err := parseTable(tableText)
	if err != nil {
		return nil, err
	}
	v := sharedVocab()
	if len(v.offsets)-1 != t.rows {
		return nil, catalog.NewError(catalog.Internal, "the embedding table and its vocabulary are of different lengths", nil)
	}
	return &Builtin{vocab: v, table: t}, nil
}

// Model returns the same value for every Builtin of one table.
func (b *Builtin) Model() Model {
	return Model{Name: "builtin", Digest: tableDigest, Dim: tableDim}
}

// Embed makes the vectors; all of one call share one allocation. Of a Query the last 512 tokens count, of a Document the
// first 512: what is read of a text is bounded by 64 KiB from that side, which matters only where blank space or words of
// thousands of characters fill it. A text without any token has a nil vector. It fails only where ctx is done.
func (b *Builtin) Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error) {
	vectors := make([]Vector, len(texts))
	block := make([]float32, tableDim*len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var ids tokenRing
		if kind == Query {
			b.vocab.lastTokens(&ids, text)
		} else {
			b.vocab.firstTokens(&ids, head(text))
		}
		v := (*[tableDim]float32)(block[i*tableDim:])
		b.table.sum(v, ids.tokens())
		if ids.total > 0 && Normalize(v[:]) == nil {
			vectors[i] = block[i*tableDim : (i+1)*tableDim : (i+1)*tableDim]
		}
	}
	return vectors, nil
}

// Tokens counts the WordPiece tokens of all of text, which is an estimate for other vocabularies. It does not allocate.
// Cost: about 10 ns a byte.
func (b *Builtin) Tokens(text string) int {
	s := wordScanner{text: text}
	var ids [maxWordChars]uint16
	sum := 0
	for s.next() {
		sum += b.vocab.wordIDs(&ids, &s)
	}
	return sum
}

// tokenRing holds the last windowTokens of the tokens that were added.
type tokenRing struct {
	ids   [windowTokens]uint16
	total int // added, at most windowTokens of them kept
}

func (r *tokenRing) add(ids []uint16) {
	for _, id := range ids {
		r.ids[r.total%windowTokens] = id
		r.total++
	}
}

// tokens returns what is kept, in no particular order once the ring has turned.
func (r *tokenRing) tokens() []uint16 { return r.ids[:min(r.total, windowTokens)] }

// firstTokens reads the first windowTokens tokens of text.
func (v *vocab) firstTokens(ring *tokenRing, text string) {
	s := wordScanner{text: text}
	var ids [maxWordChars]uint16
	for ring.total < windowTokens && s.next() {
		n := v.wordIDs(&ids, &s)
		ring.add(ids[:min(n, windowTokens-ring.total)])
	}
}

// lastTokens reads the last windowTokens tokens of text, from its end region only.
func (v *vocab) lastTokens(ring *tokenRing, text string) {
	for size := firstTailBytes; ; size *= 4 {
		part, whole := tail(text, min(size, maxReadBytes))
		ring.total = 0
		s := wordScanner{text: part}
		var ids [maxWordChars]uint16
		for s.next() {
			ring.add(ids[:v.wordIDs(&ids, &s)])
		}
		if ring.total >= windowTokens || whole || size >= maxReadBytes {
			return
		}
	}
}
