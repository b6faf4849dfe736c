package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"toolbelt/catalog"
	"toolbelt/internal/session"
)

var _ session.Store = (*DB)(nil)

// Records implements session.Store. Records of equal time come in the order in which their keys were first saved. A record that cannot
// be read is left out, with a line of log: one lost turn is no reason to lose them all. A limit below 1 returns none.
func (db *DB) Records(ctx context.Context, limit int) ([]session.Record, error) {
	if limit < 1 {
		return nil, nil
	}
	doing := fmt.Sprintf("reading the %d newest turns", limit)
	rows, err := db.read.QueryContext(ctx, "SELECT key, state, catalog, body, updated FROM turns ORDER BY updated DESC, id DESC LIMIT ?", limit)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var records []session.Record
	for rows.Next() {
		var state, tools, body sql.RawBytes
		var r session.Record
		var updated int64
		if err := rows.Scan(&r.Key, &state, &tools, &body, &updated); err != nil {
			return nil, explain(doing, db.path, err)
		}
		if err := decodeState(state, tools, body, &r.State); err != nil {
			db.log.Warn("a stored turn cannot be read and is left out", "key", r.Key, "why", err)
			continue
		}
		r.Updated = fromNanos(updated)
		records = append(records, r)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	slices.Reverse(records)
	return records, nil
}

func decodeState(state, tools, body []byte, into *session.State) error {
	if err := json.Unmarshal(state, into); err != nil {
		return err
	}
	if len(tools) != len(catalog.Hash{}) || len(body) != len(catalog.Hash{}) {
		return fmt.Errorf("hashes of %d and %d bytes", len(tools), len(body))
	}
	into.Catalog, into.Body = catalog.Hash(tools), catalog.Hash(body)
	return nil
}

// SaveRecord implements session.Store. It also records the app's session as seen.
func (db *DB) SaveRecord(ctx context.Context, r session.Record) error {
	doing := fmt.Sprintf("saving turn %d of session %q", r.State.Turn, r.State.Session)
	state, err := json.Marshal(r.State)
	if err != nil {
		return explain(doing, db.path, err)
	}
	return db.update(ctx, doing, func(tx *sql.Tx) error {
		if err := seeSession(ctx, tx, r.State.App, r.State.Session, r.Updated); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO turns (key, state, catalog, body, updated) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET state = excluded.state, catalog = excluded.catalog, body = excluded.body, updated = excluded.updated`,
			r.Key, string(state), r.State.Catalog[:], r.State.Body[:], nanos(r.Updated))
		return err
	})
}

// seeSession records that the app had this session at this time. A session without an id counts nowhere.
func seeSession(ctx context.Context, tx *sql.Tx, app, id string, at time.Time) error {
	if id == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO sessions (app, session, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT DO UPDATE SET first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`,
		app, id, nanos(at))
	return err
}

// AddUses implements session.Store. A tool that is named twice was called twice; an empty name is left out.
func (db *DB) AddUses(ctx context.Context, app, id string, tools []string, at time.Time) error {
	return db.update(ctx, fmt.Sprintf("counting %d calls of session %q", len(tools), id), func(tx *sql.Tx) error {
		if err := seeSession(ctx, tx, app, id, at); err != nil {
			return err
		}
		for _, tool := range tools {
			if tool == "" {
				continue
			}
			_, err := tx.ExecContext(ctx, `
				INSERT INTO uses (app, session, tool, calls, last) VALUES (?, ?, ?, 1, ?)
				ON CONFLICT DO UPDATE SET calls = calls + 1, last = max(last, excluded.last)`, app, id, tool, nanos(at))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Uses implements session.Store. The tools come most used first: by sessions, then by calls, then by name. An app that was
// never seen has used nothing in 0 sessions.
func (db *DB) Uses(ctx context.Context, app string) (session.AppUses, error) {
	doing := fmt.Sprintf("reading what app %q has used", app)
	var uses session.AppUses
	if err := db.read.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE app = ?", app).Scan(&uses.Sessions); err != nil {
		return session.AppUses{}, explain(doing, db.path, err)
	}
	rows, err := db.read.QueryContext(ctx, `
		SELECT tool, count(*) AS sessions, sum(calls) AS calls FROM uses WHERE app = ?
		GROUP BY tool ORDER BY sessions DESC, calls DESC, tool`, app)
	if err != nil {
		return session.AppUses{}, explain(doing, db.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var t session.ToolUses
		if err := rows.Scan(&t.Name, &t.Sessions, &t.Calls); err != nil {
			return session.AppUses{}, explain(doing, db.path, err)
		}
		uses.Tools = append(uses.Tools, t)
	}
	if err := rows.Err(); err != nil {
		return session.AppUses{}, explain(doing, db.path, err)
	}
	return uses, nil
}

// Prune implements session.Store. The sessions last seen before the time are forgotten with their turns and uses, and so are the labels of apps
// that no turn is counted of; only turns and uses are counted.
func (db *DB) Prune(ctx context.Context, before time.Time) (int, error) {
	pruned := int64(0)
	err := db.update(ctx, "pruning sessions last touched before "+before.Format(time.RFC3339), func(tx *sql.Tx) error {
		for _, statement := range []string{"DELETE FROM turns WHERE updated < ?", "DELETE FROM uses WHERE last < ?"} {
			result, err := tx.ExecContext(ctx, statement, nanos(before))
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			pruned += n
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE last_seen < ?", nanos(before)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM apps WHERE seen < ? AND app NOT IN (SELECT app FROM telemetry)", nanos(before))
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(pruned), nil
}
