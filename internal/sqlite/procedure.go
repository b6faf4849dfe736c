package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills"
)

var (
	_ skills.Store   = (*DB)(nil)
	_ skills.Archive = (*DB)(nil)
)

const procedureColumns = `name, when_to_use, tools_required, body, successes, attempts, enabled, version, updated,
	tool_sequence, examples, not_for, origin, unused, last_used, superseded_by, note`

// Procedures implements skills.Store. One that cannot be read is left out, with a line of log.
func (db *DB) Procedures(ctx context.Context) ([]skills.Procedure, error) {
	const doing = "reading the skills"
	rows, err := db.read.QueryContext(ctx, "SELECT "+procedureColumns+" FROM procedures ORDER BY name")
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var all []skills.Procedure
	for rows.Next() {
		p, fault, err := scanProcedure(rows)
		if err != nil {
			return nil, explain(doing, db.path, err)
		}
		if fault != nil {
			db.log.Warn("a stored skill cannot be read and is left out", "skill", p.Name, "why", fault)
			continue
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	return all, nil
}

// scanner is a row, or rows that stand at one.
type scanner interface{ Scan(into ...any) error }

// scanProcedure reads procedureColumns. A fault is of what the row holds.
func scanProcedure(row scanner) (p skills.Procedure, fault, err error) {
	var required, sequence, examples, notFor, origin []byte
	var updated, used int64
	err = row.Scan(&p.Name, &p.WhenToUse, &required, &p.Body, &p.Successes, &p.Attempts, &p.Enabled, &p.Version, &updated,
		&sequence, &examples, &notFor, &origin, &p.Unused, &used, &p.SupersededBy, &p.Note)
	if err != nil {
		return p, nil, err
	}
	p.Updated, p.LastUsed = fromNanos(updated), fromNanos(used)
	for _, part := range []struct {
		text []byte
		into any
	}{{required, &p.ToolsRequired}, {sequence, &p.ToolSequence}, {examples, &p.Examples}, {notFor, &p.NotFor}, {origin, &p.Origin}} {
		if fault = json.Unmarshal(part.text, part.into); fault != nil {
			return p, fault, nil
		}
	}
	return p, nil, nil
}

// SaveProcedure implements skills.Store.
func (db *DB) SaveProcedure(ctx context.Context, p skills.Procedure) (skills.Procedure, error) {
	if err := p.Validate(); err != nil {
		return skills.Procedure{}, err
	}
	p.Updated = time.Now().UTC().Round(0)
	err := db.update(ctx, fmt.Sprintf("saving the skill %q", p.Name), func(tx *sql.Tx) error {
		old, fault, err := scanProcedure(tx.QueryRowContext(ctx, "SELECT "+procedureColumns+" FROM procedures WHERE name = ?", p.Name))
		switch {
		case err == sql.ErrNoRows:
			p.Version = 1
			return putProcedure(ctx, tx, p)
		case err != nil:
			return err
		case p.Version != 0 && p.Version != old.Version:
			return catalog.NewError(catalog.Conflict, fmt.Sprintf("the skill %q was changed meanwhile: it has version %d, and the change is of version %d", p.Name, old.Version, p.Version), nil)
		}
		p.Version, p.Successes, p.Attempts, p.Unused, p.LastUsed = old.Version+1, old.Successes, old.Attempts, old.Unused, old.LastUsed
		if p.Updated.Before(old.Updated) { // the clock was set back
			p.Updated = old.Updated
		}
		if fault == nil {
			if err := putVersion(ctx, tx, old); err != nil {
				return err
			}
		}
		return putProcedure(ctx, tx, p)
	})
	if err != nil {
		return skills.Procedure{}, err
	}
	return p, nil
}

// maxVersions is how many former versions of a procedure are kept.
const maxVersions = 50

func putVersion(ctx context.Context, tx *sql.Tx, p skills.Procedure) error {
	document, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO procedure_versions (name, version, document) VALUES (?, ?, ?)", p.Name, p.Version, string(document)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM procedure_versions WHERE name = ? AND version <= ?", p.Name, p.Version-maxVersions)
	return err
}

// putProcedure writes p as it is.
func putProcedure(ctx context.Context, tx *sql.Tx, p skills.Procedure) error {
	var texts [5]string
	for i, v := range []any{p.ToolsRequired, p.ToolSequence, p.Examples, p.NotFor, p.Origin} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		texts[i] = string(text)
	}
	key := skills.DocumentHash(p.WhenToUse)
	_, err := tx.ExecContext(ctx, `
		INSERT INTO procedures (`+procedureColumns+`, embedding) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET
			when_to_use = excluded.when_to_use, tools_required = excluded.tools_required, body = excluded.body,
			successes = excluded.successes, attempts = excluded.attempts, enabled = excluded.enabled, version = excluded.version, updated = excluded.updated,
			tool_sequence = excluded.tool_sequence, examples = excluded.examples, not_for = excluded.not_for, origin = excluded.origin, unused = excluded.unused,
			last_used = excluded.last_used, superseded_by = excluded.superseded_by, note = excluded.note, embedding = excluded.embedding`,
		p.Name, p.WhenToUse, texts[0], p.Body, p.Successes, p.Attempts, p.Enabled, p.Version, nanos(p.Updated),
		texts[1], texts[2], texts[3], texts[4], p.Unused, nanos(p.LastUsed), p.SupersededBy, p.Note, key[:])
	return err
}

// RemoveProcedure implements skills.Store.
func (db *DB) RemoveProcedure(ctx context.Context, name string) error {
	return db.update(ctx, fmt.Sprintf("removing the skill %q", name), func(tx *sql.Tx) error {
		p, fault, err := scanProcedure(tx.QueryRowContext(ctx, "SELECT "+procedureColumns+" FROM procedures WHERE name = ?", name))
		if err == sql.ErrNoRows {
			return noSkill(name)
		}
		if err != nil {
			return err
		}
		if fault == nil && p.Origin.Kind == skills.Learned {
			tools, err := json.Marshal(slices.Sorted(slices.Values(p.ToolsRequired)))
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO removals (name, tools, at) VALUES (?, ?, ?)", name, string(tools), nanos(time.Now())); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM procedures WHERE name = ?", name)
		return err
	})
}

func noSkill(name string) error {
	return catalog.NewError(catalog.NotFound, fmt.Sprintf("there is no skill %q", name), nil)
}

// CountProcedure implements skills.Store.
func (db *DB) CountProcedure(ctx context.Context, name string, use skills.Use, at time.Time) error {
	statement := "UPDATE procedures SET attempts = attempts + 1, successes = successes + ?2, last_used = max(last_used, ?3) WHERE name = ?1"
	switch use {
	case skills.Forgive:
		statement = "UPDATE procedures SET attempts = 0, successes = 0, unused = 0 WHERE name = ?1"
	case skills.Unused:
		statement = "UPDATE procedures SET unused = unused + 1 WHERE name = ?1"
	}
	return db.update(ctx, fmt.Sprintf("counting a use of the skill %q", name), func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, name, use == skills.Succeeded, nanos(at))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return noSkill(name)
		}
		return nil
	})
}

// Versions implements skills.Archive. A version that cannot be read is left out, with a line of log.
func (db *DB) Versions(ctx context.Context, name string) ([]skills.Procedure, error) {
	doing := fmt.Sprintf("reading the former versions of the skill %q", name)
	rows, err := db.read.QueryContext(ctx, "SELECT version, document FROM procedure_versions WHERE name = ? ORDER BY version DESC", name)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var list []skills.Procedure
	for rows.Next() {
		var version int
		var document []byte
		if err := rows.Scan(&version, &document); err != nil {
			return nil, explain(doing, db.path, err)
		}
		var p skills.Procedure
		if err := json.Unmarshal(document, &p); err != nil {
			db.log.Warn("a former version of a skill cannot be read and is left out", "skill", name, "version", version, "why", err)
			continue
		}
		list = append(list, p)
	}
	return list, explain(doing, db.path, rows.Err())
}

// Removals implements skills.Archive. One that cannot be read is left out.
func (db *DB) Removals(ctx context.Context) ([]skills.Removal, error) {
	const doing = "reading which skills were removed"
	rows, err := db.read.QueryContext(ctx, "SELECT name, tools, at FROM removals ORDER BY name")
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var list []skills.Removal
	for rows.Next() {
		var r skills.Removal
		var tools []byte
		var at int64
		if err := rows.Scan(&r.Name, &tools, &at); err != nil {
			return nil, explain(doing, db.path, err)
		}
		if r.At = fromNanos(at); json.Unmarshal(tools, &r.Tools) == nil {
			list = append(list, r)
		}
	}
	return list, explain(doing, db.path, rows.Err())
}
