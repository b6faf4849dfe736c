package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"toolbelt/internal/session"
)

var _ session.LabelStore = (*DB)(nil)

// SaveLabel implements session.LabelStore.
func (db *DB) SaveLabel(ctx context.Context, l session.Label, seen time.Time) error {
	doing := fmt.Sprintf("keeping which app %q is", l.App)
	tools, err := json.Marshal(append([]string{}, l.Tools...))
	if err != nil {
		return explain(doing, db.path, err)
	}
	return db.update(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO apps (app, family, agent, tools, seen) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET family = excluded.family, agent = excluded.agent, tools = excluded.tools, seen = max(seen, excluded.seen)`,
			l.App, l.Family, l.Agent, string(tools), nanos(seen))
		return err
	})
}

// Labels implements session.LabelStore. Tools that cannot be read are left out, with a line of log.
func (db *DB) Labels(ctx context.Context) ([]session.Label, error) {
	const doing = "reading which apps there are"
	rows, err := db.read.QueryContext(ctx, "SELECT app, family, agent, tools FROM apps ORDER BY app")
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	var list []session.Label
	for rows.Next() {
		var l session.Label
		var tools []byte
		if err := rows.Scan(&l.App, &l.Family, &l.Agent, &tools); err != nil {
			return nil, explain(doing, db.path, err)
		}
		if err := json.Unmarshal(tools, &l.Tools); err != nil {
			db.log.Warn("the tools that an app began with cannot be read", "app", l.App, "why", err)
			l.Tools = nil
		}
		list = append(list, l)
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	return list, nil
}
