package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"toolbelt/internal/ahead"
)

var _ ahead.Store = (*DB)(nil)

// keptBeginnings bounds the table, and maxBeginningBytes one of its bodies.
const (
	keptBeginnings    = 8
	maxBeginningBytes = 1 << 20
)

// Beginnings implements ahead.Store: the newest comes first.
func (db *DB) Beginnings(ctx context.Context) ([]ahead.Beginning, error) {
	const doing = "reading what conversations begin with"
	rows, err := db.read.QueryContext(ctx, "SELECT app, model, path, body, at FROM beginnings ORDER BY at DESC LIMIT ?", keptBeginnings)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var list []ahead.Beginning
	for rows.Next() {
		var b ahead.Beginning
		var at int64
		if err := rows.Scan(&b.App, &b.Model, &b.Path, &b.Body, &at); err != nil {
			return nil, explain(doing, db.path, err)
		}
		b.At = fromNanos(at)
		list = append(list, b)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	return list, nil
}

// SaveBeginning implements ahead.Store. Of many models the oldest are deleted; a body over 1 MiB is not kept.
func (db *DB) SaveBeginning(ctx context.Context, b ahead.Beginning) error {
	if len(b.Body) > maxBeginningBytes {
		return nil
	}
	return db.update(ctx, fmt.Sprintf("storing what conversations with %q begin with", b.Model), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO beginnings (model, app, path, body, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET app = excluded.app, path = excluded.path, body = excluded.body, at = excluded.at`, b.Model, b.App, b.Path, b.Body, nanos(b.At))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM beginnings WHERE model IN (SELECT model FROM beginnings ORDER BY at DESC LIMIT -1 OFFSET ?)", keptBeginnings)
		return err
	})
}
