package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/embed"
)

var _ embed.Store = (*DB)(nil)

// chunk is how many hashes one query asks for: far below SQLite's limit on parameters.
const chunk = 1000

// Vectors implements embed.Store. A stored vector of another length than m.Dim, or without a direction, is as if it were missing.
// A thousand vectors of 256 numbers take a few milliseconds.
func (db *DB) Vectors(ctx context.Context, m embed.Model, docs []catalog.Hash) (map[catalog.Hash]embed.Vector, error) {
	found := make(map[catalog.Hash]embed.Vector, len(docs))
	for part := range slices.Chunk(docs, chunk) {
		if err := db.readVectors(ctx, m, part, found); err != nil {
			return nil, explain(fmt.Sprintf("reading %d vectors of %q", len(docs), m.Name), db.path, err)
		}
	}
	return found, nil
}

func (db *DB) readVectors(ctx context.Context, m embed.Model, docs []catalog.Hash, into map[catalog.Hash]embed.Vector) error {
	args := make([]any, 0, 4+len(docs))
	args = append(args, m.Name, m.Digest, m.Prefix, m.Dim)
	for i := range docs {
		args = append(args, docs[i][:])
	}
	rows, err := db.read.QueryContext(ctx,
		"SELECT doc, data FROM vectors WHERE model = ? AND digest = ? AND prefix = ? AND dim = ? AND doc IN (?"+strings.Repeat(",?", len(docs)-1)+")", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var doc, data sql.RawBytes
		if err := rows.Scan(&doc, &data); err != nil {
			return err
		}
		if v := decodeVector(data, m.Dim); v != nil && len(doc) == len(catalog.Hash{}) {
			into[catalog.Hash(doc)] = v
		}
	}
	return rows.Err()
}

// PutVectors implements embed.Store, in one transaction. A nil vector (a text with nothing to embed) is left out; one that is of
// another length than m.Dim, zero, NaN or infinite is an error of kind Invalid, and then nothing is stored.
func (db *DB) PutVectors(ctx context.Context, m embed.Model, docs []catalog.Hash, vectors []embed.Vector) error {
	if len(docs) != len(vectors) {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("storing vectors of %q: %d documents, but %d vectors", m.Name, len(docs), len(vectors)), nil)
	}
	for i, v := range vectors {
		if v != nil && (len(v) != m.Dim || !hasDirection(v)) {
			return catalog.NewError(catalog.Invalid, fmt.Sprintf("storing vectors of %q: vector %d of %d has %d numbers and must have %d, finite and not all zero", m.Name, i+1, len(vectors), len(v), m.Dim), nil)
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return db.update(ctx, fmt.Sprintf("storing %d vectors of %q", len(docs), m.Name), func(tx *sql.Tx) error {
		put, err := tx.PrepareContext(ctx, `
			INSERT INTO vectors (model, digest, prefix, doc, dim, data) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET dim = excluded.dim, data = excluded.data`)
		if err != nil {
			return err
		}
		defer put.Close()
		for i, v := range vectors {
			if v == nil {
				continue
			}
			if _, err := put.ExecContext(ctx, m.Name, m.Digest, m.Prefix, docs[i][:], m.Dim, encodeVector(v)); err != nil {
				return err
			}
		}
		return nil
	})
}

// encodeVector is v's numbers, little-endian, one after the other.
func encodeVector(v embed.Vector) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// decodeVector reads dim numbers. It returns nil where data is not exactly that, or has no direction.
func decodeVector(data []byte, dim int) embed.Vector {
	if dim <= 0 || len(data) != 4*dim {
		return nil
	}
	v := make(embed.Vector, dim)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	if !hasDirection(v) {
		return nil
	}
	return v
}

func hasDirection(v embed.Vector) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum > 0 && !math.IsInf(sum, 0) // false for NaN too
}
