package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills"
)

var _ skills.Store = (*DB)(nil)

// Procedures implements skills.Store. One that cannot be read is left out, with a line of log.
func (db *DB) Procedures(ctx context.Context) ([]skills.Procedure, error) {
	const doing = "reading the skills"
	rows, err := db.read.QueryContext(ctx, `
		SELECT name, when_to_use, tools_required, body, successes, attempts, enabled, version, updated FROM procedures ORDER BY name`)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var all []skills.Procedure
	for rows.Next() {
		var p skills.Procedure
		var required string
		var updated int64
		if err := rows.Scan(&p.Name, &p.WhenToUse, &required, &p.Body, &p.Successes, &p.Attempts, &p.Enabled, &p.Version, &updated); err != nil {
			return nil, explain(doing, db.path, err)
		}
		p.Updated = fromNanos(updated)
		if err := json.Unmarshal([]byte(required), &p.ToolsRequired); err != nil {
			db.log.Warn("a stored skill cannot be read and is left out", "skill", p.Name, "why", err)
			continue
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	return all, nil
}

// SaveProcedure implements skills.Store.
func (db *DB) SaveProcedure(ctx context.Context, p skills.Procedure) (skills.Procedure, error) {
	if err := p.Validate(); err != nil {
		return skills.Procedure{}, err
	}
	doing := fmt.Sprintf("saving the skill %q", p.Name)
	required, err := json.Marshal(p.ToolsRequired)
	if err != nil {
		return skills.Procedure{}, explain(doing, db.path, err)
	}
	key := skills.DocumentHash(p.WhenToUse)
	p.Updated = time.Now().UTC().Round(0)
	err = db.update(ctx, doing, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `
			INSERT INTO procedures (name, when_to_use, tools_required, body, successes, attempts, enabled, version, embedding, updated)
			VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
			ON CONFLICT DO UPDATE SET
				when_to_use = excluded.when_to_use, tools_required = excluded.tools_required, body = excluded.body,
				enabled = excluded.enabled, version = version + 1, embedding = excluded.embedding, updated = excluded.updated
			RETURNING version, successes, attempts`,
			p.Name, p.WhenToUse, string(required), p.Body, p.Successes, p.Attempts, p.Enabled, key[:], nanos(p.Updated),
		).Scan(&p.Version, &p.Successes, &p.Attempts)
	})
	if err != nil {
		return skills.Procedure{}, err
	}
	return p, nil
}

// RemoveProcedure implements skills.Store.
func (db *DB) RemoveProcedure(ctx context.Context, name string) error {
	return db.changeProcedure(ctx, "removing", name, "DELETE FROM procedures WHERE name = ?", name)
}

// CountProcedure implements skills.Store.
func (db *DB) CountProcedure(ctx context.Context, name string, success bool) error {
	return db.changeProcedure(ctx, "counting a use of", name,
		"UPDATE procedures SET attempts = attempts + 1, successes = successes + ? WHERE name = ?", success, name)
}

// changeProcedure runs a statement that must touch the one skill of this name.
func (db *DB) changeProcedure(ctx context.Context, doing, name, statement string, args ...any) error {
	return db.update(ctx, fmt.Sprintf("%s the skill %q", doing, name), func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no skill %q", name), nil)
		}
		return nil
	})
}
