package sqlite

import (
	"context"
	"database/sql"
	"strings"
)

// Lessons returns what was learned of the models of an engine (kvcache.Belief.Lesson), by model.
func (db *DB) Lessons(ctx context.Context, engine string) (map[string][]byte, error) {
	const doing = "reading what was learned of models"
	prefix := lessonKey(engine, "")
	rows, err := db.read.QueryContext(ctx, "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?", len([]rune(prefix)), prefix)
	if err != nil {
		return nil, explain(doing, db.path, err)
	}
	defer rows.Close()
	lessons := map[string][]byte{}
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return nil, explain(doing, db.path, err)
		}
		lessons[strings.TrimPrefix(key, prefix)] = value
	}
	if err := rows.Err(); err != nil {
		return nil, explain(doing, db.path, err)
	}
	return lessons, nil
}

// SaveLesson inserts or replaces what was learned of one model of an engine.
func (db *DB) SaveLesson(ctx context.Context, engine, model string, lesson []byte) error {
	return db.update(ctx, "storing what was learned of a model", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", lessonKey(engine, model), lesson)
		return err
	})
}

func lessonKey(engine, model string) string { return "lesson/" + engine + "\x1f" + model }
