package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"toolbelt/catalog"
	"toolbelt/skills/runs"
)

var _ runs.Store = (*DB)(nil)

const runColumns = "key, app, session, goal, calls, outcome, why, skills, started, ended"

// SaveRun implements runs.Store.
func (db *DB) SaveRun(ctx context.Context, since int, r runs.Run) error {
	return db.update(ctx, "keeping a run", func(tx *sql.Tx) error {
		now, err := erasures(ctx, tx)
		if err != nil {
			return err
		}
		if now != since {
			return catalog.NewError(catalog.Conflict, fmt.Sprintf("keeping a run: there were %d erasures, now %d", since, now), nil)
		}
		return putRun(ctx, tx, r)
	})
}

func putRun(ctx context.Context, tx *sql.Tx, r runs.Run) error {
	calls, err := encodeCalls(r.Calls)
	if err != nil {
		return err
	}
	skills, err := json.Marshal(append([]string{}, r.Skills...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO runs (`+runColumns+`, steps) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET app = excluded.app, session = excluded.session, goal = excluded.goal, calls = excluded.calls, outcome = excluded.outcome,
			why = excluded.why, skills = excluded.skills, started = excluded.started, ended = excluded.ended, steps = excluded.steps`,
		r.Key, r.App, r.Session, r.Goal, calls, string(r.Outcome), r.Why, string(skills), nanos(r.Started), nanos(r.Ended), len(r.Calls))
	return err
}

// encodeCalls writes calls as [[name, argument, …], …]; one whose values are kept is an object.
func encodeCalls(calls []runs.Call) (string, error) {
	list := make([]any, len(calls))
	for i, c := range calls {
		if c.Values != "" {
			list[i] = c
		} else {
			list[i] = append([]string{c.Name}, c.Arguments...)
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

func decodeCalls(text []byte) ([]runs.Call, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	calls := make([]runs.Call, len(list))
	for i, raw := range list {
		if raw[0] != '[' {
			if err := json.Unmarshal(raw, &calls[i]); err != nil {
				return nil, err
			}
			continue
		}
		var names []string
		if err := json.Unmarshal(raw, &names); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("call %d has no name", i+1)
		}
		calls[i].Name = names[0]
		if len(names) > 1 {
			calls[i].Arguments = names[1:]
		}
	}
	return calls, nil
}

// runsWhere chooses the rows of a filter, but for its Newest: a condition and its arguments.
func runsWhere(f runs.Filter) (string, []any) {
	where, args := "steps >= ?", []any{f.Steps}
	add := func(condition string, arg any) {
		where, args = where+" AND "+condition, append(args, arg)
	}
	if f.Session != "" {
		add("session = ?", f.Session)
	}
	if f.Tool != "" {
		add("EXISTS (SELECT 1 FROM json_each(calls) AS c WHERE CASE c.type WHEN 'array' THEN json_extract(c.value, '$[0]') ELSE json_extract(c.value, '$.name') END = ?)", f.Tool)
	}
	if !f.From.IsZero() {
		add("started >= ?", nanos(f.From))
	}
	if !f.Until.IsZero() {
		add("started < ?", nanos(f.Until))
	}
	return where, args
}

// Runs implements runs.Store. One that cannot be read is left out, with a line of log.
func (db *DB) Runs(ctx context.Context, f runs.Filter) ([]runs.Run, error) {
	list, err := db.runs(ctx, db.read, f)
	return list, explain("reading the runs", db.path, err)
}

// rowser is a connection, a pool or a transaction.
type rowser interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (db *DB) runs(ctx context.Context, q rowser, f runs.Filter) ([]runs.Run, error) {
	where, args := runsWhere(f)
	limit := -1
	if f.Newest > 0 {
		limit = f.Newest
	}
	rows, err := q.QueryContext(ctx, `
		SELECT `+runColumns+` FROM (SELECT * FROM runs WHERE `+where+` ORDER BY started DESC, key DESC LIMIT ?) ORDER BY started, key`, append(args, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []runs.Run
	for rows.Next() {
		var r runs.Run
		var calls, skills []byte
		var started, ended int64
		if err := rows.Scan(&r.Key, &r.App, &r.Session, &r.Goal, &calls, (*string)(&r.Outcome), &r.Why, &skills, &started, &ended); err != nil {
			return nil, err
		}
		r.Started, r.Ended = fromNanos(started), fromNanos(ended)
		r.Calls, err = decodeCalls(calls)
		if err == nil {
			err = json.Unmarshal(skills, &r.Skills)
		}
		if err != nil {
			db.log.Warn("a stored run cannot be read and is left out", "why", err)
			continue
		}
		if len(r.Skills) == 0 {
			r.Skills = nil
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// PruneRuns implements runs.Store.
func (db *DB) PruneRuns(ctx context.Context, before time.Time, keep int) (int, error) {
	deleted := 0
	err := db.update(ctx, "deleting old runs", func(tx *sql.Tx) error {
		for _, step := range []struct {
			statement string
			arg       any
		}{
			{"DELETE FROM runs WHERE started < ?", nanos(before)},
			{"DELETE FROM runs WHERE id IN (SELECT id FROM runs ORDER BY started DESC, key DESC LIMIT -1 OFFSET ?)", keep},
		} {
			result, err := tx.ExecContext(ctx, step.statement, step.arg)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			deleted += int(n)
		}
		return nil
	})
	return deleted, err
}
